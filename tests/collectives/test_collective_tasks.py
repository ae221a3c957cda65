"""Protects collectives between tasks: clients that know nothing of each other meet, by every way that values may go."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.client import remote
from tests.cluster.serving import serve_all, spec_of

GROUP = 3


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def servers(stack: ExitStack, count: int, **options: Any) -> list[gf.train.Server]:
    """Workers in this process."""
    return serve_all(stack, spec_of(stack, worker=count), config=gf.ConfigProto(**options))


def at_once(count: int, function: Callable[[int], Any], seconds: float = 60.0) -> list[Any]:
    """What function(number) returns, or raises, for each number, each in a thread of its own."""
    results: list[Any] = [None] * count

    def call(number: int) -> None:
        try:
            results[number] = function(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=call, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), "a member hangs"
    return results


def on(task: int, device: int = 0) -> Any:
    return gf.device(f"/job:worker/task:{task}/cpu:{device}")


@pytest.mark.parametrize("way", ["own thread", "by sockets", "by tcp alone"])
def test_clients_of_their_own_meet_and_get_the_same_bits(
    way: str, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 3
    if way != "own thread":
        monkeypatch.setattr(remote, "find", lambda incarnation: None)
    tasks = servers(stack, count, tcp_only=way == "by tcp alone")
    random = np.random.default_rng(0)
    sizes = [(), (7,), (0, 3), (100, 333), (1_500_000,)]
    values = [[np.asarray(random.normal(size=size), np.float32) for size in sizes] for _ in range(count)]
    rows = [random.integers(0, 99, (n, 40)) for n in (3, 0, 3000)]

    def work(task: int) -> list[Any]:
        with gf.Graph().as_default(), on(task):
            fed = [gf.placeholder(gf.float32, size) for size in sizes]
            sums = [gf.distribute.all_reduce(x, count, GROUP, k, "add", "div") for k, x in enumerate(fed)]
            some = gf.placeholder(gf.int64, [None, 40])
            everything = [*sums, gf.distribute.all_gather(some, count, GROUP, 50)]
            for k, x in enumerate(fed):
                everything.append(gf.distribute.broadcast(x, task == 1, count, GROUP, 60 + k))
            for k, x in enumerate(fed[-2:]):
                flat = gf.reshape(x, [-1])
                everything.append(gf.distribute.all_to_all(flat, count, GROUP, 80 + k))
            with gf.Session(
                tasks[task].target, config=gf.ConfigProto(tcp_only=way == "by tcp alone")
            ) as session:
                feeds = {**dict(zip(fed, values[task], strict=True)), some: rows[task]}
                return [session.run(everything, feeds) for _ in range(4)]

    found = at_once(count, work)
    for task in range(count):
        assert isinstance(found[task], list), found[task]
        for run in found[task]:
            for k in range(len(sizes)):
                wanted = ((values[0][k] + values[1][k]) + values[2][k]) / np.float32(3)
                assert run[k].dtype == np.float32 and run[k].shape == sizes[k]
                assert run[k].tobytes() == wanted.astype(np.float32).tobytes()
                np.testing.assert_array_equal(run[len(sizes) + 1 + k], values[1][k])
            np.testing.assert_array_equal(run[len(sizes)], np.concatenate(rows))
            for k, got in enumerate(run[-2:], start=-2):
                parts = [np.split(value[k].ravel(), count)[task] for value in values]
                np.testing.assert_array_equal(got, np.concatenate(parts))


def test_one_client_reduces_over_devices_of_several_tasks(stack: ExitStack) -> None:
    tasks = servers(stack, 2, device_count={"CPU": 2})
    members = [(task, device) for task in range(2) for device in range(2)]
    with gf.Graph().as_default():
        fed = [gf.placeholder(gf.float32, [None]) for _ in members]
        sums = []
        for x, (task, device) in zip(fed, members, strict=True):
            with on(task, device):
                sums.append(gf.distribute.all_reduce(gf.square(x), 4, GROUP, 1))
        with gf.Session(tasks[0].target) as session:
            for size in (3, 100_001, 0):
                values = [np.random.default_rng(n).normal(size=size).astype("f") for n in range(4)]
                wanted = ((values[0] ** 2 + values[1] ** 2) + values[2] ** 2) + values[3] ** 2
                for found in session.run(sums, dict(zip(fed, values, strict=True))):
                    assert found.tobytes() == wanted.tobytes()


def test_what_a_session_got_is_its_own(stack: ExitStack) -> None:
    tasks = servers(stack, 2)

    def work(task: int) -> Any:
        with gf.Graph().as_default(), on(task):
            x = gf.placeholder(gf.float32, [2_000_000])
            total = gf.distribute.all_reduce(x, 2, GROUP, 1)
            with gf.Session(tasks[task].target) as session:
                value = np.full(2_000_000, task + 1.0, np.float32)
                kept = []
                for _ in range(6):
                    found = session.run(total, {x: value})
                    assert (found == 3.0).all()
                    found[:] = -1.0
                    kept.append(found)
                return all((found == -1.0).all() for found in kept) and (value == task + 1.0).all()

    assert at_once(2, work) == [True, True]


@pytest.mark.parametrize("here", [True, False])
def test_what_does_not_fit_is_an_error_at_every_task_and_the_next_run_is_right(
    here: bool, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not here:
        monkeypatch.setattr(remote, "find", lambda incarnation: None)
    tasks = servers(stack, 3)
    meet = threading.Barrier(3, timeout=60.0)

    def work(task: int) -> Any:
        with gf.Graph().as_default(), on(task):
            x = gf.placeholder(gf.float32, [None])
            total = gf.distribute.all_reduce(x, 3, GROUP, 1, name=f"sum{task}")
            with gf.Session(tasks[task].target) as session:
                session.run(total, {x: [1.0]})
                with pytest.raises(gf.errors.InvalidArgumentError, match=r"do not bring the same") as caught:
                    session.run(total, {x: [1.0, 2.0] if task == 1 else [1.0]})
                meet.wait()
                for _ in range(3):  # The error of another may still be on its way.
                    try:
                        return str(caught.value), session.run(total, {x: [float(task)]}).tolist()
                    except gf.errors.InvalidArgumentError:
                        continue

    for found in at_once(3, work):
        assert isinstance(found, tuple), found
        assert "task:1" in found[0] and "float32[2]" in found[0] and "float32[1]" in found[0]
        assert found[1] == [3.0]


def test_promise_10_a_deadline_names_the_missing_tasks_and_where_they_were(stack: ExitStack) -> None:
    tasks = servers(stack, 3)
    over = threading.Barrier(3, timeout=60.0)

    def work(task: int) -> str:
        with gf.Graph().as_default(), on(task):
            total = gf.distribute.all_reduce(1.0, 3, GROUP, 8, name="gradients")
            with gf.Session(tasks[task].target) as session:
                for _ in range(2):
                    session.run(total)
                try:
                    if task != 2:
                        session.run(total, options=gf.RunOptions(timeout_in_ms=2000))
                    return "no error"
                except gf.errors.OpError as error:
                    return f"{type(error).__name__}: {error}"
                finally:
                    over.wait()

    first, second, last = at_once(3, work)
    assert last == "no error"
    assert first.startswith("DeadlineExceededError") or second.startswith("DeadlineExceededError")
    for text in (
        first,
        second,
    ):  # Whose deadline passes first ends the operation of the other, with his reason.
        assert text.startswith(("DeadlineExceededError", "AbortedError"))
        assert re.search(
            r"'gradients' \(all_reduce, add, id\) waits for [12] of 3 members at step 3 of the instance 8",
            text,
        )
        assert "/job:worker/replica:0/task:2/device:CPU:0 (last heard of at step 2 of the instance 8)" in text
        assert "graphflow status" in text


@pytest.mark.parametrize("way", ["own thread", "by sockets"])
def test_a_session_that_is_closed_leaves_and_the_next_one_meets_the_others(
    way: str, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "by sockets":
        monkeypatch.setattr(remote, "find", lambda incarnation: None)
    tasks = servers(stack, 2)
    meet = threading.Barrier(2, timeout=60.0)

    def work(task: int) -> Any:
        found = []
        for run in range(3):
            with gf.Graph().as_default(), on(task):
                total = gf.distribute.all_reduce(gf.constant([run + 1.0]), 2, GROUP, run)
                with gf.Session(tasks[task].target) as session:
                    found += [session.run(total).tolist() for _ in range(2)]
                    meet.wait()
        return found

    wanted = [[2.0], [2.0], [4.0], [4.0], [6.0], [6.0]]
    assert at_once(2, work) == [wanted, wanted]


@pytest.mark.parametrize("way", ["own thread", "by sockets"])
def test_who_comes_back_after_its_answer_was_lost_meets_all_others_before_it_runs_again(
    way: str, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round was completed, so the others are in the next one: that ends for them, and all take the same values."""
    if way == "by sockets":
        monkeypatch.setattr(remote, "find", lambda incarnation: None)
    steps, lost, count = 6, 3, 3
    tasks = servers(stack, count)
    spec = {"worker": [task.target.removeprefix("zmq://") for task in tasks]}

    class Losing(gf.train.SessionRunHook):
        """Loses the answer of one step, which all members have completed."""

        done = False

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if not self.done and run_context.session.run(step[0]) == lost:
                self.done = True
                raise gf.errors.UnavailableError(None, None, "the answer was lost")

    step: dict[int, Any] = {}

    def work(task: int) -> Any:
        with gf.Graph().as_default():
            strategy = gf.distribute.CollectiveAllReduceStrategy(spec, "worker", task, timeout=60)

            def tower() -> Any:
                step[task] = gf.train.get_or_create_global_step()
                weight = gf.get_variable("w", [], initializer=gf.constant_initializer(float(task)))
                loss = weight * gf.cast(1 + task + step[task], gf.float32)
                return gf.train.GradientDescentOptimizer(1.0).minimize(loss, step[task]), weight

            with strategy.scope():
                train, weight = strategy.call_for_each_tower(tower)
                weight = strategy.unwrap(weight)[0]
            hooks: list[Any] = [gf.train.StopAtStepHook(last_step=steps)] + ([Losing()] if task == 0 else [])
            found = {}
            with gf.train.MonitoredTrainingSession(tasks[task].target, task == 0, hooks=hooks) as session:
                while not session.should_stop():
                    session.run(train)
                    now, value = session._session.run([step[task], weight])
                    found[int(now)] = float(value)
                return found, len(session.recoveries)

    results = at_once(count, work)
    assert all(isinstance(result, tuple) for result in results), results
    assert len({tuple(sorted(found.items())[-2:]) for found, _ in results}) == 1, results
    assert all(max(found) == steps and recoveries == 1 for found, recoveries in results), results


def test_a_variable_is_loaded_on_each_worker_by_itself(stack: ExitStack) -> None:
    tasks = servers(stack, 2, device_count={"CPU": 2})
    spec = {"worker": [task.target.removeprefix("zmq://") for task in tasks]}

    def work(task: int) -> Any:
        with gf.Graph().as_default():
            strategy = gf.distribute.CollectiveAllReduceStrategy(
                spec, "worker", task, timeout=60, num_devices=2
            )
            with strategy.scope():
                weight = gf.get_variable("w", [2], initializer=gf.zeros_initializer())
            with gf.Session(tasks[task].target) as session:
                session.run(gf.global_variables_initializer())
                weight.load([3.0, 4.0], session)
                return [found.tolist() for found in session.run(list(strategy.unwrap(weight)))]

    assert at_once(2, work) == [[[3.0, 4.0]] * 2] * 2

"""Protects synchronous training: who is in a round, that a round is applied once and whole, and that nobody hangs.

The rounds by themselves, then SyncReplicasOptimizer with threads as replicas. With real processes that are killed:
tests/cluster/test_sync_replicas.py.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.kernels import sync_rounds
from graphflow.kernels.sync_rounds import LOST_TASKS, Choice, Gradients, Once, SyncRounds, Ticket
from graphflow.plan.read_order import BEFORE_READS
from graphflow.runtime.context import RunContext
from graphflow.runtime.resources import ResourceStore, VariableCell

WORKERS = [f"/job:worker/replica:0/task:{i}" for i in range(12)]


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with gf.Graph().as_default() as made:
        yield made


class Rounds:
    """Rounds at a global step, and what arrives there in threads."""

    def __init__(self, needed: int, total: int, step: int = 0) -> None:
        self.store = ResourceStore()
        self.cell: VariableCell = self.store.variable("global_step", gf.int64, ("test", 1))
        self.cell.assign(np.array(step, np.int64))
        self.rounds = SyncRounds("sync", needed, total)
        self.results: dict[int, Any] = {}
        self.threads: list[threading.Thread] = []

    def begin(self, worker: int) -> Ticket:
        return self.rounds.begin(WORKERS[worker] if worker >= 0 else "", self.cell)

    def arrive(self, worker: int, ticket: Ticket, deadline: float | None = None) -> Choice:
        run = RunContext(self.store, None if deadline is None else time.monotonic() + deadline)
        return self.rounds.arrive(run, WORKERS[worker] if worker >= 0 else "", ticket)

    def wait(self, worker: int, ticket: Ticket) -> None:
        """Arrives in a thread, and returns when it waits."""

        def run() -> None:
            try:
                self.results[ticket.attempt] = self.arrive(worker, ticket)
            except gf.errors.OpError as error:
                self.results[ticket.attempt] = error

        thread = threading.Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()
        while not self.store.awaited(thread.ident or 0) and ticket.attempt not in self.results:
            time.sleep(0.001)

    def result(self, ticket: Ticket) -> Any:
        for thread in self.threads:
            if ticket.attempt not in self.results:
                thread.join(10)
        return self.results[ticket.attempt]

    def whole_round(self, workers: Sequence[int]) -> Choice:
        tickets = [self.begin(w) for w in workers]
        for w, ticket in zip(workers[:-1], tickets, strict=False):
            self.wait(w, ticket)
        choice = self.arrive(workers[-1], tickets[-1])
        self.rounds.advance(choice, self.cell)
        return choice


# ---- rounds ---------------------------------------------------------------------------------------------------------


def test_a_round_is_chosen_when_enough_have_arrived_in_the_order_of_their_tasks() -> None:
    r = Rounds(3, 3)
    tickets = {w: r.begin(w) for w in (11, 2, 0)}
    r.wait(11, tickets[11])
    r.wait(0, tickets[0])
    assert not r.results
    last = r.arrive(2, tickets[2])
    assert last.attempts == tuple(tickets[w].attempt for w in (0, 2, 11))
    assert last.counted and last.round == 0
    assert r.result(tickets[0]) == r.result(tickets[11]) == last
    for _ in range(3):
        r.rounds.advance(last, r.cell)
    assert r.cell.get() == 1


def test_what_comes_too_late_is_dropped_and_helps_to_finish_the_round() -> None:
    r = Rounds(2, 3)
    tickets = [r.begin(w) for w in range(3)]
    r.wait(0, tickets[0])
    choice = r.arrive(1, tickets[1])
    late = r.arrive(2, tickets[2])
    assert late.number == choice.number and late.attempts == choice.attempts and not late.counted
    again = r.begin(2)  # The round is decided, and not applied so far.
    assert not r.arrive(2, again).counted
    r.rounds.advance(choice, r.cell)
    later = r.begin(2)
    r.whole_round([0, 1])
    assert r.arrive(2, later).number[1] == 0  # Its round was applied long ago.
    assert r.rounds.dropped == 3


def test_a_worker_that_comes_back_takes_its_own_place() -> None:
    r = Rounds(2, 2)
    dead, other = r.begin(0), r.begin(1)
    r.wait(0, dead)
    back = r.begin(0)
    assert isinstance(r.result(dead), gf.errors.AbortedError)
    assert "Another run of the same replica" in str(r.result(dead))
    r.wait(1, other)
    assert r.arrive(0, back).attempts == (back.attempt, other.attempt)


@pytest.mark.parametrize("restored", [0, 2, 3])
def test_rounds_begin_again_where_a_checkpoint_is_restored(restored: int) -> None:
    r = Rounds(2, 2)
    before = [r.whole_round([0, 1]) for _ in range(3)]
    waiting = r.begin(1)
    r.wait(1, waiting)
    r.cell.assign(np.array(restored, np.int64))
    ticket = r.begin(0)
    assert isinstance(r.result(waiting), gf.errors.AbortedError)
    assert "global step was set" in str(r.result(waiting))
    assert ticket.round == restored
    other = r.begin(1)
    r.wait(1, other)
    choice = r.arrive(0, ticket)
    assert choice.attempts == (ticket.attempt, other.attempt) and choice.counted
    assert choice.number > before[-1].number  # So that it counts as later, whatever its round.
    r.rounds.advance(before[-1], r.cell)
    assert r.cell.get() == restored
    r.rounds.advance(choice, r.cell)
    assert r.cell.get() == restored + 1


def test_a_round_that_nobody_finished_is_finished_by_the_next_run() -> None:
    r = Rounds(2, 2)
    tickets = [r.begin(0), r.begin(1)]
    r.wait(0, tickets[0])
    choice = r.arrive(1, tickets[1])  # Both die here.
    back = r.begin(1)
    found = r.arrive(1, back)
    assert (found.number, found.attempts, found.counted) == (choice.number, choice.attempts, False)
    r.rounds.advance(found, r.cell)
    assert r.cell.get() == 1
    assert r.begin(1).round == 1


def test_nameless_replicas_are_taken_as_they_come_and_leave_with_their_run() -> None:
    r = Rounds(2, 2)
    gone = r.begin(-1)
    with pytest.raises(gf.errors.DeadlineExceededError, match="1 of 2 gradients have arrived"):
        r.arrive(-1, gone, deadline=0.02)
    first, second = r.begin(-1), r.begin(-1)
    r.wait(-1, second)
    assert r.arrive(-1, first).attempts == (first.attempt, second.attempt)


def test_more_gradients_than_replicas_let_a_run_go_on_until_all_are_needed() -> None:
    r = Rounds(4, 2)
    early = [r.begin(0)]
    assert r.arrive(0, early[0]).number[1] == 0
    early.append(r.begin(0))
    assert r.arrive(0, early[1]) == Choice(0, (early[1].epoch, 0), counted=True)
    waits = r.begin(0)
    r.wait(0, waits)
    last = r.begin(1)
    choice = r.arrive(1, last)
    assert choice.attempts == (early[0].attempt, early[1].attempt, waits.attempt, last.attempt)
    assert r.result(waits).counted


def test_the_wait_ends_at_the_deadline_naming_who_is_awaited() -> None:
    r = Rounds(3, 3)
    tickets = [r.begin(w) for w in range(3)]
    r.wait(0, tickets[0])
    with pytest.raises(gf.errors.DeadlineExceededError) as caught:
        r.arrive(1, tickets[1], deadline=0.02)
    text = str(caught.value)
    assert f"step 0 of 'sync': 2 of 3 gradients have arrived ({WORKERS[0]}, {WORKERS[1]})" in text
    assert f"awaited: {WORKERS[2]}" in text


@pytest.mark.parametrize("known", [True, False], ids=["took-part", "never-came"])
def test_promise_5_where_too_few_are_left_the_missing_are_named(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_rounds, "GRACE_SECONDS", 0.0)
    r = Rounds(2, 2)
    if known:
        r.whole_round([0, 1])
    ticket = r.begin(0)
    r.wait(0, ticket)
    r.store.other(LOST_TASKS, dict)[WORKERS[1]] = time.monotonic() - 1
    r.store.wake()
    error = r.result(ticket)
    assert isinstance(error, gf.errors.UnavailableError) and WORKERS[1] in str(error)
    r.store.other(LOST_TASKS, dict).clear()
    assert r.whole_round([0, 1]).counted


def test_promise_5_the_living_go_on_where_they_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_rounds, "GRACE_SECONDS", 0.0)
    r = Rounds(2, 3)
    r.begin(2)
    lost = r.store.other(LOST_TASKS, dict)
    lost[WORKERS[2]] = lost["/job:ps/replica:0/task:1"] = time.monotonic() - 1
    assert [r.whole_round([0, 1]).round for _ in range(3)] == [0, 1, 2]


def test_a_task_that_is_gone_for_a_moment_only_is_waited_for() -> None:
    r = Rounds(2, 2)
    ticket = r.begin(0)
    r.wait(0, ticket)
    r.store.other(LOST_TASKS, dict)[WORKERS[1]] = time.monotonic()
    r.store.wake()
    r.store.other(LOST_TASKS, dict).clear()
    r.arrive(1, r.begin(1))
    assert r.result(ticket).counted


# ---- what happens once ----------------------------------------------------------------------------------------------


def test_a_change_is_made_once_for_each_choice_and_never_for_an_older_one() -> None:
    once, run = Once(), RunContext(ResourceStore())
    newer, older = Choice(4, (7, 2)), Choice(9, (7, 1))
    assert once.claim(run, newer)
    once.done(run, newer)
    assert not once.claim(run, newer)
    assert not once.claim(run, older)
    assert not once.claim(run, Choice(5, (8, 0)))  # There is nothing to apply.
    assert once.claim(run, Choice(0, (8, 1)))  # The rounds were made anew, their task having died.


def test_others_wait_for_a_change_that_goes_on_and_make_it_where_it_fails() -> None:
    once, store, choice = Once(), ResourceStore(), Choice(0, (7, 1))
    failing, found = RunContext(store), []
    assert once.claim(failing, choice)
    other = threading.Thread(target=lambda: found.append(once.claim(RunContext(store), choice)))
    other.start()
    other.join(0.1)
    assert other.is_alive() and not found
    failing.failed()
    other.join(10)
    assert found == [True]


def test_gradients_are_kept_only_while_they_can_be_chosen() -> None:
    gradients, run = Gradients(), RunContext(ResourceStore())
    one = (np.ones(2, np.float32),)
    for attempt in range(1, 9):  # A run that is repeated again and again in one round.
        gradients.push(WORKERS[0], Ticket(0, 7, attempt, 0), one)
    assert list(gradients._waiting) == [8]
    gradients.push(WORKERS[1], Ticket(0, 7, 9, 0), one)
    choice = Choice(0, (7, 1), 10, True, (8, 9))
    assert len(gradients.chosen(choice)) == 2
    assert gradients.claim(run, choice)
    gradients.done(run, choice)
    assert not gradients._waiting
    gradients.push(WORKERS[2], Ticket(0, 7, 5, 0), one)  # It comes too late.
    assert not gradients._waiting
    with pytest.raises(gf.errors.AbortedError, match="started again"):
        gradients.chosen(choice)


# ---- SyncReplicasOptimizer ------------------------------------------------------------------------------------------

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: gf.train.GradientDescentOptimizer(0.125),
    "adam": lambda: gf.train.AdamOptimizer(0.05),
    "momentum": lambda: gf.train.MomentumOptimizer(0.1, 0.5),
}


class Model:
    """Two variables, one with sparse gradients, on two devices, and the loss of a replica for its batch."""

    def __init__(self) -> None:
        self.step = gf.train.get_or_create_global_step()
        with gf.device("/cpu:0"):
            self.dense = gf.get_variable("dense", initializer=np.array([0.5, -1.0, 2.0], np.float32))
        with gf.device("/cpu:1"):
            self.rows = gf.get_variable("rows", initializer=np.full((4, 3), 0.25, np.float32))
        self.batch = gf.placeholder(gf.int32, [], "batch")
        self.variables = [self.dense, self.rows]

    def loss(self, batch: Any) -> Any:
        taken = gf.gather(self.rows, [batch % 4, (batch * 3) % 4, batch % 4])
        wanted = gf.cast(batch % 7, gf.float32) / 3.0
        return gf.reduce_sum(gf.square(taken * self.dense - wanted)) / 8.0


def sync(make: Callable[[], Any], replicas: int, **more: Any) -> Any:
    return gf.train.SyncReplicasOptimizer(make(), replicas, **more)


def together(works: Sequence[Callable[[], None]]) -> None:
    """Runs the functions in threads; raises what one of them raised."""
    found: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if found:
        raise found[0]


def devices(compiled: str = "auto") -> Any:
    return gf.ConfigProto(device_count={"CPU": 2}, compiled=compiled)


def trained_together(make: Callable[[], Any], steps: int, compiled: str = "auto") -> list[Any]:
    """The model after steps of three replicas in threads, their batches 3 * step + replica."""
    with gf.Graph().as_default():
        model = Model()
        train_op = sync(make, 3).minimize(model.loss(model.batch), model.step)
        with gf.Session(config=devices(compiled)) as session:
            session.run(gf.global_variables_initializer())

            def replica(number: int) -> None:
                for step in range(steps):
                    time.sleep(0.001 * ((number * 7 + step * 5) % 3))
                    session.run(train_op, {model.batch: 3 * step + number})

            together([lambda n=n: replica(n) for n in range(3)])
            assert session.run(model.step) == steps
            return session.run(model.variables)


def trained_alone(make: Callable[[], Any], steps: int) -> list[Any]:
    """The model after steps on the mean of the three losses."""
    with gf.Graph().as_default():
        model = Model()
        mean = gf.add_n([model.loss(3 * model.batch + n) for n in range(3)]) / 3.0
        train_op = make().minimize(mean, model.step)
        with gf.Session(config=devices()) as session:
            session.run(gf.global_variables_initializer())
            for step in range(steps):
                session.run(train_op, {model.batch: step})
            return session.run(model.variables)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_replicas_train_as_one_does_on_the_mean_of_their_losses(kind: str) -> None:
    found, expected = trained_together(OPTIMIZERS[kind], 8), trained_alone(OPTIMIZERS[kind], 8)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_compiled_code_takes_the_same_rounds() -> None:
    found = trained_together(OPTIMIZERS["momentum"], 6, "always")
    for one, other in zip(found, trained_together(OPTIMIZERS["momentum"], 6, "never"), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_a_run_is_dropped_for_good_where_backup_replicas_were_quicker() -> None:
    model = Model()
    factor = gf.placeholder(gf.float32, [])
    optimizer = sync(OPTIMIZERS["sgd"], 1, total_num_replicas=2)
    begun, quicker = threading.Event(), threading.Event()

    def linger(value: Any) -> Any:
        begun.set()
        quicker.wait(20)
        return np.float32(1000)

    late = gf.py_func(linger, [model.dense], gf.float32)
    train_op = optimizer.minimize(gf.reduce_sum(model.dense) * factor, model.step)
    counted = optimizer.counted
    slow = sync(OPTIMIZERS["sgd"], 1, total_num_replicas=2)
    slow_op = slow.minimize(gf.reduce_sum(model.dense) * late, model.step)
    with gf.Session(config=devices()) as session:
        session.run(gf.global_variables_initializer())
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(session.run([slow_op, slow.counted])))
        thread.start()
        assert begun.wait(20)
        assert session.run([train_op, counted], {factor: 8.0})[1]
        quicker.set()
        thread.join(10)
        assert results == [[None, False]]
        np.testing.assert_array_equal(session.run(model.dense), [-0.5, -2.0, 1.0])
        assert session.run(model.step) == 1


def test_averages_move_once_a_round() -> None:
    model = Model()
    averages = gf.train.ExponentialMovingAverage(0.5)
    optimizer = sync(OPTIMIZERS["sgd"], 2, variable_averages=averages, variables_to_average=[model.dense])
    train_op = optimizer.minimize(gf.reduce_sum(model.dense) * 8.0, model.step)
    with gf.Session(config=devices()) as session:
        session.run(gf.global_variables_initializer())
        together([lambda: [session.run(train_op) for _ in range(3)]] * 2)
        expected, value = np.array([0.5, -1.0, 2.0], np.float32), np.array([0.5, -1.0, 2.0], np.float32)
        for _ in range(3):
            value = value - 1
            expected = expected - (expected - value) * np.float32(0.5)
        np.testing.assert_array_equal(session.run(averages.average(model.dense)), expected)


def test_a_step_that_cannot_be_applied_fails_for_all_and_hangs_nobody() -> None:
    model = Model()
    rows = gf.placeholder(gf.int32, [None])
    gradient = gf.IndexedSlices(gf.ones([2, 3]), rows, gf.constant([4, 3]))
    train_op = sync(OPTIMIZERS["momentum"], 2).apply_gradients([(gradient, model.rows)], model.step)
    with gf.Session(config=devices()) as session:
        session.run(gf.global_variables_initializer())
        errors: list[Any] = []

        def replica() -> None:
            with pytest.raises(gf.errors.InvalidArgumentError) as caught:
                session.run(train_op, {rows: [0, 9]})
            errors.append(caught.value)

        together([replica, replica])
        assert len(errors) == 2
        np.testing.assert_array_equal(session.run(model.rows), np.full((4, 3), 0.25, np.float32))


def test_promise_6_minimize_and_a_session_suffice_and_the_deadline_tells_who_is_missing() -> None:
    model = Model()
    with gf.device("/job:localhost"):
        train_op = sync(OPTIMIZERS["sgd"], 2).minimize(gf.reduce_sum(model.dense), model.step)
    with gf.Session(config=devices()) as session:
        session.run(gf.global_variables_initializer())
        with pytest.raises(gf.errors.DeadlineExceededError, match="1 of 2 gradients have arrived"):
            session.run(train_op, options=gf.RunOptions(timeout_in_ms=100))
        together([lambda: session.run(train_op)] * 2)
        assert session.run(model.step) == 1


def test_two_optimizers_may_share_a_global_step() -> None:
    model = Model()
    first = sync(OPTIMIZERS["sgd"], 2).minimize(gf.reduce_sum(model.dense), model.step, [model.dense])
    second = sync(OPTIMIZERS["adam"], 2).minimize(gf.reduce_sum(model.rows), model.step, [model.rows])
    with gf.Session(config=devices()) as session:
        session.run(gf.global_variables_initializer())

        def replica() -> None:
            for _ in range(5):
                session.run(first)
                session.run(second)

        together([replica, replica])
        assert session.run(model.step) == 10


def test_every_read_of_a_run_comes_after_its_round_is_known() -> None:
    model = Model()
    train_op = sync(OPTIMIZERS["adam"], 2).minimize(model.loss(model.batch), model.step)
    with gf.Session(config=devices()) as session:
        plan, _ = session.plan(train_op, [model.batch])
        parts = session._planner.partition(plan).parts
    (begin,) = [i for i in plan.instructions if i.type in BEFORE_READS]
    for device, part in parts.items():
        place = next(n for n, i in enumerate(part.instructions) if begin.name in i.name and i.type != "Send")
        variables = set(part.variables())
        readers = [n for n, i in enumerate(part.instructions) if variables.intersection(i.taken())]
        assert readers and all(n >= place for n in readers), device


def test_a_restored_checkpoint_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    def train(folder: Path, stops: Sequence[int]) -> list[Any]:
        for stop in stops:
            with gf.Graph().as_default():
                model = Model()
                optimizer = sync(OPTIMIZERS["adam"], 1)
                train_op = optimizer.minimize(model.loss(gf.cast(model.step, gf.int32)), model.step)
                hooks = [optimizer.make_session_run_hook(True), gf.train.StopAtStepHook(last_step=stop)]
                with gf.train.MonitoredTrainingSession(
                    checkpoint_dir=str(folder), hooks=hooks, save_checkpoint_steps=4, config=devices(),
                    log_step_count_steps=None, save_summaries_steps=None,
                ) as session:  # fmt: skip
                    while not session.should_stop():
                        session.run(train_op)
        with gf.Graph().as_default():
            model = Model()
            with gf.Session(config=devices()) as bare:
                gf.train.Saver().restore(bare, gf.train.latest_checkpoint(str(folder)))
                return bare.run([model.step, *model.variables])

    whole, pieces = train(tmp_path / "whole", [12]), train(tmp_path / "pieces", [3, 8, 12])
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(one, other)


# ---- TensorFlow's names ---------------------------------------------------------------------------------------------


def test_programs_written_for_tensorflow_find_what_they_use() -> None:
    model = Model()
    optimizer = sync(OPTIMIZERS["momentum"], 3, total_num_replicas=2)
    for early in (optimizer.get_chief_queue_runner, optimizer.get_init_tokens_op, lambda: optimizer.counted):
        with pytest.raises(ValueError, match=r"apply_gradients\(\)"):
            early()
    hook = optimizer.make_session_run_hook(True, num_tokens=1)
    with pytest.raises(ValueError, match=r"apply_gradients\(\)"):
        hook.begin()
    train_op = optimizer.minimize(gf.reduce_sum(model.dense), global_step=model.step, name="step")
    assert train_op.name == "step"
    assert optimizer.get_slot_names() == ["momentum"]
    assert optimizer.get_slot(model.dense, "momentum") in optimizer.variables()
    with pytest.raises(ValueError, match="Too few tokens to finish the first step: 0"):
        optimizer.get_init_tokens_op(0)
    hook.begin()
    with gf.Session(config=devices()) as session:
        session.run(gf.global_variables_initializer())
        session.run([optimizer.chief_init_op, optimizer.local_step_init_op, optimizer.get_init_tokens_op()])
        assert session.run(optimizer.ready_for_local_init_op).size == 0
        assert optimizer.get_chief_queue_runner().create_threads(session, start=True) == []


def test_promise_6_a_supervised_program_of_tensorflow_trains(tmp_path: Path) -> None:
    model = Model()
    optimizer = sync(OPTIMIZERS["sgd"], 1)
    train_op = optimizer.minimize(gf.reduce_sum(model.dense), global_step=model.step)
    runner, tokens = optimizer.get_chief_queue_runner(), optimizer.get_init_tokens_op()
    supervisor = gf.train.Supervisor(
        is_chief=True, logdir=str(tmp_path), init_op=gf.global_variables_initializer(),
        local_init_op=optimizer.chief_init_op, ready_for_local_init_op=optimizer.ready_for_local_init_op,
        global_step=model.step, summary_op=None,
    )  # fmt: skip
    session = supervisor.prepare_or_wait_for_session(config=devices())
    session.run(tokens)
    assert supervisor.start_queue_runners(session, [runner]) == []
    for _ in range(3):
        session.run(train_op)
    assert session.run(model.step) == 3
    supervisor.stop()


def test_what_cannot_be_a_round_is_refused_where_it_is_built() -> None:
    model = Model()
    optimizer = sync(OPTIMIZERS["sgd"], 2)
    with pytest.raises(ValueError, match="Global step is required to check staleness"):
        optimizer.minimize(gf.reduce_sum(model.dense))
    with pytest.raises(ValueError, match="Must supply at least one variable"):
        optimizer.apply_gradients([], model.step)
    with pytest.raises(ValueError, match="No gradients"):
        optimizer.apply_gradients([(None, model.dense)], model.step)
    with pytest.raises(ValueError, match="at least 1"):
        sync(OPTIMIZERS["sgd"], 0)


def test_replicas_that_disagree_on_their_number_are_told() -> None:
    model = Model()
    two = sync(OPTIMIZERS["sgd"], 1).minimize(gf.reduce_sum(model.dense), model.step)
    three = sync(OPTIMIZERS["sgd"], 3).minimize(gf.reduce_sum(model.dense), model.step)
    with gf.Session(config=devices()) as session:
        session.run(gf.global_variables_initializer())
        session.run(two)
        with pytest.raises(gf.errors.AbortedError, match="replicas_to_aggregate=1"):
            session.run(three)

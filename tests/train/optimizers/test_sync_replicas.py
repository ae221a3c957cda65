"""Protects synchronous training: who is in a round, that a round is applied once and whole, and that nobody hangs.

SyncReplicasOptimizer has threads as replicas here. The rounds by themselves:
tests/resources/rounds/test_sync_rounds.py. With real processes that are killed: tests/cluster/test_sync_replicas.py.
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
from graphflow._core.plan.partition import partition
from graphflow._core.plan.passes.read_order import BEFORE_READS
from tests.overdue import overdue


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with gf.Graph().as_default() as made:
        yield made


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
        quicker.wait(60)
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
        assert begun.wait(60)
        assert session.run([train_op, counted], {factor: 8.0})[1]
        quicker.set()
        thread.join(60)
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
        overdue(lambda options: session.run(train_op, options=options), "1 of 2 gradients have arrived")
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
    parts = partition(plan, "/device:CPU:0").parts
    (begin,) = [i for i in plan.instructions if i.type in BEFORE_READS]
    for device, part in parts.items():
        place = next(n for n, i in enumerate(part.instructions) if begin.name in i.name and i.type != "Send")
        variables = set(part.variables())
        readers = [n for n, i in enumerate(part.instructions) if variables.intersection(i.free_variables())]
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


def test_local_variables_may_be_initialised_after_what_replicas_share() -> None:
    """The chief is ready for local_init_op though no local variable has a value, as in TensorFlow."""
    gf.Variable(0.0, name="mine", collections=[gf.GraphKeys.LOCAL_VARIABLES])
    weight, step = gf.Variable(1.0, name="weight"), gf.train.create_global_step()
    optimizer = gf.train.SyncReplicasOptimizer(gf.train.GradientDescentOptimizer(0.1), 1, 1)
    optimizer.minimize(gf.square(weight), global_step=step)
    with gf.Session() as session:
        assert set(session.run(optimizer.ready_for_local_init_op)) == {b"weight", b"global_step"}
        session.run(gf.global_variables_initializer())
        assert not len(session.run(optimizer.ready_for_local_init_op))


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

"""Protects promise 6, as far as one process goes: what a program forgot to start is an error, never a silent hang."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.resources import store as resources


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(resources, "STALL_CHECK_SECONDS", 0.2)
    with gf.Graph().as_default() as made:
        yield made


def batches() -> Any:
    """A step that trains on batches that queue runners make."""
    (number,) = gf.train.slice_input_producer([gf.range(10)], num_epochs=None, shuffle=False, capacity=4)
    batch = gf.train.batch([gf.to_float(number)], batch_size=5, capacity=8)
    w = gf.get_variable("w", initializer=0.0)
    loss = gf.reduce_mean(gf.square(batch * w - 1.0))
    return gf.train.GradientDescentOptimizer(0.01).minimize(loss, gf.train.get_or_create_global_step())


def test_promise_6_a_queue_runner_that_was_not_started_is_named_at_the_first_run() -> None:
    train = batches()
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        with pytest.raises(gf.errors.FailedPreconditionError, match=r"queue runner.*not started") as caught:
            session.run(train)
        assert "'batch/fifo_queue'" in str(caught.value) and "start_queue_runners" in str(caught.value)
        assert "test_missing_parts.py" in str(caught.value)
        # The session is as good as before.
        coordinator = gf.train.Coordinator()
        threads = gf.train.start_queue_runners(session, coordinator)
        session.run(train)
        coordinator.request_stop()
        coordinator.join(threads)


def test_promise_6_minimize_and_a_monitored_session_suffice() -> None:
    train = batches()
    with gf.train.MonitoredTrainingSession(progress=False) as session:
        for _ in range(6):
            session.run(train)
        assert session.run("global_step:0") == 6


def test_promise_6_a_slow_queue_runner_is_waited_for() -> None:
    def slow() -> Any:
        time.sleep(1.0)
        return 7.0

    queue = gf.FIFOQueue(2, [gf.float32], [()])
    made = gf.py_func(slow, [], gf.float32)
    made.set_shape([])
    gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue([made])]))
    taken = queue.dequeue()
    with gf.Session() as session:
        coordinator = gf.train.Coordinator()
        threads = gf.train.start_queue_runners(session, coordinator)
        assert session.run(taken) == 7.0
        coordinator.request_stop()
        coordinator.join(threads)


def test_promise_6_a_queue_that_the_program_fills_itself_is_waited_for() -> None:
    queue = gf.FIFOQueue(2, [gf.float32], [()])
    put, taken = queue.enqueue([3.0]), queue.dequeue_many(2)
    with gf.Session() as session:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(session.run(taken).tolist()))
        thread.start()
        time.sleep(0.5)
        session.run(put)
        session.run(put)
        thread.join(60)
    assert results == [[3.0, 3.0]]

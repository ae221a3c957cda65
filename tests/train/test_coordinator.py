"""Protects how threads of a program stop together: coordinators, looper threads, queue runners."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf

LIMIT = 60.0


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as made:
        yield made


def until(what: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT
    while not what():
        assert time.monotonic() < limit
        time.sleep(0.001)


def started(target: Callable[[], Any], name: str = "worker") -> threading.Thread:
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread


# ---- coordinators ---------------------------------------------------------------------------------------------------


def test_a_stop_reaches_every_thread() -> None:
    coord = gf.train.Coordinator()
    threads = [started(coord.wait_for_stop) for _ in range(3)]
    assert not coord.should_stop() and not coord.wait_for_stop(0.0)
    coord.request_stop()
    assert coord.should_stop() and coord.wait_for_stop(0.0)
    coord.join(threads)
    assert coord.joined and not any(t.is_alive() for t in threads)


def fail_at_this_line() -> None:
    raise ValueError("what went wrong")


def test_the_first_error_is_raised_with_its_own_traceback() -> None:
    coord = gf.train.Coordinator()

    def work() -> None:
        with coord.stop_on_exception():
            fail_at_this_line()

    threads = [started(work), started(coord.wait_for_stop)]
    with pytest.raises(ValueError, match="what went wrong") as caught:
        coord.join(threads)
    assert "fail_at_this_line" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    with pytest.raises(ValueError, match="what went wrong"):
        coord.raise_requested_exception()
    with pytest.raises(KeyError):
        coord.request_stop(KeyError("after the join it is raised at once"))
    coord.clear_stop()
    assert not coord.should_stop() and not coord.joined
    coord.raise_requested_exception()


def test_an_error_may_come_as_exc_info_and_nonsense_is_an_error() -> None:
    coord = gf.train.Coordinator()
    try:
        fail_at_this_line()
    except ValueError:
        coord.request_stop(sys.exc_info())
    coord.request_stop(KeyError("too late"))
    with pytest.raises(ValueError, match="what went wrong"):
        coord.join()
    other = gf.train.Coordinator()
    other.request_stop("nonsense")
    with pytest.raises(ValueError, match="'nonsense', which is neither"):
        other.join()


def test_the_end_of_input_is_a_clean_stop() -> None:
    coord = gf.train.Coordinator()
    coord.request_stop(gf.errors.OutOfRangeError(None, None, "the end"))
    coord.join()
    coord = gf.train.Coordinator(clean_stop_exception_types=(StopIteration,))
    coord.request_stop(StopIteration())
    coord.join()
    coord = gf.train.Coordinator(clean_stop_exception_types=(StopIteration,))
    coord.request_stop(gf.errors.OutOfRangeError(None, None, "the end"))
    with pytest.raises(gf.errors.OutOfRangeError):
        coord.join()


def test_who_does_not_stop_in_time_is_named() -> None:
    coord, go_on = gf.train.Coordinator(), threading.Event()
    thread = started(lambda: go_on.wait(LIMIT), "the sleeper")
    coord.register_thread(thread)
    coord.request_stop()
    with pytest.raises(RuntimeError, match="still running: the sleeper"):
        coord.join(stop_grace_period_secs=0.02)
    coord.join([thread], stop_grace_period_secs=0.02, ignore_live_threads=True)
    go_on.set()
    thread.join(LIMIT)


def test_looper_threads() -> None:
    coord, calls = gf.train.Coordinator(), [0, 0]

    def count(place: int, step: int = 1) -> None:
        calls[place] += step

    gf.train.LooperThread.loop(coord, 0.001, count, args=(0,))
    gf.train.LooperThread.loop(coord, None, count, args=(1,), kwargs={"step": 2})
    until(lambda: calls[0] > 3 and calls[1] > 3)
    coord.request_stop()
    coord.join()
    failing = gf.train.Coordinator()
    gf.train.LooperThread.loop(failing, 0.001, fail_at_this_line)
    with pytest.raises(ValueError, match="what went wrong"):
        failing.join()
    with pytest.raises(ValueError, match="must be a Coordinator"):
        gf.train.LooperThread(None, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'target'"):
        gf.train.LooperThread(coord, 1.0, args=(1,))


# ---- queue runners --------------------------------------------------------------------------------------------------


def counting(count: int | None) -> tuple[Any, Any]:
    """A queue and an enqueue of 1, 2, ... up to `count`."""
    queue = gf.FIFOQueue(3, gf.int64, ())
    number = gf.Variable(np.int64(0), name="number")
    value = number.count_up_to(count) if count else number.assign_add(1)
    return queue, queue.enqueue(value)


def test_a_queue_is_filled_until_the_coordinator_stops() -> None:
    queue, put = counting(None)
    gf.train.add_queue_runner(gf.train.QueueRunner(queue, [put] * 2))
    batch = queue.dequeue_many(7)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        coord = gf.train.Coordinator()
        threads = gf.train.start_queue_runners(session, coord)
        assert [t.name for t in threads] == [
            "QueueRunnerThread-fifo_queue-fifo_queue_enqueue",
            "QueueRunnerThread-fifo_queue-fifo_queue_enqueue",
            "QueueRunnerThread-fifo_queue-close_on_stop",
        ]
        assert all(t.daemon for t in threads)
        assert gf.train.start_queue_runners(session, coord) == []  # they run
        seen = np.concatenate([session.run(batch) for _ in range(3)])
        assert sorted(seen)[:7] == list(range(1, 8))
        coord.request_stop()
        coord.join(threads)
        assert session.run(queue.is_closed())


def test_the_end_of_input_closes_the_queue_when_all_threads_have_met_it() -> None:
    queue, put = counting(10)
    runner = gf.train.QueueRunner(queue, [put] * 3)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        threads = runner.create_threads(session, start=True)
        taken = [*session.run(queue.dequeue_many(8)), *session.run(queue.dequeue_up_to(8))]
        assert sorted(taken) == list(range(10))
        with pytest.raises(gf.errors.OutOfRangeError):
            session.run(queue.dequeue())
        for thread in threads:
            thread.join(LIMIT)
        assert runner.exceptions_raised == []


def test_an_error_of_an_enqueue_reaches_the_main_thread_with_its_line() -> None:
    queue = gf.FIFOQueue(3, gf.float32, ())
    value = gf.reshape(gf.py_func(fail_at_this_line, [], gf.float32), [])
    gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue(value)]))
    taken = queue.dequeue()
    with gf.Session() as session:
        coord = gf.train.Coordinator()
        gf.train.start_queue_runners(session, coord)
        with pytest.raises(gf.errors.OutOfRangeError):
            session.run(taken)  # the queue was closed by the stop
        with pytest.raises(gf.errors.InvalidArgumentError, match="what went wrong") as caught:
            coord.join()
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert "_run" in names
        assert "test_coordinator.py" in caught.value.message


def test_without_a_coordinator_the_runner_keeps_the_errors() -> None:
    queue = gf.FIFOQueue(3, gf.float32, ())
    value = gf.reshape(gf.py_func(fail_at_this_line, [], gf.float32), [])
    runner = gf.train.QueueRunner(queue, [queue.enqueue(value)])
    with gf.Session() as session:
        for thread in runner.create_threads(session, start=True):
            thread.join(LIMIT)
        assert [type(error) for error in runner.exceptions_raised] == [gf.errors.InvalidArgumentError]


def test_other_errors_can_mean_the_end_of_input() -> None:
    queue = gf.FIFOQueue(3, gf.float32, ())
    source = gf.FIFOQueue(3, gf.float32, (), name="source")
    ends = (gf.errors.OutOfRangeError, gf.errors.CancelledError)
    runner = gf.train.QueueRunner(queue, [queue.enqueue(source.dequeue())], queue_closed_exception_types=ends)
    assert runner.queue_closed_exception_types == ends
    with gf.Session() as session:
        threads = runner.create_threads(session, start=True)
        until(lambda: bool(session.store.waiting()))
        session.close()
        for thread in threads:
            thread.join(LIMIT)
        assert runner.exceptions_raised == []


def test_as_a_message_and_back() -> None:
    queue, put = counting(None)
    message = gf.train.QueueRunner(queue, [put]).to_proto()
    assert message.queue_name == "fifo_queue" and list(message.queue_closed_exception_types) == [11]
    runner = gf.train.QueueRunner.from_proto(type(message).FromString(message.SerializeToString()))
    assert runner.enqueue_ops == [put] and runner.name == "fifo_queue"
    assert runner.queue_closed_exception_types == (gf.errors.OutOfRangeError,)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        coord = gf.train.Coordinator()
        runner.create_threads(session, coord, start=True)
        assert session.run(queue.dequeue()) == 1
        coord.request_stop()
        coord.join()


def test_wrong_use_is_refused() -> None:
    queue, put = counting(None)
    with pytest.raises(ValueError, match="Must provide queue"):
        gf.train.QueueRunner(queue, [])
    with pytest.raises(TypeError, match=r"tuple of gf\.errors types"):
        gf.train.QueueRunner(queue, [put], queue_closed_exception_types=(ValueError,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="No default session"):
        gf.train.start_queue_runners()
    with pytest.raises(TypeError, match=r"must be a gf\.Session"):
        gf.train.start_queue_runners(sess=5)
    assert gf.train.queue_runner.QueueRunner is gf.train.QueueRunner


def test_a_runner_has_the_errors_of_its_message_in_their_order() -> None:
    with gf.Graph().as_default():
        queue = gf.FIFOQueue(1, gf.float32)
        ends = (gf.errors.OutOfRangeError, gf.errors.CancelledError)
        for wanted in (ends, ends[::-1]):
            runner = gf.train.QueueRunner(queue, [queue.enqueue(1.0)], queue_closed_exception_types=wanted)
            read = gf.train.QueueRunner.from_proto(runner.to_proto())
            assert read.queue_closed_exception_types == wanted

"""Protects what a checkpoint holds of queues: saved and put back they go on, and states that cannot be are refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.resources.queue_config import QueueConfig
from graphflow._core.resources.queue_kinds import KINDS
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext

LIMIT = 60.0
TIMEOUT = gf.RunOptions(timeout_in_ms=int(LIMIT * 1000))


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as made:
        yield made


def fill(kind: str, session: gf.Session) -> tuple[Any, Any]:
    if kind == "random":
        queue: Any = gf.RandomShuffleQueue(50, 1, gf.int32, (), seed=3, name="q")
        put = queue.enqueue_many([list(range(20))])
    elif kind == "padding":
        queue = gf.PaddingFIFOQueue(50, [gf.string], [(None,)], name="q")
        put = gf.group(queue.enqueue([["a", "b"]]), queue.enqueue([["c"]]), queue.enqueue([[]]))
    else:
        queue = gf.PriorityQueue(50, gf.string, [()], name="q")
        put = queue.enqueue_many([[3, 1, 2, 1], ["c", "a", "b", "A"]])
    return put, queue.dequeue()


@pytest.mark.parametrize("kind", ["random", "padding", "priority"])
def test_saved_and_put_back_it_goes_on(kind: str) -> None:
    def take(session: gf.Session) -> Any:
        found = session.run(taken, options=TIMEOUT)
        return found.tolist() if hasattr(found, "tolist") else [np.asarray(f).tolist() for f in found]

    with gf.Session() as first, gf.Session() as second, gf.Session() as third:
        put, taken = fill(kind, first)
        first.run(put)
        take(first)
        state = first.store.get_state()["queue/q"]
        expected = [take(first), take(first)]
        second.store.set_state({"queue/q": state})  # before it is made
        assert [take(second), take(second)] == expected
        third.run(put)
        third.store.set_state({"queue/q": state})  # in place of what is there
        assert [take(third), take(third)] == expected


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_states_that_cannot_be_are_refused(kind: str) -> None:
    config = QueueConfig(kind, (gf.int64, gf.float32), ((), (2,)), 3)
    queue = KINDS[kind]("q", config)
    run: Any = RunContext(ResourceStore())
    queue.enqueue(run, [(np.int64(5), np.zeros(2, np.float32))])
    good = dict(queue.get_state())
    queue.set_state(good)
    for change in (
        {"size": np.array(4)}, {"size": np.array(-1)}, {"size": np.array([1])}, {"closed": np.array(1)},
        {"0": np.zeros(1, np.float32)}, {"1": np.zeros((1, 3), np.float32)}, {"1": np.zeros((1, 2))},
        {"waiting": np.array(-1)}, {"waiting": np.array(2)}, {"waiting": np.array(0.5)},
        {"0": np.zeros(4, np.int64), "1": np.zeros((4, 2), np.float32), "size": np.array(4)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"state|fit|Shape"):
            queue.set_state(good | change)
    with pytest.raises(ValueError, match="state"):
        queue.set_state({})
    assert queue.size == 1


@pytest.mark.parametrize("capacity", [3, 10])
def test_restoring_while_a_runner_waits_goes_on_from_the_saved_state(capacity: int) -> None:
    """What the runner still had to put is saved; what it has to put when the state comes back is dropped."""
    number = gf.train.input_producer(list(range(20)), shuffle=False, capacity=capacity).dequeue()
    (runner,) = gf.get_collection(gf.GraphKeys.QUEUE_RUNNERS)

    def take(session: gf.Session, count: int) -> list[int]:
        return [int(session.run(number, options=TIMEOUT)) for _ in range(count)]

    def settled(session: gf.Session) -> None:
        full, until = runner.queue.size(), time.monotonic() + LIMIT
        while session.run(full) < capacity and time.monotonic() < until:
            time.sleep(0.01)

    expected, state = [(5 + n) % 20 for n in range(50)], {}
    with gf.Session() as first, gf.Session() as second:
        for session, rounds in ((first, 2), (second, 1)):
            coord = gf.train.Coordinator()
            if session is second:
                second.store.set_state(state)
            threads = runner.create_threads(session, coord, daemon=True, start=True)
            if session is first:
                assert take(first, 5) == list(range(5))
                settled(first)
                state = first.store.get_state()
                assert take(first, 7) == expected[:7]
            for _ in range(rounds):
                if session is first:
                    settled(first)
                    first.store.set_state(state)
                assert take(session, 50) == expected
            coord.request_stop()
            session.run(runner.cancel_op)
            coord.join(threads, stop_grace_period_secs=LIMIT)


def test_what_is_owed_is_dropped_where_the_queue_is_cancelled_and_counts_for_those_who_close() -> None:
    config = QueueConfig("FIFOQueue", (gf.int64,), ((),), 2)
    state = {"size": np.array(4), "waiting": np.array(2), "closed": np.array(False), "0": np.arange(4)}
    with gf.Session() as session:
        run = RunContext(session.store)
        for cancel in (True, False):
            queue = KINDS["FIFOQueue"]("q", config)
            queue.set_state(state)
            assert queue.size == 2 and queue.get_state()["size"] == 4
            closer = threading.Thread(target=queue.close, args=(run, cancel))
            closer.start()
            if cancel:
                closer.join(LIMIT)
            left = [int(queue.dequeue(run, 1)[0][0]) for _ in range(2 if cancel else 4)]
            closer.join(LIMIT)
            assert left == list(range(2 if cancel else 4)) and queue.closed
            with pytest.raises(gf.errors.OutOfRangeError):
                queue.dequeue(run, 1)


def test_what_a_waiting_batch_has_taken_is_saved_too() -> None:
    queue = gf.FIFOQueue(2, gf.int32, (), name="q")
    with gf.Session() as session:
        session.run(queue.enqueue_many([[1, 2]]))
        batch = queue.dequeue_many(3)

        def wait() -> None:
            with pytest.raises(gf.errors.CancelledError):
                session.run(batch)

        waiting = threading.Thread(target=wait)
        waiting.start()
        limit = time.monotonic() + LIMIT
        while not session.store.waiting():
            assert time.monotonic() < limit
            time.sleep(0.001)
        state = session.store.get_state()["queue/q"]
        assert (int(state["size"]), state["0"].tolist()) == (2, [1, 2])
    waiting.join(LIMIT)
    assert not waiting.is_alive()


def test_a_store_that_is_closed_lets_nobody_wait() -> None:
    store = ResourceStore()
    store.close()
    queue = KINDS["FIFOQueue"]("q", QueueConfig("FIFOQueue", (gf.float32,), ((),), 3))
    run = type("Run", (), {"store": store, "pausable": False})()
    with pytest.raises(gf.errors.CancelledError):
        queue.dequeue(run, 1)

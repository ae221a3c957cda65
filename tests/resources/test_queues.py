"""Protects queues: order, batches, closing, errors, who waits and how long, what a waiting run keeps from others."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.overdue import overdue

PROJECT = Path(__file__).resolve().parents[2]
LIMIT = 60.0
TIMEOUT = gf.RunOptions(timeout_in_ms=int(LIMIT * 1000))


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as made:
        yield made


@pytest.fixture
def session() -> Iterator[gf.Session]:
    with gf.Session() as made:
        yield made


class Behind:
    """A run in a thread of its own, and what became of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self._call = call
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self.result = self._call()
        except Exception as error:
            self.result = error

    def waits(self, session: gf.Session, count: int = 1) -> Behind:
        """Returns when `count` runs of the session wait for something."""
        until(lambda: len(session.store.waiting()) == count)
        return self

    def end(self) -> Any:
        self._thread.join(LIMIT)
        assert not self._thread.is_alive()
        return self.result


def until(what: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT
    while not what():
        assert time.monotonic() < limit
        time.sleep(0.001)


# ---- what goes in comes out -----------------------------------------------------------------------------------------


def test_first_in_first_out(session: gf.Session) -> None:
    queue = gf.FIFOQueue(10, [gf.int32, gf.string], [(), (1,)])
    session.run(queue.enqueue([1, ["a"]]))
    session.run(queue.enqueue_many([[2, 3], [["b"], ["c"]]]))
    assert session.run(queue.size()) == 3
    first = session.run(queue.dequeue())
    assert (first[0], first[1].tolist()) == (1, [b"a"])
    numbers, letters = session.run(queue.dequeue_many(2))
    assert (numbers.tolist(), letters.tolist()) == ([2, 3], [[b"b"], [b"c"]])


def test_names_make_elements_dictionaries(session: gf.Session) -> None:
    queue = gf.FIFOQueue(10, [gf.float32, gf.int32], [(), ()], names=["x", "y"])
    session.run(queue.enqueue({"y": 2, "x": 1.0}))
    session.run(queue.enqueue_many({"x": [3.0], "y": [4]}))
    assert session.run(queue.dequeue()) == {"x": 1.0, "y": 2}
    assert session.run(queue.dequeue_many(1))["y"].tolist() == [4]


def test_padding_fills_up_to_the_largest_of_the_batch(session: gf.Session) -> None:
    queue = gf.PaddingFIFOQueue(10, [gf.float32, gf.string], [(None, 2), (None,)])
    session.run(queue.enqueue([[[1.0, 2.0]], ["a", "b"]]))
    session.run(queue.enqueue([[[3.0, 4.0], [5.0, 6.0]], []]))
    numbers, texts = session.run(queue.dequeue_many(2))
    assert numbers.tolist() == [[[1.0, 2.0], [0.0, 0.0]], [[3.0, 4.0], [5.0, 6.0]]]
    assert texts.tolist() == [[b"a", b"b"], [b"", b""]]


def test_priority_and_then_the_order_of_coming(session: gf.Session) -> None:
    queue = gf.PriorityQueue(10, gf.string, [()])
    session.run(queue.enqueue_many([[5, 1, 5, 3], ["5a", "1", "5b", "3"]]))
    priorities, texts = session.run(queue.dequeue_many(4))
    assert (priorities.tolist(), texts.tolist()) == ([1, 3, 5, 5], [b"1", b"3", b"5a", b"5b"])


def test_shuffled_as_tensorflow_shuffles(session: gf.Session) -> None:
    queue = gf.RandomShuffleQueue(100, 2, gf.int32, (), seed=7)
    session.run(queue.enqueue_many([list(range(20))]))
    # TensorFlow 1.15.5 gives these.
    assert session.run(queue.dequeue()) == 7
    assert session.run(queue.dequeue_many(10)).tolist() == [4, 19, 15, 0, 8, 10, 11, 14, 6, 16]
    session.run(queue.close())
    assert session.run(queue.dequeue_up_to(20)).tolist() == [1, 12, 3, 17, 5, 2, 18, 13, 9]


def test_what_is_put_is_a_copy(session: gf.Session) -> None:
    queue = gf.FIFOQueue(10, gf.float32, (2,))
    x = gf.placeholder(gf.float32, [2])
    v = gf.Variable([5.0, 6.0])
    session.run(v.initializer)
    fed = np.array([1.0, 2.0], np.float32)
    session.run(queue.enqueue(x), {x: fed})
    fed[:] = 0.0
    session.run(queue.enqueue(v))
    session.run(v.assign_add([1.0, 1.0]))
    assert session.run(queue.dequeue_many(2)).tolist() == [[1.0, 2.0], [5.0, 6.0]]


def test_a_shared_name_is_one_queue_and_its_makers_agree(session: gf.Session) -> None:
    first = gf.FIFOQueue(10, gf.float32, (), shared_name="both")
    second = gf.FIFOQueue(10, gf.float32, (), shared_name="both")
    session.run(first.enqueue(1.0))
    assert session.run(second.size()) == 1
    other = gf.FIFOQueue(11, gf.float32, (), shared_name="both")
    with pytest.raises(gf.errors.InvalidArgumentError, match="'both' has capacity 10, but 11"):
        session.run(other.size())


def test_from_list_chooses_when_it_runs(session: gf.Session) -> None:
    queues = [gf.FIFOQueue(10, gf.float32, (), name=name) for name in "ab"]
    which = gf.placeholder(gf.int32, [])
    chosen = gf.QueueBase.from_list(which, queues)
    session.run(chosen.enqueue(3.0), {which: 1})
    assert session.run([q.size() for q in queues]) == [0, 1]
    assert session.run(chosen.dequeue(), {which: 1}) == 3.0


def test_static_shapes_and_names() -> None:
    queue = gf.FIFOQueue(10, gf.float32, (3,))
    batch = queue.dequeue_many(4)
    assert (queue.dequeue().shape, batch.shape) == ([3], [4, 3])
    assert queue.dequeue_up_to(4).shape.as_list() == [None, 3]
    assert queue.dequeue_many(gf.placeholder(gf.int32, [])).shape.as_list() == [None, 3]
    assert (batch.op.name, batch.op.type) == ("fifo_queue_DequeueMany", "QueueDequeueManyV2")
    put = queue.enqueue([[1.0, 2.0, 3.0]])
    assert (put.name, put.inputs[1].name) == ("fifo_queue_enqueue", "fifo_queue_enqueue/component_0:0")


# ---- closing --------------------------------------------------------------------------------------------------------


def test_a_closed_queue_gives_what_it_has(session: gf.Session) -> None:
    queue = gf.FIFOQueue(10, gf.float32, ())
    session.run(queue.enqueue_many([[1.0, 2.0, 3.0]]))
    assert not session.run(queue.is_closed())
    session.run(queue.close())
    assert session.run(queue.is_closed())
    with pytest.raises(gf.errors.CancelledError, match="is closed"):
        session.run(queue.enqueue(4.0))
    with pytest.raises(
        gf.errors.OutOfRangeError, match=r"insufficient elements \(requested 4, current size 3\)"
    ):
        session.run(queue.dequeue_many(4))
    assert session.run(queue.dequeue()) == 1.0
    assert session.run(queue.dequeue_up_to(4)).tolist() == [2.0, 3.0]
    with pytest.raises(gf.errors.OutOfRangeError, match=r"requested 1, current size 0"):
        session.run(queue.dequeue())
    with pytest.raises(gf.errors.CancelledError, match="already closed"):
        session.run(queue.close())
    session.run(queue.close(cancel_pending_enqueues=True))


def test_closing_waits_for_the_enqueues_that_wait(session: gf.Session) -> None:
    queue = gf.FIFOQueue(1, gf.float32, ())
    put, take = queue.enqueue(1.0), queue.dequeue()
    session.run(put)
    pending = Behind(lambda: session.run(put)).waits(session)
    closing = Behind(lambda: session.run(queue.close())).waits(session, 2)
    assert session.run([take, take]) == [1.0, 1.0]
    assert pending.end() is None and closing.end() is None
    assert session.run(take) == 1.0
    with pytest.raises(gf.errors.OutOfRangeError):
        session.run(take)


def test_closing_can_end_the_enqueues_that_wait(session: gf.Session) -> None:
    queue = gf.FIFOQueue(2, gf.float32, ())
    pending = Behind(lambda: session.run(queue.enqueue_many([[1.0, 2.0, 3.0]]))).waits(session)
    session.run(queue.close(cancel_pending_enqueues=True))
    assert isinstance(pending.end(), gf.errors.CancelledError)
    assert session.run(queue.dequeue_up_to(5)).tolist() == [1.0, 2.0]  # those that had room stay


def test_closing_ends_a_dequeue_that_waits_and_gives_back_what_it_took(session: gf.Session) -> None:
    queue = gf.FIFOQueue(2, gf.float32, ())
    session.run(queue.enqueue(1.0))
    waiting = Behind(lambda: session.run(queue.dequeue_many(3))).waits(session)
    session.run(queue.close())
    assert isinstance(waiting.end(), gf.errors.OutOfRangeError)
    assert session.run(queue.dequeue()) == 1.0


# ---- waiting --------------------------------------------------------------------------------------------------------


def test_batches_larger_than_the_queue(session: gf.Session) -> None:
    queue = gf.FIFOQueue(2, gf.int32, ())
    taking = Behind(lambda: session.run(queue.dequeue_many(10))).waits(session)
    session.run(queue.enqueue_many([list(range(11))]), options=TIMEOUT)
    assert taking.end().tolist() == list(range(10))
    assert session.run(queue.dequeue()) == 10


def test_fifty_runs_that_wait_and_one_that_feeds_them(session: gf.Session) -> None:
    queue = gf.FIFOQueue(1000, gf.int32, ())
    take, number = queue.dequeue(), gf.placeholder(gf.int32, [])
    put = queue.enqueue(number)
    waiting = [Behind(lambda: session.run(take)) for _ in range(25)]
    waiting += [Behind(lambda: session.run(take, options=TIMEOUT)) for _ in range(25)]  # these on the pool
    waiting[-1].waits(session, 50)
    for value in range(50):
        session.run(put, {number: value}, options=TIMEOUT)
    assert sorted(run.end() for run in waiting) == list(range(50))


def test_requests_are_met_in_the_order_in_which_they_came(session: gf.Session) -> None:
    queue = gf.FIFOQueue(10, gf.int32, ())
    many, one = queue.dequeue_many(3), queue.dequeue()
    first = Behind(lambda: session.run(many)).waits(session)
    second = Behind(lambda: session.run(one)).waits(session, 2)
    session.run(queue.enqueue_many([[1, 2, 3, 4]]))
    assert first.end().tolist() == [1, 2, 3]
    assert second.end() == 4


def test_the_deadline_names_op_queue_and_what_is_missing(session: gf.Session) -> None:
    queue = gf.FIFOQueue(4, gf.float32, (), name="prices")
    session.run(queue.enqueue(1.0))
    take, put = queue.dequeue_many(3, name="take"), queue.enqueue_many([[1.0] * 9], name="put")
    overdue(lambda options: session.run(take, options=options), "'take'.*3 elements of FIFOQueue 'prices'")
    until(lambda: session.run(queue.size()) == 1)  # it gives back what it had taken
    overdue(
        lambda options: session.run(put, options=options), "'put'.*room in FIFOQueue 'prices', which holds"
    )
    with gf.Session(config=gf.ConfigProto(operation_timeout_in_ms=30)) as other:
        for _ in range(3):
            with pytest.raises(gf.errors.DeadlineExceededError):
                other.run(take)
            overdue(lambda options: other.run(take, options=options), "'prices', which holds 0 of at most 4")
        assert other.run(put.inputs[1]).tolist() == [1.0] * 9


@pytest.mark.parametrize("options", [None, TIMEOUT])
def test_closing_the_session_ends_what_waits(options: Any) -> None:
    queue = gf.FIFOQueue(4, gf.float32, ())
    session = gf.Session()
    waiting = Behind(lambda: session.run(queue.dequeue(), options=options)).waits(session)
    session.close()
    error = waiting.end()
    assert isinstance(error, gf.errors.CancelledError) and "session was closed" in error.message


INTERRUPTED = """
import os, signal, threading, time
import graphflow as gf

queue = gf.FIFOQueue(4, gf.float32, ())
take = queue.dequeue()
signal.signal(signal.SIGINT, signal.default_int_handler)  # Who runs tests in the background has it ignored.
sent = []

def interrupt():
    while not session.store.waiting():
        time.sleep(0.01)
    sent.append(True)
    os.kill(os.getpid(), signal.SIGINT)

with gf.Session() as session:
    try:
        threading.Thread(target=interrupt).start()
        %s
        session.run(take%s)
    except KeyboardInterrupt:
        print("interrupted", bool(sent))
    session.run(queue.enqueue(1.0))
    print(session.run(take))
"""


UNNOTICED = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])"
"""Then another thread gets the signal, as one that comes just before a wait: nothing wakes the one that waits."""


@pytest.mark.parametrize("before", ["", UNNOTICED], ids=["", "unnoticed"])
@pytest.mark.parametrize(
    "options", ["", ", options=gf.RunOptions(timeout_in_ms=200_000)"], ids=["", "with a deadline"]
)
def test_control_c_ends_what_waits_and_leaves_the_session_usable(options: str, before: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED % (before, options)],
        capture_output=True, text=True, timeout=100, check=False,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
    )  # fmt: skip
    assert done.stdout.split() == ["interrupted", "True", "1.0"], done.stderr


# ---- within one run, and beside others ------------------------------------------------------------------------------


def test_within_a_run_the_op_that_was_built_first_goes_first() -> None:
    with gf.Session() as session:
        queue = gf.FIFOQueue(1, gf.float32, ())
        put, take = queue.enqueue(7.0), queue.dequeue()
        for _ in range(3):
            assert session.run([take, put], options=TIMEOUT)[0] == 7.0
        later = [queue.dequeue(), queue.enqueue(7.0)]
        assert (
            session.run(later, options=TIMEOUT)[0] == 7.0
        )  # It waits, and what it waits for begins beside it.


def test_a_control_dependency_orders_them() -> None:
    queue = gf.FIFOQueue(1, gf.float32, ())
    put = queue.enqueue(7.0)
    with gf.control_dependencies([put]):
        take = queue.dequeue()
    with gf.Session() as session:
        assert session.run(take) == 7.0


@pytest.mark.parametrize("tier", ["never", "always"])
def test_a_step_that_waits_for_its_input_lets_others_update(tier: str) -> None:
    queue = gf.FIFOQueue(4, gf.float32, (3,))
    v = gf.Variable([1.0, 2.0, 3.0])
    x = queue.dequeue()
    with gf.control_dependencies([x]):
        step = v.assign_add(gf.tanh(x) * 2.0 + gf.exp(x) - gf.sqrt(x))
    double = v.assign(v * 2.0)
    with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        session.run(v.initializer)
        value = session.run(v)
        for _ in range(3):
            waiting = Behind(lambda: session.run(step)).waits(session)
            session.run(double)
            assert session.store.begin_in_place()  # the run that waits does not count
            session.store.end_in_place()
            session.run(queue.enqueue([[0.5, 1.0, 1.5]]))
            fed = np.array([0.5, 1.0, 1.5])
            value = value * 2.0 + np.tanh(fed) * 2.0 + np.exp(fed) - np.sqrt(fed)
            np.testing.assert_allclose(waiting.end(), value, rtol=1e-6)
        np.testing.assert_allclose(session.run(v), value, rtol=1e-6)


def test_a_view_of_a_variable_stays_as_it_was_while_its_run_waits() -> None:
    queue = gf.FIFOQueue(4, gf.float32, ())
    v = gf.Variable([1.0, 2.0, 3.0, 4.0])
    view = gf.reshape(v, [2, 2])
    with gf.control_dependencies([view]):
        x = queue.dequeue()
    with gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        session.run(v.initializer)
        for number in range(3):
            waiting = Behind(lambda: session.run([view, x])).waits(session)
            session.run(v.assign_add(gf.ones([4])))
            session.run(queue.enqueue(1.0))
            assert waiting.end()[0].tolist() == [[1.0 + number, 2.0 + number], [3.0 + number, 4.0 + number]]


def test_what_lies_between_the_waits_becomes_compiled() -> None:
    queue = gf.FIFOQueue(10, gf.float32, (64,))
    results = gf.FIFOQueue(10, gf.float32, (), name="results")
    x = queue.dequeue_up_to(3)
    loss = gf.reduce_sum(gf.tanh(x) * gf.exp(x) + gf.sqrt(gf.abs(x)))
    put = results.enqueue(loss)
    rows = np.random.default_rng(0).standard_normal([8, 64], np.float32)
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        session.run(queue.enqueue_many([rows]))
        session.run(queue.close())
        for _ in range(3):  # 3, 3 and the last 2: another shape
            session.run(put)
        found = session.run(results.dequeue_many(3))
        assert "compiled for" in session.explain(put)
    expected = [np.sum(np.tanh(r) * np.exp(r) + np.sqrt(np.abs(r))) for r in (rows[:3], rows[3:6], rows[6:])]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_two_devices_one_of_which_waits() -> None:
    config = gf.ConfigProto(device_count={"CPU": 2})
    with gf.device("/cpu:1"):
        queue = gf.FIFOQueue(4, gf.float32, ())
        taken = queue.dequeue()
    with gf.device("/cpu:0"):
        put = queue.enqueue(gf.constant(2.0) * 3.0)
        result = taken + 1.0
    with gf.Session(config=config) as session:
        waiting = Behind(lambda: session.run(result)).waits(session)
        session.run(put, options=TIMEOUT)
        assert waiting.end() == 7.0


def test_in_a_loop_and_in_a_branch(session: gf.Session) -> None:
    queue = gf.FIFOQueue(20, gf.int32, ())
    session.run(queue.enqueue_many([list(range(10))]))
    total = gf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + queue.dequeue()), [0, 0])[1]
    assert session.run(total, options=TIMEOUT) == 0 + 1 + 2 + 3 + 4
    flag = gf.placeholder(gf.bool, [])
    put = gf.cond(flag, lambda: queue.enqueue(9), gf.no_op)
    session.run(put, {flag: True})
    session.run(put, {flag: False})
    assert session.run(queue.size()) == 6


# ---- what is wrong --------------------------------------------------------------------------------------------------


def test_wrong_use_is_refused_where_it_is_built() -> None:
    queue = gf.FIFOQueue(3, gf.float32, (), name="q")
    named = gf.FIFOQueue(3, gf.float32, (), names=["x"])
    for call, error, told in [
        (lambda: queue.enqueue([[1.0]]), ValueError, "component 0 of the queue 'q'"),
        (lambda: queue.enqueue([1.0, 2.0]), ValueError, "has 1 components, but 2 are given"),
        (lambda: queue.enqueue(gf.constant(1)), ValueError, "dtype float32"),
        (lambda: queue.enqueue({"x": 1.0}), ValueError, "must have names"),
        (lambda: queue.enqueue_many(1.0), ValueError, "is a scalar"),
        (lambda: queue.dequeue_many(-1), ValueError, "-1 elements"),
        (lambda: named.enqueue(1.0), ValueError, "enqueue a dictionary"),
        (lambda: named.enqueue({"y": 1.0}), ValueError, "do not match names"),
        (lambda: gf.FIFOQueue(3, gf.float32, [(None,)]), ValueError, "fully defined"),
        (lambda: gf.FIFOQueue(3, [gf.float32] * 2, [()]), ValueError, "same length"),
        (lambda: gf.FIFOQueue(3, gf.float32, 5), TypeError, "shapes must be"),
        (lambda: gf.FIFOQueue(3, gf.float32, names=["a", "b"]), ValueError, "List of names"),
        (lambda: gf.PaddingFIFOQueue(3, gf.float32, (None,)), ValueError, "list of shapes"),
        (lambda: gf.RandomShuffleQueue(3, 3, gf.float32), ValueError, "must be >= 0 and < capacity"),
        (lambda: gf.QueueBase.from_list(0, []), TypeError, "list of queues"),
        (lambda: gf.QueueBase.from_list(0, [queue, gf.FIFOQueue(3, gf.int32)]), TypeError, "dtypes"),
    ]:
        with pytest.raises(error, match=told):
            call()


def test_wrong_values_are_refused_when_they_come(session: gf.Session) -> None:
    queue = gf.FIFOQueue(3, [gf.float32, gf.float32], [(2,), ()], name="q")
    free = gf.FIFOQueue(3, gf.float32)
    x, y, n = gf.placeholder(gf.float32), gf.placeholder(gf.float32), gf.placeholder(gf.int32)
    message = r"'q_enqueue'.*component 0. Expected \[2\], got \[3\](?s:.*)test_queues.py"
    with pytest.raises(gf.errors.InvalidArgumentError, match=message):
        session.run(queue.enqueue([x, y]), {x: [1.0, 2.0, 3.0], y: 1.0})
    many = queue.enqueue_many([x, y])
    with pytest.raises(gf.errors.InvalidArgumentError, match="same size in the first axis"):
        session.run(many, {x: [[1.0, 2.0]], y: [1.0, 2.0]})
    with pytest.raises(gf.errors.InvalidArgumentError, match="Cannot dequeue -3"):
        session.run(queue.dequeue_many(n), {n: -3})
    with pytest.raises(gf.errors.InvalidArgumentError, match="specified shapes"):
        session.run(free.dequeue_many(1))
    assert session.run(queue.size()) == 0

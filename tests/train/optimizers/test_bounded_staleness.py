"""Protects promise 27: the staleness of asynchronous updates is recorded for each, and can be bounded."""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.common.request_ids import RequestId
from graphflow._core.resources.staleness import Staleness
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with gf.Graph().as_default() as found:
        yield found


class Steps:
    """Steps of several workers, one event after the other."""

    def __init__(self, limit: int | None, waits: bool = False) -> None:
        self.steps = Staleness("steps", limit, waits)
        self.store = ResourceStore()

    def begin(self) -> tuple[RunContext, Any]:
        run = RunContext(self.store, time.monotonic() + 0.05)
        return run, self.steps.begin(run)

    def admit(self, step: tuple[RunContext, Any]) -> tuple[int, bool]:
        return self.steps.admit(*step)

    def done(self, step: tuple[RunContext, Any]) -> None:
        self.steps.done(step[1])


def test_staleness_is_what_others_did_since_the_step_began() -> None:
    steps = Steps(None)
    slow, first, second = steps.begin(), steps.begin(), steps.begin()
    assert steps.admit(first) == (0, True)
    steps.done(first)
    assert steps.admit(second) == (1, True)
    third = steps.begin()  # The second update may be half in place.
    assert steps.admit(third) == (1, True)
    steps.done(second)
    steps.done(third)
    assert steps.admit(slow) == (3, True)
    steps.done(slow)
    assert steps.admit(steps.begin()) == (0, True)


def test_promise_27_what_is_too_stale_is_dropped() -> None:
    steps = Steps(1)
    slow = steps.begin()
    for expected in (0, 0):
        step = steps.begin()
        assert steps.admit(step) == (expected, True)
        steps.done(step)
    assert steps.admit(slow) == (2, False)
    assert steps.steps.dropped == 1
    assert steps.admit(steps.begin()) == (0, True)


def test_promise_27_the_quick_wait_for_the_slow() -> None:
    steps = Steps(1, waits=True)
    slow, quick = steps.begin(), steps.begin()
    assert steps.admit(quick) == (0, True)
    steps.done(quick)
    again = steps.begin()
    with pytest.raises(
        gf.errors.DeadlineExceededError, match="be applied in 'steps': 2 steps are on their way"
    ):
        steps.admit(again)
    assert steps.admit(slow) == (1, True)
    steps.done(slow)
    del again
    gc.collect()
    assert steps.admit(steps.begin()) == (0, True)


def test_a_repeated_run_is_told_the_same_and_is_one_update() -> None:
    steps = Steps(1)
    for attempt in range(2):
        slow, quick = steps.begin(), steps.begin()
        slow[0].request_id, quick[0].request_id = (
            RequestId("slow", 1, 0, attempt),
            RequestId("quick", 1, 0, attempt),
        )
        assert steps.admit(quick) == (0, True)
        steps.done(quick)
        assert steps.admit(slow) == (1, True)
    steps.done(slow)
    assert steps.admit(steps.begin()) == (0, True)
    assert steps.steps.admitted == 3


def test_with_no_staleness_steps_come_one_after_the_other() -> None:
    steps = Steps(0, waits=True)
    first = steps.begin()
    with pytest.raises(gf.errors.DeadlineExceededError, match="begin in 'steps'"):
        steps.begin()
    assert steps.admit(first) == (0, True)
    steps.done(first)
    assert steps.admit(steps.begin()) == (0, True)


def test_a_step_whose_run_is_gone_holds_nobody_up() -> None:
    steps = Steps(0, waits=True)
    lost = steps.begin()
    del lost
    lost = steps.begin()
    assert steps.admit(lost) == (0, True)
    del lost
    assert steps.admit(steps.begin()) == (0, True)


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_promise_27_the_bound_holds_whatever_the_order(limit: int, waits: bool) -> None:
    """Against a model: what was admitted since a step began, or was not done then."""
    chance = random.Random(100 * limit + waits)
    steps = Steps(limit, waits)
    begun: dict[int, tuple[Any, set[int]]] = {}
    admitted: list[int] = []
    done: set[int] = set()
    last: dict[int, Any] = {}
    number = 0
    for _ in range(400):
        action = chance.random()
        if action < 0.4 and len(begun) < 5:
            number += 1
            run = RunContext(steps.store, time.monotonic() + 0.001)
            try:
                begun[number] = (run, steps.steps.begin(run)), set(done)
            except gf.errors.DeadlineExceededError:
                assert waits and len(begun) + len(last) > limit
        elif action < 0.7 and begun:
            which = chance.choice(list(begun))
            step, seen = begun[which]
            step[0].deadline = time.monotonic() + 0.001
            expected = len([n for n in admitted if n not in seen])
            try:
                staleness, taken = steps.admit(step)
            except gf.errors.DeadlineExceededError:
                assert waits and which != min(begun)
                continue
            assert staleness == expected
            assert taken == (staleness <= limit)
            assert taken or not waits
            del begun[which]
            if taken:
                admitted.append(which)
                last[which] = step
        elif last:
            which = chance.choice(list(last))
            steps.done(last.pop(which))
            done.add(which)
    assert len(admitted) > 20


def test_an_update_is_recorded_and_applied() -> None:
    step = gf.train.get_or_create_global_step()
    w = gf.get_variable("w", initializer=np.zeros(3, np.float32))
    optimizer = gf.train.BoundedStalenessOptimizer(gf.train.AdamOptimizer(0.5))
    train_op = optimizer.minimize(gf.reduce_sum(gf.square(w - 1.0)), step)
    plain = gf.get_variable("plain", initializer=np.zeros(3, np.float32))
    other = gf.train.AdamOptimizer(0.5, name="other").minimize(gf.reduce_sum(gf.square(plain - 1.0)))
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        for _ in range(5):
            _, staleness, admitted = session.run([train_op, optimizer.staleness, optimizer.admitted])
            session.run(other)
            assert staleness == 0 and admitted
        np.testing.assert_array_equal(*session.run([w, plain]))
        assert session.run(step) == 5
        assert session.run(optimizer.histogram)[0] == 5 and session.run(optimizer.dropped) == 0


@pytest.mark.parametrize("mode", ["drop", "wait"])
def test_promise_27_threads_stay_within_the_bound(mode: str) -> None:
    step = gf.train.get_or_create_global_step()
    w = gf.get_variable("w", initializer=np.zeros([], np.float32))
    rows = gf.get_variable("rows", initializer=np.zeros([4, 2], np.float32))
    seconds = gf.placeholder(gf.float32, [])

    def pause(value: Any, seconds: Any) -> Any:
        time.sleep(float(seconds))
        return value

    late = gf.reshape(gf.py_func(pause, [w, seconds], gf.float32), [])
    optimizer = gf.train.BoundedStalenessOptimizer(gf.train.GradientDescentOptimizer(1.0), 1, mode)
    ones = gf.IndexedSlices(-gf.ones([1, 2]) + 0.0 * late, gf.constant([2]), gf.constant([4, 2]))
    train_op = optimizer.apply_gradients([(0.0 * late - 1.0, w), (ones, rows)], step)
    found: list[tuple[int, bool]] = []
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())

        def work(pause: float) -> None:
            for _ in range(8):
                result = session.run([train_op, optimizer.staleness, optimizer.admitted], {seconds: pause})
                found.append((int(result[1]), bool(result[2])))

        threads = [threading.Thread(target=work, args=[pause]) for pause in (0.0, 0.001, 0.01)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        applied = [staleness for staleness, taken in found if taken]
        assert max(applied) <= 1 and len(found) == 24
        assert mode == "drop" or len(applied) == 24
        values = session.run([step, w, rows, optimizer.histogram, optimizer.dropped])
        assert values[0] == values[1] == values[2][2, 0] == len(applied)
        assert list(values[3]) == [applied.count(0), applied.count(1)]
        assert values[4] == 24 - len(applied)


def test_wrong_arguments_are_told() -> None:
    inner = gf.train.GradientDescentOptimizer(1.0)
    with pytest.raises(ValueError, match="max_staleness must not be negative"):
        gf.train.BoundedStalenessOptimizer(inner, -1)
    with pytest.raises(ValueError, match="'drop' or 'wait'"):
        gf.train.BoundedStalenessOptimizer(inner, 1, "skip")
    with pytest.raises(ValueError, match="after apply_gradients"):
        _ = gf.train.BoundedStalenessOptimizer(inner).staleness
    with pytest.raises(ValueError, match="No gradients"):
        gf.train.BoundedStalenessOptimizer(inner).apply_gradients([])

"""Protects the one way in which anything waits: for whom it ends, and that a waiting run does not slow the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import errors
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext

LIMIT = 60.0


class Waiter:
    """A thread that waits in a store for `ready`, and what became of it."""

    def __init__(self, store: ResourceStore, run: RunContext | None) -> None:
        self.condition = threading.Condition()
        self.ready = False
        self.result: Any = None
        self.store = store
        self._thread = threading.Thread(target=self._wait, args=(run,), daemon=True)
        self._thread.start()

    def _wait(self, run: RunContext | None) -> None:
        try:
            self.result = self.store.wait(
                self.condition, lambda: "got it" if self.ready else None, run, lambda: "a sign"
            )
        except Exception as error:
            self.result = error

    def settle(self) -> Waiter:
        """Returns when it waits."""
        until(lambda: self.store.awaited(self._thread.ident or 0) == "a sign")
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


def test_a_notification_ends_the_wait() -> None:
    waiter = Waiter(ResourceStore(), None).settle()
    with waiter.condition:
        waiter.ready = True
        waiter.condition.notify_all()
    assert waiter.end() == "got it"


@pytest.mark.parametrize("with_run", [True, False])
def test_closing_the_store_ends_waits_of_runs_and_of_helpers(with_run: bool) -> None:
    store = ResourceStore()
    waiter = Waiter(store, RunContext(store) if with_run else None).settle()
    store.close()
    assert isinstance(waiter.end(), errors.CancelledError)
    late = Waiter(store, None)
    assert isinstance(late.end(), errors.CancelledError)


def test_cancelling_a_run_ends_its_wait_alone() -> None:
    store = ResourceStore()
    runs = [RunContext(store), RunContext(store)]
    first, second = (Waiter(store, run).settle() for run in runs)
    runs[0].cancel()
    assert isinstance(first.end(), errors.CancelledError)
    second.settle()
    runs[1].cancel()
    assert isinstance(second.end(), errors.CancelledError)


@pytest.mark.parametrize("closed", [True, False])
def test_who_is_cancelled_takes_nothing_more(closed: bool) -> None:
    store = ResourceStore()
    run = RunContext(store)
    waiter = Waiter(store, run).settle()
    with waiter.condition:  # what it waited for comes after the cancellation, but before it wakes
        if closed:
            store.close()
        else:
            run.cancel()
        waiter.ready = True
    assert isinstance(waiter.end(), errors.CancelledError)


def test_the_deadline_of_a_run_ends_its_wait_and_says_for_what() -> None:
    store = ResourceStore()
    error = Waiter(store, RunContext(store, time.monotonic() + 0.05)).end()
    assert isinstance(error, errors.DeadlineExceededError)
    assert "waited for a sign" in error.message


def test_a_run_that_waits_and_holds_nothing_does_not_count_as_active() -> None:
    store = ResourceStore()
    run = RunContext(store)
    run.pausable = True
    store.enter()  # for the run that waits
    store.enter()
    assert not store.begin_in_place()
    waiter = Waiter(store, run).settle()
    assert store.begin_in_place()
    with waiter.condition:
        waiter.ready = True
        waiter.condition.notify_all()
    time.sleep(0.02)
    assert waiter.result is None  # goes on only when the change in place is done
    store.end_in_place()
    assert waiter.end() == "got it"
    assert not store.begin_in_place()


def test_a_python_function_of_a_compiled_step_may_run_the_session() -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        rate, weights = gf.Variable(0.5), gf.Variable(np.ones((20, 20), np.float32))

        def halve() -> Any:
            return np.float32(session.run(rate.assign(rate / 2.0)))

        current = gf.reshape(gf.py_func(halve, [], gf.float32), [])
        step = weights.assign_sub(gf.tanh(weights) * current)
        session.run([rate.initializer, weights.initializer])
        found: list[Any] = []
        thread = threading.Thread(
            target=lambda: found.extend(session.run(step) for _ in range(3)), daemon=True
        )
        thread.start()
        thread.join(LIMIT)
        assert len(found) == 3
        assert session.run(rate) == 0.0625

"""Protects how often who waits in a store looks by itself: whether its run is to end, and for whom it waits."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from graphflow import errors
from graphflow._core.resources.datasets import base
from graphflow._core.resources.datasets.iterators import IteratorResource
from graphflow._core.resources.rounds.events import (
    ChoiceAwaited,
    GiveTicket,
    GradientsBrought,
    ReplicaBegan,
    SayAwaited,
)
from graphflow._core.resources.rounds.machine import RoundMachine
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext
from tests.common.clock import Clock

WITHIN = 60.0


def test_who_waits_looks_though_nobody_notifies_it() -> None:
    store, condition, there = ResourceStore(), threading.Condition(), threading.Event()
    found: list[Any] = []

    def wait() -> None:
        found.append(store.wait(condition, lambda: there.is_set() or None, RunContext(store), lambda: "it"))

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    limit = time.monotonic() + WITHIN
    while not store.awaited(thread.ident or 0):
        assert time.monotonic() < limit
        time.sleep(0.001)
    there.set()
    thread.join(WITHIN)
    assert found == [True]


def test_a_run_is_told_for_whom_it_waits_about_once_a_second() -> None:
    rounds = RoundMachine("sync", 2, 2, 7, 5.0)
    (ticket,) = [
        i.ticket for i in rounds.handle(ReplicaBegan(0.0, "", None, 3, 1)) if isinstance(i, GiveTicket)
    ]
    rounds.handle(GradientsBrought(0.0, None, ticket))
    told = [
        instruction.text
        for tenth in range(600)
        for instruction in rounds.handle(ChoiceAwaited(tenth / 10, ticket.attempt, {}, 0.0))
        if isinstance(instruction, SayAwaited)
    ]
    assert 20 <= len(told) <= 200 and "step 3 of 'sync'" in told[0]


def test_an_iterator_is_saved_soon_after_its_threads_stand_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread is at an element for 50 ms."""
    store = ResourceStore()
    context = base.Context(store)
    worker = base.Worker()
    context.workers.add(worker)
    worker.working.acquire()

    def ends() -> None:
        if (clock.now >= 1000.05 or clock.sleeps > 5000) and worker.working.locked():
            worker.working.release()

    clock = Clock(ends)
    monkeypatch.setattr(base, "time", clock)
    with context.quiet():
        assert worker.working.locked()
    assert 1000.05 <= clock.now <= 1000.15 and clock.sleeps <= 5000


def test_a_run_that_waits_for_an_iterator_notices_that_it_is_to_end() -> None:
    """Another run is at the iterator, and nobody tells this one of its end."""
    looks: list[str] = []

    def check(awaited: Any) -> None:
        looks.append(awaited())
        if len(looks) == 3:
            raise errors.CancelledError(None, None, "enough")

    held: Any = SimpleNamespace(_lock=threading.Lock(), origin=SimpleNamespace(name="iterator"))
    run: Any = SimpleNamespace(check=check)
    found: list[str] = []

    def wait() -> None:
        try:
            IteratorResource._acquire(held, run)
        except errors.CancelledError as error:
            found.append(str(error))

    with held._lock:
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        thread.join(WITHIN)
    assert found == ["enough"] and looks == ["another run that is at the iterator 'iterator'"] * 3

"""Protects rounds of synchronous training: who is in one, that what is done is done once, and who is waited for."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.resources.rounds import sync_rounds
from graphflow._core.resources.rounds.events import Choice, Ticket
from graphflow._core.resources.rounds.sync_rounds import Gradients, RoundChange, SyncRounds
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell
from graphflow._core.runtime.context import RunContext

WORKERS = [f"/job:worker/replica:0/task:{i}" for i in range(12)]


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
                thread.join(60)
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


def test_nothing_is_read_of_a_round_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_rounds, "UNDISTURBED_SECONDS", 0.02)
    r = Rounds(2, 2)
    tickets = [r.begin(0), r.begin(1)]
    r.wait(0, tickets[0])
    choice = r.arrive(1, tickets[1])  # Both die here.
    with pytest.raises(gf.errors.AbortedError, match="in the middle of a round of 'sync'"):
        r.rounds.hold(RunContext(r.store), r.cell)
    back = [r.begin(0), r.begin(1)]
    r.rounds.advance(choice, r.cell)
    run = RunContext(r.store)
    r.rounds.hold(run, r.cell)
    r.rounds.free(run)
    late = [r.arrive(w, back[w]) for w in range(2)]
    assert not any(choice.counted for choice in late)


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
    monkeypatch.setattr(sync_rounds, "ROUND_GRACE_SECONDS", 0.0)
    r = Rounds(2, 2)
    if known:
        r.whole_round([0, 1])
    ticket = r.begin(0)
    r.wait(0, ticket)
    r.store.absent.lost[WORKERS[1]] = time.monotonic() - 1
    r.store.wake()
    error = r.result(ticket)
    assert isinstance(error, gf.errors.UnavailableError) and WORKERS[1] in str(error)
    r.store.absent.lost.clear()
    assert r.whole_round([0, 1]).counted


class _Patient(RunContext):
    """A run that waits for workers that are gone, and keeps what it was told."""

    __slots__ = ("told",)

    def __init__(self, store: ResourceStore, seconds: float) -> None:
        super().__init__(store)
        self.replica_seconds = seconds
        self.told: list[str] = []

    def say_awaited(self, text: str) -> None:
        self.told.append(text)


@pytest.mark.parametrize("known", [True, False], ids=["took-part", "never-came"])
def test_promise_43_a_run_that_has_time_waits_for_who_is_gone_and_says_so(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_rounds, "ROUND_GRACE_SECONDS", 0.0)
    r = Rounds(2, 2)
    if known:
        r.whole_round([0, 1])
    away = r.store.absent.lost if known else r.store.absent.unmet
    away[WORKERS[1]] = time.monotonic() - 100
    run, ticket = _Patient(r.store, 600.0), r.begin(0)
    thread = threading.Thread(target=r.rounds.arrive, args=(run, WORKERS[0], ticket), daemon=True)
    thread.start()
    while not run.told:
        time.sleep(0.001)
    assert re.search(rf"awaited: {WORKERS[1]} \(gone for 1\d\d s\)", run.told[0])
    away.clear()
    assert r.arrive(1, r.begin(1)).counted
    thread.join(60)
    assert not thread.is_alive()


def test_promise_43_a_wait_for_who_is_gone_has_an_end_that_names_it() -> None:
    r = Rounds(2, 2)
    r.whole_round([0, 1])
    r.store.absent.lost[WORKERS[1]] = time.monotonic() - 601
    ticket = r.begin(0)
    with pytest.raises(gf.errors.DeadlineExceededError, match=f"these are gone: {WORKERS[1]}.*600 s"):
        r.rounds.arrive(_Patient(r.store, 600.0), WORKERS[0], ticket)


def test_promise_5_the_living_go_on_where_they_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_rounds, "ROUND_GRACE_SECONDS", 0.0)
    r = Rounds(2, 3)
    r.begin(2)
    lost = r.store.absent.lost
    lost[WORKERS[2]] = lost["/job:ps/replica:0/task:1"] = time.monotonic() - 1
    assert [r.whole_round([0, 1]).round for _ in range(3)] == [0, 1, 2]


def test_a_task_that_is_gone_for_a_moment_only_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_rounds, "ROUND_GRACE_SECONDS", 60.0)
    r = Rounds(2, 2)
    ticket = r.begin(0)
    r.wait(0, ticket)
    r.store.absent.lost[WORKERS[1]] = time.monotonic()
    r.store.wake()
    r.store.absent.lost.clear()
    r.arrive(1, r.begin(1))
    assert r.result(ticket).counted


# ---- what happens once ----------------------------------------------------------------------------------------------


def test_a_change_is_made_once_for_each_choice_and_never_for_an_older_one() -> None:
    once, run = RoundChange(), RunContext(ResourceStore())
    newer, older = Choice(4, (7, 2)), Choice(9, (7, 1))
    assert once.claim(run, newer)
    once.done(run, newer)
    assert not once.claim(run, newer)
    assert not once.claim(run, older)
    assert not once.claim(run, Choice(5, (8, 0)))  # There is nothing to apply.
    assert once.claim(
        run, Choice(0, (3, 1))
    )  # The rounds were made anew, their task having died; no clock is asked.
    once.done(run, Choice(0, (3, 1)))
    assert not once.claim(run, Choice(9, (7, 3)))  # Of the rounds before, and late.


def test_others_wait_for_a_change_that_goes_on_and_make_it_where_it_fails() -> None:
    once, store, choice = RoundChange(), ResourceStore(), Choice(0, (7, 1))
    failing, found = RunContext(store), []
    assert once.claim(failing, choice)
    other = threading.Thread(target=lambda: found.append(once.claim(RunContext(store), choice)))
    other.start()
    other.join(0.1)
    assert other.is_alive() and not found
    failing.failed(ValueError())
    other.join(60)
    assert found == [True]


def test_gradients_are_kept_only_while_they_can_be_chosen() -> None:
    gradients, run = Gradients(), RunContext(ResourceStore())
    one = (np.ones(2, np.float32),)
    for attempt in range(1, 9):  # A run that is repeated again and again in one round.
        gradients.push(WORKERS[0], Ticket(0, 7, attempt, 0), one)
    assert list(gradients.waiting) == [8]
    gradients.push(WORKERS[1], Ticket(0, 7, 9, 0), one)
    choice = Choice(0, (7, 1), 10, True, (8, 9))
    assert len(gradients.chosen(choice)) == 2
    assert gradients.claim(run, choice)
    gradients.done(run, choice)
    assert not gradients.waiting
    gradients.push(WORKERS[2], Ticket(0, 7, 5, 0), one)  # It comes too late.
    assert not gradients.waiting
    with pytest.raises(gf.errors.AbortedError, match="started again"):
        gradients.chosen(choice)

"""Protects rounds of synchronous training from runs that are repeated: what was given to a round is not given again."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphflow as gf
from graphflow._core.common.request_ids import RequestId, RunId
from graphflow._core.resources.rounds.events import Choice, Ticket
from graphflow._core.resources.rounds.sync_rounds import Gradients
from graphflow._core.runtime.context import RunContext
from tests.resources.rounds.test_sync_rounds import WORKERS, Rounds


class Repeated(Rounds):
    """Rounds of workers whose runs have numbers."""

    def begin_run(self, worker: int, number: int) -> Ticket:
        return self.rounds.begin(WORKERS[worker], self.cell, RunId(f"trainer {worker}", 1, number))

    def arrive_run(self, worker: int, number: int, ticket: Ticket) -> Choice:
        run = RunContext(self.store)
        run.request_id = RequestId(f"trainer {worker}", 1, number, 0)
        return self.rounds.arrive(run, WORKERS[worker], ticket)

    def begin_round(self, number: int) -> Choice:
        """A round of two that is chosen, and not finished."""
        first, second = self.begin_run(0, number), self.begin_run(1, number)
        self.wait(0, first)
        return self.arrive_run(1, number, second)


def test_a_repeated_run_finishes_the_round_that_has_its_gradients() -> None:
    r = Repeated(2, 2)
    choice = r.begin_round(1)
    again = r.begin_run(0, 1)
    found = r.arrive_run(0, 1, again)
    assert found == choice and found.counted
    r.rounds.advance(found, r.cell)
    r.rounds.advance(choice, r.cell)
    assert r.cell.get() == 1


def test_a_repeated_run_of_a_finished_round_has_nothing_to_do() -> None:
    r = Repeated(2, 2)
    r.rounds.advance(r.begin_round(1), r.cell)
    for _ in range(2):
        found = r.arrive_run(0, 1, r.begin_run(0, 1))
        assert found.counted and found.number[1] == 0
        r.rounds.advance(found, r.cell)
    assert r.cell.get() == 1
    r.rounds.advance(r.begin_round(2), r.cell)
    assert r.cell.get() == 2 and r.rounds.dropped == 0


def test_a_repeated_run_whose_gradients_were_not_taken_gives_them_again() -> None:
    r = Repeated(2, 2)
    lost = r.begin_run(0, 1)
    r.wait(0, lost)
    again = r.begin_run(0, 1)
    assert again.attempt and isinstance(r.result(lost), gf.errors.AbortedError)
    other = r.begin_run(1, 1)
    r.wait(0, again)
    choice = r.arrive_run(1, 1, other)
    assert choice.attempts == (again.attempt, other.attempt)


def test_where_a_checkpoint_was_restored_in_the_meantime_the_run_counts_anew() -> None:
    r = Repeated(2, 2, step=5)
    r.rounds.advance(r.begin_round(1), r.cell)
    assert r.cell.get() == 6
    r.cell.assign(np.array(5, np.int64))
    r.rounds.advance(r.begin_round(1), r.cell)
    assert r.cell.get() == 6


def test_several_runs_can_be_repeated_together() -> None:
    r = Repeated(2, 2)
    for number in (1, 2, 3):
        r.rounds.advance(r.begin_round(number), r.cell)
    for number in (1, 2, 3):
        assert not r.begin_run(0, number).attempt
    assert r.begin_run(0, 4).attempt


def test_a_repeated_run_gives_one_of_the_several_gradients_of_its_replica() -> None:
    r = Repeated(3, 1)
    for number in (1, 1, 2, 2):
        assert r.arrive_run(0, number, r.begin_run(0, number)).number[1] == 0
    choice = r.arrive_run(0, 3, r.begin_run(0, 3))
    assert len(choice.attempts) == 3
    r.rounds.advance(choice, r.cell)
    for number in (3, 3):
        found = r.arrive_run(0, number, r.begin_run(0, number))
        assert found.counted and found.number[1] == 0


def test_a_gradient_that_was_given_before_does_not_take_the_place_of_the_first() -> None:
    gradients, run = Gradients(), RunContext(Repeated(1, 1).store)
    gradients.push(WORKERS[0], Ticket(0, 7, 1, 0), (np.float32(1.0),))
    gradients.push(WORKERS[0], Ticket(0, 7, 0, 0), (np.float32(2.0),))
    choice: Any = Choice(0, (7, 1), 2, True, (1,))
    assert gradients.claim(run, choice)
    assert gradients.chosen(choice) == [(1.0,)]

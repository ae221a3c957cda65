"""Plays random worlds of synchronous rounds: no run counts twice, each round ends once, nobody waits in vain.

A world has replicas that die, come back, repeat their runs and finish rounds for one another, and a global step that
may be set. Nothing here is a thread, and time passes when the world says so.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from graphflow._core.common.files.file_timeouts import MOST_HOLD_SECONDS, UNDISTURBED_SECONDS
from graphflow._core.common.machine import BrokenInvariant, Instruction, StepEvent
from graphflow._core.common.request_ids import RunId
from graphflow._core.resources.rounds.events import (
    Choice,
    ChoiceAwaited,
    CountUp,
    GiveChoice,
    GiveTicket,
    GradientsBrought,
    HoldAsked,
    HoldEnded,
    ReadCheckpoint,
    RefuseRun,
    ReplicaBegan,
    RoundApplied,
    SayAwaited,
    Ticket,
    WaitEnded,
    WakeWaiting,
)
from graphflow._core.resources.rounds.machine import RoundMachine
from graphflow.errors import AbortedError, DeadlineExceededError, UnavailableError

EPOCH = 7
WORKERS = tuple(f"/job:worker/replica:0/task:{i}" for i in range(4))


class Told:
    """A machine that is checked after each event; what it was told can be told to another one."""

    def __init__(self, needed: int, total: int, grace: float = 5.0) -> None:
        self.made = needed, total, grace
        self.machine = RoundMachine("sync", needed, total, EPOCH, grace)
        self.record: list[tuple[StepEvent, list[Instruction]]] = []
        self.now = 0.0
        self.step = 0
        self.assigned = 1

    def __call__(self, event: StepEvent) -> list[Instruction]:
        found = self.machine.handle(event)
        self.record.append((event, found))
        self.machine.check()
        return found

    def replay(self) -> RoundMachine:
        needed, total, grace = self.made
        again = RoundMachine("sync", needed, total, EPOCH, grace)
        for event, expected in self.record:
            assert again.handle(event) == expected
            again.check()
        return again

    def begin(self, worker: int, run: RunId | None = None) -> Ticket:
        slot = WORKERS[worker] if worker >= 0 else ""
        found = self(ReplicaBegan(self.now, slot, run, self.step, self.assigned))
        (ticket,) = [i.ticket for i in found if isinstance(i, GiveTicket)]
        return ticket

    def bring(self, ticket: Ticket, run: RunId | None = None) -> list[Instruction]:
        return self(GradientsBrought(self.now, run, ticket))

    def look(self, ticket: Ticket, absent: Any = None, patience: float = 0.0) -> list[Instruction]:
        return self(ChoiceAwaited(self.now, ticket.attempt, absent or {}, patience))

    def end(self, ticket: Ticket, failed: bool = False) -> None:
        assert self(WaitEnded(self.now, ticket.attempt, failed)) == []

    def apply(self, choice: Choice) -> None:
        found = self(RoundApplied(self.now, choice, self.step, self.assigned))
        self.step += CountUp() in found

    def wait(self, worker: int) -> Ticket:
        ticket = self.begin(worker)
        assert self.bring(ticket) == [] and self.look(ticket) == []
        return ticket


def test_who_is_gone_is_waited_for_until_the_grace_is_over_and_then_the_round_cannot_be() -> None:
    tell = Told(2, 2)
    first = tell.wait(0)
    tell.begin(1)
    tell.now = 10.0
    assert tell.look(first, {WORKERS[1]: 9.0}) == [] and tell.look(first, {WORKERS[1]: 5.0}) == []
    tell.now = 10.1
    (refused,) = tell.look(first, {WORKERS[1]: 5.0})
    assert (
        isinstance(refused, RefuseRun) and refused.kind is UnavailableError and WORKERS[1] in refused.message
    )
    (said,) = tell.look(first, {WORKERS[1]: 5.0}, patience=600.0)
    assert isinstance(said, SayAwaited) and f"awaited: {WORKERS[1]} (gone for 5 s)" in said.text
    assert tell.look(first, {WORKERS[1]: 5.0}, patience=600.0) == []  # It was said a moment ago.
    tell.now = 605.1
    (refused,) = tell.look(first, {WORKERS[1]: 5.0}, patience=600.0)
    assert isinstance(refused, RefuseRun) and refused.kind is DeadlineExceededError


def test_the_living_go_on_if_they_are_enough() -> None:
    tell = Told(2, 3)
    first = tell.wait(0)
    tell.begin(2)
    tell.now = 100.0
    assert [type(i) for i in tell.look(first, {WORKERS[2]: 1.0})] == [SayAwaited]
    (_, given) = (tell.bring(tell.begin(1)), tell.look(Ticket(0, EPOCH, 3, 0), {WORKERS[2]: 1.0}))
    assert isinstance(given[0], WakeWaiting) and isinstance(given[1], GiveChoice)


def test_a_nameless_replica_that_fails_is_not_counted_and_one_with_a_name_begins_anew() -> None:
    tell = Told(2, 2)
    for worker, left in ((-1, 0), (0, 1)):
        ticket = tell.wait(worker)
        tell.end(ticket, failed=True)
        assert len(tell.machine.open) == left
    tell.begin(0)
    assert len(tell.machine.open) == 1


class World(Told):
    """Replicas that run steps by chance."""

    def __init__(self, seed: int, needed: int, total: int, trouble: float) -> None:
        super().__init__(needed, total)
        self.random = random.Random(seed)
        self.trouble = trouble
        self.total = total
        self.calls = Counter[int]()
        self.state: dict[int, Any] = dict.fromkeys(range(total))
        """Of each replica: None, "bring" or "wait" with its ticket, "apply" with its choice."""
        self.again: set[int] = set()
        """The replicas whose last run has to be repeated."""
        self.choices: dict[tuple[int, int], Choice] = {}
        self.applied: list[int] = []
        self.errors: list[str] = []
        self.counted: Counter[tuple[int, int]] = Counter()
        """How often each run was counted in a choice, by replica and call."""
        self.of_attempt: dict[int, tuple[int, int]] = {}
        self.sets = 0

    def run_of(self, worker: int) -> RunId:
        return RunId(f"trainer {worker}", self.calls[worker], 0, worker in self.again)

    def go(self, worker: int) -> None:
        state = self.state[worker]
        if state is None:
            if worker not in self.again:
                self.calls[worker] += 1
            ticket = self.begin(worker, self.run_of(worker))
            if ticket.attempt:
                self.of_attempt[ticket.attempt] = worker, self.calls[worker]
            self.state[worker] = "bring", ticket
        elif self.random.random() < self.trouble / 4:
            self.die(worker)
        elif state[0] == "bring":
            self.state[worker] = "wait", state[1]
            self.take(worker, self.bring(state[1], self.run_of(worker)), ends=False)
        elif state[0] == "wait":
            self.take(worker, self.look(state[1]))
        else:
            self.finish(worker, state[1])

    def take(self, worker: int, found: list[Instruction], ends: bool = True) -> None:
        ticket = self.state[worker][1]
        for i in found:
            if isinstance(i, GiveChoice | RefuseRun) and ends:
                self.end(ticket, isinstance(i, RefuseRun))
            if isinstance(i, RefuseRun):
                self.errors.append(i.message)
                self.state[worker] = None
                self.again.add(worker)
            elif isinstance(i, GiveChoice):
                if i.choice.number[1]:
                    known = self.choices.setdefault(i.choice.number, i.choice)
                    assert known.attempts == i.choice.attempts
                self.state[worker] = "apply", i.choice

    def finish(self, worker: int, choice: Choice) -> None:
        if choice.number[1]:
            before = self.step
            self.apply(choice)
            self.applied += [choice.round] * (self.step > before)
        self.state[worker] = None
        self.again.discard(worker)
        if self.random.random() < self.trouble / 4:  # Its answer is lost.
            self.again.add(worker)

    def die(self, worker: int) -> None:
        state = self.state[worker]
        if state[0] == "wait":
            self.end(state[1], failed=True)
        self.state[worker] = None
        self.again.add(worker)

    def set_step(self) -> None:
        """A checkpoint of some steps ago is restored."""
        self.step = max(0, self.step - 2)
        self.assigned += 1
        self.sets += 1


@pytest.mark.parametrize(("needed", "total"), [(2, 2), (3, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("trouble", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(12))
def test_whatever_replicas_do_each_run_counts_once_and_all_rounds_end(
    seed: int, needed: int, total: int, trouble: float
) -> None:
    world = World(seed, needed, total, trouble)
    for _ in range(400):
        world.now += 0.1
        world.go(world.random.randrange(total))
    for choice in world.choices.values():
        assert len(choice.attempts) >= needed and len(set(choice.attempts)) == len(choice.attempts)
        world.counted.update({world.of_attempt[a] for a in choice.attempts})
    if needed <= total:  # Else a run that goes on at once gives several gradients to a round.
        assert max(world.counted.values()) == 1
    assert world.applied == list(range(len(world.applied))) and len(world.applied) > 5
    assert trouble or not world.errors
    before = world.step
    world.trouble = 0.0
    for _ in range(40 * total):  # Nobody waits in vain.
        for worker in range(total):
            world.now += 0.1
            world.go(worker)
    assert world.step > before + 2
    again = world.replay()
    assert (again.begun, again.chosen, again.dropped) == (
        world.machine.begun, world.machine.chosen, world.machine.dropped,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_what_is_under_way_when_the_global_step_is_set_is_given_up(seed: int) -> None:
    world = World(seed, 2, 3, 0.1)
    for turn in range(300):
        world.now += 0.1
        if turn % 60 == 59:
            world.set_step()
        world.go(world.random.randrange(3))
    assert world.sets == 5 and all("set" in e or "Another run" in e for e in world.errors)
    numbers = [choice.number for choice in world.choices.values()]
    assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers)
    world.replay()


def test_a_round_that_has_its_gradients_and_no_choice_is_found() -> None:
    tell = Told(2, 2)
    tell.wait(0)
    tell.machine.needed = 1
    with pytest.raises(BrokenInvariant, match="nothing is chosen"):
        tell.machine.check()


def test_no_gradients_are_chosen_while_a_checkpoint_is_read_and_the_first_that_came_are_chosen_then() -> None:
    tell = Told(2, 3)
    assert [type(i) for i in tell(HoldAsked(0.0, 1, 0, 1))] == [ReadCheckpoint]
    tickets = []
    for tell.now, worker in ((1.0, 2), (2.0, 0), (3.0, 1)):
        tickets.append(tell.wait(worker))
    assert tell.machine.last is None
    assert [type(i) for i in tell(HoldEnded(4.0, 1))] == [WakeWaiting]
    given = [tell.look(ticket)[-1] for ticket in tickets]
    choices = [i.choice for i in given if isinstance(i, GiveChoice)]
    assert [choice.counted for choice in choices] == [True, True, False]
    assert choices[0].attempts == (tickets[1].attempt, tickets[0].attempt)  # In the order of the workers.
    tell.replay()


def test_a_checkpoint_waits_for_the_end_of_a_round_and_holds_nobody_up_for_long() -> None:
    tell = Told(2, 2)
    tell.wait(0)
    second = tell.begin(1)
    tell.bring(second)
    (_, given) = tell.look(second)
    assert isinstance(given, GiveChoice)
    assert tell(HoldAsked(0.0, 1, 0, 1)) == []
    found = tell(RoundApplied(1.0, given.choice, 0, 1))
    assert [type(i) for i in found] == [CountUp, WakeWaiting]
    tell.step = 1
    assert [type(i) for i in tell(HoldAsked(1.0, 1, 1, 1))] == [ReadCheckpoint]
    tell.now = 2.0
    first = tell.wait(0)
    second = tell.begin(1)
    tell.bring(second)
    assert tell.look(second) == [] and tell.look(first) == []
    tell.now = UNDISTURBED_SECONDS + 0.1  # The one that reads stands still.
    assert [type(i) for i in tell.look(first)] == [WakeWaiting, GiveChoice]


def test_a_checkpoint_that_takes_longer_is_told_and_has_more_time_then() -> None:
    tell = Told(2, 2)
    tell(HoldAsked(0.0, 1, 0, 1))
    tell.now = UNDISTURBED_SECONDS + 1.0
    _round(tell)
    (refused,) = tell(HoldEnded(tell.now, 1, True))
    assert isinstance(refused, RefuseRun) and refused.kind is AbortedError and "again" in refused.message
    begun = tell.now
    tell(HoldAsked(begun, 2, tell.step, 1))
    first, second = tell.wait(0), tell.begin(1)
    tell.bring(second)
    tell.now = begun + 2 * UNDISTURBED_SECONDS
    assert tell.look(second) == [] and tell.look(first) == []
    assert tell(HoldEnded(tell.now, 2, True)) == [WakeWaiting()]
    tell(HoldAsked(tell.now, 3, tell.step, 1))
    tell.now += 10 * MOST_HOLD_SECONDS
    tell.look(first)
    assert tell.machine.hold_seconds < 3 * UNDISTURBED_SECONDS
    assert tell(HoldEnded(tell.now, 3)) == []  # Its run has ended: nobody wants to know.
    tell(HoldAsked(tell.now, 4, tell.step, 1))
    tell.apply(tell.machine.last or Choice(0, (EPOCH, 0)))
    tell(HoldAsked(tell.now, 4, tell.step, 1))
    tell.now += 10 * MOST_HOLD_SECONDS
    _round(tell)
    assert [type(i) for i in tell(HoldEnded(tell.now, 4, True))] == [RefuseRun]
    assert tell.machine.hold_seconds == MOST_HOLD_SECONDS


def test_a_checkpoint_that_takes_longer_is_whole_if_no_round_was_made_meanwhile() -> None:
    tell = Told(2, 2)
    tell(HoldAsked(0.0, 1, 0, 1))
    tell.wait(0)
    tell.now = 10 * UNDISTURBED_SECONDS
    assert tell(HoldEnded(tell.now, 1, True)) == []


def test_a_step_that_was_set_ends_a_round_that_a_checkpoint_would_wait_for() -> None:
    tell = Told(1, 1)
    first = tell.begin(0)
    tell.bring(first)
    tell.look(first)
    assert tell(HoldAsked(0.0, 1, 0, 1)) == []
    assert [type(i) for i in tell(HoldAsked(0.5, 1, 0, 2))] == [WakeWaiting, ReadCheckpoint]


def test_a_run_whose_gradients_are_in_the_values_has_nothing_to_do() -> None:
    tell = Told(1, 1)
    run = RunId("trainer", 1, 0, True)
    (given,) = tell(ReplicaBegan(0.0, WORKERS[0], run, 0, 1, True))
    assert isinstance(given, GiveTicket) and given.ticket.attempt == 0
    (found,) = tell.bring(given.ticket, run)
    assert isinstance(found, GiveChoice) and found.choice.counted and not found.choice.number[1]


@pytest.mark.parametrize("step", [0, 500])
@pytest.mark.parametrize("restored", [False, True])
def test_a_replica_that_is_alone_at_first_has_missed_nothing_whatever_the_step(
    step: int, restored: bool
) -> None:
    """As after a restart or a restore: the others are still on their way, and no round was made without it."""
    tell = Told(2, 3, grace=3.0)
    if restored:
        _round(tell)
        tell.assigned += 1
    tell.step = step
    first = tell.wait(0)
    tell.now += 60.0
    assert [type(i) for i in tell.look(first)] in ([], [SayAwaited])
    second = tell.begin(1)
    tell.bring(second)
    (_, given) = tell.look(second)
    assert isinstance(given, GiveChoice) and first.attempt in given.choice.attempts


def test_a_replica_that_comes_after_rounds_of_the_others_has_missed_them() -> None:
    tell = Told(2, 3, grace=3.0)
    tell.step = 500
    _round(tell)
    late = tell.wait(2)
    tell.now += 3.1
    (given,) = tell.look(late)
    assert isinstance(given, GiveChoice) and not given.choice.counted


def _round(tell: Told) -> None:
    """A round of the first two replicas."""
    first = tell.wait(0)
    second = tell.begin(1)
    tell.bring(second)
    (_, given) = tell.look(second)
    assert isinstance(given, GiveChoice)
    tell.look(first)
    tell.apply(given.choice)
    for ticket in (first, second):
        tell.end(ticket)


def test_who_has_missed_the_last_round_does_not_wait_for_others_that_begin_no_more() -> None:
    tell = Told(2, 3, grace=3.0)
    slow = tell.begin(2)
    first = tell.wait(0)
    second = tell.begin(1)
    tell.bring(second)
    (_, given) = tell.look(second)
    assert isinstance(given, GiveChoice)
    tell.look(first)
    tell.apply(given.choice)
    tell.bring(slow)
    (late,) = tell.look(slow)
    assert isinstance(late, GiveChoice) and not late.choice.counted
    tell.end(slow)  # It has seen step 1. Meanwhile the others come to step 2, which is their last one.
    tell.end(first)
    tell.end(second)
    first = tell.wait(0)
    second = tell.begin(1)
    tell.bring(second)
    (_, given) = tell.look(second)
    assert isinstance(given, GiveChoice)
    tell.apply(given.choice)
    tell.now = 10.0
    slow = tell.wait(2)
    tell.now = 13.0
    assert tell.look(slow) == []
    other = tell.begin(1)
    tell.now = 14.0
    assert tell.look(slow) == []  # Somebody else is at that round.
    tell.bring(other)
    tell.step = 2
    (_, given) = tell.look(other)
    assert isinstance(given, GiveChoice) and len(given.choice.attempts) == 2


def test_who_is_left_alone_in_a_round_that_others_have_not_begun_goes_on_without_it() -> None:
    tell = Told(2, 3, grace=3.0)
    for _ in range(7):  # A replica that was started again when the others had come to their last step.
        _round(tell)
    alone = tell.wait(2)
    tell.now = 3.1
    (found,) = tell.look(alone)
    assert isinstance(found, GiveChoice) and not found.choice.counted and not found.choice.number[1]
    tell.end(alone)
    again = tell.wait(2)  # Now it has seen the step: it waits.
    tell.now = 60.0
    assert [type(i) for i in tell.look(again)] in ([], [SayAwaited])

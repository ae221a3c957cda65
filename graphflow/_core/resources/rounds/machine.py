"""Rounds of synchronous training as a state machine: which gradients count, who is waited for, when a round ends.

Every replica that takes part in a round carries out its whole end, and what was done already is skipped. So there is no
replica that the others depend on. The choice of a round's gradients is made once, here, and has a number.

The rounds follow the global step. If that was set, as a restored checkpoint does, what was under way is given up, and
the next choice counts as later than all before. A replica that was there and does not come is waited for as long as its
task may be there again: the machine hears with each look since when tasks are absent.

No thread waits here and no clock is read: `SyncRounds` (sync_rounds.py) does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphflow._core.common.last_runs import LastRuns
from graphflow._core.common.machine import Instruction, Machine, Shared, StepEvent, hold, step_event
from graphflow._core.common.records import dataclass
from graphflow._core.common.request_ids import RunId
from graphflow._core.common.timeouts import ROUND_SAY_SECONDS, ROUND_SLOW_SECONDS
from graphflow._core.graph.devices import DeviceSpec
from graphflow.errors import AbortedError, DeadlineExceededError, OpError, UnavailableError

Number = tuple[int, int]
"""What choices are ordered by: their rounds' epoch, and a count from one.

An epoch is a random number that rounds have for as long as their task lives, and no clock is asked which of two is the
later one: it is the one that is heard of later.
"""


@dataclass(frozen=True)
class Ticket(Shared):
    """A run's part in a round.

    round: the global step that it has read. epoch: of its rounds, see Number. attempt: its number, from one, or 0
    if its gradients were given before, by an earlier attempt of the same run. floor: earlier attempts of the same
    replica that are above this are void.
    """

    round: int
    epoch: int
    attempt: int
    floor: int

    def array(self) -> np.ndarray[Any, Any]:
        """As a tensor."""
        return np.array([self.round, self.epoch, self.attempt, self.floor], np.int64)

    @staticmethod
    def of(array: Any) -> Ticket:
        """From a tensor."""
        return Ticket(*(int(n) for n in array))


@dataclass(frozen=True)
class Choice(Shared):
    """The gradients of a round: the attempts that made them, in the order in which they are added.

    number: see Number; (epoch, 0) if there is nothing to apply. horizon: attempts below it are settled.
    counted: whether the gradients of the run that has this are among them.
    """

    round: int
    number: Number
    horizon: int = 0
    counted: bool = False
    attempts: tuple[int, ...] = ()

    def array(self) -> np.ndarray[Any, Any]:
        """As a tensor."""
        return np.array([self.round, *self.number, self.horizon, self.counted, *self.attempts], np.int64)

    @staticmethod
    def of(array: Any) -> Choice:
        """From a tensor."""
        numbers = [int(n) for n in array]
        return Choice(numbers[0], (numbers[1], numbers[2]), numbers[3], bool(numbers[4]), tuple(numbers[5:]))


# ---- events ---------------------------------------------------------------------------------------------------------


@step_event
class ReplicaBegan(StepEvent):
    """A replica begins a step. slot: its task, "" if it has no name. run: if its program names its runs.

    step: the global step. assigned: how often that was set as a whole.
    """

    slot: str
    run: RunId | None
    step: int
    assigned: int


@step_event
class GradientsBrought(StepEvent):
    """All gradients of a run are in place: it waits for the choice of its round."""

    run: RunId | None
    ticket: Ticket


@step_event
class ChoiceAwaited(StepEvent):
    """A run that waits looks whether there is a choice.

    absent: the tasks that are not there, each with the time since when. patience: for how many seconds it waits for
    replicas that are absent, 0 if it has not said so.
    """

    attempt: int
    absent: Mapping[str, float]
    patience: float


@step_event
class WaitEnded(StepEvent):
    """A run waits no more. failed: its step has come to an end, without a choice."""

    attempt: int
    failed: bool


@step_event
class RoundApplied(StepEvent):
    """A replica has applied a choice to all variables. step, assigned: as the global step is now."""

    choice: Choice
    step: int
    assigned: int


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GiveTicket(Instruction):
    """The run takes part with this ticket."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class GiveChoice(Instruction):
    """The wait of the run ends with this choice."""

    choice: Choice


@dataclass(frozen=True, slots=True)
class RefuseRun(Instruction):
    """The run fails with this error."""

    kind: type[OpError]
    message: str


@dataclass(frozen=True, slots=True)
class SayAwaited(Instruction):
    """Tell whoever waits for the run for whom it waits."""

    text: str


@dataclass(frozen=True, slots=True)
class WakeWaiting(Instruction):
    """All runs that wait are to look again."""


@dataclass(frozen=True, slots=True)
class CountUp(Instruction):
    """Count the global step up."""


# ---- the machine ----------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Attempt:
    """A run that has begun a round. released: it went on without waiting for the round's end."""

    slot: str
    round: int
    number: int
    run: RunId | None
    arrived: bool = False
    released: bool = False
    superseded: bool = False
    chosen: Choice | None = None
    since: float = 0.0
    """Since when it waits."""
    said: float = 0.0
    """When its run was told last for whom it waits."""


class RoundMachine(Machine):
    """The rounds at one global step.

    needed: how many gradients a round takes. total: the number of replicas; if it is less than `needed`, a round takes
    several of each, and a run waits only if nothing else is left to do. epoch: see Number. grace: for how many seconds
    a run that has not said how long it waits waits for replicas that are absent.
    """

    def __init__(self, name: str, needed: int, total: int, epoch: int, grace: float) -> None:
        self.name = name
        self.needed = needed
        self.total = total
        self.epoch = epoch
        self._grace = grace
        self.dropped = 0
        """How many runs came too late for their round."""
        self.begun = 0
        """How many runs began: the number of the last attempt."""
        self.open: dict[int, Attempt] = {}
        """The attempts that may still be chosen."""
        self.waiting: dict[int, Attempt] = {}
        """The attempts that wait for a choice; some of them cannot be chosen any more, and have to be told."""
        self.members: dict[str, int] = {}
        """The replicas that have taken part, with the number of the last attempt of each."""
        self.floors: dict[str, int] = {}
        self.last: Choice | None = None
        """The choice of the last round that was decided."""
        self.finished = True
        """Whether that round was applied."""
        self.chosen = 0
        self.current = 0
        """The latest round that a run has begun."""
        self.assigned: int | None = None
        self.looked_again = False
        """Whether the run that looked last, without being told anything, had looked before: nothing has changed."""
        self.void_below = 0
        """Attempts below this number were given up, as the global step was set."""
        self.given: LastRuns[Choice] = LastRuns()
        """What was chosen when the gradients of runs were taken that may be repeated."""
        self.handlers = {
            ReplicaBegan: self._began, GradientsBrought: self._brought, ChoiceAwaited: self._awaits,
            WaitEnded: self._wait_ended, RoundApplied: self._applied,
        }  # fmt: skip

    def handle(self, event: StepEvent) -> list[Instruction]:
        """Takes an event; what is to be done about it, in that order."""
        return self.handlers[type(event)](event)

    # ---- questions, which change nothing ----

    def is_to_finish(self, choice: Choice) -> bool:
        """Whether a choice is that of the last round, which was not applied so far."""
        return self.last is not None and self.last.number == choice.number and not self.finished

    def awaited(self, number: int, absent: Mapping[str, float], now: float) -> str:
        """Who is missing in a round, in words; from any thread."""
        arrived = sorted((a.slot or f"replica {a.number}") for a in list(self.open.values()) if a.arrived)
        missing = [*self._missing(), *sorted(self._strangers(absent), key=_order)]
        named = [f"{t} (gone for {now - absent[t]:.0f} s)" if t in absent else t for t in missing]
        return (
            f"step {number} of {self.name!r}: {len(arrived)} of {self.needed} gradients have arrived "
            f"({', '.join(arrived) or 'none'}); awaited: {', '.join(named) or 'others'}"
        )

    def _missing(self) -> list[str]:
        """The replicas that have taken part, and are not there in the present round so far."""
        here = {a.slot for a in list(self.open.values()) if a.arrived}
        return sorted((slot for slot in list(self.members) if slot not in here), key=_order)

    def _strangers(self, tasks: Iterable[str]) -> set[str]:
        """Those of the tasks that have not taken part so far, and may be replicas: others of their job are."""
        jobs = {DeviceSpec.from_string(slot).job for slot in list(self.members)}
        return {t for t in tasks if t not in self.members and DeviceSpec.from_string(t).job in jobs}

    # ---- a run ----

    def _began(self, event: ReplicaBegan) -> list[Instruction]:
        found: list[Instruction] = []
        step, slot, run = event.step, event.slot, event.run
        expected = None if self.last is None else self.last.round + self.finished
        if self.assigned is not None and (
            event.assigned != self.assigned or (expected is not None and step != expected)
        ):
            self._give_up()
            found.append(WakeWaiting())
        if step != self.current:
            self.current = step
            found.append(WakeWaiting())
        self.assigned = event.assigned
        if run is not None:
            try:
                given = self.given.get(run)
            except OpError as error:
                return [*found, RefuseRun(type(error), error.message)]
            if given is not None:
                return [*found, GiveTicket(Ticket(step, self.epoch, 0, 0))]
            for earlier in [a for a in self.open.values() if a.run == run]:
                found.append(self._supersede(earlier))
        self.begun += 1
        attempt = Attempt(slot, step, self.begun, run)
        if slot:
            before = self.open.get(self.members.get(slot, 0))
            if before is not None and not before.released:
                found.append(self._supersede(before))
            self.members[slot] = attempt.number
        self.open[attempt.number] = attempt
        return [*found, GiveTicket(Ticket(step, self.epoch, attempt.number, self.floors.get(slot, 0)))]

    def _supersede(self, earlier: Attempt) -> WakeWaiting:
        """Ends an attempt in whose place a later one has come, and whose gradients were not taken."""
        earlier.superseded = True
        del self.open[earlier.number]
        return WakeWaiting()

    def _give_up(self) -> None:
        """The global step was set: what is under way has no round any more."""
        self.given.clear()
        self.void_below = self.begun + 1
        self.open.clear()
        self.last, self.finished = None, True

    def _brought(self, event: GradientsBrought) -> list[Instruction]:
        ticket = event.ticket
        if not ticket.attempt:
            return [self._given_before(event.run, ticket)]
        attempt = self.open.get(ticket.attempt) if ticket.epoch == self.epoch else None
        if attempt is None:
            return [self._too_late(ticket)]
        attempt.since = event.now
        self.waiting[attempt.number] = attempt
        return []

    def _given_before(self, run: RunId | None, ticket: Ticket) -> Instruction:
        """The choice of a run whose gradients were taken before; nothing is to be done if its round is over."""
        try:
            choice = self.given.get(run)
        except OpError as error:
            return RefuseRun(type(error), error.message)
        if ticket.epoch != self.epoch or choice is None:
            return self._too_late(ticket)
        if self.is_to_finish(choice):
            return GiveChoice(choice)
        return GiveChoice(Choice(ticket.round, (self.epoch, 0), counted=True))

    def _awaits(self, event: ChoiceAwaited) -> list[Instruction]:
        mine = self.waiting.get(event.attempt)
        if mine is None:  # It has a choice: its ticket was used twice.
            return [self._too_late(Ticket(self.current, self.epoch, event.attempt, 0))]
        if mine.chosen is not None:
            return [GiveChoice(mine.chosen)]
        if mine.superseded or mine.number not in self.open:
            return [self._too_late(Ticket(mine.round, self.epoch, mine.number, 0))]
        last = self.last
        decided = last is not None and last.round == mine.round
        if decided or mine.round != self.current:
            del self.open[mine.number]
            self.dropped += 1
            if decided and last is not None:
                return [GiveChoice(last)]
            return [GiveChoice(Choice(mine.round, (self.epoch, 0)))]
        self.looked_again = mine.arrived
        mine.arrived = True
        arrived = [a for a in self.open.values() if a.arrived and a.round == mine.round]
        if len(arrived) >= self.needed:
            return [WakeWaiting(), GiveChoice(self._choose(arrived))]
        if len(arrived) <= self.needed - self.total:
            mine.released = True
            self.floors[mine.slot] = mine.number
            released = Choice(mine.round, (self.epoch, 0))
            self.given.put(mine.run, released)
            return [GiveChoice(replace(released, counted=True))]
        if not event.absent and event.now <= mine.since + ROUND_SLOW_SECONDS:
            return []
        refused = self._unreachable(arrived, event)
        return [refused] if refused is not None else self._say(mine, event)

    def _choose(self, arrived: list[Attempt]) -> Choice:
        arrived.sort(key=lambda a: (_order(a.slot), a.number))
        self.chosen += 1
        numbers = tuple(a.number for a in arrived)
        self.last = Choice(arrived[0].round, (self.epoch, self.chosen), self.begun + 1, False, numbers)
        self.finished = False
        counted = replace(self.last, counted=True)
        for a in arrived:
            a.chosen = counted
            self.given.put(a.run, counted)
        self.open.clear()
        return counted

    def _too_late(self, ticket: Ticket) -> Instruction:
        """What a run gets that is in no open round."""
        if ticket.epoch != self.epoch or ticket.attempt < self.void_below:
            return RefuseRun(
                AbortedError,
                f"The global step was set while this run was under way at step {ticket.round} of {self.name!r}: its "
                "gradients were dropped. Run it again.",
            )
        last = self.last
        if last is None or ticket.attempt >= last.horizon:
            return RefuseRun(
                AbortedError,
                f"Another run of the same replica began while this one was at step {ticket.round} of {self.name!r}: "
                "its gradients were dropped. Give each worker a task of its own, and run one step of it at a time.",
            )
        self.dropped += 1
        if last.round == ticket.round and not self.finished:
            return GiveChoice(last)
        return GiveChoice(Choice(ticket.round, (self.epoch, 0)))

    def _wait_ended(self, event: WaitEnded) -> list[Instruction]:
        attempt = self.waiting.pop(event.attempt, None)
        if attempt is not None and event.failed and not attempt.slot:  # Nobody can begin anew in its place.
            self.open.pop(attempt.number, None)
        return []

    def _applied(self, event: RoundApplied) -> list[Instruction]:
        if not self.is_to_finish(event.choice):
            return []
        self.finished = True
        counts = event.step == event.choice.round and event.assigned == self.assigned
        return [CountUp()] if counts else []

    # ---- what is waited for ----

    def _unreachable(self, arrived: list[Attempt], event: ChoiceAwaited) -> RefuseRun | None:
        """The error of a run whose round lacks replicas that have been absent for too long."""
        before = event.now - (event.patience or self._grace)
        gone = {task for task, since in event.absent.items() if since < before}
        if not gone:
            return None
        strangers = self._strangers(gone)
        absent = self._missing()
        missing = [slot for slot in absent if slot in gone]
        named = sum(1 for a in arrived if a.slot)
        known = len(absent) + named
        may_come = len(absent) - len(missing) + max(0, self.total - known - len(strangers))
        if not (missing or strangers) or len(arrived) + may_come >= self.needed:
            return None
        text = (
            f"{self.name!r} needs {self.needed} replicas for a step, and these are gone: "
            f"{', '.join([*missing, *sorted(strangers)])}."
        )
        if not event.patience:
            return RefuseRun(UnavailableError, text)
        waited = f"It has waited for {event.patience:g} s, as ConfigProto(replica_wait_in_ms=...) says."
        return RefuseRun(DeadlineExceededError, f"{text} {waited}")

    def _say(self, mine: Attempt, event: ChoiceAwaited) -> list[Instruction]:
        """Says for whom a run waits, once somebody is absent for some time, or it takes long; not too often."""
        now = event.now
        if now < mine.said + ROUND_SAY_SECONDS:
            return []
        awaited = {*self._missing(), *self._strangers(event.absent)}
        if now <= mine.since + ROUND_SLOW_SECONDS and not any(
            event.absent.get(t, now) < now - self._grace for t in awaited
        ):
            return []
        mine.said = now
        return [SayAwaited(self.awaited(mine.round, event.absent, now))]

    def check(self) -> None:
        """Open attempts are young enough and one of each replica; a round has its gradients, and a number in order."""
        unreleased: set[str] = set()
        for number, attempt in self.open.items():
            hold(number == attempt.number <= self.begun, f"The attempt {number} is none that has begun.")
            hold(number >= self.void_below, f"The attempt {number} was given up.")
            hold(attempt.chosen is None and not attempt.superseded, f"The attempt {number} is over.")
            if attempt.slot and not attempt.released:
                hold(attempt.slot not in unreleased, f"{attempt.slot} has two attempts in a round.")
                unreleased.add(attempt.slot)
        arrived = sum(a.arrived and a.round == self.current for a in self.open.values())
        hold(arrived < self.needed, f"{arrived} gradients have arrived, and nothing is chosen.")
        hold(all(number <= self.begun for number in self.members.values()), "A replica has not begun.")
        hold(self.finished or self.last is not None, "A round that was not decided is not finished.")
        if self.last is not None:
            hold(
                self.last.number == (self.epoch, self.chosen), f"The choice {self.last} is not the last one."
            )
            hold(len(self.last.attempts) >= self.needed, f"The choice {self.last} has too few gradients.")


def _order(slot: str) -> tuple[str, int]:
    """What replicas are ordered by."""
    spec = DeviceSpec.from_string(slot) if slot else DeviceSpec()
    return spec.job or "", spec.task or 0

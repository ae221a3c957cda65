"""Rounds of synchronous training as a state machine: which gradients count, who is waited for, when a round ends.

Every replica that takes part in a round carries out its whole end, and what was done already is skipped. So there is no
replica that the others depend on. The choice of a round's gradients is made once, here, and has a number.

The rounds follow the global step. If that was set, as a restored checkpoint does, what was under way is given up, and
the next choice counts as later than all before. A replica that was there and does not come is waited for as long as its
task may be there again: the machine hears with each look since when tasks are absent.

A checkpoint is read between two rounds: while it is, no gradients are chosen. One that takes too long holds nobody up
any more, and if a round was chosen before it was read, it is told: then it has to be read again, and has more time.

No thread waits here and no clock is read: `SyncRounds` (sync_rounds.py) does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from graphflow._core.common.files.file_timeouts import MOST_HOLD_SECONDS, UNDISTURBED_SECONDS
from graphflow._core.common.last_runs import LastRuns
from graphflow._core.common.machine import Instruction, Machine, StepEvent, hold
from graphflow._core.common.records import dataclass
from graphflow._core.common.request_ids import RunId
from graphflow._core.common.timeouts import ROUND_SAY_SECONDS, ROUND_SLOW_SECONDS
from graphflow._core.graph.devices import DeviceSpec
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
from graphflow.errors import AbortedError, DeadlineExceededError, OpError, UnavailableError


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
    missed: bool = False
    """Whether rounds were made since its replica has last seen the global step."""
    chosen: Choice | None = None
    since: float = 0.0
    """Since when it waits."""
    said: float = 0.0
    """When its run was told last for whom it waits."""


@dataclass(eq=False, slots=True)
class Reader:
    """A checkpoint that asks to be read, or is. chosen: how many rounds had been chosen when it might be read."""

    asked: float
    chosen: int | None = None


class RoundMachine(Machine):
    """The rounds at one global step.

    needed: how many gradients a round takes. total: the number of replicas; if it is less than `needed`, a round takes
    several of each, and a run waits only if nothing else is left to do. epoch: see events.Number. grace: for how
    many seconds a run that has not said how long it waits waits for replicas that are absent.
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
        self.seen: dict[str, int] = {}
        """The global step that each replica has seen at the end of its last run."""
        self.first = 0
        """The global step at which these rounds began, or as it was set last: nobody has missed what was before."""
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
        self.holds: dict[int, float] = {}
        """Until when checkpoints that are read keep rounds from being chosen, by holder."""
        self.readers: dict[int, Reader] = {}
        """The checkpoints that ask to be read, or are, also those that took too long; by holder."""
        self.hold_seconds = UNDISTURBED_SECONDS
        """For how long one may keep rounds from being chosen: longer, once one took longer to be read."""
        self.handlers = {
            ReplicaBegan: self._began, GradientsBrought: self._brought, ChoiceAwaited: self._awaits,
            WaitEnded: self._wait_ended, RoundApplied: self._applied, HoldAsked: self._hold_asked,
            HoldEnded: self._hold_ended,
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
        step, slot, run = event.step, event.slot, event.run
        found = self._see_step(step, event.assigned)
        if step != self.current:
            self.current = step
            found.append(WakeWaiting())
        if run is not None:
            try:
                given = self.given.get(run)
            except OpError as error:
                return [*found, RefuseRun(type(error), error.message)]
            if given is None and event.settled:
                given = Choice(step, (self.epoch, 0), counted=True)
                self.given.put(run, given)
            if given is not None:
                return [*found, GiveTicket(Ticket(step, self.epoch, 0, 0))]
            for earlier in [a for a in self.open.values() if a.run == run]:
                found.append(self._supersede(earlier))
        self.begun += 1
        attempt = Attempt(slot, step, self.begun, run)
        attempt.missed = step > self.seen.get(slot, self.first)
        if slot:
            before = self.open.get(self.members.get(slot, 0))
            if before is not None and not before.released:
                found.append(self._supersede(before))
            self.members[slot] = attempt.number
        self.open[attempt.number] = attempt
        return [*found, GiveTicket(Ticket(step, self.epoch, attempt.number, self.floors.get(slot, 0)))]

    def _see_step(self, step: int, assigned: int) -> list[Instruction]:
        """The global step as it is now: what is under way is given up if it was set."""
        expected = None if self.last is None else self.last.round + self.finished
        before, self.assigned = self.assigned, assigned
        if before is None:
            self.first = step
        if before is None or (assigned == before and expected in (None, step)):
            return []
        self.first = step
        self._give_up()
        return [WakeWaiting()]

    def _supersede(self, earlier: Attempt) -> WakeWaiting:
        """Ends an attempt in whose place a later one has come, and whose gradients were not taken."""
        earlier.superseded = True
        del self.open[earlier.number]
        return WakeWaiting()

    def _give_up(self) -> None:
        """The global step was set: what is under way has no round any more."""
        self.given.clear()
        self.seen.clear()
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
            if self._is_held(event.now):
                return []
            self._choose(arrived)
            late = Ticket(mine.round, self.epoch, mine.number, 0)
            return [WakeWaiting(), self._too_late(late) if mine.chosen is None else GiveChoice(mine.chosen)]
        if len(arrived) <= self.needed - self.total:
            mine.released = True
            self.floors[mine.slot] = mine.number
            released = Choice(mine.round, (self.epoch, 0))
            self.given.put(mine.run, released)
            return [GiveChoice(replace(released, counted=True))]
        if self._is_left_alone(mine, event.now):
            del self.open[mine.number]
            self.dropped += 1
            return [GiveChoice(Choice(mine.round, (self.epoch, 0)))]
        if not event.absent and event.now <= mine.since + ROUND_SLOW_SECONDS:
            return []
        refused = self._unreachable(arrived, event)
        return [refused] if refused is not None else self._say(mine, event)

    def _is_left_alone(self, mine: Attempt, now: float) -> bool:
        """Whether a run waits in vain, as others have made rounds without its replica, and begin no more of them.

        With backup replicas the others may have come to the last step of the training before it knew of that.
        """
        if self.needed >= self.total or not mine.missed or now <= mine.since + self._grace:
            return False
        return all(a is mine or a.round != mine.round for a in self.open.values())

    def _is_held(self, now: float) -> bool:
        """Whether a checkpoint is read, which has not taken too long so far."""
        self.holds = {holder: until for holder, until in self.holds.items() if now < until}
        return bool(self.holds)

    def _choose(self, arrived: list[Attempt]) -> None:
        """Decides the round: for those that came first, if more have come while nothing might be chosen."""
        arrived = sorted(arrived, key=lambda a: (a.since, a.number))[: self.needed]
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
        if attempt is not None and attempt.slot and not event.failed:
            self.seen[attempt.slot] = (
                self.current if self.last is None else max(self.current, self.last.round + 1)
            )
        if attempt is not None and event.failed and not attempt.slot:  # Nobody can begin anew in its place.
            self.open.pop(attempt.number, None)
        return []

    def _applied(self, event: RoundApplied) -> list[Instruction]:
        if not self.is_to_finish(event.choice):
            return []
        self.finished = True
        counts = event.step == event.choice.round and event.assigned == self.assigned
        found: list[Instruction] = [CountUp()] if counts else []
        return [*found, WakeWaiting()] if self.holds else found

    # ---- checkpoints ----

    def _hold_asked(self, event: HoldAsked) -> list[Instruction]:
        found = self._see_step(event.step, event.assigned)
        reader = self.readers.setdefault(event.holder, Reader(event.now))
        self.holds.setdefault(event.holder, event.now + self.hold_seconds)
        if not self.finished:
            return found
        reader.chosen = self.chosen
        return [*found, ReadCheckpoint()]

    def _hold_ended(self, event: HoldEnded) -> list[Instruction]:
        self.holds.pop(event.holder, None)
        reader = self.readers.pop(event.holder, None)
        found: list[Instruction] = []
        if event.read and reader is not None and reader.chosen not in (None, self.chosen):
            took, had = event.now - reader.asked, self.hold_seconds
            self.hold_seconds = max(had, min(2 * took, MOST_HOLD_SECONDS))
            found.append(
                RefuseRun(
                    AbortedError,
                    f"The checkpoint took {took:.1f} s to be written, and rounds of {self.name!r} wait for it for "
                    f"{had:.1f} s: one was made meanwhile, so that some of the variables in the checkpoint may have "
                    f"its change and others not. Write it again: it has {self.hold_seconds:.1f} s now.",
                )
            )
        arrived = [a for a in self.open.values() if a.arrived and a.round == self.current]
        if len(arrived) < self.needed or self._is_held(event.now):
            return found
        self._choose(arrived)
        return [WakeWaiting(), *found]

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
        hold(
            arrived < self.needed or bool(self.holds),
            f"{arrived} gradients have arrived, and nothing is chosen.",
        )
        hold(self.holds.keys() <= self.readers.keys(), "Rounds wait for a checkpoint that nobody reads.")
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

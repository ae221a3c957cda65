"""Rounds of synchronous training: runs that wait for their round, and changes that each choice makes once.

A round is what changes the variables from one global step to the next. Who is in it, which gradients it takes and when
it ends is decided by a state machine, machine.py. Here threads wait for that, and each variable remembers the
last choice that was applied to it.

A checkpoint is read between two rounds, so that it has all of each: `hold`. Beside the global step it says whose
gradients its values have: who repeats such a run after the checkpoint was restored finds it done. Nothing else here is
saved.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import count
from typing import Any, Final

import numpy as np

from graphflow._core.common.files.file_timeouts import UNDISTURBED_SECONDS
from graphflow._core.common.machine import Instruction, StepEvent
from graphflow._core.common.machine_journal import MachineJournal
from graphflow._core.common.records import dataclass
from graphflow._core.common.request_ids import RunId, run_of
from graphflow._core.common.timeouts import ROUND_GRACE_SECONDS, WAIT_LOOK_SECONDS
from graphflow._core.common.waiting.conditions import Condition
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
from graphflow._core.resources.services import AbsentTasks
from graphflow.errors import AbortedError

_LOG: Final = logging.getLogger("graphflow")
_MOST_EVENTS: Final = 32
"""Entries of the journal: they cost a step of 88 microseconds 3 to 4, and 256 of them 5 to 8."""
_MOST_EPOCHS: Final = 64
"""Epochs that are known to be over, the last ones: each is a restart of the task of the global step."""


class SyncRounds:
    """The rounds at the global step. Thread-safe. needed, total: as for RoundMachine."""

    def __init__(self, name: str, needed: int, total: int) -> None:
        self.name = name
        self.needed = needed
        self.total = total
        self.made: dict[str, Any] = {
            "name": name, "needed": needed, "total": total, "epoch": secrets.randbits(62) + 1,
            "grace": ROUND_GRACE_SECONDS,
        }  # fmt: skip
        """What the machine was made with, and a replay makes another one with."""
        self.machine = RoundMachine(**self.made)
        self.journal = MachineJournal(_MOST_EVENTS)
        """The last events of the machine."""
        self._condition = Condition()
        self._cell: Any = None
        """That of the global step, once it was seen."""
        self._holders = count(1)

    @property
    def key(self) -> str:
        """The name under which a run has these rounds among what it has changed."""
        return f"sync_rounds/{self.name}"

    @property
    def dropped(self) -> int:
        """How many runs came too late for their round."""
        return self.machine.dropped

    def check(self, needed: int, total: int) -> None:
        """AbortedError if another client uses these rounds with other numbers."""
        if (needed, total) != (self.needed, self.total):
            raise AbortedError(
                None, None,
                f"{self.name!r} has replicas_to_aggregate={self.needed} and total_num_replicas={self.total}, but this "
                f"run asks for {needed} and {total}. All replicas must give the same.",
            )  # fmt: skip

    def _tell(self, event: StepEvent) -> list[Instruction]:
        """Tells the machine of an event, and does what concerns all runs; the rest. With the condition held."""
        found = self.machine.handle(event)
        if found or type(event) is not ChoiceAwaited or not self.machine.looked_again:
            self.journal.add(event.now, event, found, bool(found) and type(found[0]) is SayAwaited)
        for i in found:
            if isinstance(i, WakeWaiting):
                self._condition.notify_all()
            elif isinstance(i, RefuseRun):
                raise i.kind(None, None, i.message)
        return found

    def begin(self, slot: str, cell: Any, run: RunId | None = None, settled: bool = False) -> Ticket:
        """A replica begins a step at the round that the cell of the global step says; "" for a nameless replica.

        run: its trainer and the number of its run, if these are known. If gradients of that run were taken before, its
        ticket only lets it finish their round. settled: whether the value of the global step has them, as a checkpoint
        has said.
        """
        with self._condition:
            self._cell, assigned = cell, cell.assigned
            found = self._tell(ReplicaBegan(time.monotonic(), slot, run, int(cell.get()), assigned, settled))
        (ticket,) = [i.ticket for i in found if isinstance(i, GiveTicket)]
        return ticket

    def arrive(self, run: Any, slot: str, ticket: Ticket) -> Choice:
        """A replica's gradients are in place: waits for the choice of the round, and returns it.

        Raises:
            AbortedError: the global step was set, or another run of the same replica began, in the meantime.
            UnavailableError: replicas are gone without which the round cannot be.
            DeadlineExceededError: the same, if the run has said for how long it waits for them.
        """
        with self._condition:
            for i in self._tell(GradientsBrought(time.monotonic(), run_of(run), ticket)):
                if isinstance(i, GiveChoice):
                    return i.choice
        failed = True
        try:
            found: Choice = run.store.wait(
                self._condition,
                lambda: self._look(ticket.attempt, run),
                run,
                lambda: self._awaited(ticket.round, run),
                lambda: _LOG.warning("Still waiting for %s.", self._awaited(ticket.round, run)),
                says_itself=True,
            )
            failed = False
            return found
        finally:
            with self._condition:
                self._tell(WaitEnded(time.monotonic(), ticket.attempt, failed))

    def _look(self, attempt: int, run: Any) -> Choice | None:
        """The choice for an attempt, once there is one; with the condition held."""
        choice = None
        event = ChoiceAwaited(time.monotonic(), attempt, self._absent(run), run.replica_seconds)
        for i in self._tell(event):
            if isinstance(i, GiveChoice):
                choice = i.choice
            elif isinstance(i, SayAwaited):
                run.say_awaited(i.text)
        return choice

    @staticmethod
    def _absent(run: Any) -> Mapping[str, float]:
        """The tasks that are not there, each with the time since when; who was never there counts for who has time."""
        absent: AbsentTasks = run.store.absent
        return absent.since(also_unmet=bool(run.replica_seconds))

    def _awaited(self, number: int, run: Any) -> str:
        return self.machine.awaited(number, self._absent(run), time.monotonic())

    def advance(self, choice: Choice, cell: Any) -> None:
        """The round of a choice is applied: counts the global step up, unless that was done."""
        with self._condition:
            if not self.machine.is_to_finish(choice):
                return
            applied = RoundApplied(time.monotonic(), choice, int(cell.get()), cell.assigned)
            if any(isinstance(i, CountUp) for i in self._tell(applied)):
                cell.update(lambda old, out: np.add(old, 1, out=out))

    # ---- checkpoints ----

    def hold(self, run: Any, cell: Any) -> None:
        """Waits until each round that was chosen is applied. None is chosen until `free`, or until the run ends.

        Nobody waits for ever: neither this run for a round whose replicas are all gone, nor they for one that stands
        still. Both wait for UNDISTURBED_SECONDS; they longer, once a checkpoint has taken longer.

        Raises:
            AbortedError: none of its replicas has ended a round in that time, so that some of the variables have its
                change and others not.
        """
        number = next(self._holders)
        run.per_run.setdefault((self, "holders"), []).append(number)
        limit = time.monotonic() + UNDISTURBED_SECONDS
        run.on_abort((self, number), lambda: self._end_hold(number))

        def look() -> bool | None:
            now = time.monotonic()
            found = self._tell(HoldAsked(now, number, int(cell.get()), cell.assigned))
            if any(isinstance(i, ReadCheckpoint) for i in found):
                return True
            return False if now > limit else None

        try:
            self._cell = cell
            between: bool = run.store.wait(
                self._condition,
                look,
                run,
                lambda: f"the end of a round of {self.name!r}, to read a checkpoint after it",
            )
            if not between:
                raise AbortedError(
                    None, None,
                    f"No checkpoint can be read in the middle of a round of {self.name!r}, where some of the variables "
                    f"have its change and others not: none of its replicas has ended it within "
                    f"{UNDISTURBED_SECONDS:.0f} s. The next run of any of them does; then write it again.",
                )  # fmt: skip
        except BaseException:
            self._end_hold(number)
            raise

    def free(self, run: Any) -> None:
        """The checkpoint has been read. AbortedError if that took too long, and a round was made meanwhile."""
        number = run.per_run[self, "holders"].pop()
        run.remove_on_abort((self, number))
        self._end_hold(number, read=True)

    def _end_hold(self, number: int, read: bool = False) -> None:
        with self._condition:
            self._tell(HoldEnded(time.monotonic(), number, read))

    def settled(self) -> tuple[Any, list[RunId]]:
        """The cell of the global step, None before it was seen, and the runs whose gradients are in the values."""
        with self._condition:
            cell, machine = self._cell, self.machine
            if cell is None or cell.value is None or cell.assigned != machine.assigned:
                return cell, []
            step = int(cell.get())
            return cell, [
                run for run, choice in machine.given.items() if choice.number[1] and choice.round < step
            ]


def settled_runs(store: Any) -> Iterator[tuple[RunId, str, Any]]:
    """The runs whose gradients rounds of a store have taken, each with what it has changed so, and in which cell."""
    for rounds in store.others().values():
        if isinstance(rounds, SyncRounds):
            cell, runs = rounds.settled()
            for run in runs:
                yield run, rounds.key, cell


@dataclass(eq=False)
class RoundChange:
    """Changes of which each choice makes one: of a variable, of its average, of what an optimizer keeps beside all.

    Who claims makes the change and says so by `done`; others that claim the same wait for that, which takes no longer
    than the change. If the change fails its claim ends. Thread-safe.
    """

    _condition: Condition = field(default_factory=Condition)
    _epoch: int = 0
    _over: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_EPOCHS))
    """The epochs before this one."""
    _applied: int = 0
    """The count of the latest choice of this epoch that was applied."""
    _busy: bool = False

    def _enter(self, epoch: int) -> bool:
        """Goes over to an epoch that is new; whether it is the present one then. With the condition held."""
        if epoch == self._epoch:
            return True
        if epoch in self._over:
            return False
        self._over.append(self._epoch)
        self._epoch, self._applied = epoch, 0
        self._begin_epoch()
        return True

    def _begin_epoch(self) -> None:
        """Forgets what belongs to the epoch before; with the condition held."""

    def claim(self, run: Any, choice: Choice) -> bool:
        """Whether the caller is to make the change of this choice: nobody has, nor one of a later choice."""
        with self._condition:
            while self._busy:
                self._condition.wait(WAIT_LOOK_SECONDS)
                run.check()
            epoch, count = choice.number
            if not count or not self._enter(epoch) or count <= self._applied:
                return False
            self._busy = True
            run.add_cleanup(self, self._free)
            return True

    def _free(self) -> None:
        with self._condition:
            self._busy = False
            self._condition.notify_all()

    def done(self, run: Any, choice: Choice) -> None:
        """The change that was claimed has been made."""
        run.remove_cleanup(self)
        with self._condition:
            if choice.number[0] == self._epoch:
                self._applied = choice.number[1]
            self._settle(choice)
            self._busy = False
            self._condition.notify_all()

    def _settle(self, choice: Choice) -> None:
        """Forgets what the choice has settled; with the condition held."""


@dataclass(eq=False)
class Gradients(RoundChange):
    """The gradients of one variable that wait for their round. Thread-safe."""

    waiting: dict[int, tuple[str, tuple[Any, ...]]] = field(default_factory=dict)
    _horizon: int = 0

    def _begin_epoch(self) -> None:
        self._horizon = 0
        self.waiting.clear()

    def push(self, slot: str, ticket: Ticket, parts: tuple[Any, ...]) -> None:
        """Takes a gradient, one array or values and indices, unless its round is over or it was given before."""
        if not ticket.attempt:
            return
        with self._condition:
            if not self._enter(ticket.epoch) or ticket.attempt < self._horizon:
                return
            for number, (owner, _) in list(self.waiting.items()):
                if slot and owner == slot and ticket.floor < number < ticket.attempt:
                    del self.waiting[number]
            self.waiting[ticket.attempt] = slot, parts

    def chosen(self, choice: Choice) -> list[tuple[Any, ...]]:
        """The gradients of a choice, in its order; AbortedError if they are not here."""
        with self._condition:
            try:
                return [self.waiting[number][1] for number in choice.attempts]
            except KeyError:
                raise AbortedError(
                    None, None,
                    f"Gradients of step {choice.round} are gone: their task was started again. Restore a checkpoint.",
                ) from None  # fmt: skip

    def _settle(self, choice: Choice) -> None:
        if choice.number[0] != self._epoch:
            return
        self._horizon = max(self._horizon, choice.horizon)
        for number in [n for n in self.waiting if n < self._horizon]:
            del self.waiting[number]

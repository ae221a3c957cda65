"""Rounds of synchronous training: who takes part in a round, and that each of its changes happens once.

A round is what changes the variables from one global step to the next. Every worker that takes part carries out the
whole end of the round, so that it is finished as long as one of them lives; what was done already is skipped. So there
is no worker that the others depend on. The choice of the gradients is made at one place, the task of the global step,
and has a number; each variable remembers the last number that was applied to it.

Nothing here is saved: the rounds follow the global step. If that was set, as a restored checkpoint does, what was
under way is given up, and the next choice counts as later than all before.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from graphflow._core.common.last_runs import LastRuns
from graphflow._core.common.request_ids import RunId, run_of
from graphflow._core.common.timeouts import ROUND_GRACE_SECONDS, ROUND_SAY_SECONDS, ROUND_SLOW_SECONDS
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.resources.services import AbsentTasks
from graphflow.errors import AbortedError, DeadlineExceededError, UnavailableError

_LOG: Final = logging.getLogger("graphflow")
Number = tuple[int, int]
"""What choices are ordered by: their rounds' epoch, and a count from one.

An epoch is a random number that rounds have for as long as their task lives, and no clock is asked which of two is the
later one: it is the one that is heard of later.
"""
_MOST_EPOCHS: Final = 64
"""Epochs that are known to be over, the last ones: each is a restart of the task of the global step."""


@dataclass(frozen=True)
class Ticket:
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
class Choice:
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


@dataclass(eq=False)
class _Attempt:
    """A run that has begun a round. released: it went on without waiting for the round's end."""

    slot: str
    round: int
    number: int
    arrived: bool = False
    released: bool = False
    superseded: bool = False
    chosen: Choice | None = None
    since: float = 0.0
    """The time.monotonic() since when it waits."""
    said: float = 0.0
    """When its run was told last for whom it waits."""
    run: RunId | None = None
    """Of which of its trainer's runs it is an attempt, if these are numbered (common/request_ids.py)."""


@dataclass(eq=False)
class SyncRounds:
    """The rounds at the global step. Thread-safe.

    needed: how many gradients a round takes. total: the number of replicas; if it is less than `needed`, a round
    takes several of each, and a run waits only if nothing else is left to do.
    """

    name: str
    needed: int
    total: int
    dropped: int = 0
    """How many runs came too late for their round."""
    _condition: threading.Condition = field(default_factory=threading.Condition)
    _epoch: int = field(default_factory=lambda: secrets.randbits(62) + 1)
    _begun: int = 0
    _open: dict[int, _Attempt] = field(default_factory=dict)
    _members: dict[str, int] = field(default_factory=dict)
    """The replicas that have taken part, with the number of the last attempt of each."""
    _floors: dict[str, int] = field(default_factory=dict)
    _last: Choice | None = None
    _finished: bool = True
    _chosen: int = 0
    _current: int = 0
    """The latest round that a run has begun."""
    _assigned: int | None = None
    _void_below: int = 0
    _given: LastRuns[Choice] = field(default_factory=LastRuns)
    """What was chosen when the gradients of runs were taken that may be repeated."""

    def check(self, needed: int, total: int) -> None:
        """AbortedError if another client uses these rounds with other numbers."""
        if (needed, total) != (self.needed, self.total):
            raise AbortedError(
                None, None,
                f"{self.name!r} has replicas_to_aggregate={self.needed} and total_num_replicas={self.total}, but this "
                f"run asks for {needed} and {total}. All replicas must give the same.",
            )  # fmt: skip

    # ---- a run ----------------------------------------------------------------------------------------------------

    def begin(self, slot: str, cell: Any, run: RunId | None = None) -> Ticket:
        """A replica begins a step at the round that the cell of the global step says; "" for a nameless replica.

        run: its trainer and the number of its run, if these are known. If gradients of that run were taken
        before, its ticket only lets it finish their round.
        """
        with self._condition:
            assigned = cell.assigned
            number = int(cell.get())
            expected = None if self._last is None else self._last.round + self._finished
            if self._assigned is not None and (
                assigned != self._assigned or (expected is not None and number != expected)
            ):
                self._give_up()
            if number != self._current:
                self._current = number
                self._condition.notify_all()
            self._assigned = assigned
            if run is not None:
                if self._given.get(run) is not None:
                    return Ticket(number, self._epoch, 0, 0)
                self._end_earlier(run)
            self._begun += 1
            attempt = _Attempt(slot, number, self._begun, run=run)
            if slot:
                earlier = self._open.get(self._members.get(slot, 0))
                if earlier is not None and not earlier.released:
                    earlier.superseded = True
                    del self._open[earlier.number]
                    self._condition.notify_all()
                self._members[slot] = attempt.number
            self._open[attempt.number] = attempt
            return Ticket(number, self._epoch, attempt.number, self._floors.get(slot, 0))

    def _end_earlier(self, run: RunId) -> None:
        """Ends earlier attempts of a run, whose gradients were not taken."""
        for earlier in [a for a in self._open.values() if a.run == run]:
            earlier.superseded = True
            del self._open[earlier.number]
            self._condition.notify_all()

    def _give_up(self) -> None:
        """The global step was set: what is under way has no round any more."""
        self._given.clear()
        self._void_below = self._begun + 1
        self._open.clear()
        self._last, self._finished = None, True
        self._condition.notify_all()

    def _given_before(self, run: RunId | None, ticket: Ticket) -> Choice:
        """The choice of a run whose gradients were taken before; nothing is to be done if its round is over."""
        with self._condition:
            choice = self._given.get(run)
            if ticket.epoch != self._epoch or choice is None:
                return self._too_late(ticket)
            last = self._last
            if last is not None and last.number == choice.number and not self._finished:
                return choice
            return Choice(ticket.round, (self._epoch, 0), counted=True)

    def arrive(self, run: Any, slot: str, ticket: Ticket) -> Choice:
        """A replica's gradients are in place: waits for the choice of the round, and returns it.

        AbortedError if the global step was set, or another run of the same replica began, in the meantime;
        UnavailableError if replicas are gone without which the round cannot be, or DeadlineExceededError if the
        run has said for how long it waits for them.
        """
        if not ticket.attempt:
            return self._given_before(run_of(run), ticket)
        with self._condition:
            attempt = self._open.get(ticket.attempt) if ticket.epoch == self._epoch else None
            if attempt is None:
                return self._too_late(ticket)
        attempt.since = time.monotonic()
        try:
            found: Choice = run.store.wait(
                self._condition,
                lambda: self._attempt(attempt, run),
                run,
                lambda: self._awaited(attempt.round, run),
                lambda: _LOG.warning("Still waiting for %s.", self._awaited(attempt.round, run)),
            )
            return found
        except BaseException:
            with self._condition:
                if not slot:
                    self._open.pop(attempt.number, None)
            raise

    def _attempt(self, mine: _Attempt, run: Any) -> Choice | None:
        """The choice for an attempt, once there is one; with the condition held."""
        if mine.chosen is not None:
            return mine.chosen
        if mine.superseded or mine.number not in self._open:
            return self._too_late(Ticket(mine.round, self._epoch, mine.number, 0))
        last = self._last
        decided = last is not None and last.round == mine.round
        if decided or mine.round != self._current:
            del self._open[mine.number]
            self.dropped += 1
            return last if decided else Choice(mine.round, (self._epoch, 0))
        mine.arrived = True
        arrived = [a for a in self._open.values() if a.arrived and a.round == mine.round]
        if len(arrived) >= self.needed:
            self._choose(arrived)
            return mine.chosen
        if len(arrived) <= self.needed - self.total:
            mine.released = True
            self._floors[mine.slot] = mine.number
            self._given.put(mine.run, Choice(mine.round, (self._epoch, 0)))
            return Choice(mine.round, (self._epoch, 0), counted=True)
        self._check_reachable(arrived, run)
        self._say(mine, run)
        return None

    def _choose(self, arrived: list[_Attempt]) -> None:
        arrived.sort(key=lambda a: (_place(a.slot), a.number))
        self._chosen += 1
        number = self._epoch, self._chosen
        numbers = tuple(a.number for a in arrived)
        self._last = Choice(arrived[0].round, number, self._begun + 1, False, numbers)
        self._finished = False
        for a in arrived:
            a.chosen = replace(self._last, counted=True)
            self._given.put(a.run, a.chosen)
        self._open.clear()
        self._condition.notify_all()

    def _too_late(self, ticket: Ticket) -> Choice:
        """What a run gets that is in no open round; with the condition held."""
        if ticket.epoch != self._epoch or ticket.attempt < self._void_below:
            raise AbortedError(
                None, None,
                f"The global step was set while this run was under way at step {ticket.round} of {self.name!r}: its "
                "gradients were dropped. Run it again.",
            )  # fmt: skip
        last = self._last
        if last is None or ticket.attempt >= last.horizon:
            raise AbortedError(
                None, None,
                f"Another run of the same replica began while this one was at step {ticket.round} of {self.name!r}: "
                "its gradients were dropped. Give each worker a task of its own, and run one step of it at a time.",
            )  # fmt: skip
        self.dropped += 1
        if last.round == ticket.round and not self._finished:
            return last
        return Choice(ticket.round, (self._epoch, 0))

    def advance(self, choice: Choice, cell: Any) -> None:
        """The round of a choice is applied: counts the global step up, unless that was done."""
        with self._condition:
            last = self._last
            if last is None or last.number != choice.number or self._finished:
                return
            if int(cell.get()) == choice.round and cell.assigned == self._assigned:
                cell.update(lambda old, out: np.add(old, 1, out=out))
            self._finished = True

    # ---- what is waited for ---------------------------------------------------------------------------------------

    @staticmethod
    def _lost(run: Any) -> Mapping[str, float]:
        """The tasks that are not there, each with the time since when; who was never there counts for who has time."""
        absent: AbsentTasks = run.store.absent
        return absent.since(also_unmet=bool(run.replica_seconds))

    def _absent(self) -> list[str]:
        here = {a.slot for a in self._open.values() if a.arrived}
        return sorted((slot for slot in self._members if slot not in here), key=_place)

    def _strangers(self, tasks: Iterable[str]) -> set[str]:
        """Those of the tasks that have not taken part so far, and may be replicas: others of their job are."""
        jobs = {DeviceSpec.from_string(slot).job for slot in self._members}
        return {t for t in tasks if t not in self._members and DeviceSpec.from_string(t).job in jobs}

    def _check_reachable(self, arrived: list[_Attempt], run: Any) -> None:
        """The error of a run whose round lacks replicas that have been gone for too long."""
        lost = self._lost(run)
        if not lost:
            return
        before = time.monotonic() - (run.replica_seconds or ROUND_GRACE_SECONDS)
        gone = {task for task, since in list(lost.items()) if since < before}
        strangers = self._strangers(gone)
        absent = self._absent()
        missing = [slot for slot in absent if slot in gone]
        named = sum(1 for a in arrived if a.slot)
        known = len(absent) + named
        may_come = len(absent) - len(missing) + max(0, self.total - known - len(strangers))
        if (missing or strangers) and len(arrived) + may_come < self.needed:
            text = (
                f"{self.name!r} needs {self.needed} replicas for a step, and these are gone: "
                f"{', '.join([*missing, *sorted(strangers)])}."
            )
            if not run.replica_seconds:
                raise UnavailableError(None, None, text)
            raise DeadlineExceededError(
                None, None,
                f"{text} It has waited for {run.replica_seconds:g} s, as ConfigProto(replica_wait_in_ms=...) says.",
            )  # fmt: skip

    def _say(self, mine: _Attempt, run: Any) -> None:
        """Tells who waits for the run for whom it waits: once somebody is gone, or it takes long; with the condition
        held.
        """
        now = time.monotonic()
        if now < mine.said + ROUND_SAY_SECONDS:
            return
        lost = self._lost(run)
        absent = {*self._absent(), *self._strangers(lost)}
        if now > mine.since + ROUND_SLOW_SECONDS or any(
            lost.get(t, now) < now - ROUND_GRACE_SECONDS for t in absent
        ):
            mine.said = now
            run.say_awaited(self._awaited(mine.round, run))

    def _awaited(self, number: int, run: Any) -> str:
        arrived = sorted((a.slot or f"replica {a.number}") for a in list(self._open.values()) if a.arrived)
        lost, now = self._lost(run), time.monotonic()
        absent = [*self._absent(), *sorted(self._strangers(lost), key=_place)]
        named = [f"{t} (gone for {now - lost[t]:.0f} s)" if t in lost else t for t in absent]
        return (
            f"step {number} of {self.name!r}: {len(arrived)} of {self.needed} gradients have arrived "
            f"({', '.join(arrived) or 'none'}); awaited: {', '.join(named) or 'others'}"
        )


def _place(slot: str) -> tuple[str, int]:
    """What replicas are ordered by."""
    spec = DeviceSpec.from_string(slot) if slot else DeviceSpec()
    return spec.job or "", spec.task or 0


@dataclass(eq=False)
class Once:
    """Changes of which each choice makes one: of a variable, of its average, of what an optimizer keeps beside all.

    Who claims makes the change and says so by `done`; others that claim the same wait for that, which takes no longer
    than the change. If the change fails its claim ends. Thread-safe.
    """

    _condition: threading.Condition = field(default_factory=threading.Condition)
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
                self._condition.wait(0.05)
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
class Gradients(Once):
    """The gradients of one variable that wait for their round. Thread-safe."""

    _waiting: dict[int, tuple[str, tuple[Any, ...]]] = field(default_factory=dict)
    _horizon: int = 0

    def _begin_epoch(self) -> None:
        self._horizon = 0
        self._waiting.clear()

    def push(self, slot: str, ticket: Ticket, parts: tuple[Any, ...]) -> None:
        """Takes a gradient, one array or values and indices, unless its round is over or it was given before."""
        if not ticket.attempt:
            return
        with self._condition:
            if not self._enter(ticket.epoch) or ticket.attempt < self._horizon:
                return
            for number, (owner, _) in list(self._waiting.items()):
                if slot and owner == slot and ticket.floor < number < ticket.attempt:
                    del self._waiting[number]
            self._waiting[ticket.attempt] = slot, parts

    def chosen(self, choice: Choice) -> list[tuple[Any, ...]]:
        """The gradients of a choice, in its order; AbortedError if they are not here."""
        with self._condition:
            try:
                return [self._waiting[number][1] for number in choice.attempts]
            except KeyError:
                raise AbortedError(
                    None, None,
                    f"Gradients of step {choice.round} are gone: their task was started again. Restore a checkpoint.",
                ) from None  # fmt: skip

    def _settle(self, choice: Choice) -> None:
        if choice.number[0] != self._epoch:
            return
        self._horizon = max(self._horizon, choice.horizon)
        for number in [n for n in self._waiting if n < self._horizon]:
            del self._waiting[number]

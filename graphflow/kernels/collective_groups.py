"""What a task knows of one group of collectives: who its members are, and the rounds they are at. No socket, no clock.

A member joins before its first operation and tells every task so; a group is formed where as many have joined as it has
members, which each task sees for itself. The number that a member joins with is drawn anew each time, so the numbers
of all members name the formation, and what belongs to an earlier one is told from what is now.

Whatever goes wrong with one member ends the formation for all, since nobody can know what the others have done with
the results: each member's next operation raises once, and joins again after that. A member that has nothing under way
may leave quietly; the others then only wait for its return.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from graphflow import errors
from graphflow.graph.devices import DeviceSpec, task_of

MOST_EARLY: Final = 4096
"""Offers that may be kept for a formation that is not known yet."""


LARGE: Final = 64 << 10
"""Bytes from which a value is reduced in shares; the same for all members, since it decides what they send."""
ALIGNED: Final = 64
"""Elements that a share is a multiple of."""
SEND: Final = "broadcast, sends"
RECEIVE: Final = "broadcast, receives"
GATHER: Final = "all_gather"


def share_of(length: int, rank: int, size: int) -> slice:
    """The elements of a flat value that a rank reduces."""
    step = -(-length // (size * ALIGNED)) * ALIGNED
    return slice(min(length, rank * step), min(length, (rank + 1) * step))


@dataclass(eq=False, slots=True)
class Offer:
    """What a member brings to a round.

    terms: the operation and its options, in words. whole: the value, flat; or, of a member whose memory cannot be read
    here, `parts` has what this task needs of it, by rank. None and nothing for who only receives. rows: how many this
    member has put in. fixed: whether the number of rows must be the same for all.
    """

    terms: str
    name: str
    dtype: Any
    shape: tuple[int, ...]
    whole: Any
    parts: Mapping[int, Any] | None = None
    rows: int = 0
    fixed: bool = True

    @property
    def nbytes(self) -> int:
        """The bytes of the value."""
        return (
            int(self.whole.nbytes) if self.whole is not None else math.prod(self.shape) * self.dtype.itemsize
        )

    @property
    def in_shares(self) -> bool:
        """Whether each member needs a share of it only."""
        return self.nbytes >= LARGE and self.terms not in (SEND, GATHER)

    def share(self, rank: int, place: slice) -> Any:
        """What a rank of this task reduces of it."""
        return self.whole[place] if self.parts is None else self.parts[rank]

    def unlike(self, other: Offer) -> bool:
        """Whether the two cannot be in one round."""
        if self.terms == other.terms and self.dtype == other.dtype and self.shape == other.shape:
            return False
        if RECEIVE in (self.terms, other.terms):
            return {self.terms, other.terms} - {SEND, RECEIVE} != set()
        return (
            self.terms != other.terms or self.dtype != other.dtype or len(self.shape) != len(other.shape)
            or self.fixed or other.fixed or self.shape[1:] != other.shape[1:]
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.name!r} ({self.terms}) with {self.dtype}{list(self.shape)}"


@dataclass(eq=False)
class Round:
    """One operation of all members."""

    key: tuple[int, int]
    """The key of the instance, and a count."""
    offers: dict[int, Offer] = field(default_factory=dict)
    """By rank."""
    reduced: dict[int, Any] = field(default_factory=dict)
    """The part that each rank has reduced; None where it is in the memory of its offer."""
    taken: set[int] = field(default_factory=set)
    """The ranks that read no memory of others any more."""
    ended: set[int] = field(default_factory=set)
    """The ranks of this task that have their result."""
    unfit: bool = False
    """Whether what the members brought does not fit together, which is then the error."""
    error: errors.OpError | None = None


Ticket = tuple[int, int, int]
"""The number that a member had joined with, the key of the instance, the count."""


@dataclass(eq=False)
class Formation:
    """A group whose members are known, in their order; `number` names it."""

    number: int
    members: tuple[str, ...]
    ranks: Mapping[str, int]
    rounds: dict[tuple[int, int], Round] = field(default_factory=dict)


@dataclass(eq=False)
class Seat:
    """A member of this task.

    number: what it joined with, 0 where it has not. counts: of the rounds of each instance. owed: the error that it has
    to raise next.
    """

    number: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    waiting: dict[tuple[int, int], Offer] = field(default_factory=dict)
    """What it brought before the group was formed."""
    open: dict[Ticket, tuple[Formation, Round]] = field(default_factory=dict)
    """Its rounds that have not ended, those of a formation that is no more among them."""
    owed: errors.OpError | None = None
    reason: errors.OpError | None = None
    """Why its last formation has ended."""


@dataclass(frozen=True)
class Joined:
    """Tell all tasks that a member has joined."""

    member: str
    number: int


@dataclass(frozen=True)
class Left:
    """Tell all tasks that a member has left; `error`: what its leaving means to the others, None for nothing."""

    member: str
    number: int
    error: errors.OpError | None


@dataclass(frozen=True, eq=False)
class Brought:
    """Tell the other tasks of the formation what a member of this task brought."""

    formation: Formation
    rank: int
    key: tuple[int, int]
    offer: Offer


Instruction = Joined | Left | Brought


class Group:
    """One group at one task. Not thread-safe. `draw` gives numbers that no member has joined with before."""

    def __init__(self, key: int, draw: Callable[[], int]) -> None:
        self.key = key
        self._draw = draw
        self.size = 0
        self.seats: dict[str, Seat] = {}
        """The members of this task."""
        self._joined: dict[str, int] = {}
        """The number that each member, here or elsewhere, has joined with."""
        self.formation: Formation | None = None
        self._early: list[Callable[[], None]] = []
        """What came before the group was formed."""
        self.last_seen: dict[str, tuple[int, int]] = {}
        """The instance and count of what came last from each member."""

    # ---- members --------------------------------------------------------------------------------------------------

    def joined(self, member: str, number: int, size: int) -> list[Instruction]:
        """A member of another task has joined; where it takes the group for another size the members here fail."""
        if self._joined.get(member) == number:
            return []
        found: list[Instruction] = []
        try:
            self._check_size(member, size)
            found += self._out(member, None) if member in self._joined else []
            self.size = size
            self._joined[member] = number
            found += self._form()
        except errors.InvalidArgumentError as error:
            for other, seat in self.seats.items():
                found += self.leave(other, error)
                seat.reason = error
        return found

    def _check_size(self, member: str, size: int) -> None:
        if self.size and size != self.size:
            raise errors.InvalidArgumentError(
                None, None,
                f"{member} takes the group {self.group} for one of {size} members, and "
                f"{', '.join(sorted(self._joined))} for one of {self.size}: group_size must be the same.",
            )  # fmt: skip
        self.size = size

    @property
    def group(self) -> str:
        """The group as messages say it."""
        return f"with group_key {self.key}"

    def left(self, member: str, number: int, error: errors.OpError | None) -> list[Instruction]:
        """A member has left; `error` is what that means to the others, None where it had nothing under way."""
        if self._joined.get(member) != number:
            return []
        return self._out(member, error)

    def lost(self, task: str, error: errors.OpError) -> list[Instruction]:
        """A task is gone, with its members."""
        found: list[Instruction] = []
        for member in [m for m in self._joined if task_of(m) == task and m not in self.seats]:
            found += self._out(member, error)
        return found

    def leave(self, member: str, error: errors.OpError | None) -> list[Instruction]:
        """A member of this task leaves; `error` is what that means to the others."""
        seat = self.seats.get(member)
        if seat is None:
            return []
        seat.open.clear()
        seat.owed = None
        if not seat.number:
            return []
        found: list[Instruction] = [Left(member, seat.number, error)]
        self._unseat(seat)
        return found + self._out(member, error)

    @staticmethod
    def _unseat(seat: Seat) -> None:
        seat.number = 0
        seat.counts.clear()
        seat.waiting.clear()

    def _out(self, member: str, error: errors.OpError | None) -> list[Instruction]:
        """Takes a member out, which ends the formation that it was in: its other members have to join again."""
        formation, self.formation = self.formation, None
        found: list[Instruction] = []
        if formation is None:
            self._joined.pop(member, None)
        else:
            self._joined.clear()
            reason = error or errors.AbortedError(
                None, None, f"{member} has left the group {self.group}: its session was closed."
            )
            for round_ in formation.rounds.values():
                round_.error = round_.error or reason
            for other, seat in self.seats.items():
                if other != member and seat.number:
                    found.append(Left(other, seat.number, error))
                    seat.owed = None if member in self.seats else error  # Its client has seen the error.
                    seat.reason = reason
                    self._unseat(seat)
        if not self._joined:
            self.size = 0
        return found

    def _form(self) -> list[Instruction]:
        if len(self._joined) < self.size:
            return []
        if len(self._joined) > self.size:
            raise errors.InvalidArgumentError(
                None, None,
                f"The group {self.group} has {self.size} members, and these devices are in it: "
                f"{', '.join(sorted(self._joined, key=_place))}. Give the groups different keys, or the right size.",
            )  # fmt: skip
        members = tuple(sorted(self._joined, key=_place))
        text = "|".join(f"{m} {self._joined[m]}" for m in members)
        digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        self.formation = formation = Formation(
            int.from_bytes(digest, "little"), members, {m: rank for rank, m in enumerate(members)}
        )
        early, self._early = self._early, []
        for event in early:
            event()
        found: list[Instruction] = []
        for member, seat in self.seats.items():
            for key, offer in seat.waiting.items():
                found += self._bring(formation, member, key, offer)
            seat.waiting.clear()
        return found

    # ---- rounds ---------------------------------------------------------------------------------------------------

    def begin(
        self, member: str, size: int, instance: int, offer: Offer
    ) -> tuple[Ticket, Sequence[Instruction]]:
        """A member of this task begins an operation, with what it brings; raises the error that it owes from before."""
        seat = self.seats.get(member) or self.seats.setdefault(member, Seat())
        if seat.owed is not None:
            owed, seat.owed = seat.owed, None
            raise type(owed)(None, None, owed.message)
        found: list[Instruction] = []
        if seat.number and size != self.size and not seat.open and not seat.waiting:
            found += self.leave(member, None)  # The key is used anew.
        self._check_size(member, size)
        if not seat.number:
            seat.number = self._joined[member] = self._draw()
            found.append(Joined(member, seat.number))
            found += self._form()
        count = seat.counts.get(instance, 0)
        seat.counts[instance] = count + 1
        key = (instance, count)
        if self.formation is None:
            seat.waiting[key] = offer
        else:
            found += self._bring(self.formation, member, key, offer)
        return (seat.number, *key), found

    def _bring(
        self, formation: Formation, member: str, key: tuple[int, int], offer: Offer
    ) -> list[Instruction]:
        rank = formation.ranks[member]
        self._add(formation, rank, key, offer)
        seat = self.seats[member]
        seat.open[(seat.number, *key)] = formation, formation.rounds[key]
        return [Brought(formation, rank, key, offer)]

    def _add(self, formation: Formation, rank: int, key: tuple[int, int], offer: Offer) -> None:
        round_ = self._round(formation, key)
        for other_rank, other in round_.offers.items():
            if offer.unlike(other) and not round_.unfit:
                round_.unfit = True
                (low, a), (high, b) = sorted([(rank, offer), (other_rank, other)], key=lambda pair: pair[0])
                round_.error = errors.InvalidArgumentError(
                    None, None,
                    f"The members of the group {self.group} do not bring the same to the instance {key[0]}: "
                    f"{formation.members[low]} has {a}, {formation.members[high]} has {b}.",
                )  # fmt: skip
        round_.offers[rank] = offer
        self.last_seen[formation.members[rank]] = key

    def brought(self, formation: int, rank: int, key: tuple[int, int], offer: Offer) -> None:
        """A member of another task has brought its value."""
        current = self._current(formation, rank, lambda: self.brought(formation, rank, key, offer))
        if current is not None:
            self._add(current, rank, key, offer)

    def reduced(self, formation: int, rank: int, key: tuple[int, int], share: Any) -> None:
        """A member of another task has reduced its share of a value."""
        current = self._current(formation, rank, lambda: self.reduced(formation, rank, key, share))
        if current is not None:
            self._round(current, key).reduced[rank] = share

    def taken(self, formation: int, rank: int, key: tuple[int, int]) -> None:
        """A member of another task needs the memory of a round no more."""
        current = self._current(formation, rank, lambda: self.taken(formation, rank, key))
        if current is not None:
            self._round(current, key).taken.add(rank)

    def _current(self, number: int, rank: int, event: Callable[[], None]) -> Formation | None:
        """The formation, where it is of that number; where there is none the event is kept."""
        current = self.formation
        if current is None:
            self._early = [*self._early[1 - MOST_EARLY :], event]
        elif current.number == number and rank < len(current.members):
            return current
        return None

    @staticmethod
    def _round(formation: Formation, key: tuple[int, int]) -> Round:
        found = formation.rounds.get(key)
        if found is None:
            found = formation.rounds[key] = Round(key)
        return found

    def round_of(self, member: str, ticket: Ticket) -> tuple[Formation, Round] | None:
        """The round that a ticket is for, which may have an error; None where the group is not formed yet."""
        seat = self.seats[member]
        found = seat.open.get(ticket)
        if found is None and seat.number != ticket[0]:
            seat.owed = None
            text = f"{member} is in the group {self.group} no more: an operation of it failed. Run it again."
            raise seat.reason or errors.AbortedError(None, None, text)
        return found

    def end(self, member: str, ticket: Ticket) -> None:
        """A member of this task has its result."""
        formation, round_ = self.seats[member].open.pop(ticket)
        round_.ended.add(formation.ranks[member])
        if len(round_.ended) == sum(m in formation.ranks for m in self.seats):
            formation.rounds.pop(round_.key, None)

    # ---- in words -------------------------------------------------------------------------------------------------

    def awaited(
        self, member: str, ticket: Ticket, done: Callable[[Round], Collection[int]], tasks: Sequence[str]
    ) -> str:
        """Who is missing in a member's round, and what was heard of them last; `tasks` are those of the cluster."""
        formation, round_ = self.seats[member].open.get(ticket, (None, None))
        if formation is None:
            here = sorted(self._joined, key=_place)
            others = sorted(set(tasks) - {task_of(m) for m in here}, key=_place)
            jobs = {DeviceSpec.from_string(m).job for m in here}
            others = [t for t in others if DeviceSpec.from_string(t).job in jobs] or others
            missing = self.size - len(here)
            listed = f", of {', '.join(others)}" if others else ""
            seen = [
                f"{m} was last at {_step(self.last_seen[m])}" for m in sorted(self.last_seen) if m not in here
            ]
            return (
                f"{missing} of {self.size} members, which have not joined the group {self.group}{listed}; there are: "
                f"{', '.join(here) or 'none'}" + (f". {'; '.join(seen)}" if seen else "")
            )
        came = set() if round_ is None else set(done(round_))
        missing_members = [m for rank, m in enumerate(formation.members) if rank not in came]
        told = ", ".join(f"{m} ({self._last(m)})" for m in missing_members)
        return f"{len(missing_members)} of {len(formation.members)} members at {_step(ticket[1:])}: {told}"

    def _last(self, member: str) -> str:
        key = self.last_seen.get(member)
        return "not heard of" if key is None else f"last heard of at {_step(key)}"


def _step(key: tuple[int, int]) -> str:
    return f"step {key[1] + 1} of the instance {key[0]}"


def _place(member: str) -> tuple[str, int, str, int]:
    """What members are ordered by."""
    spec = DeviceSpec.from_string(member)
    return spec.job or "", spec.task or 0, spec.device_type or "", spec.device_index or 0

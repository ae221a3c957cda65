"""What a task knows of one group of collectives: who its members are, and the rounds they are at. No socket, no clock.

A member joins before its first operation and tells every task so. A group is formed when as many have joined as it has
members, which each task sees for itself: they are a communicator then. The number that a member joins with is drawn
anew each time, so the numbers of all members name the communicator, and what belongs to an earlier one is told from
what is now.

Whatever goes wrong with one member ends the communicator for all, since nobody can know what the others have done with
the results: each member's next operation raises once, and joins again after that. A member that has nothing under way
may leave quietly; the others then only wait for its return.

Who leaves says which rounds it has completed: these the others complete too, though they may have heard less by then,
since whatever it got from each member was told to all of them. Only what goes beyond these rounds ends with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Final

import graphflow.errors as errors
from graphflow._core.collectives.group_events import (
    ContributionCame,
    GiveHandle,
    GroupEvent,
    Instruction,
    MemberJoined,
    MemberLeaves,
    MemberLeft,
    MemoryRead,
    OperationBegun,
    OperationEnded,
    RefuseOperation,
    ResultAwaited,
    SendContribution,
    ShareReduced,
    ShowRound,
    TaskLost,
    TellJoined,
    TellLeft,
)
from graphflow._core.collectives.rounds import Communicator, Contribution, Counts, Handle, Round
from graphflow._core.common.machine import Machine, hold
from graphflow._core.common.records import dataclass
from graphflow._core.graph.devices import DeviceSpec, task_of

MOST_EARLY: Final = 4096
"""Contributions that may be kept for a communicator that is not known yet."""


@dataclass(eq=False)
class Member:
    """A member of this task.

    number: what it joined with, 0 if it has not. counts: of the rounds of each instance. owed: the error that it has
    to raise next. past: number and counts in the communicator that another one has left quietly.
    """

    number: int = 0
    counts: Counts = field(default_factory=dict)
    waiting: dict[tuple[int, int], Contribution] = field(default_factory=dict)
    """What it brought before the group was formed."""
    open: dict[Handle, tuple[Communicator, Round]] = field(default_factory=dict)
    """Its rounds that have not ended, those of a communicator that is no more among them."""
    owed: errors.OpError | None = None
    reason: errors.OpError | None = None
    """Why its last communicator has ended."""
    past: tuple[int, Counts] = (0, {})

    @property
    def under_way(self) -> bool:
        """Whether it is in the middle of an operation of its present communicator, or of one that is to be."""
        return bool(self.waiting) or any(number == self.number for number, _, _ in self.open)

    def completed(self) -> Counts:
        """How many rounds of each instance it has behind it."""
        found = dict(self.counts)
        for number, instance, count in self.open:
            if number == self.number:
                found[instance] = min(found[instance], count)
        for instance, count in self.waiting:
            found[instance] = min(found[instance], count)
        return {instance: count for instance, count in found.items() if count}


class Group(Machine):
    """One group at one task. key: the group_key of its operations."""

    def __init__(self, key: int) -> None:
        self.key = key
        self.size = 0
        self.members: dict[str, Member] = {}
        """The members of this task."""
        self.joined: dict[str, int] = {}
        """The number that each member, here or elsewhere, has joined with."""
        self.communicator: Communicator | None = None
        self._past: Communicator | None = None
        """The last communicator that somebody has left, and was not lost to."""
        self._gone: set[str] = set()
        """Its members that have left since: all that they had to tell came before."""
        self._ended: Mapping[str, int] = {}
        """What the members of the last communicator that has ended had joined with."""
        self._early: list[GroupEvent] = []
        """What came before the group was formed."""
        self.last_seen: dict[str, tuple[int, int]] = {}
        """The instance and count of what came last from each member."""
        self.handlers = {
            OperationBegun: self._begun, ResultAwaited: self._awaits, OperationEnded: self._ended_by,
            MemberLeaves: self._leaves, MemberJoined: self._has_come, MemberLeft: self._left,
            TaskLost: self._lost, ContributionCame: self._contribution_came,
            ShareReduced: self._share_reduced, MemoryRead: self._memory_read,
        }  # fmt: skip

    def handle(self, event: GroupEvent) -> list[Instruction]:
        """Takes an event; what is to be done about it, in that order."""
        return self.handlers[type(event)](event)

    # ---- members --------------------------------------------------------------------------------------------------

    def _has_come(self, event: MemberJoined) -> list[Instruction]:
        """If it takes the group for another size the members here fail."""
        member, number, size = event.member, event.number, event.size
        if number in (self.joined.get(member), self._ended.get(member)):
            return []  # Tasks that meet say again who has joined, and may not know yet that the communicator has ended.
        found: list[Instruction] = []
        try:
            self._check_size(member, size)
            found += self._out(member, None) if member in self.joined else []
            self.size = size
            self.joined[member] = number
            found += self._form()
            found += self._hear_early()
        except errors.InvalidArgumentError as error:
            for other, state in self.members.items():
                found += self._leave(other, error)
                state.reason = error
        return found

    def has_joined(self, member: str, number: int) -> bool:
        """Whether a member has joined with that number, and has not left."""
        return self.joined.get(member) == number

    def _check_size(self, member: str, size: int) -> None:
        if self.size and size != self.size:
            raise errors.InvalidArgumentError(
                None, None,
                f"{member} takes the group {self.group} for one of {size} members, and "
                f"{', '.join(sorted(self.joined))} for one of {self.size}: group_size must be the same.",
            )  # fmt: skip
        self.size = size

    @property
    def group(self) -> str:
        """The group as messages say it."""
        return f"with group_key {self.key}"

    def _left(self, event: MemberLeft) -> list[Instruction]:
        member, number, error = event.member, event.number, event.error
        if self.joined.get(member) == number:
            if error is None and self.communicator is None:
                self._keep(event)
                return []  # It has seen the group formed, so what forms it is on its way here.
            return self._out(member, error, event.completed)
        past = self._past
        if past is not None and past.joined.get(member) == number:
            self._gone.add(member)
        return []

    def _lost(self, event: TaskLost) -> list[Instruction]:
        task, error = event.task, event.error
        found: list[Instruction] = []
        for member in [m for m in self.joined if task_of(m) == task and m not in self.members]:
            found += self._out(member, error)
        # It has lost this task, too: who has joined by its word when they meet again is in no ended communicator.
        self._ended = {m: number for m, number in self._ended.items() if task_of(m) != task}
        past = self._past
        if past is not None and any(
            task_of(m) == task and m not in self.members and m not in self._gone for m in past.members
        ):
            past.final = {}
            _fail(past, error)
        return found

    def _leaves(self, event: MemberLeaves) -> list[Instruction]:
        return self._leave(event.member, event.error)

    def _leave(self, member: str, error: errors.OpError | None) -> list[Instruction]:
        state = self.members.get(member)
        if state is None:
            return []
        completed = state.completed()
        if error is None and state.under_way:
            text = f"{member} has left the group {self.group}: its session was closed in the middle of an operation."
            error = errors.AbortedError(None, None, text)
        state.open.clear()
        state.owed = None
        state.past = 0, {}
        if not state.number:
            return []
        found: list[Instruction] = [TellLeft(member, state.number, error, completed)]
        self._reset(state)
        return found + self._out(member, error, completed)

    @staticmethod
    def _reset(state: Member) -> None:
        state.number = 0
        state.counts = {}
        state.waiting.clear()

    def _out(
        self, member: str, error: errors.OpError | None, completed: Mapping[int, int] | None = None
    ) -> list[Instruction]:
        """Takes a member out, which ends the communicator that it was in: its other members have to join again."""
        communicator, self.communicator = self.communicator, None
        found: list[Instruction] = []
        if communicator is None:
            self.joined.pop(member, None)
            if error is not None and completed is not None and member not in self.members:
                for other, state in self.members.items():
                    if state.number:
                        found += self._leave(other, error)
                        state.reason = error
        else:
            self.joined.clear()
            self._ended = communicator.joined
            reason = error or errors.AbortedError(
                None, None, f"{member} has left the group {self.group}: its session was closed."
            )
            if completed is not None:
                communicator.final = dict(completed)
                self._past, self._gone = communicator, {member}
            _fail(communicator, reason)
            for other, state in self.members.items():
                if other != member and state.number:
                    own = {} if completed is None else state.completed()
                    told = own | {i: max(own.get(i, 0), count) for i, count in communicator.final.items()}
                    found.append(TellLeft(other, state.number, error, told))
                    state.owed = None if member in self.members else error  # Its client has seen the error.
                    state.reason = reason
                    state.past = (state.number, state.counts) if error is None else (0, {})
                    self._reset(state)
        if not self.joined:
            self.size = 0
        return found

    def _form(self) -> list[Instruction]:
        if len(self.joined) < self.size:
            return []
        if len(self.joined) > self.size:
            raise errors.InvalidArgumentError(
                None, None,
                f"The group {self.group} has {self.size} members, and these devices are in it: "
                f"{', '.join(sorted(self.joined, key=_place))}. Give the groups different keys, or the right size.",
            )  # fmt: skip
        members = tuple(sorted(self.joined, key=_place))
        text = "|".join(f"{m} {self.joined[m]}" for m in members)
        digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        self.communicator = communicator = Communicator(
            int.from_bytes(digest, "little"), members, dict(self.joined)
        )
        found: list[Instruction] = []
        for member, state in self.members.items():
            for key, contribution in state.waiting.items():
                found += self._bring(communicator, member, state.number, key, contribution)
            state.waiting.clear()
        return found

    def _hear_early(self) -> list[Instruction]:
        """Takes what came before the group was formed, once it is."""
        found: list[Instruction] = []
        if self.communicator is not None:
            early, self._early = self._early, []
            for event in early:
                found += self.handle(event)
        return found

    # ---- rounds ---------------------------------------------------------------------------------------------------

    def _begun(self, event: OperationBegun) -> list[Instruction]:
        """If the member owes an error from before, that is what it gets."""
        member, size, instance, contribution = event.member, event.size, event.instance, event.contribution
        state = self.members.get(member) or self.members.setdefault(member, Member())
        if state.owed is not None:
            owed, state.owed = state.owed, None
            return [_refusal(owed)]
        past, (number, counts) = self._past, state.past
        key = instance, counts.get(instance, 0)
        if past is not None and past.joined.get(member) == number and past.holds(key):
            counts[instance] = key[1] + 1
            brought = self._bring(past, member, number, key, contribution)
            return [*brought, GiveHandle((number, *key))]
        found: list[Instruction] = []
        if state.number and size != self.size and not state.open and not state.waiting:
            found += self._leave(member, None)  # The key is used anew.
        try:
            self._check_size(member, size)
            if not state.number:
                state.past = 0, {}
                state.number = self.joined[member] = event.number
                joined: list[Instruction] = [TellJoined(member, state.number, size)]
                found += joined + self._form()
        except errors.InvalidArgumentError as error:
            return [*found, RefuseOperation(error)]
        key = instance, state.counts.get(instance, 0)
        state.counts[instance] = key[1] + 1
        if self.communicator is None:
            state.waiting[key] = contribution
        else:
            found += self._bring(self.communicator, member, state.number, key, contribution)
        handle = (state.number, *key)
        return [*found, *self._hear_early(), GiveHandle(handle)]

    def _bring(
        self,
        communicator: Communicator,
        member: str,
        number: int,
        key: tuple[int, int],
        contribution: Contribution,
    ) -> list[Instruction]:
        rank = communicator.ranks[member]
        self._add(communicator, rank, key, contribution)
        self.members[member].open[(number, *key)] = communicator, communicator.rounds[key]
        return [SendContribution(communicator, rank, key, contribution)]

    def _add(
        self, communicator: Communicator, rank: int, key: tuple[int, int], contribution: Contribution
    ) -> None:
        round_ = self._round(communicator, key)
        for other_rank, other in round_.contributions.items():
            if contribution.unlike(other) and not round_.unfit:
                round_.unfit = True
                (low, a), (high, b) = sorted(
                    [(rank, contribution), (other_rank, other)], key=lambda pair: pair[0]
                )
                round_.error = errors.InvalidArgumentError(
                    None, None,
                    f"The members of the group {self.group} do not bring the same to the instance {key[0]}: "
                    f"{communicator.members[low]} has {a}, {communicator.members[high]} has {b}.",
                )  # fmt: skip
        round_.contributions[rank] = contribution
        self.last_seen[communicator.members[rank]] = key

    def _contribution_came(self, event: ContributionCame) -> list[Instruction]:
        current = self._current(event)
        if current is not None:
            self._add(current, event.rank, event.key, event.contribution)
        return []

    def _share_reduced(self, event: ShareReduced) -> list[Instruction]:
        current = self._current(event)
        if current is not None:
            self._round(current, event.key).reduced[event.rank] = event.share
        return []

    def _memory_read(self, event: MemoryRead) -> list[Instruction]:
        current = self._current(event)
        if current is not None:
            self._round(current, event.key).taken.add(event.rank)
        return []

    def _current(self, event: ContributionCame | ShareReduced | MemoryRead) -> Communicator | None:
        """The communicator of an event, if the round goes on; if there is none yet the event is kept."""
        for known in (self.communicator, self._past):
            if known is not None and known.number == event.communicator:
                fits = event.rank < len(known.members) and (
                    known is self.communicator or known.holds(event.key)
                )
                return known if fits else None
        if self.communicator is None:
            self._keep(event)
        return None

    def _keep(self, event: GroupEvent) -> None:
        """Has something heard once the group is formed."""
        self._early = [*self._early[1 - MOST_EARLY :], event]

    @staticmethod
    def _round(communicator: Communicator, key: tuple[int, int]) -> Round:
        found = communicator.rounds.get(key)
        if found is None:
            found = communicator.rounds[key] = Round(key)
        return found

    def _awaits(self, event: ResultAwaited) -> list[Instruction]:
        member, handle = event.member, event.handle
        state = self.members[member]
        found = state.open.get(handle)
        if found is not None:
            return [ShowRound(*found)]
        if state.number == handle[0]:  # The group is not formed yet.
            return []
        state.owed = None
        text = f"{member} is in the group {self.group} no more: an operation of it failed. Run it again."
        return [RefuseOperation(state.reason or errors.AbortedError(None, None, text))]

    def _ended_by(self, event: OperationEnded) -> list[Instruction]:
        communicator, round_ = self.members[event.member].open.pop(event.handle)
        round_.ended.add(communicator.ranks[event.member])
        if len(round_.ended) == sum(m in communicator.ranks for m in self.members):
            communicator.rounds.pop(round_.key, None)
        return []

    def check(self) -> None:
        """The communicator has just those who have joined, nobody waits for one that is there, and limits are kept."""
        present = self.communicator
        if present is not None:
            hold(present.joined == self.joined, f"{present.joined} have met, and {self.joined} have joined.")
            hold(len(self.joined) == self.size, f"{len(self.joined)} of {self.size} members have met.")
        for name, state in self.members.items():
            joined = self.joined.get(name, 0)
            hold(state.number == joined, f"{name} has joined with {state.number}, and is known by {joined}.")
            hold(not state.waiting or present is None, f"{name} waits for members that are there.")
            for handle, (_, round_) in state.open.items():
                hold(handle[1:] == round_.key, f"{name} has the round {round_.key} for {handle}.")
        hold(len(self._early) <= MOST_EARLY, "Too much is kept for a communicator that is not known.")

    # ---- in words -------------------------------------------------------------------------------------------------

    def awaited(
        self, member: str, handle: Handle, done: Callable[[Round], Collection[int]], tasks: Sequence[str]
    ) -> str:
        """Who is missing in a member's round, and what was heard of them last; `tasks` are those of the cluster."""
        communicator, round_ = self.members[member].open.get(handle, (None, None))
        if communicator is None:
            here = sorted(self.joined, key=_place)
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
        missing_members = [m for rank, m in enumerate(communicator.members) if rank not in came]
        told = ", ".join(f"{m} ({self._last(m)})" for m in missing_members)
        return f"{len(missing_members)} of {len(communicator.members)} members at {_step(handle[1:])}: {told}"

    def _last(self, member: str) -> str:
        key = self.last_seen.get(member)
        return "not heard of" if key is None else f"last heard of at {_step(key)}"


def _refusal(error: errors.OpError) -> RefuseOperation:
    """The same error once more, as another one."""
    return RefuseOperation(type(error)(None, None, error.message))


def _fail(communicator: Communicator, error: errors.OpError) -> None:
    """Ends the rounds of a communicator that has ended, but for those that are completed all the same."""
    for key, round_ in list(communicator.rounds.items()):
        if not communicator.holds(key):
            round_.error = round_.error or error
            del communicator.rounds[key]


def _step(key: tuple[int, int]) -> str:
    return f"step {key[1] + 1} of the instance {key[0]}"


def _place(member: str) -> tuple[str, int, str, int]:
    """What members are ordered by."""
    spec = DeviceSpec.from_string(member)
    return spec.job or "", spec.task or 0, spec.device_type or "", spec.device_index or 0

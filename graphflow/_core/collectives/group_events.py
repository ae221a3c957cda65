"""What happens to a group of collectives, and what is to be done about it: events and instructions of groups.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from graphflow import errors
from graphflow._core.collectives.rounds import Communicator, Contribution, Handle, Round
from graphflow._core.common.machine import step_event
from graphflow._core.common.records import dataclass

Key = tuple[int, int]
"""Which round it is: the key of the instance, and a count."""


@step_event
class GroupEvent:
    """Something that has happened to a group. No time goes along: nothing depends on it."""


# ---- of members of this task ----------------------------------------------------------------------------------------


@step_event
class OperationBegun(GroupEvent):
    """A member of this task begins an operation, with what it brings.

    size: how many members it takes the group to have. number: one that no member has joined with before, for the member
    if it has to join.
    """

    member: str
    size: int
    instance: int
    contribution: Contribution
    number: int


@step_event
class ResultAwaited(GroupEvent):
    """A member of this task looks whether the others have done their part of an operation."""

    member: str
    handle: Handle


@step_event
class OperationEnded(GroupEvent):
    """A member of this task has its result."""

    member: str
    handle: Handle


@step_event
class MemberLeaves(GroupEvent):
    """A member of this task leaves; error: what that means to the others.

    If it is None and an operation is under way all the same, those who wait for this member have to know. So who leaves
    quietly has seen the group formed.
    """

    member: str
    error: errors.OpError | None


# ---- of other tasks -------------------------------------------------------------------------------------------------


@step_event
class MemberJoined(GroupEvent):
    """A member of another task has joined, with this number, and takes the group for one of that size."""

    member: str
    number: int
    size: int


@step_event
class MemberLeft(GroupEvent):
    """A member of another task has left.

    error: what that means to the others, None if it had nothing under way. completed: the rounds that they complete.
    """

    member: str
    number: int
    error: errors.OpError | None
    completed: Mapping[int, int]


@step_event
class TaskLost(GroupEvent):
    """A task is gone, with its members."""

    task: str
    error: errors.OpError


@step_event
class ContributionCame(GroupEvent):
    """A member of another task has brought its value. communicator: its number."""

    communicator: int
    rank: int
    key: Key
    contribution: Contribution


@step_event
class ShareReduced(GroupEvent):
    """A member of another task has reduced its share of a value; None if that is in the memory of its contribution."""

    communicator: int
    rank: int
    key: Key
    share: Any


@step_event
class MemoryRead(GroupEvent):
    """A member of another task needs the memory of a round no more."""

    communicator: int
    rank: int
    key: Key


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TellJoined:
    """Tell all tasks that a member has joined a group, which it takes for one of that size."""

    member: str
    number: int
    size: int


@dataclass(frozen=True)
class TellLeft:
    """Tell all tasks that a member has left.

    error: what its leaving means to the others, None for nothing. completed: which rounds they are to complete then.
    """

    member: str
    number: int
    error: errors.OpError | None
    completed: Mapping[int, int] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class SendContribution:
    """Give the other tasks of the communicator what a member of this task brought."""

    communicator: Communicator
    rank: int
    key: Key
    contribution: Contribution


@dataclass(eq=False, slots=True)
class GiveHandle:
    """The operation has begun: the member asks for its result with this handle."""

    handle: Handle


@dataclass(eq=False, slots=True)
class ShowRound:
    """The group is formed: this is the round that the member asks for, which may have an error."""

    communicator: Communicator
    round: Round


@dataclass(frozen=True, eq=False, slots=True)
class RefuseOperation:
    """The member's operation fails with this error."""

    error: errors.OpError


Instruction = TellJoined | TellLeft | SendContribution | GiveHandle | ShowRound | RefuseOperation

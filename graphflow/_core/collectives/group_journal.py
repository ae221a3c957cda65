"""What the journal of the groups of a process keeps of their events and instructions: no values, no tracebacks.

A contribution, whose memory others may be waiting for, is replaced by one without a value, an error by one that was not
raised, and an instruction by a description in which a communicator is its number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from graphflow._core.collectives.group_events import (
    ContributionCame,
    GiveHandle,
    GroupEvent,
    Instruction,
    MemberJoined,
    MemberLeaves,
    MemberLeft,
    OperationBegun,
    RefuseOperation,
    ResultAwaited,
    SendContribution,
    ShareReduced,
    ShowRound,
    TaskLost,
    TellJoined,
    TellLeft,
)
from graphflow._core.collectives.rounds import Contribution
from graphflow._core.common.machine_journal import MachineJournal
from graphflow.errors import OpError

Description = tuple[Any, ...]
"""The class of an instruction, and its fields as `FIELDS` has them."""

FIELDS: Final[dict[type[Any], tuple[str, ...]]] = {
    TellJoined: ("member", "number", "size"), TellLeft: ("member", "number", "error", "completed"),
    SendContribution: ("communicator", "rank", "key"), GiveHandle: ("handle",),
    ShowRound: ("communicator", "key"), RefuseOperation: ("error",),
}  # fmt: skip
"""The fields of a description, by the class of the instruction."""


def _error(error: OpError | None) -> str | None:
    return None if error is None else f"{type(error).__name__}: {error.message}"


_DESCRIBE: Final[dict[type[Any], Callable[[Any], Description]]] = {
    TellJoined: lambda i: (TellJoined, i.member, i.number, i.size),
    TellLeft: lambda i: (TellLeft, i.member, i.number, _error(i.error), i.completed),
    SendContribution: lambda i: (SendContribution, i.communicator.number, i.rank, i.key),
    GiveHandle: lambda i: (GiveHandle, i.handle),
    ShowRound: lambda i: (ShowRound, i.communicator.number, i.round.key),
    RefuseOperation: lambda i: (RefuseOperation, _error(i.error)),
}


def described(instruction: Instruction) -> Description:
    """An instruction as what can be kept and compared: a communicator is its number, an error its text."""
    return _DESCRIBE[type(instruction)](instruction)


def _not_raised(error: Any) -> Any:
    return None if error is None else type(error)(None, None, error.message)


_CONTRIBUTION: Final = 3
"""Which field of the two events that bring one has the contribution."""


def _begun(e: OperationBegun) -> tuple[Any, ...]:
    c = e.contribution
    brought = c.terms, c.name, c.dtype, c.shape, None, None, c.rows, c.fixed
    return OperationBegun, e.member, e.size, e.instance, brought, e.number


def _came(e: ContributionCame) -> tuple[Any, ...]:
    c = e.contribution
    brought = c.terms, c.name, c.dtype, c.shape, None, None, c.rows, c.fixed
    return ContributionCame, e.communicator, e.rank, e.key, brought


_LIGHTEN: Final[dict[type[GroupEvent], Callable[[Any], Any]]] = {
    OperationBegun: _begun,
    ContributionCame: _came,
    ShareReduced: lambda e: ShareReduced(e.communicator, e.rank, e.key, None),
    MemberLeaves: lambda e: MemberLeaves(e.member, _not_raised(e.error)),
    MemberLeft: lambda e: MemberLeft(e.member, e.number, _not_raised(e.error), e.completed),
    TaskLost: lambda e: TaskLost(e.task, _not_raised(e.error)),
}
"""What is kept of an event, if that is not the event: an event, or its class and fields, with those of a contribution.

The two that bring contributions come in each operation, and a tuple is made in a fifth of the time of an event.
"""


def event_of(kept: Any) -> GroupEvent:
    """The event of which that was kept, without values."""
    if not isinstance(kept, tuple):
        found: GroupEvent = kept
        return found
    kind, *own = kept
    own[_CONTRIBUTION] = Contribution(*own[_CONTRIBUTION])
    made: GroupEvent = kind(*own)
    return made


_RARE: Final = frozenset({MemberJoined, MemberLeaves, MemberLeft, TaskLost})
"""Events of members. The others come in each operation."""
_OF_OPERATIONS: Final = frozenset({SendContribution, GiveHandle})


class GroupJournal(MachineJournal):
    """The last events of the groups of a process, each with the key of its group. For who holds their lock."""

    __slots__ = ()

    def keep(self, now: float, key: int, event: GroupEvent, found: Sequence[Instruction]) -> None:
        """Keeps what a group has heard, and said; not that a member looks, which changes nothing."""
        kind = type(event)
        if kind is ResultAwaited and (not found or type(found[0]) is ShowRound):
            return
        lighten = _LIGHTEN.get(kind)
        kept = event if lighten is None else lighten(event)
        if found:
            often = kind not in _RARE and type(found[0]) in _OF_OPERATIONS
            self.add(now, (key, kept), [_DESCRIBE[type(i)](i) for i in found], often)
        else:
            self.add(now, (key, kept), (), kind not in _RARE)

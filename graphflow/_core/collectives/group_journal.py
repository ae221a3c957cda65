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


def _without_value(c: Contribution) -> Contribution:
    return Contribution(c.terms, c.name, c.dtype, c.shape, None, None, c.rows, c.fixed)


def _not_raised(error: Any) -> Any:
    return None if error is None else type(error)(None, None, error.message)


_LIGHTEN: Final[dict[type[GroupEvent], Callable[[Any], GroupEvent]]] = {
    OperationBegun: lambda e: OperationBegun(
        e.member, e.size, e.instance, _without_value(e.contribution), e.number
    ),
    ContributionCame: lambda e: ContributionCame(
        e.communicator, e.rank, e.key, _without_value(e.contribution)
    ),
    ShareReduced: lambda e: ShareReduced(e.communicator, e.rank, e.key, None),
    MemberLeaves: lambda e: MemberLeaves(e.member, _not_raised(e.error)),
    MemberLeft: lambda e: MemberLeft(e.member, e.number, _not_raised(e.error), e.completed),
    TaskLost: lambda e: TaskLost(e.task, _not_raised(e.error)),
}
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
        often = kind not in _RARE and (not found or type(found[0]) in _OF_OPERATIONS)
        self.add(
            now,
            (key, event if lighten is None else lighten(event)),
            [_DESCRIBE[type(i)](i) for i in found],
            often,
        )

"""What a collective consists of: what members bring, the rounds in which they do, and the members that do so together.

Nothing here knows how a group comes about or ends: that is the state machine of groups.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.common.records import dataclass

LARGE: Final = 64 << 10
"""Bytes from which a value is reduced in shares; the same for all members, since it decides what they send."""
ALIGNED: Final = 64
"""Elements that a share is a multiple of."""
SEND: Final = "broadcast, sends"
RECEIVE: Final = "broadcast, receives"
GATHER: Final = "all_gather"
EXCHANGE: Final = "all_to_all"


def share_of(length: int, rank: int, size: int) -> slice:
    """The elements of a flat value that a rank reduces."""
    step = -(-length // (size * ALIGNED)) * ALIGNED
    return slice(min(length, rank * step), min(length, (rank + 1) * step))


@dataclass(eq=False, slots=True)
class Contribution:
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

    def place(self, rank: int, size: int) -> slice:
        """The elements that concern a rank, of so many: what it reduces, or what it is given by all_to_all."""
        length = math.prod(self.shape)
        if self.terms != EXCHANGE:
            return share_of(length, rank, size)
        rows = length // size
        return slice(rank * rows, (rank + 1) * rows)

    def share(self, rank: int, size: int) -> Any:
        """What concerns a rank of this task."""
        return self.whole[self.place(rank, size)] if self.parts is None else self.parts[rank]

    def unlike(self, other: Contribution) -> bool:
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
    contributions: dict[int, Contribution] = field(default_factory=dict)
    """By rank."""
    reduced: dict[int, Any] = field(default_factory=dict)
    """The part that each rank has reduced; None if it is in the memory of its contribution."""
    taken: set[int] = field(default_factory=set)
    """The ranks that read no memory of others any more."""
    ended: set[int] = field(default_factory=set)
    """The ranks of this task that have their result."""
    unfit: bool = False
    """Whether what the members brought does not fit together, which is then the error."""
    error: errors.OpError | None = None


Handle = tuple[int, int, int]
"""The number that a member had joined with, the key of the instance, the count."""


Counts = dict[int, int]
"""A number of rounds by the key of the instance."""


@dataclass(eq=False)
class Communicator:
    """A group whose members are known, in their order; `number` names it.

    joined: what each member joined with. final: once one has left, how many rounds are completed all the same.
    """

    number: int
    members: tuple[str, ...]
    joined: Mapping[str, int]
    ranks: Mapping[str, int] = field(init=False)
    rounds: dict[tuple[int, int], Round] = field(default_factory=dict)
    final: Counts = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ranks = {member: rank for rank, member in enumerate(self.members)}

    def holds(self, key: tuple[int, int]) -> bool:
        """Whether a round is among those that are completed all the same."""
        return key[1] < self.final.get(key[0], 0)

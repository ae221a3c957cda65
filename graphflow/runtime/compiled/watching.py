"""What a compiled plan shows of itself while it runs kernel by kernel, for who looks for the place where it goes wrong.

A kernel shows the values in the memory that it was the last to fill, at once: another value may come to lie there
later. Memory that several kernels fill, such as that of a concatenation, is shown by the last of them, with the
instructions of all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphflow.plan.ir import Instruction
from graphflow.runtime.compiled.fuse import Group
from graphflow.runtime.compiled.values import Value


@dataclass(frozen=True)
class Sight:
    """What a kernel has left in some memory.

    kernel: its instructions. others: those of the kernels before it that have filled other parts of the same memory.
    names: the values that lie there. read: gives a value of that name as an array of its own.
    """

    kernel: Sequence[Instruction]
    others: Sequence[Instruction]
    names: Sequence[str]
    read: Callable[[str], Any]


Watch = Callable[[Sight], None]
"""Called with each sight, in the order in which they come up."""


@dataclass(frozen=True)
class Filled:
    """Memory that a group was the last to fill: the instructions of other groups that did, and what lies there."""

    others: Sequence[Instruction]
    values: Mapping[str, Value]


def filled(
    groups: Sequence[Group], stored: Collection[str], values: Iterable[tuple[str, Value]]
) -> list[list[Filled]]:
    """For each group the memory that it was the last to fill, in the order of its nodes.

    stored: the roots that lie in memory at all. values: the values by name, and where they lie; one may lie in several
    places.
    """
    makers: dict[str, dict[int, None]] = {}
    for number, group in enumerate(groups):
        for node in group.nodes:
            for root in node.makes:
                makers.setdefault(root, {})[number] = None
    lying: dict[str, dict[str, Value]] = {}
    for name, value in values:
        lying.setdefault(value.root, {})[name] = value
    found: list[list[Filled]] = [[] for _ in groups]
    for root, numbers in makers.items():
        if root in stored and root in lying:
            *before, last = numbers
            others = [instruction for number in before for instruction in groups[number].instructions]
            found[last].append(Filled(others, lying[root]))
    return found

"""Shows the values that a compiled plan computes while it runs kernel by kernel, to find the kernel that is wrong.

The values of a kernel are shown at once, since later ones may use the same memory. If several kernels fill one block,
such as that of a concatenation, it is shown after the last of them, with the instructions of all. A variable is shown
after each instruction that has written it, since the next may write over it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from graphflow._core.common.records import dataclass
from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction


@dataclass(frozen=True)
class Sight:
    """The values that a kernel has written to some memory.

    kernel: its instructions. others: those of the kernels before it that have filled other parts of the same memory.
    names: the values that lie there; the name of a variable if `writer`, an instruction of the kernel, has written
    it. read: gives a value of that name as an array of its own.
    """

    kernel: Sequence[Instruction]
    others: Sequence[Instruction]
    names: Sequence[str]
    writer: Instruction | None
    read: Callable[[str], Any]


Watch = Callable[[Sight], None]
"""Called with each sight, in the order in which they come up."""


@dataclass(frozen=True)
class Left:
    """What a group has left: where values lie, and the instructions of other groups that have filled that memory too;
    or the name of a variable, and the instruction that has written it.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    others: Sequence[Instruction] = ()
    variable: str = ""
    writer: Instruction | None = None

    def sight(
        self,
        kernel: Sequence[Instruction],
        read_value: Callable[[Value], Any],
        read_variable: Callable[[str], Any],
    ) -> Sight:
        """What a watch is given, by functions that copy a value from where it lies, and a variable by its name."""
        if self.writer is not None:
            return Sight(kernel, (), [self.variable], self.writer, read_variable)
        return Sight(kernel, self.others, list(self.values), None, lambda name: read_value(self.values[name]))


def left_by(
    groups: Sequence[Group], stored: Collection[str], values: Iterable[tuple[str, Value]]
) -> list[list[Left]]:
    """For each group what it leaves, in the order of its nodes.

    stored: the roots that lie in memory at all. values: the values by name, and where they lie; one may lie in several
    blocks.
    """
    nodes = [(number, node) for number, group in enumerate(groups) for node in group.nodes]
    makers: dict[str, list[int]] = {}
    written: dict[tuple[str, str], int] = {}
    last: dict[tuple[int, str], int] = {}
    for position, (number, node) in enumerate(nodes):
        for root in node.makes:
            makers.setdefault(root, []).append(position)
        for root in node.variables:
            written[node.instruction.name, root] = last[number, root] = position
    lying: dict[str, dict[str, Value]] = {}
    for name, value in values:
        lying.setdefault(value.root, {})[name] = value
    found: list[list[Left]] = [[] for _ in groups]
    for position, (number, node) in enumerate(nodes):
        for root in dict.fromkeys(node.makes):
            if makers[root][-1] == position and root in stored and root in lying:
                before = dict.fromkeys(nodes[maker][0] for maker in makers[root])
                others = [i for other in before if other != number for i in groups[other].instructions]
                found[number].append(Left(lying[root], others))
        for root in dict.fromkeys(node.variables):
            if written[node.instruction.name, root] == position == last[number, root]:
                found[number].append(Left(variable=root, writer=node.instruction))
    return found

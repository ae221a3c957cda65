"""Groups statements into regions, one loop nest each, and scalar statements into scalar programs.

Going through the nodes in order, each joins the group of what it takes, as long as it walks the same index space and
the groups stay in an order: no group may need itself by way of another. Only then is the result of fusion independent
of luck, and free of cycles.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

from graphflow._core.common.records import dataclass
from graphflow._core.compiler.nodes import Node, PythonNode, Statements
from graphflow._core.compiler.values import Value, boxes_apart
from graphflow._core.plan.ir import Instruction

_MOST_LINES = 48
_MOST_OPERANDS = 24
_MOST_RESULTS = 16
_MOST_SCALAR_LINES = 20000


@dataclass(eq=False)
class Group:
    """Nodes that run as one: fused statements, or a single kernel or instruction."""

    nodes: list[Node] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    space: tuple[int, ...] | None = None
    needs: int = 0
    """Bits of the groups that come before, directly or not."""
    lines: int = 0
    results: int = 0
    """How much its statements store at most; many may go into one block, such as the parts of a concatenation."""
    operands: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    skewed: set[str] = field(default_factory=set)
    """Roots that are read otherwise than element by element."""
    fallible: bool = False
    """Whether one of its nodes, and no more, may find an error; such a group writes no variable after that."""

    @property
    def instructions(self) -> list[Instruction]:
        """What its nodes stand for; one may be there several times."""
        return [node.instruction for node in self.nodes]

    @property
    def fallible_node(self) -> Node:
        """The node of the group that has found an error, if one has."""
        return next((node for node in self.nodes if node.fallible), self.nodes[0])

    @property
    def scalar(self) -> bool:
        """Whether it is for the scalar machine."""
        return self.space == ()


def fuse(nodes: Sequence[Node], as_regions: Collection[Statements] = ()) -> list[Group]:
    """The groups, in an order in which they can run; `as_regions` are scalars that the machine lacks."""
    fusing = _Fusing(nodes, as_regions)
    for number in range(len(nodes)):
        fusing.add(number)
    return fusing.ordered()


class _Fusing:
    def __init__(self, nodes: Sequence[Node], as_regions: Collection[Statements]) -> None:
        self._nodes = nodes
        self._as_regions = as_regions
        self._groups: list[Group] = []
        self._of: list[int] = []
        self._readers: dict[str, list[int]] = {}
        self._scalar: list[int] = []

    def add(self, number: int) -> None:
        node = self._nodes[number]
        direct = {self._of[n] for n in node.after}
        alone = isinstance(node, Statements) and node.build is not None
        if isinstance(node, Statements) and not alone:
            for candidate in self._candidates(node, direct):
                if self._fits(candidate, node, direct):
                    self._join(candidate, number, direct)
                    return
        self._groups.append(Group(space=self._space(node)))
        self._join(len(self._groups) - 1, number, direct)
        if self._groups[-1].scalar and not alone:
            self._scalar.append(len(self._groups) - 1)

    def _space(self, node: Node) -> tuple[int, ...] | None:
        """The index space of the group that a node may be in; scalars that are for a region have an axis of size 1."""
        if not isinstance(node, Statements):
            return None
        return (1,) if node in self._as_regions else node.space

    def _candidates(self, node: Statements, direct: set[int]) -> list[int]:
        if self._space(node) == ():
            return list(reversed(self._scalar))
        related = {g for value in node.reads for g in self._readers.get(value.root, ())}
        return sorted(direct | related, reverse=True)

    def _fits(self, index: int, node: Statements, direct: set[int]) -> bool:
        group = self._groups[index]
        if group.space != self._space(node) or group.lines + len(node.lines) > (
            _MOST_SCALAR_LINES if group.scalar else _MOST_LINES
        ):
            return False
        bit = 1 << index
        if any(other != index and self._groups[other].needs & bit for other in direct):
            return False
        if group.fallible and (node.fallible or node.variables):
            return False
        if group.scalar:
            return True
        roots_read = {v.root for v in node.reads}
        if len(group.operands | roots_read | set(node.makes)) > _MOST_OPERANDS:
            return False
        if not roots_read.isdisjoint(group.written):
            return False
        made_here = {root for n in group.nodes for root in n.makes}
        if any(v.root in made_here and _skewed(v, node.space) for v in node.reads):
            return False
        if any(
            isinstance(n, Statements)
            and (n.forced or n.reduce is not None)
            and not roots_read.isdisjoint(n.makes)
            for n in group.nodes
        ):
            return False
        if set(node.makes) & made_here and not _apart(node, group):
            return False
        if group.results + len(node.results) > _MOST_RESULTS:
            return False
        return not (set(node.variables) & (group.skewed | group.written))

    def _join(self, index: int, number: int, direct: set[int]) -> None:
        group, node = self._groups[index], self._nodes[number]
        group.nodes.append(node)
        group.numbers.append(number)
        group.fallible |= node.fallible
        needs = 0
        for other in direct - {index}:
            needs |= 1 << other | self._groups[other].needs
        added = needs & ~group.needs
        group.needs |= needs
        bit = 1 << index
        if added:
            for later in self._groups:
                if later.needs & bit:
                    later.needs |= group.needs
        for value in node.reads:
            group.operands.add(value.root)
            readers = self._readers.setdefault(value.root, [])
            if index not in readers:
                readers.append(index)
        group.operands.update(node.makes)
        group.written.update(node.variables)
        if isinstance(node, Statements):
            group.lines += len(node.lines)
            group.results += len(node.results)
            group.skewed |= {v.root for v in node.reads if _skewed(v, node.space)}
        self._of.append(index)

    def ordered(self) -> list[Group]:
        """By what they need; among what is ready, what was built first. NumPy's stretches are kept together."""
        left = dict(enumerate(self._groups))
        done = 0
        result: list[Group] = []
        last_native = True
        while left:
            ready = [k for k, g in left.items() if not g.needs & ~done]
            same = [k for k in ready if _native(left[k]) == last_native]
            chosen = min(same or ready, key=lambda k: left[k].numbers[0])
            last_native = _native(left[chosen])
            done |= 1 << chosen
            result.append(left.pop(chosen))
        return result


def _skewed(value: Value, space: tuple[int, ...]) -> bool:
    """Whether a value is read otherwise than its block element by element."""
    return value.shape != space or not value.contiguous or value.offset != 0


def _apart(node: Statements, group: Group) -> bool:
    """Whether what it stores lies beside all that the group stores in the same blocks."""
    return all(
        boxes_apart(mine, other)
        for n in group.nodes
        if isinstance(n, Statements)
        for _, other in n.results
        for _, mine in node.results
        if mine.root == other.root
    )


def _native(group: Group) -> bool:
    return not isinstance(group.nodes[0], PythonNode)

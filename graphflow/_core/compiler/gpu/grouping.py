"""How the fused groups of a plan become launches: which share one, and how those of scalars are cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.nodes import Statements
from graphflow._core.compiler.values import Value

_MOST_SCALARS: Final = 12
"""Statements on scalars that one kernel computes."""


def batches(groups: Sequence[Group]) -> list[list[int]]:
    """The numbers of groups by launch: neighbours that are elementwise and need nothing of each other share one.

    What writes variables does so in a launch after those of what may fail.
    """
    found: list[list[int]] = []
    read: set[str] = set()
    written: set[str] = set()
    joins = fallible = False
    for number, group in enumerate(groups):
        reads = {v.root for node in group.nodes for v in node.reads}
        writes = {root for node in group.nodes for root in (*node.makes, *node.variables)}
        plain = all(isinstance(n, Statements) and n.reduce is None for n in group.nodes)
        changes = any(node.variables for node in group.nodes)
        if not (joins and plain) or reads & written or writes & (read | written) or (fallible and changes):
            found.append([])
            read, written, fallible = set(), set(), False
        found[-1].append(number)
        read |= reads
        written |= writes
        fallible |= any(node.fallible for node in group.nodes)
        joins = plain
    return found


def lowest(value: Value) -> int:
    """The first element of its block that a value has: it may be walked backwards."""
    return value.offset + sum((n - 1) * s for n, s in zip(value.shape, value.strides, strict=True) if s < 0)


def reach(value: Value) -> int:
    """The number of elements from where a value begins to its last."""
    return 1 + sum((n - 1) * s for n, s in zip(value.shape, value.strides, strict=True) if s > 0)


def small_groups(group: Group) -> list[Group]:
    """A group of statements on scalars as groups of few, none of which reads what another statement of it writes."""
    if group.space != ():
        return [group]
    found: list[Group] = []
    written: set[str] = set()
    for node, number in zip(group.nodes, group.numbers, strict=True):
        assert isinstance(node, Statements)
        touched = {v.root for v in node.reads} | set(node.variables)
        if not found or len(found[-1].nodes) >= _MOST_SCALARS or touched & written:
            found.append(Group(space=()))
            written = set()
        found[-1].nodes.append(node)
        found[-1].numbers.append(number)
        written |= set(node.variables)
        if node.forced or node.reduce is not None:
            written |= set(node.makes)
    return found

"""Taking back the latest operations of a graph, so that what adds many of them adds all or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphflow._core.graph.graph import Graph


def forget_from(graph: Graph, version: int) -> None:
    """Removes the operations that were added since the graph's `version` was this."""
    with graph._lock:
        forgotten = graph._operations[version:]
        del graph._operations[version:]
        for op in forgotten:
            del graph._by_name[op.name]
            for tensor in op.inputs:
                if op in tensor._consumers:
                    tensor._consumers.remove(op)
            if op._context is not None and op in op._context.ops:
                op._context.ops.remove(op)
        if forgotten:
            graph.stamp += 1


def mark_as_used(graph: Graph, name: str) -> None:
    """Keeps later operations from the name of one that was added under a name of its own."""
    with graph._lock:
        graph._names_in_use.setdefault(name.lower(), 1)

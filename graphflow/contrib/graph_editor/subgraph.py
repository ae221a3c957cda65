"""A part of a graph: operations, what they take from outside, and what they give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow.contrib.graph_editor.select import select_ops
from graphflow.contrib.graph_editor.walks import Elements, listed


class SubGraphView:
    """Operations of one graph, seen as a whole (tf.contrib.graph_editor.SubGraphView).

    Attributes:
        ops: Its operations, in the order in which they were built.
        inputs: The tensors that they take from outside.
        outputs: The tensors of theirs that others take, or nobody.
    """

    def __init__(self, inside_ops: Iterable[Operation] = ()) -> None:
        """Sees operations as a whole.

        Args:
            inside_ops: The operations.

        Raises:
            ValueError: If they are of several graphs.
        """
        given = dict.fromkeys(inside_ops)
        graphs = dict.fromkeys(op.graph for op in given)
        if len(graphs) > 1:
            raise ValueError("Operations of a SubGraphView are of one graph, and these are of several.")
        self._graph: Graph | None = next(iter(graphs), None)
        self.ops: list[Operation] = (
            [] if self._graph is None else [op for op in self._graph.get_operations() if op in given]
        )
        self.inputs: list[Tensor] = list(
            dict.fromkeys(tensor for op in self.ops for tensor in op.inputs if tensor.op not in given)
        )
        self.outputs: list[Tensor] = [
            tensor
            for op in self.ops
            for tensor in op.outputs
            if not tensor.consumers() or any(one not in given for one in tensor.consumers())
        ]

    @property
    def graph(self) -> Graph:
        """The graph.

        Raises:
            ValueError: If there is no operation.
        """
        if self._graph is None:
            raise ValueError("An empty SubGraphView has no graph.")
        return self._graph

    def __iter__(self) -> Iterator[Operation]:
        """Its operations."""
        return iter(self.ops)

    def __bool__(self) -> bool:
        """Whether there are operations."""
        return bool(self.ops)

    def find_op_by_name(self, op_name: str) -> Operation:
        """The operation of a name.

        Args:
            op_name: The name.

        Returns:
            An operation.

        Raises:
            ValueError: If there is none.
        """
        for op in self.ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not found in subgraph.")

    def consumers(self) -> list[Operation]:
        """The operations outside that take something of it.

        Returns:
            A list of operations, each once.
        """
        inside = set(self.ops)
        takers = (one for tensor in self.outputs for one in tensor.consumers())
        return [one for one in dict.fromkeys(takers) if one not in inside]


Part: TypeAlias = "SubGraphView | Elements"
"""A part of a graph, as functions here take it."""


def make_view(*args: Any, graph: Graph | None = None) -> SubGraphView:
    """A view of operations (tf.contrib.graph_editor.make_view, sgv).

    Args:
        *args: Views, graphs, operations, lists of them, or patterns of names.
        graph: Where patterns search.

    Returns:
        A view; one that is given alone is itself.
    """
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    return SubGraphView(op for one in args for op in select_ops(*_spread(one), graph=graph))


def _spread(given: Any) -> list[Any]:
    return [given] if isinstance(given, str) else listed(given)


def make_view_from_scope(scope: str, graph: Graph) -> SubGraphView:
    """A view of the operations of a name scope (tf.contrib.graph_editor.make_view_from_scope, sgv_scope).

    Args:
        scope: The scope.
        graph: The graph.

    Returns:
        A view.
    """
    inside = scope if scope.endswith("/") else f"{scope}/"
    return SubGraphView(op for op in graph.get_operations() if op.name.startswith(inside))


__all__ = ["SubGraphView", "make_view", "make_view_from_scope"]

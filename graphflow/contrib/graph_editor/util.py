"""Who waits for an operation, which operations do not say themselves."""

from __future__ import annotations

from graphflow._core.graph.elements import Operation
from graphflow._core.graph.graph import Graph


class ControlOutputs:
    """The operations of a graph that wait for others (tf.contrib.graph_editor.ControlOutputs).

    Attributes:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        """Looks through a graph as it is now.

        Args:
            graph: The graph.

        Raises:
            TypeError: If it is none.
        """
        if not isinstance(graph, Graph):
            raise TypeError(f"Expected a gf.Graph, got: {type(graph)}")
        self.graph = graph
        self.update()

    def update(self) -> ControlOutputs:
        """Looks through the graph once more.

        Returns:
            Itself.
        """
        self._waiting: dict[Operation, list[Operation]] = {}
        for op in self.graph.get_operations():
            for one in op.control_inputs:
                self._waiting.setdefault(one, []).append(op)
        return self

    def get_all(self) -> dict[Operation, list[Operation]]:
        """Who waits for each operation that is waited for.

        Returns:
            A dictionary of lists.
        """
        return self._waiting

    def get(self, op: Operation) -> list[Operation]:
        """Who waits for an operation.

        Args:
            op: The operation.

        Returns:
            A list of operations.
        """
        return self._waiting.get(op, [])


__all__ = ["ControlOutputs"]

"""A part of a graph: operations, what they take from outside, and what they give."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any, TypeAlias

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow.contrib.graph_editor.select import select_ops_and_ts
from graphflow.contrib.graph_editor.walks import Elements, listed


class SubGraphView:
    """Operations of one graph, seen as a whole (tf.contrib.graph_editor.SubGraphView).

    Attributes:
        ops: Its operations, in the order in which they were built.
        inputs: The tensors that they take from outside.
        outputs: The tensors of theirs that others take, or nobody.
        passthroughs: Tensors among both that none of the operations takes or gives.
    """

    def __init__(self, inside_ops: Iterable[Operation] = (), passthrough_ts: Iterable[Tensor] = ()) -> None:
        """Sees operations as a whole.

        Args:
            inside_ops: The operations.
            passthrough_ts: Tensors that go through it, which none of the operations takes or gives.

        Raises:
            ValueError: If they are of several graphs.
        """
        given, through = dict.fromkeys(inside_ops), list(dict.fromkeys(passthrough_ts))
        graphs = dict.fromkeys([*(op.graph for op in given), *(tensor.graph for tensor in through)])
        if len(graphs) > 1:
            raise ValueError("Operations of a SubGraphView are of one graph, and these are of several.")
        self._graph: Graph | None = next(iter(graphs), None)
        self.ops: list[Operation] = (
            [] if self._graph is None else [op for op in self._graph.get_operations() if op in given]
        )
        known = {tensor for op in self.ops for tensor in (*op.inputs, *op.outputs)}
        self.passthroughs: list[Tensor] = [tensor for tensor in through if tensor not in known]
        self.inputs: list[Tensor] = [
            *dict.fromkeys(tensor for op in self.ops for tensor in op.inputs if tensor.op not in given),
            *self.passthroughs,
        ]
        self.outputs: list[Tensor] = [
            *(tensor for op in self.ops for tensor in op.outputs if _is_taken(tensor, given)),
            *self.passthroughs,
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

    def copy(self) -> SubGraphView:
        """Another view of the same operations, inputs and outputs.

        Returns:
            A view; the operations are not copied.
        """
        view = SubGraphView()
        view.__dict__.update({name: _listed_anew(value) for name, value in self.__dict__.items()})
        return view

    def remap(
        self,
        new_input_indices: Iterable[int | Tensor] | None = None,
        new_output_indices: Iterable[int | Tensor] | None = None,
    ) -> SubGraphView:
        """A view of the same operations with these of its inputs and outputs, in this order.

        Args:
            new_input_indices: Numbers of its inputs, or the tensors themselves, each at most once; None for all.
            new_output_indices: Numbers of its outputs, or the tensors themselves, which may be repeated; None for all.

        Returns:
            A view.

        Raises:
            ValueError: If there is no such input or output, or an input is given twice.
        """
        view = self.copy()
        if new_input_indices is not None:
            view.inputs = _chosen(self.inputs, new_input_indices, "input")
            if len(set(view.inputs)) < len(view.inputs):
                raise ValueError("An input of a SubGraphView may be given once, and one is given again.")
        if new_output_indices is not None:
            view.outputs = _chosen(self.outputs, new_output_indices, "output")
        return view

    def remap_inputs(self, new_input_indices: Iterable[int | Tensor]) -> SubGraphView:
        """A view of the same operations with these of its inputs.

        Args:
            new_input_indices: As remap takes.

        Returns:
            A view.
        """
        return self.remap(new_input_indices)

    def remap_outputs(self, new_output_indices: Iterable[int | Tensor]) -> SubGraphView:
        """A view of the same operations with these of its outputs.

        Args:
            new_output_indices: As remap takes.

        Returns:
            A view.
        """
        return self.remap(None, new_output_indices)

    def remap_default(self, remove_input_map: bool = True, remove_output_map: bool = True) -> SubGraphView:
        """A view with all inputs and outputs of the operations, as they are now.

        Args:
            remove_input_map: Whether all inputs are taken.
            remove_output_map: Whether all outputs are taken.

        Returns:
            A view.
        """
        view, plain = self.copy(), SubGraphView(self.ops, self.passthroughs)
        if remove_input_map:
            view.inputs = plain.inputs
        if remove_output_map:
            view.outputs = plain.outputs
        return view

    def remap_outputs_make_unique(self) -> SubGraphView:
        """A view whose outputs are given once each.

        Returns:
            A view.
        """
        return self.remap_outputs(list(dict.fromkeys(self.outputs)))

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """A view whose outputs are given as often as operations take them.

        Returns:
            A view.
        """
        unique = dict.fromkeys(self.outputs)
        return self.remap_outputs([tensor for tensor in unique for _ in tensor.consumers()])

    def is_passthrough(self, t: Tensor) -> bool:
        """Whether a tensor goes through it.

        Args:
            t: A tensor.

        Returns:
            Whether none of the operations takes or gives it.
        """
        return t in self.passthroughs

    def input_index(self, t: Tensor) -> int:
        """The number of an input.

        Args:
            t: The tensor.

        Returns:
            Its place in `inputs`.

        Raises:
            ValueError: If it is none.
        """
        return _place(self.inputs, t, "an input")

    def output_index(self, t: Tensor) -> int:
        """The number of an output.

        Args:
            t: The tensor.

        Returns:
            Its first place in `outputs`.

        Raises:
            ValueError: If it is none.
        """
        return _place(self.outputs, t, "an output")

    @property
    def connected_inputs(self) -> list[Tensor]:
        """The inputs that are no placeholders."""
        return [tensor for tensor in self.inputs if not tensor.op.type.startswith("Placeholder")]

    @property
    def connected_outputs(self) -> list[Tensor]:
        """The outputs that an operation takes."""
        return [tensor for tensor in self.outputs if tensor.consumers()]

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


def _is_taken(tensor: Tensor, inside: Container[Operation]) -> bool:
    """Whether one takes it who is not inside, or nobody."""
    takers = tensor.consumers()
    return not takers or any(one not in inside for one in takers)


def _listed_anew(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value


def _chosen(known: list[Tensor], wanted: Iterable[int | Tensor], what: str) -> list[Tensor]:
    found = []
    for one in wanted:
        place = _place(known, one, f"an {what}") if isinstance(one, Tensor) else one
        if not 0 <= place < len(known):
            raise ValueError(f"There is no {what} {place}: the SubGraphView has {len(known)}.")
        found.append(known[place])
    return found


def _place(known: list[Tensor], tensor: Tensor, what: str) -> int:
    if tensor not in known:
        raise ValueError(f"Can't find {tensor.name!r}: it is not {what} of the SubGraphView.")
    return known.index(tensor)


Part: TypeAlias = "SubGraphView | Elements"
"""A part of a graph, as functions here take it."""


def make_view(*args: Any, graph: Graph | None = None) -> SubGraphView:
    """A view of operations (tf.contrib.graph_editor.make_view, sgv).

    Args:
        *args: Views, graphs, operations, lists of them, or patterns of names; tensors, which go through the view.
        graph: Where patterns search.

    Returns:
        A view; one that is given alone is itself.
    """
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    given = [item for one in args for item in _spread(one)]
    return SubGraphView(*select_ops_and_ts(*given, graph=graph))


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

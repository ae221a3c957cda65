"""GraphFunction: a graph with inputs and outputs, such as the function of a dataset's map.

A function is built by calling the user's Python function once, on placeholders, in a graph of its own. What it takes
from the graph around it is captured: each such tensor becomes one more input, whose value is bound where the function
is used. Constants are copied instead, so that shapes and folding know their values. A function without inputs, such as
the one that makes a one-shot iterator's dataset, is captured by value: the operations themselves are copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import OpDef, lookup
from graphflow._core.graph.shapes import TensorShape


@dataclass(frozen=True, eq=False)
class GraphFunction:
    """A function as a graph.

    inputs: placeholders of `graph`, first the arguments, then one for each of `captures`.
    outputs: tensors of `graph`. captures: tensors of the graph around it, bound to the last inputs.
    """

    name: str
    graph: Graph
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    captures: tuple[Tensor, ...]

    def __repr__(self) -> str:
        return f"<gf.GraphFunction {self.name!r}>"


class FunctionGraph(Graph):
    """The graph in which a function is built; tensors of the graph around it may be used.

    by_value: copies what they are computed from, instead of making them inputs.
    """

    def __init__(self, outer: Graph, by_value: bool = False) -> None:
        super().__init__()
        self.outer = outer
        self.seed = outer.seed
        self._captures = Captures(self, by_value)

    def add(
        self, definition: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any], name: str | None = None
    ) -> Operation:
        """Adds an operation; ValueError for a variable, which has no place in a function."""
        if definition.is_variable:
            raise ValueError(
                f"The variable {(name or definition.name).rstrip('/')!r} cannot be made inside a function of a "
                "dataset: make it before, and use it inside."
            )
        return super().add(definition, inputs, attrs, name)

    def adopt(self, definition: OpDef, tensor: Tensor) -> Tensor:
        """The tensor of this graph that stands for one of the graph around it; ValueError if there can be none."""
        if tensor.op.graph is self:
            return tensor
        found = self._captures.stand_in(definition, tensor)
        return super().adopt(definition, tensor) if found is None else found

    def finish(self, name: str, arguments: Sequence[Tensor], outputs: Sequence[Tensor]) -> GraphFunction:
        """The function that gives `outputs` for `arguments`; nothing can be added any more."""
        own = tuple(self.adopt(lookup("Identity"), tensor) for tensor in outputs)
        self.finalize()
        captures = self._captures
        return GraphFunction(name, self, (*arguments, *captures.inputs), own, tuple(captures.taken))

    def add_argument(self, dtype: dtypes.DType, shape: TensorShape, name: str) -> Tensor:
        """A placeholder for one more argument."""
        with self.context_scope(None):
            return self.add(lookup("Placeholder"), (), {"dtype": dtype, "shape": shape}, name).outputs[0]


class Captures:
    """The tensors of the graphs around a function's graph that are used in it, and what stands for each.

    taken: those that became inputs. inputs: their placeholders, in the same order.
    """

    def __init__(self, graph: FunctionGraph, by_value: bool) -> None:
        self._graph = graph
        self._by_value = by_value
        self._found: dict[Tensor, Tensor] = {}
        self.taken: list[Tensor] = []
        self.inputs: list[Tensor] = []

    def stand_in(self, definition: OpDef, tensor: Tensor) -> Tensor | None:
        """The tensor that an operation gets for one from outside; None if that is of no graph around.

        Raises ValueError if it cannot be taken.
        """
        found = self._found.get(tensor)
        if found is None and self._is_around(tensor.op.graph):
            found = self._found[tensor] = self._take(definition, tensor)
        return found

    def _is_around(self, graph: Graph | None) -> bool:
        around: Graph | None = self._graph.outer
        while around is not None:
            if around is graph:
                return True
            around = around.outer
        return False

    def _take(self, definition: OpDef, tensor: Tensor) -> Tensor:
        if definition.writes or definition.takes_refs:
            raise ValueError(
                f"{definition.name}: the variable {tensor.op.name!r} cannot be changed inside a function of a "
                "dataset. Change it in the training step."
            )
        if tensor.op.op_def.is_constant or self._by_value:
            return self._copied(tensor.op).outputs[tensor.value_index]
        self.taken.append(tensor)
        self.inputs.append(self._graph.add_argument(tensor.dtype, tensor.shape, tensor.op.name))
        return self.inputs[-1]

    def _copied(self, op: Operation) -> Operation:
        if op.type in _UNCOPIED:
            raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
        stateless = op.type in _STATELESS or all(t.dtype is dtypes.variant for t in op.outputs)
        if op.op_def.stateful and not stateless:
            raise ValueError(
                f"Cannot capture a stateful node (name:{op.name}, type:{op.type}, built at "
                "{}:{}) by value.".format(*op.line)
            )
        graph = self._graph
        inputs = [graph.adopt(op.op_def, tensor) for tensor in op.inputs]
        with graph.context_scope(None), graph.name_scope(None):
            copied = graph.add(op.op_def, inputs, dict(op.attrs), op.name)
        copied.keep_line(op)
        return copied


_UNCOPIED: Final[frozenset[str]] = frozenset({"Placeholder", "PlaceholderWithDefault"})
_STATELESS: Final[frozenset[str]] = frozenset({"MatchingFiles"})
"""Operations that look at the world outside anew each time, and hold no state of the session."""

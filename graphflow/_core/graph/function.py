"""GraphFunction: a graph with inputs and outputs, such as the function of a dataset's map.

A function is built by calling the user's Python function once, on placeholders, in a graph of its own. What it takes
from the graph around it is captured: each such tensor becomes one more input, whose value is bound where the function
is used. Constants are copied instead, so that shapes and folding know their values. A variable that the function
changes is shared: an operation of the function's graph stands for it, and each call reads and writes it as it is then.
A function without inputs, such as the one that makes a one-shot iterator's dataset, is captured by value: the
operations themselves are copied.

As in TensorFlow, what a function does counts, and not only what it gives: operations such as writes, checks and prints
run with each call, and those on one variable in the order in which they were built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.op_def import OpDef, lookup, variables_of
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
        self._touched: dict[Tensor, tuple[list[Operation], list[Operation]]] = {}
        """Of each shared variable the last operation that writes it, if there is one, and those that read it since."""
        for name in outer.get_all_collection_keys():
            values = outer.get_collection_ref(name)
            self._collections[name] = values if name in _SHARED else list(values)
        for name in _SHARED:
            self._collections[name] = outer.get_collection_ref(name)

    def add(
        self, definition: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any], name: str | None = None
    ) -> Operation:
        """Adds an operation; it runs after those before it that write a shared variable of its inputs, or read one
        which it writes.
        """
        op = super().add(definition, inputs, attrs, name)
        for tensor in dict.fromkeys(op.inputs):
            for variable in variables_of(tensor) if definition.writes or tensor.op.op_def.is_variable else ():
                self._follow(variable, op)
        return op

    def _follow(self, variable: Tensor, op: Operation) -> None:
        written, read = self._touched.get(variable, ([], []))
        if op.op_def.writes:
            op.add_control_inputs([one for one in (*written, *read) if one._context is op._context])
            self._touched[variable] = [op], []
        else:
            op.add_control_inputs([one for one in written if one._context is op._context])
            self._touched[variable] = written, [*read, op]

    def adopt(self, definition: OpDef, tensor: Tensor) -> Tensor:
        """The tensor of this graph that stands for one of the graph around it; ValueError if there can be none."""
        if tensor.op.graph is self:
            return tensor
        found = self._captures.stand_in(definition, tensor)
        return super().adopt(definition, tensor) if found is None else found

    def finish(self, name: str, arguments: Sequence[Tensor], outputs: Sequence[Tensor]) -> GraphFunction:
        """The function that gives `outputs` for `arguments`; nothing can be added any more."""
        own = tuple(self._returned(tensor) for tensor in outputs)
        self.finalize()
        captures = self._captures
        return GraphFunction(name, self, (*arguments, *captures.inputs), own, tuple(captures.taken))

    def note_read(self, variable: Tensor, op: Operation) -> None:
        """Notes that an operation that is there reads a shared variable."""
        self._follow(variable, op)

    def _returned(self, tensor: Tensor) -> Tensor:
        """The tensor of this graph for what the function gives: of a shared variable its value at the end."""
        own = self.adopt(lookup("Identity"), tensor)
        if not own.op.op_def.is_variable:
            return own
        return self.add(lookup("Identity"), (own,), {"T": own.dtype}, own.op.name).outputs[0]

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
        if not self._is_around(tensor.op.graph):
            return None
        if definition.takes_refs and tensor.op.op_def.is_variable:
            if found is None or not found.op.op_def.is_variable:
                found = self._found[tensor] = self._shared(tensor, found)
        elif found is None:
            found = self._found[tensor] = self._take(definition, tensor)
        return found

    def _shared(self, variable: Tensor, value: Tensor | None) -> Tensor:
        """What stands for a variable itself, in place of its value when the iterator began, if that was taken."""
        op, graph = variable.op, self._graph
        attrs = {**op.attrs, "shared_name": op.attrs.get("shared_name") or op.name}
        with graph.context_scope(None), graph.name_scope(None), graph.control_dependencies(None):
            shared = graph.add(op.op_def, (), attrs, op.name)
        shared.keep_line(op)
        if "/job:" in op.device:
            shared.set_device(op.device)
        own = shared.outputs[0]
        if value is not None:
            place = self.inputs.index(value)
            del self.inputs[place], self.taken[place]
            for reader in list(value.consumers()):
                for index, tensor in enumerate(reader.inputs):
                    if tensor is value:
                        reader.update_input(index, own)
                graph.note_read(own, reader)
        return own

    def _is_around(self, graph: Graph | None) -> bool:
        around: Graph | None = self._graph.outer
        while around is not None:
            if around is graph:
                return True
            around = around.outer
        return False

    def _take(self, definition: OpDef, tensor: Tensor) -> Tensor:
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


def effects(graph: Graph) -> list[Operation]:
    """The operations of a function's graph that run with each call, whether or not its results need them."""
    return [op for op in graph.get_operations() if has_effect(op)]


def has_effect(op: Operation) -> bool:
    """Whether it does something beside giving its results."""
    return bool(op.op_def.writes) or op.type in _EFFECTS


_EFFECTS: Final[frozenset[str]] = frozenset(
    {
        "Assert", "Print", "PrintV2", "PyFunc", "ReduceDataset", "DatasetToTFRecord", "WriteFile",
        "LookupTableInsertV2", "LookupTableImportV2", "LookupTableRemoveV2", "QueueEnqueueV2", "QueueEnqueueManyV2",
        "QueueCloseV2", "WriteRawProtoSummary",
    }
)  # fmt: skip
_SHARED: Final = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
"""The collections of a graph that its functions add to; of others they have copies."""
_UNCOPIED: Final[frozenset[str]] = frozenset({"Placeholder", "PlaceholderWithDefault"})
_STATELESS: Final[frozenset[str]] = frozenset({"MatchingFiles"})
"""Operations that look at the world outside anew each time, and hold no state of the session."""

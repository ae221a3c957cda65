"""A graph as TensorFlow's GraphDef message: every operation a node, with TensorFlow's attributes.

In two places graphflow's graph says less than TensorFlow's, since its plan knows branches and loops: a variable is used
inside a loop as it is, and an operation without inputs belongs to a branch without an edge that says so. Such edges
(and, for values that a loop keeps for its gradient, the stack) are written here; the reader takes them out again.

Nothing that builds or runs a graph calls this module: protobuf is imported when a message is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import graphflow.protos as protos
from graphflow._core.graph import dtypes
from graphflow._core.graph.attributes import (
    PROTOBUF_LIMIT,
    TooLargeError,
    attr_to_proto,
    kind_of,
    shape_to_proto,
)
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.function import GraphFunction
from graphflow._core.graph.op_def import RESOURCE, variables_of
from graphflow._core.graph.writers import WRITERS
from graphflow._core.interop.expansions import EXPANSIONS, MARK, PART
from graphflow._core.interop.function_def import function_def_of
from graphflow._core.interop.op_table import Argument, OpType, tensorflow_op
from graphflow._core.ops.control_flow.contexts import (
    ENTER,
    EXIT,
    MERGE,
    NEXT_ITERATION,
    STACK_POP,
    STACK_PUSH,
    SWITCH,
)

if TYPE_CHECKING:
    from graphflow._core.graph.elements import Operation, Tensor
    from graphflow._core.graph.graph import Graph
    from graphflow._core.graph.op_def import OpDef

PRODUCER: Final = 134
"""The version of GraphDef that TensorFlow 1.15 writes."""
PYTHON_FUNCTION: Final = "graphflow:python:"
"""The beginning of the token of a written PyFunc. Its function exists in one process only."""
_WRITTEN_AS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "ApplyNesterovMomentum": ("ApplyMomentum", {"use_nesterov": True}),
    "SparseApplyNesterovMomentum": ("SparseApplyMomentum", {"use_nesterov": True}),
}
"""Op types that are one of TensorFlow's with some attribute."""
_KEPT: Final = frozenset({"_class", "_gradient_op_type", "_XlaCompile", RESOURCE})
"""Attributes that TensorFlow declares for no op and that are written all the same."""


def graph_def_of(graph: Graph, from_version: int | None = None, add_shapes: bool = False) -> Any:
    """The GraphDef of a graph, of the operations from number `from_version` on.

    With `add_shapes` every node says the shapes of its outputs in `_output_shapes`. ValueError if it would be larger
    than a protobuf message can be.
    """
    result = protos.graph_pb2.GraphDef()
    result.versions.producer = PRODUCER
    writer = Writer(graph, result)
    for op in graph.get_operations()[from_version or 0 :]:
        writer.write(op, add_shapes)
    return result


def node_def_of(op: Operation) -> Any:
    """The NodeDef of an operation, as the GraphDef of its graph has it."""
    result = protos.graph_pb2.GraphDef()
    Writer(op.graph, result).write(op)
    return result.node[-1]


class Writer:
    """Writes operations into a GraphDef."""

    def __init__(
        self, graph: Graph, result: Any, library: Any = None, functions: set[str] | None = None
    ) -> None:
        self._graph = graph
        self._result = result
        self._library = result.library if library is None else library
        self._functions: set[str] = set() if functions is None else functions
        self._size = 0
        self._added: dict[tuple[Any, ...], str] = {}
        self._stack_ops: dict[Any, list[Operation]] | None = None
        self._in_condition: dict[Any, set[Operation]] = {}

    def write(self, op: Operation, add_shapes: bool = False) -> None:
        """Appends the node of an operation, behind those that it needs and the graph does not have."""
        kind, said = _WRITTEN_AS.get(op.type, (op.attrs.get("_written_as", op.type), {}))
        if op.op_def.forwards and variables_of(op.outputs[0]):
            kind = f"Ref{kind}"
        declared = tensorflow_op(kind)
        control = self._control_inputs(op)
        if op.op_def is NEXT_ITERATION:
            control += self._after_stacks(op)
        inputs = self._inputs(op, declared)
        if op.type in EXPANSIONS:
            node = self._expanded(op, inputs, control)
        else:
            node = self._plain(op, kind, said, inputs, control)
        if add_shapes:
            listed = node.attr["_output_shapes"].list
            listed.SetInParent()
            for tensor in op.outputs:
                shape_to_proto(tensor.dims, listed.shape.add())

    def _plain(
        self, op: Operation, kind: str, said: Mapping[str, Any], inputs: list[str], control: list[str]
    ) -> Any:
        declared = tensorflow_op(kind)
        node = self._result.node.add(name=op.name, op=kind, device=op.device, input=inputs + _carets(control))
        for name, (type_, value) in attributes_of(op, declared).items():
            value = said.get(name, value)
            self._count(op, value)
            if type_ == "func":
                node.attr[name].func.name = self._function(value)
            else:
                attr_to_proto(type_, value, node.attr[name])
        return node

    def _expanded(self, op: Operation, inputs: list[str], control: list[str]) -> Any:
        """The last of the nodes of TensorFlow's that an operation of graphflow's own is written as."""
        pivot = [] if op._context is None else [self._pivot(op, op._context)]

        def add(suffix: str, kind: str, inputs: Sequence[str], attrs: Mapping[str, Any]) -> str:
            control = pivot if kind == "Const" else []
            name = f"{op.name}/{suffix}"
            name = self._add((op, suffix), name, kind, [*inputs, *_carets(control)], dict(attrs), op.device)
            self._result.node[-1].attr[PART].b = True
            return name

        kind, names, attrs = EXPANSIONS[op.type](op, inputs, add)
        node = self._result.node.add(name=op.name, op=kind, device=op.device, input=names + _carets(control))
        self._fill(node, attrs)
        node.attr[MARK].s = op.type.encode()
        for name, (type_, value) in attributes_of(op, None).items():
            attr_to_proto(type_, value, node.attr[name if name == "_class" else f"{MARK}_{name}"])
        return node

    def _function(self, function: Any) -> str:
        """The name of a function, which is written into the library once."""
        if not isinstance(function, GraphFunction):
            return PYTHON_FUNCTION + getattr(function, "__qualname__", "function")
        if function.name not in self._functions:
            self._functions.add(function.name)
            inner = protos.graph_pb2.GraphDef()
            writer = Writer(function.graph, inner, self._library, self._functions)
            for op in function.graph.get_operations():
                writer.write(op)
            self._size += writer._size
            function_def_of(function, inner.node, self._library.function.add())
        return function.name

    def _count(self, op: Operation, value: Any) -> None:
        self._size += getattr(value, "nbytes", 0)
        if self._size > PROTOBUF_LIMIT:
            raise TooLargeError(self._size, f"{op.describe()}: ")

    # ---- inputs -----------------------------------------------------------------------------------------------------

    def _inputs(self, op: Operation, declared: OpType | None) -> list[str]:
        names = [self._name_in(op, tensor) for tensor in op.inputs]
        order = input_order(op.op_def, declared)
        if order is not None:
            names = [names[position] for position in order]
        if op.op_def in (STACK_PUSH, STACK_POP):
            names.insert(0, self._stack(op))
        return names

    def _name_in(self, op: Operation, tensor: Tensor) -> str:
        """An input as an operation names it: a variable used in a loop comes through a RefEnter of each loop."""
        name = tensor.op.name if tensor.value_index == 0 else tensor.name
        if not tensor.op.op_def.is_variable:
            return name
        return self._entered(name, op, "RefEnter", tensor.dtype)

    def _entered(self, name: str, op: Operation, enter: str, dtype: DType) -> str:
        source = name
        for context in reversed(_chain(op._context)):
            if context.construct.kind == "While":
                attrs = {"T": dtype, "frame_name": context.name, "is_constant": True}
                inner = f"{context.name}/{source.rpartition('/')[2]}/{enter}"
                name = self._add((context, source), inner, enter, [name], attrs, op.device)
        return name

    def _add(
        self,
        key: tuple[Any, ...],
        name: str,
        kind: str,
        inputs: list[str],
        attrs: dict[str, Any],
        device: str,
    ) -> str:
        """The name of a node that the graph does not have, written when it is first needed."""
        found = self._added.get(key)
        if found is None:
            taken = set(self._added.values())
            found, count = name, 0
            while found in self._graph._by_name or found in taken:
                count += 1
                found = f"{name}_{count}"
            self._added[key] = found
            node = self._result.node.add(name=found, op=kind, input=inputs, device=device)
            self._fill(node, attrs)
        return found

    def _fill(self, node: Any, attrs: Mapping[str, Any]) -> None:
        declared = tensorflow_op(node.op)
        assert declared is not None
        for attribute in declared.attributes.values():
            value = attrs.get(attribute.name, attribute.default)
            attr_to_proto(attribute.type, value, node.attr[attribute.name])

    def _stack(self, op: Operation) -> str:
        """The handle of the stack on which a loop keeps a value for its gradient, as seen by the operation."""
        import numpy as np

        stack = op.attrs["stack"]
        dtype = op.inputs[0].dtype if op.inputs else op.outputs[0].dtype
        size = self._add(
            (stack, "size"),
            f"{stack}/max_size",
            "Const",
            [],
            {"dtype": dtypes.int32, "value": np.array(-1, np.int32)},
            "",
        )
        attrs = {"elem_type": dtype, "stack_name": stack}
        handle = self._add((stack,), stack, "StackV2", [size], attrs, "")
        return self._entered(handle, op, "Enter", dtypes.resource)

    def _after_stacks(self, op: Operation) -> list[str]:
        """Nodes that make an iteration of a loop wait until the one before has used its stacks, as in TensorFlow.

        It is a ControlTrigger, which runs also if the branch with the stack did not.
        """
        loop = op._context
        if self._stack_ops is None:
            self._stack_ops = {}
            for other in self._graph.get_operations():
                if other.op_def in (STACK_PUSH, STACK_POP):
                    self._stack_ops.setdefault(_loops(other)[0], []).append(other)
        users = self._stack_ops.get(loop, [])
        written = any("_written_as" in c.attrs for c in op.control_inputs + _adding(op).control_inputs)
        if not users or written:
            return []
        trigger = self._add(
            (loop, "sync"), f"{loop.name}/sync", "ControlTrigger", [f"^{u.name}" for u in users], {}, ""
        )
        return [trigger]

    # ---- control inputs ---------------------------------------------------------------------------------------------

    def _control_inputs(self, op: Operation) -> list[str]:
        context = op._context
        control = [c for c in op.control_inputs if _reachable(c, op)]
        names = [c.name for c in control]
        if context is None or op.op_def in (SWITCH, ENTER, MERGE, EXIT, NEXT_ITERATION):
            return names
        inside = any(_is_in(context, t) for t in op.inputs) or any(
            context.holds(c) or _same_fate(context, c) for c in control
        )
        if op.op_def is STACK_POP or not inside:
            pivot = self._pivot(op, context)
            if pivot not in names:
                names.append(pivot)
        return names

    def _pivot(self, op: Operation, context: Any) -> str:
        """The node whose running says that an operation of a branch or a loop is to run."""
        if context.construct.kind == "While":
            if op in self._condition(context) or not context.in_body:
                return str(context.merges[0].name)
            return str(context.in_body[0].op.name)
        pair = context.construct
        if pair.pivots:
            return str(pair.pivots[context.side].name)
        predicate = pair.predicate
        source = predicate.op.name if predicate.value_index == 0 else predicate.name
        switch = self._add(
            (pair, "switch"), f"{pair.name}/Switch", "Switch", [source, source], {"T": predicate.dtype}, ""
        )
        switched = f"{switch}:1" if context.side else switch
        name = f"{pair.name}/switch_{'ft'[context.side]}"
        return self._add((pair, context.side), name, "Identity", [switched], {"T": predicate.dtype}, "")

    def _condition(self, loop: Any) -> set[Operation]:
        """The operations by which a loop decides whether there is another iteration."""
        found = self._in_condition.get(loop)
        if found is None:
            found = self._in_condition[loop] = set()
            todo = [] if loop.pivot is None else [loop.pivot.op]
            while todo:
                op = todo.pop()
                if op not in found and loop.holds(op):
                    found.add(op)
                    todo += [t.op for t in op.inputs if t.op not in loop.merges] + list(op.control_inputs)
        return found


def _carets(control: Iterable[str]) -> list[str]:
    return ["^" + name for name in control]


def _chain(context: Any) -> list[Any]:
    result = []
    while context is not None:
        result.append(context)
        context = context.outer_context
    return result


def _loops(op: Operation) -> list[Any]:
    """The loops around an operation; an Exit is outside of its own."""
    return [c for c in _chain(op._context) if c.construct.kind == "While"]


def _adding(following: Operation) -> Operation:
    """The operation whose result a loop variable goes on with."""
    return following.inputs[0].op


def _reachable(control: Operation, op: Operation) -> bool:
    """Whether a control edge stays within the loops of its end: TensorFlow has no edges out of a loop but Exit's."""
    around = _loops(op)
    return control.op_def is ENTER or all(loop in around for loop in _loops(control))


def _is_in(context: Any, tensor: Tensor) -> bool:
    """Whether a value exists only if a branch or loop runs."""
    op = tensor.op
    if op.op_def.is_variable:
        return False
    if (
        op.op_def is SWITCH
        and context.construct.kind != "While"
        and getattr(op._context, "construct", None) is context.construct
    ):
        return bool(tensor.value_index == context.side)
    return bool(context.holds(op)) or _same_fate(context, op)


def _same_fate(context: Any, op: Operation) -> bool:
    """Whether an operation outside a gradient's branch runs exactly when the branch does."""
    return context.construct.kind != "While" and any(
        c.construct.kind != "While" and c.side == context.side and c.construct in context.construct.lineage()
        for c in _chain(op._context)
    )


# ---- attributes -----------------------------------------------------------------------------------------------------


def attributes_of(op: Operation, declared: OpType | None) -> dict[str, tuple[str, Any]]:
    """TensorFlow's type and the value of every attribute of an operation that can be written.

    What TensorFlow derives from inputs and outputs is derived from them here too; an op of graphflow's own has what can
    be expressed.
    """
    if declared is None:
        found = {name: (kind_of(value), value) for name, value in op.attrs.items() if name[:1] != "_"}
        result = {name: (kind, value) for name, (kind, value) in found.items() if kind is not None}
    else:
        derived = derived_attributes(op, declared)
        result = {}
        for name, attribute in declared.attributes.items():
            if name in derived:
                value = derived[name]
            elif name in op.attrs and op.attrs[name] is not None:
                value = op.attrs[name]
            elif name == "token" and "function" in op.attrs:
                value = PYTHON_FUNCTION + getattr(op.attrs["function"], "__qualname__", "function")
            elif attribute.optional:
                value = attribute.default
            else:
                continue
            result[name] = (attribute.type, value)
    for name in _KEPT.intersection(op.attrs):
        kind = kind_of(op.attrs[name])
        if kind is not None:
            result[name] = (kind, op.attrs[name])
    return result


def derived_attributes(op: Operation, declared: OpType) -> dict[str, Any]:
    """The attributes that inputs and outputs tell."""
    inputs: Sequence[Tensor] = op.inputs
    order = input_order(op.op_def, declared)
    if order is not None:
        inputs = [inputs[position] for position in order]
    skipped = declared.inputs
    if op.op_def in (STACK_PUSH, STACK_POP):
        skipped = skipped[1:]
    result = _read_off(skipped, inputs, _lengths(op, len(skipped)))
    if len(op.outputs) >= len(declared.outputs):
        for name, value in _read_off(declared.outputs, op.outputs, None).items():
            result.setdefault(name, value)
    return result


def input_order(definition: OpDef, declared: OpType | None) -> list[int] | None:
    """Where each input of TensorFlow's op is among those of graphflow's; None if the order is the same."""
    if declared is None:
        return None
    own, other = [spec.name for spec in definition.inputs], [argument.name for argument in declared.inputs]
    if own == other or sorted(own) != sorted(other) or any(spec.variadic for spec in definition.inputs):
        return None
    return [own.index(name) for name in other]


def _lengths(op: Operation, count: int) -> list[int] | None:
    """How many tensors each declared input has; None if that is not known."""
    specs = op.op_def.inputs
    if len(specs) != count:
        return None
    said: list[int] | None = op.attrs.get("_input_lengths")
    if said is not None:
        return said
    variadic = sum(spec.variadic for spec in specs)
    if not variadic:
        return [1] * count
    each = (len(op.inputs) - (count - variadic)) // variadic
    return [each if spec.variadic else 1 for spec in specs]


def _read_off(
    arguments: Iterable[Argument], tensors: Sequence[Tensor], lengths: list[int] | None
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    arguments = list(arguments)
    if lengths is None:
        lists = [a for a in arguments if a.count or a.types]
        if len(lists) > 1 or (not lists and len(tensors) < len(arguments)):
            return result
        rest = len(tensors) - (len(arguments) - len(lists))
        lengths = [rest if a.count or a.types else 1 for a in arguments]
    position = 0
    for argument, length in zip(arguments, lengths, strict=True):
        part = tensors[position : position + length]
        position += length
        if argument.types:
            result[argument.type] = [t.dtype for t in part]
            continue
        if argument.count:
            result[argument.count] = length
        if part and argument.type not in dtypes.BY_NAME:
            result[argument.type] = part[0].dtype
    return result


WRITERS.graph, WRITERS.node = graph_def_of, node_def_of

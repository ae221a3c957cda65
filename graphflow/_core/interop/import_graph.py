"""import_graph_def: a graph from TensorFlow's GraphDef message, written by graphflow or by TensorFlow 1.15.

All of it is built or nothing: what raises leaves the graph as it was. Shapes are inferred anew. Branches and loops are
found from the edges (import_contexts) and become contexts like those of cond and while_loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import graphflow.protos as protos
from graphflow._core.graph import dtypes, op_def, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.undo import forget_from, mark_as_used
from graphflow._core.interop import import_translations as translations
from graphflow._core.interop.graph_def import derived_attributes, input_order
from graphflow._core.interop.import_contexts import Body, Contexts
from graphflow._core.interop.import_functions import Library
from graphflow._core.interop.import_lifting import lift
from graphflow._core.interop.import_nodes import BACK_EDGES, MERGES, Node, Refused, ordered, parse
from graphflow._core.interop.op_table import tensorflow_op
from graphflow._core.ops import load_all
from graphflow._core.ops.control_flow.contexts import ENTER, SWITCH
from graphflow._core.ops.core import accept, convert_to_tensor

_REFUSED: Final[Mapping[str, Mapping[str, Any]]] = {
    "ApplyAdagrad": {"update_slots": True},
    "SparseApplyAdagrad": {"update_slots": True},
    "ApplyAdam": {"use_nesterov": False},
    "Conv2D": {"explicit_paddings": []},
    "Conv2DBackpropInput": {"explicit_paddings": []},
    "Conv2DBackpropFilter": {"explicit_paddings": []},
    "Equal": {"incompatible_shape_error": True},
    "NotEqual": {"incompatible_shape_error": True},
}
"""Attributes with the one value that graphflow's op has: a node that says something else is refused."""
ATTRIBUTES_ADDED: Final[Mapping[str, Mapping[str, Any]]] = {"MaxPoolWithArgmax": {"data_format": "NHWC"}}
"""Attributes of graphflow's own."""
_ROUNDS: Final = 10


def check_attributes(kind: str, attrs: Mapping[str, Any]) -> None:
    """Raises ValueError if an op type that graphflow has in one form only is given with another."""
    for name, only in _REFUSED.get(kind, {}).items():
        if attrs.get(name, only) != only:
            raise ValueError(f"{name} = {attrs[name]!r} is not supported.")


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | Any:
    """Adds the operations of a GraphDef to the default graph (tf.import_graph_def).

    Attributes that a node leaves out have TensorFlow's defaults; `producer_op_list` and `op_dict` are
    accepted and not needed.

    Args:
        graph_def: A GraphDef message.
        input_map: {"node:0": tensor}: what to use in place of results of its nodes ("^node" for control
            inputs).
        return_elements: Names of operations and tensors in it, whose counterparts are returned in a list.
        name: The prefix of all names, "import" by default, "" for none; then names that are taken get a number.
        op_dict: Not needed.
        producer_op_list: Not needed.

    Raises:
        TypeError: If graph_def is no GraphDef.
        ValueError: If it does not hold together; NotFoundError, which lists them, for op
            types that graphflow does not have.
    """
    if not isinstance(graph_def, protos.graph_pb2.GraphDef):
        raise TypeError("graph_def must be a GraphDef proto.")
    replaced = _input_map(input_map)
    wanted = _return_elements(return_elements)
    nodes = parse(graph_def, _can_be_built)
    order = ordered(nodes, replaced)
    graph = get_default_graph()
    with graph.name_scope("import" if name is None else name) as scope, _whole_or_not_at_all(graph):
        with graph.name_scope("_inputs" if scope else "inputs"):
            tensors = {key: _converted(key, value) for key, value in replaced.items()}
        builder = _built(graph, scope, nodes, order, tensors, Library(graph_def.library, _import_function))
        _check_map(replaced, nodes, builder)
        return None if wanted is None else [builder.element(text) for text in wanted]


def _input_map(input_map: Any) -> dict[str, Any]:
    """The map with every name of a tensor in full."""
    if input_map is None:
        return {}
    if not isinstance(input_map, Mapping) or not all(isinstance(key, str | bytes) for key in input_map):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    result = {}
    for key, value in input_map.items():
        text = key.decode() if isinstance(key, bytes) else key
        result[text if text.startswith("^") or ":" in text else f"{text}:0"] = value
    return result


def _return_elements(names: Any) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, str) or not all(isinstance(n, str | bytes) for n in tuple(names)):
        raise TypeError("return_elements must be a list of strings.")
    return [n.decode() if isinstance(n, bytes) else n for n in names]


def _converted(key: str, value: Any) -> Any:
    if key.startswith("^"):
        return value if isinstance(value, Operation) else convert_to_tensor(value).op
    return convert_to_tensor(value)


def _check_map(replaced: Mapping[str, Any], nodes: Mapping[str, Node], builder: Builder) -> None:
    unknown = [k for k in replaced if k not in builder.used and not _names_a_result(k, nodes, builder)]
    if unknown:
        raise ValueError(
            f"Attempted to map inputs that were not found in graph_def: [{', '.join(sorted(unknown))}]"
        )


def _names_a_result(key: str, nodes: Mapping[str, Node], builder: Builder) -> bool:
    name, _, index = key.lstrip("^").partition(":")
    return name in nodes and (key.startswith("^") or int(index) < len(builder.outputs[name]))


def _can_be_built(op_type: str) -> bool:
    if not translations.translatable(op_type) and translations.renamed(op_type) not in op_def.registry():
        load_all()
    return translations.translatable(op_type) or translations.renamed(op_type) in op_def.registry()


def _import_function(graph_def: Any, names: list[str], library: Library) -> list[Any]:
    """Adds the nodes of a function to the default graph, which is the function's; its elements of these names."""
    nodes = parse(graph_def, _can_be_built)
    builder = _built(get_default_graph(), "", nodes, ordered(nodes, ()), {}, library)
    return [builder.element(name) for name in names]


def _built(
    graph: Graph,
    scope: str,
    nodes: Mapping[str, Node],
    order: Sequence[Node],
    tensors: Mapping[str, Any],
    library: Library,
) -> Builder:
    """Adds the operations. The shapes of loop variables are taken to stay first, to be unknown if that fails."""
    version = graph.version
    builder = Builder(graph, scope, nodes, tensors, library)
    try:
        builder.build(order)
    except Refused:
        if not any(node.op in BACK_EDGES for node in order):
            raise
        forget_from(graph, version)
        builder = Builder(graph, scope, nodes, tensors, library, fixed_shapes=False)
        builder.build(order)
    return builder


@contextmanager
def _whole_or_not_at_all(graph: Graph) -> Iterator[None]:
    version = graph.version
    try:
        yield
    except BaseException:
        forget_from(graph, version)
        raise


class Builder:
    """Adds the operations of a GraphDef to a graph."""

    def __init__(
        self,
        graph: Graph,
        scope: str,
        nodes: Mapping[str, Node],
        tensors: Mapping[str, Any],
        library: Library,
        fixed_shapes: bool = True,
    ) -> None:
        self._graph = graph
        self._scope = scope
        self._nodes = nodes
        self._tensors = tensors
        self._operations: dict[str, Operation] = {}
        self._made: list[Operation] = []
        self._body: dict[Operation, Body] = {}
        self._loops: list[tuple[Operation, int, str, int]] = []
        self._library = library
        self._fixed_shapes = fixed_shapes
        self.outputs: dict[str, Sequence[Tensor]] = {}
        self.used: set[str] = set()
        self.stacks: dict[Tensor, str] = {}
        """The handles of stacks, and their names."""
        self.stacked: dict[str, Tensor] = {}

    def build(self, order: Sequence[Node]) -> None:
        """Adds all of them; Refused, a ValueError, if one cannot be."""
        self._contexts = Contexts(self._nodes, order)
        for node in order:
            try:
                self._node(node)
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                raise Refused(f"{node.describe()}: {_reason(error)}") from error
        self._close_loops()
        lift(self._graph, self._body, self._made, self._value)

    def full_name(self, name: str) -> str:
        """The name of a node in the graph."""
        return self._scope + name

    def element(self, text: str) -> Any:
        """The operation or tensor that a name of the GraphDef means."""
        name, colon, index = text.partition(":")
        key = f"{name}:{index}"
        if key in self._tensors:
            self.used.add(key)
            return self._tensors[key]
        outputs = self.outputs.get(name, ())
        if name in self._nodes and not colon:
            return self._operations.get(name) or outputs[0].op
        if colon and index.isdigit() and len(index) < 10 and int(index) < len(outputs):
            return outputs[int(index)]
        raise ValueError(f"Requested return_element {text!r} not found in graph_def.")

    # ---- one node ---------------------------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        inputs = [self._input(node, position) for position in range(len(node.inputs))]
        rule = translations.RULES.get(node.op)
        if node.op in MERGES:
            self.outputs[node.name] = self._merge(node, inputs)
        elif rule is not None:
            self.outputs[node.name] = rule(self, node, inputs)
        else:
            self.outputs[node.name] = self._plain(node, inputs)

    def _plain(self, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
        kind = translations.renamed(node.op)
        if node.attrs.get("use_nesterov"):
            kind = kind.replace("ApplyMomentum", "ApplyNesterovMomentum")
        order = input_order(op_def.lookup(kind), tensorflow_op(node.op))
        if order is not None and len(order) == len(inputs):
            inputs = [inputs[order.index(position)] for position in range(len(order))]
        return self.add(node, kind, inputs)

    def _input(self, node: Node, position: int) -> Tensor:
        name, index = node.inputs[position]
        key = f"{name}:{index}"
        if key in self._tensors:
            self.used.add(key)
            tensor: Tensor = self._tensors[key]
            return tensor
        if name not in self.outputs:  # The edge that closes a loop: it is drawn at the end.
            other = node.inputs[1 - position] if len(node.inputs) == 2 else (name, 0)
            if other[0] not in self.outputs and "{}:{}".format(*other) not in self._tensors:
                raise ValueError("a loop variable is a Merge of an Enter and a NextIteration.")
            return self._input(node, 1 - position)
        outputs = self.outputs[name]
        if index >= len(outputs):
            raise ValueError(f"its input '{key}' does not exist: {name!r} has {len(outputs)} results.")
        return outputs[index]

    def _merge(self, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
        joined = self._contexts.joined.get(node.name)
        attrs: dict[str, Any] = {"T": inputs[0].dtype, "N": len(inputs)}
        if joined is None:
            later = [i for i, (name, _) in enumerate(node.inputs) if name not in self.outputs]
            if (
                len(node.inputs) != 2
                or len(later) != 1
                or self._nodes[node.inputs[later[0]][0]].op not in BACK_EDGES
            ):
                raise ValueError("a loop variable is a Merge of an Enter and a NextIteration.")
            attrs["_dims"] = inputs[0].dims if self._fixed_shapes else None
            outputs = self.add(node, "Merge", [inputs[1 - later[0]]] * 2, attrs=attrs)
            self._loops.append((outputs[0].op, 1, *node.inputs[later[0]]))
            return outputs
        construct, sides = joined
        if sides == [1, 0] and any((node.name, 1) in n.inputs for n in self._nodes.values()):
            raise ValueError("which of its inputs it took is asked for, and the first is the branch if true.")
        values: list[Tensor] = [inputs[sides.index(side)] for side in (0, 1)]
        for side in (0, 1):
            source = node.inputs[sides.index(side)]
            if not self._contexts.inside(source, construct, side) or values[side].op.op_def.is_variable:
                here = Body(construct, side)
                (values[side],) = self.add(
                    node, "Identity", [values[side]], attrs={}, suffix=f"branch_{side}", here=here
                )
        return self.add(node, "Merge", values, attrs=attrs)

    def constant(self, node: Node, suffix: str, value: Any) -> Tensor:
        """A constant that graphflow's op takes where TensorFlow's has an attribute."""
        attrs = {"value": value, "dtype": dtypes.as_dtype(value.dtype)}
        return self.add(node, "Const", [], attrs=attrs, suffix=suffix)[0]

    def add(
        self,
        node: Node,
        kind: str,
        inputs: Sequence[Tensor],
        attrs: Mapping[str, Any] | None = None,
        suffix: str = "",
        here: Body | None = None,
    ) -> Sequence[Tensor]:
        """The results of a new operation, named as the node, or NODE/suffix for one that helps it."""
        definition = op_def.lookup(kind)
        given = dict(node.attrs if attrs is None else attrs)
        check_attributes(kind, given)
        given |= ATTRIBUTES_ADDED.get(kind, {})
        if kind == "Assign" and inputs and self._is_initializer(node, inputs[0]):
            given["_initializer"] = True
        if kind == "Const":
            _check_constant(given)
        self._check_inputs(node, definition, inputs, given)
        if not suffix:
            self._library.bind(node, given, inputs, self._graph)
        if node.colocated and not suffix:
            groups = [f"loc:@{self._name_of(c)}".encode() for c in node.colocated if c in self._nodes]
            if groups:
                given["_class"] = groups
        name = self.full_name(node.name) + (f"/{suffix}" if suffix else "")
        with self._graph.device(node.device or ""):
            op = self._graph.add(definition, inputs, given, self._free(name, bool(suffix)) + "/")
        mark_as_used(self._graph, op.name)
        if not suffix:
            self._check_derived(node, kind, op)
            self._operations[node.name] = op
            op.add_control_inputs(self._control(node, op))
        body = here or self._contexts.of(node)
        if body is not None:
            self._body[op] = body
        self._made.append(op)
        return op.outputs

    def _is_initializer(self, node: Node, ref: Tensor) -> bool:
        source = node.inputs[0][0] if node.inputs else ""
        return node.name == f"{source}/Assign" and ref.op.name == self._name_of(source)

    def _name_of(self, name: str) -> str:
        """The name that a node has in the graph, or asks for if it is not there yet."""
        op = self._operations.get(name)
        return self.full_name(name) if op is None else op.name

    def _free(self, name: str, is_helper: bool) -> str:
        """A name that no operation has: without a prefix a graph may be there already, or others of its names."""
        free, count = name, 0
        while free in self._graph._by_name or (
            (is_helper or count) and free.removeprefix(self._scope) in self._nodes
        ):
            count += 1
            free = f"{name}_{count}"
        return free

    def _value(self, source: tuple[str, int]) -> Tensor:
        name, index = source
        key = f"{name}:{index}"
        tensor: Tensor = self._tensors[key] if key in self._tensors else self.outputs[name][index]
        return tensor

    def _control(self, node: Node, op: Operation) -> list[Operation]:
        result = []
        for name in node.control:
            key = f"^{name}"
            if key in self._tensors:
                self.used.add(key)
                result.append(self._tensors[key])
            elif name in self._operations:
                result += _running(self._operations[name])
            else:
                result += [t.op for t in self.outputs[name][:1] if not t.op.op_def.is_variable]
        return [c for c in result if c is not op]

    def _check_inputs(
        self, node: Node, definition: op_def.OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any]
    ) -> None:
        chosen: dict[str, tuple[dtypes.DType, str]] = {}
        position = 0
        lengths = self._lengths(node, definition, inputs)
        if sum(spec.variadic for spec in definition.inputs) > 1:
            attrs["_input_lengths"] = lengths
        for spec, length in zip(definition.inputs, lengths, strict=True):
            for tensor in inputs[position : position + length]:
                accept(definition, spec, spec.name, tensor, attrs, chosen)
            position += length

    def _lengths(self, node: Node, definition: op_def.OpDef, inputs: Sequence[Tensor]) -> list[int]:
        """How many tensors each declared input has; ValueError if the number is wrong."""
        specs = definition.inputs
        if node.op == definition.name:
            said = node.input_lengths()
            if said is not None and len(said) == len(specs) and sum(said) == len(inputs):
                return said
        lists = sum(spec.variadic for spec in specs)
        if len(inputs) < len(specs) - lists or (not lists and len(inputs) > len(specs)):
            raise ValueError(f"it takes {len(specs)} inputs, not {len(inputs)}.")
        each, rest = divmod(len(inputs) - (len(specs) - lists), lists or 1)
        if rest:
            raise ValueError(f"{len(inputs)} inputs are not lists of the same length.")
        return [each if spec.variadic else 1 for spec in specs]

    def _check_derived(self, node: Node, kind: str, op: Operation) -> None:
        """Raises if the node says of its inputs and outputs what they are not."""
        declared = tensorflow_op(node.op)
        if declared is None or kind != node.op:
            return
        for name, value in derived_attributes(op, declared).items():
            said = node.attrs.get(name, value)
            if said != value and not (declared.attributes[name].optional and name not in op.attrs):
                raise ValueError(
                    f"the attribute {name} is {said!r}, but inputs and outputs make it {value!r}."
                )

    # ---- loops ------------------------------------------------------------------------------------------------------

    def _close_loops(self) -> None:
        for merge, position, name, index in self._loops:
            following = self.outputs[name]
            if index >= len(following):
                raise Refused(f"{merge.describe()}: '{name}:{index}' does not exist.")
            if following[index].dtype is not merge.outputs[0].dtype:
                raise Refused(
                    f"{merge.describe()}: the loop variable starts as {merge.outputs[0].dtype.name} and goes on as "
                    f"{following[index].dtype.name}."
                )
            merge.update_input(position, following[index])
        for round_ in range(_ROUNDS):
            changed = False
            for merge, _, _, _ in self._loops:
                both = shapes.relax(merge.inputs[0].dims, merge.inputs[1].dims)
                dims = shapes.relax(merge.attrs["_dims"], both)
                if dims != merge.attrs["_dims"]:
                    merge.attrs["_dims"] = None if round_ == _ROUNDS - 1 else dims
                    changed = True
            if not changed:
                return
            self._infer_again()

    def _infer_again(self) -> None:
        for op in self._made:
            for tensor, (_, dims) in zip(op.outputs, op.op_def.infer(op), strict=True):
                tensor._dims = dims


def _running(op: Operation) -> list[Operation]:
    """The operations that run in place of one that is only another name of its inputs."""
    found, todo = [], [op]
    while todo:
        op = todo.pop()
        if op.op_def in (SWITCH, ENTER):
            todo += [t.op for t in op.inputs if not t.op.op_def.is_variable]
        else:
            found.append(op)
    return list(dict.fromkeys(found))


def _reason(error: Exception) -> str:
    text = str(error) if not isinstance(error, KeyError) else f"{error} is missing"
    return text.partition(" Built at ")[0]


def _check_constant(attrs: Mapping[str, Any]) -> None:
    value = attrs.get("value")
    if value is None or not hasattr(value, "dtype"):
        raise ValueError("it has no value.")
    dtype = dtypes.string if value.dtype == object else dtypes.as_dtype(value.dtype)
    if attrs.get("dtype", dtype) is not dtype:
        raise ValueError(f"its dtype is {attrs['dtype']}, but its value is of {dtype.name}.")

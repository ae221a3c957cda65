"""Operations between layers: tf.add(x, y) of outputs of layers becomes a layer, so that it can be part of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from graphflow import protos
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.interop.graph_def import graph_def_of
from graphflow._core.interop.import_graph import import_graph_def
from graphflow._core.ops.array.shaping import placeholder
from graphflow.keras import ops
from graphflow.keras.backend.state import get_session
from graphflow.keras.engine.node import INDEPENDENT, Node, history_of

if TYPE_CHECKING:
    from graphflow.keras.typing import Config

PREFIX: Final = "tf_op_layer_"


class OperationLayer:
    """What the layer of an operation has besides what all layers have.

    Args:
        node_def: The operation as a NodeDef of TensorFlow's, or the dictionary of one.
        name: The name of the operation.
        constants: The values of inputs that depend on no layer, by their position.
        trainable: What the layer says; it has no weights.
        dtype: What the layer says.
        node_defs: All nodes, where TensorFlow needs several for the operation, instead of `node_def`.
        constant_types: The dtypes of constants that these do not say by themselves.
    """

    def __init__(
        self,
        node_def: Any,
        name: str,
        constants: Mapping[Any, Any] | None = None,
        trainable: bool = True,
        dtype: Any = None,
        node_defs: Sequence[Any] | None = None,
        constant_types: Mapping[Any, str] | None = None,
    ) -> None:
        super().__init__(name=PREFIX + name, trainable=trainable, dtype=dtype)  # type: ignore[call-arg]
        self._node_name = name
        self._by_name = node_defs is not None
        self._nodes = [_message(node) for node in ([node_def] if node_defs is None else node_defs)]
        # JSON has texts for keys.
        types = {int(place): kind for place, kind in (constant_types or {}).items()}
        self.constants = {
            int(place): _constant(value, types.get(int(place))) for place, value in (constants or {}).items()
        }
        self._op: Operation | None = None
        self.built = True

    @classmethod
    def of(cls, op: Operation, fixed: dict[int, Any], name: str) -> Any:
        """The layer of an operation.

        Args:
            op: The operation.
            fixed: The inputs that depend on no layer, by their position: tensors, the same in each call.
            name: The layer's name, without what each begins with.
        """
        layer = cls(None, name, node_defs=[])
        layer._op, layer.constants = op, dict(fixed)
        return layer

    def call(self, inputs: Any) -> Any:
        """The operation's results for these inputs, of one more such operation.

        Args:
            inputs: The tensors that come from layers.
        """
        given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        for place in sorted(self.constants):
            given.insert(place, self.constants[place])
        if self._op is None:
            return self._imported(given)
        made = _added_again(self._op, given)
        return made.outputs[0] if len(made.outputs) == 1 else list(made.outputs)

    def _imported(self, given: Sequence[Any]) -> Any:
        graph_def, last = protos.graph_pb2.GraphDef(), self._nodes[-1]
        graph_def.node.extend(self._nodes)
        if (
            not self._by_name
        ):  # TensorFlow's have the names of the program's tensors; the order is what counts.
            for place in range(len(last.input)):
                graph_def.node[0].input[place] = _input(place)
        known = {_input(place): ops.convert_to_tensor(value) for place, value in enumerate(given)}
        (op,) = import_graph_def(graph_def, known, [last.name], name="")
        return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)

    def get_config(self) -> Config:
        """The arguments that make a layer like it; what depends on no layer is a constant in it."""
        config: dict[str, Any] = {**super().get_config(), "name": self._node_name}  # type: ignore[misc]
        nodes, by_name = (self._nodes, self._by_name) if self._op is None else _nodes_of(self._op)
        constants = {place: _value(tensor) for place, tensor in self.constants.items()}
        kinds = {
            place: dtypes.as_dtype(value.dtype).name
            for place, value in constants.items()
            if value.dtype.kind in "iuf" and value.dtype not in (np.int32, np.float32)
        }
        config |= {"node_def": _dictionary(nodes[-1]), "constants": constants}
        return {
            **config,
            **({"node_defs": [_dictionary(node) for node in nodes]} if by_name else {}),
            **({"constant_types": kinds} if kinds else {}),
        }


def _input(place: int) -> str:
    return f"input_{place}"


def _message(node: Any) -> Any:
    from google.protobuf import json_format

    message = protos.node_def_pb2.NodeDef()
    if isinstance(node, Mapping):
        return json_format.ParseDict(node, message)
    message.ParseFromString(node.encode() if isinstance(node, str) else bytes(node))
    return message


def _dictionary(node: Any) -> dict[str, Any]:
    from google.protobuf import json_format

    found: dict[str, Any] = json_format.MessageToDict(node, preserving_proto_field_name=True)
    return found


def _added_again(op: Operation, inputs: Sequence[Any]) -> Operation:
    """One more such operation in the default graph, for other inputs; it is beside no other."""
    attrs = {name: value for name, value in op.attrs.items() if name != "_class"}
    return get_default_graph().add(op.op_def, inputs, attrs, op.name.split("/")[-1])


def _nodes_of(op: Operation) -> tuple[list[Any], bool]:
    """The nodes of TensorFlow's that an operation is written as, and whether they name their inputs by position.

    It is one, with its inputs in order, but for operations that TensorFlow does not have.
    """
    with Graph().as_default() as graph:
        given = [placeholder(t.dtype, t.dims, name=_input(place)) for place, t in enumerate(op.inputs)]
        _added_again(op, given)
        nodes = list(graph_def_of(graph, len(given)).node)
    return nodes, len(nodes) > 1 or list(nodes[0].input) != [_input(place) for place in range(len(given))]


def _constant(value: Any, kind: str | None) -> Any:
    return value if kind is None else np.asarray(value, dtypes.as_dtype(kind).as_numpy_dtype)


def _value(tensor: Any) -> np.ndarray[Any, Any]:
    if isinstance(tensor, Tensor):
        tensor = get_session([tensor]).run(tensor)
    return np.asarray(tensor)


def _depends(op: Operation, known: dict[Operation, bool]) -> bool:
    """Whether an operation depends on the output of a layer; without recursion, since graphs are deep."""
    independent: set[Operation] = op.graph.attachments.setdefault(INDEPENDENT, set())
    work, waiting = [op], {op}
    while work:
        current = work[-1]
        if current in independent:
            known[current] = False
        if current in known:
            waiting.discard(work.pop())
            continue
        if any(history_of(t) is not None for t in (*current.outputs, *current.inputs)):
            known[current] = True
            continue
        pending = {t.op: None for t in current.inputs if t.op not in known and t.op not in waiting}
        if pending:
            work += pending
            waiting.update(pending)
            continue
        known[current] = any(known.get(t.op, False) for t in current.inputs)
        if not known[current] and all(t.op in known for t in current.inputs):
            independent.add(current)
    return known[op]


def give_history(tensors: Sequence[Any], layer_class: Any) -> bool:
    """Whether all tensors come from layers; operations between these and layers become layers.

    layer_class: the layer of an operation, which is defined above.
    """
    if not tensors or not all(isinstance(t, Tensor) for t in tensors):
        return False
    if all(history_of(t) is not None for t in tensors):
        return True
    known: dict[Operation, bool] = {}
    if not all(history_of(t) is not None or _depends(t.op, known) for t in tensors):
        return False
    for tensor in tensors:
        if history_of(tensor) is None:
            _wrap(tensor.op, known, layer_class)
    return True


def _wrap(op: Operation, known: dict[Operation, bool], layer_class: Any) -> None:
    """Makes layers of an operation and of those before it, up to layers."""
    work = [op]
    while work:
        current = work[-1]
        before = [t.op for t in current.inputs if history_of(t) is None and _depends(t.op, known)]
        if history_of(current.outputs[0]) is not None:
            work.pop()
        elif before:
            work += before
        else:
            work.pop()
            fixed = {i: t for i, t in enumerate(current.inputs) if history_of(t) is None}
            moving = [t for i, t in enumerate(current.inputs) if i not in fixed]
            layer = layer_class.of(current, fixed, current.name.replace("/", "_"))
            outputs = current.outputs
            Node(
                layer,
                moving if len(moving) != 1 else moving[0],
                outputs[0] if len(outputs) == 1 else outputs,
                {},
            )

"""Operations between layers: tf.add(x, y) of outputs of layers becomes a layer, so that it can be part of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow.keras.engine.node import Node, history_of


class OperationCall:
    """What the layer of an operation does: adds the operation again, for other inputs.

    fixed: the inputs that depend on no layer, by their position, the same in each call.
    """

    def __init__(self, op: Operation, fixed: dict[int, Tensor]) -> None:
        self.op = op
        self.fixed = fixed

    def __call__(self, inputs: Any) -> Any:
        """The operation's results for these inputs."""
        moving = iter(inputs if isinstance(inputs, list | tuple) else [inputs])
        every = [self.fixed.get(i) for i in range(len(self.op.inputs))]
        given = [next(moving) if tensor is None else tensor for tensor in every]
        attrs = {name: value for name, value in self.op.attrs.items() if name != "_class"}
        made = get_default_graph().add(self.op.op_def, given, attrs, self.op.name.split("/")[-1])
        return made.outputs[0] if len(made.outputs) == 1 else list(made.outputs)


def _depends(op: Operation, known: dict[Operation, bool]) -> bool:
    """Whether an operation depends on the output of a layer; without recursion, since graphs are deep."""
    work = [op]
    while work:
        current = work[-1]
        if current in known:
            work.pop()
            continue
        if any(history_of(t) is not None for t in (*current.outputs, *current.inputs)):
            known[current] = True
            work.pop()
            continue
        open_ones = [t.op for t in current.inputs if t.op not in known]
        pending = [o for o in open_ones if o not in work]
        if pending:
            work += pending
            continue
        known[current] = any(known.get(t.op, False) for t in current.inputs)
        work.pop()
    return known[op]


def give_history(tensors: Sequence[Any], layer_class: Any) -> bool:
    """Whether all tensors come from layers; operations between these and layers become layers.

    layer_class: the Layer that they are made of, which is defined above.
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
            layer = layer_class(name=f"tf_op_layer_{current.name.replace('/', '_')}", trainable=False)
            layer.call = OperationCall(current, fixed)
            layer.built = True
            outputs = current.outputs
            Node(
                layer,
                moving if len(moving) != 1 else moving[0],
                outputs[0] if len(outputs) == 1 else outputs,
                {},
            )

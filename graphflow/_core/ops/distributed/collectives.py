"""Collectives: what the members of a group bring is reduced, gathered or handed on, and every member gets the result.

A member is a device. Members of one group meet by the group's key, the key of the instance and a count of the runs, so
they may be in one run, on the tasks of a cluster, or belong to clients that know nothing of each other. Plans hold an
operation in two halves: the first brings the member's value and waits for nobody, the second waits for the others.
What lies between, such as the rest of back-propagation, is computed in the meantime.
"""

from __future__ import annotations

from typing import Any, Final

from graphflow._core.common.timeouts import COLLECTIVE_SECONDS
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import DTypeLike, ShapeLike, TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.math.arithmetic import divide, multiply
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import equal
from graphflow._core.ops.rules import same_as_input

_MERGES: Final = {"add": "Add", "mul": "Mul", "min": "Min", "max": "Max"}
_FINALS: Final = {"id": "Id", "div": "Div"}
_GRADIENT_KEYS: Final = 1_000_003
"""Multiplies the key of an instance to give those of its gradients: a prime far above what people count to."""
_KEYS: Final = 1 << 62


def _gathered_dims(dims: Dims, size: int) -> Dims:
    """The shape of all values one after the other; if the rows are not known, those of members may differ."""
    if dims is None:
        return None
    if not dims:
        raise ValueError("A scalar has no rows to gather: give it an axis, as by gf.expand_dims(value, 0).")
    return (None if dims[0] is None else dims[0] * size, *dims[1:])


def _gathered(op: Operation) -> Signature:
    value = op.inputs[0]
    return [(value.dtype, _gathered_dims(shapes.as_dims(value.dims), op.attrs["group_size"]))]


def _exchanged(op: Operation) -> Signature:
    value, size = op.inputs[0], op.attrs["group_size"]
    dims = shapes.as_dims(value.dims)
    if dims is not None and (not dims or (dims[0] is not None and dims[0] % size)):
        raise ValueError(
            f"Each of {size} members is given as many rows, so the first axis must be a multiple of {size}, got the "
            f"shape {shapes.text(dims)}."
        )
    return [(value.dtype, dims)]


def _received(op: Operation) -> Signature:
    return [(op.attrs["T"], shapes.as_dims(op.attrs["shape"]))]


def _second_input(op: Operation) -> Signature:
    return [(op.inputs[1].dtype, op.inputs[1].dims)]


def _ticket(op: Operation) -> Signature:
    return [(dtypes.int64, (None,))]


def _reduce_gradient(op: Operation, grad: Any) -> Any:
    merge, value, result = op.attrs["merge_op"], op.inputs[0], op.outputs[0]
    final = "div" if op.attrs["final_op"] == "Div" else "id"
    if merge == "Add":
        return _for_gradient(op, grad, 0, final)
    if merge == "Mul":
        return divide(_for_gradient(op, multiply(grad, result), 0), value)
    mine = cast(equal(value, result), value.dtype)
    holders = _for_gradient(op, mine, 1)
    return divide(multiply(mine, _for_gradient(op, grad, 0)), holders)


def _gather_gradient(op: Operation, grad: Any) -> Any:
    attrs = _attributes(op) | {"instance_key": _gradient_key(op, 0)}
    return apply(GATHER_GRAD, [grad, op.inputs[0]], attrs, None).outputs[0]


def _exchange_gradient(op: Operation, grad: Any) -> Any:
    attrs = _attributes(op) | {"instance_key": _gradient_key(op, 0)}
    return apply(EXCHANGE, [grad], attrs, None).outputs[0]


def _for_gradient(op: Operation, grad: Any, place: int, final: str = "id") -> Tensor:
    """The sum over all members, in an instance that belongs to this gradient alone."""
    a = op.attrs
    return all_reduce(
        grad,
        a["group_size"],
        a["group_key"],
        _gradient_key(op, place),
        "add",
        final,
        timeout=a["timeout_seconds"],
    )


def _gradient_key(op: Operation, place: int) -> int:
    """The key of an instance in a gradient of `op`: the same for all members that build the same graph.

    `place` tells those of one gradient apart; a second gradient of the same operation counts on.
    """
    built = op.graph.get_collection_ref("collective_gradients")
    if place == 0:
        built.append(op.name)
    number = 2 * built.count(op.name) + place
    return int((op.attrs["instance_key"] * _GRADIENT_KEYS + number) % _KEYS)


def _attributes(op: Operation) -> dict[str, Any]:
    return {name: op.attrs[name] for name in ("group_size", "group_key", "instance_key", "timeout_seconds")}


REDUCE = op_def(
    "CollectiveReduce", ("input: T=number",), infer=same_as_input, gradient=_reduce_gradient, stateful=True,
    outputs=("data",), blocks=True,
)  # fmt: skip
GATHER = op_def(
    "CollectiveGather", ("input: T=number|bool",), infer=_gathered, gradient=_gather_gradient, stateful=True,
    dynamic_shape=True, outputs=("data",), blocks=True,
)  # fmt: skip
GATHER_GRAD = op_def(
    "CollectiveGatherGrad", ("grad: T=number", "input: T"), infer=_second_input, gradient=NO_GRADIENT, stateful=True,
    outputs=("data",), blocks=True,
)  # fmt: skip
"""The sum over the members of the gradients of what they gathered, and of that the rows that this member brought."""
EXCHANGE = op_def(
    "CollectiveAllToAll", ("input: T=number|bool",), infer=_exchanged, gradient=_exchange_gradient, stateful=True,
    outputs=("data",), blocks=True,
)  # fmt: skip
SEND = op_def(
    "CollectiveBcastSend", ("input: T=number|bool",), infer=same_as_input, gradient=NO_GRADIENT, stateful=True,
    outputs=("data",), blocks=True,
)  # fmt: skip
RECEIVE = op_def(
    "CollectiveBcastRecv", (), infer=_received, gradient=NOT_DIFFERENTIABLE, stateful=True, dynamic_shape=True,
    outputs=("data",), blocks=True,
)  # fmt: skip
BEGIN = op_def(
    "CollectiveBegin", ("inputs*: any",), infer=_ticket, gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("ticket",),
)  # fmt: skip
"""The first half of a collective: brings this member's value."""
END = op_def(
    "CollectiveEnd", ("ticket: int64",), infer=_received, gradient=NOT_DIFFERENTIABLE, stateful=True,
    dynamic_shape=True, outputs=("data",), blocks=True,
)  # fmt: skip
"""The second half: waits for the other members, and gives the result."""


def _group(group_size: Any, group_key: Any, instance_key: Any, timeout: float) -> dict[str, Any]:
    keys = {"group_size": group_size, "group_key": group_key, "instance_key": instance_key}
    for name, value in keys.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an int, got {value!r}.")
        if not -_KEYS <= value < _KEYS:
            raise ValueError(f"{name} must fit into 63 bits, got {value}.")
    if group_size < 1:
        raise ValueError(f"group_size must be at least 1, got {group_size}.")
    if not timeout > 0:
        raise ValueError(f"timeout must be a number of seconds above 0, got {timeout!r}.")
    return {**keys, "timeout_seconds": float(timeout)}


def _chosen(choices: dict[str, str], value: Any, name: str) -> str:
    found = choices.get(str(value).lower())
    if found is None:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}.")
    return found


def all_reduce(
    tensor: TensorLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge: str = "add",
    final: str = "id",
    *,
    timeout: float = COLLECTIVE_SECONDS,
    name: str | None = None,
) -> Tensor:
    """The sum over all members of a group, on each of them (collective_ops.all_reduce).

    When it runs, DeadlineExceededError names the members that did not come in time, UnavailableError a task that is
    gone, AbortedError a member that gave up; InvalidArgumentError says whose value does not fit whose.

    The members are taken in the order of their devices, so the bits are the same on each and in every run.

    Args:
        tensor: Of numbers; all members bring one dtype and one shape.
        group_size: How many members there are, each on a device of its own. group_key names the group,
            instance_key the operation within it: the members meet by both, run after run.
        group_key: The number of the group.
        instance_key: The number of this exchange.
        merge: "add", "mul", "min" or "max".
        final: "div" divides by the number of members.
        timeout: Seconds.
        name: A name for the operation.
    """
    attrs = _group(group_size, group_key, instance_key, timeout)
    attrs |= {"merge_op": _chosen(_MERGES, merge, "merge"), "final_op": _chosen(_FINALS, final, "final")}
    return apply(REDUCE, [tensor], attrs, name).outputs[0]


def all_gather(
    tensor: TensorLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    *,
    timeout: float = COLLECTIVE_SECONDS,
    name: str | None = None,
) -> Tensor:
    """The values of all members of a group along the first axis, on each of them (collective_ops.all_gather).

    They come in the order of the members' devices and may differ in their number of rows if that is not known while
    the graph is built. For the rest see all_reduce.

    Args:
        tensor: The tensor.
        group_size: How many take part.
        group_key: The number of the group.
        instance_key: The number of this exchange.
        timeout: The longest wait in seconds; 0 for no end.
        name: A name for the operation.
    """
    value = convert_to_tensor(tensor)
    attrs = _group(group_size, group_key, instance_key, timeout)
    attrs["shape"] = shapes.TensorShape(_gathered_dims(shapes.as_dims(value.dims), group_size))
    return apply(GATHER, [value], attrs, name).outputs[0]


def all_to_all(
    tensor: TensorLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    *,
    timeout: float = COLLECTIVE_SECONDS,
    name: str | None = None,
) -> Tensor:
    """Gives each member of a group its rows of every member's value (MPI_Alltoall).

    The first axis is cut into as many equal parts as there are members. Each gets the parts with its own number, in the
    order of the members' devices; so the result has the shape of the value. For the rest see all_reduce.

    Args:
        tensor: Of one dtype and one shape for all members; its first axis is a multiple of `group_size`.
        group_size: How many take part.
        group_key: The number of the group.
        instance_key: The number of this exchange.
        timeout: How many seconds the others are waited for.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.
    """
    attrs = _group(group_size, group_key, instance_key, timeout)
    return apply(EXCHANGE, [tensor], attrs, name).outputs[0]


def broadcast_send(
    tensor: TensorLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    *,
    timeout: float = COLLECTIVE_SECONDS,
    name: str | None = None,
) -> Tensor:
    """Gives this member's value to all others of a group, which call broadcast_recv (collective_ops.broadcast_send).

    The result is the value itself. For the rest see all_reduce.

    Args:
        tensor: The tensor.
        group_size: How many take part.
        group_key: The number of the group.
        instance_key: The number of this exchange.
        timeout: The longest wait in seconds; 0 for no end.
        name: A name for the operation.
    """
    return apply(SEND, [tensor], _group(group_size, group_key, instance_key, timeout), name).outputs[0]


def broadcast_recv(
    shape: ShapeLike,
    dtype: DTypeLike,
    group_size: int,
    group_key: int,
    instance_key: int,
    *,
    timeout: float = COLLECTIVE_SECONDS,
    name: str | None = None,
) -> Tensor:
    """The value that one member of a group gives by broadcast_send (collective_ops.broadcast_recv).

    InvalidArgumentError, when it runs, if that has another dtype or shape. For the rest see all_reduce.

    Args:
        shape: The shape of what comes.
        dtype: Its dtype.
        group_size: How many take part.
        group_key: The number of the group.
        instance_key: The number of this exchange.
        timeout: The longest wait in seconds; 0 for no end.
        name: A name for the operation.
    """
    attrs = _group(group_size, group_key, instance_key, timeout)
    attrs |= {"T": dtypes.as_dtype(dtype), "shape": shapes.TensorShape(shape)}
    return apply(RECEIVE, [], attrs, name).outputs[0]


def broadcast(
    tensor: TensorLike,
    sends: bool,
    group_size: int,
    group_key: int,
    instance_key: int,
    *,
    timeout: float = COLLECTIVE_SECONDS,
    name: str | None = None,
) -> Tensor:
    """broadcast_send if `sends`, and otherwise broadcast_recv of what is like `tensor`.

    Args:
        tensor: What is sent; elsewhere a tensor of the same shape and dtype.
        sends: Whether this is the device that sends.
        group_size: How many devices there are.
        group_key: The number of the group, which is the same on all of them.
        instance_key: The number of the broadcast within it, which is the same on all of them.
        timeout: How many seconds the others are waited for.
        name: A name for the operation.

    Returns:
        What was sent.

    Raises:
        DeadlineExceededError: When it runs: the others did not come in time.
    """
    value = convert_to_tensor(tensor)
    keys = (group_size, group_key, instance_key)
    if sends:
        return broadcast_send(value, *keys, timeout=timeout, name=name)
    return broadcast_recv(value.shape, value.dtype, *keys, timeout=timeout, name=name)

"""Gradients: reverse-mode differentiation that adds operations to the graph (tf.gradients, tf.hessians)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.autodiff.flow import DIFFERENTIATORS
from graphflow._core.autodiff.reverse import Task, as_tensor, backpropagate
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import concat, fill, reshape, shape, size, zeros_like
from graphflow._core.ops.control_flow.control_flow import while_loop
from graphflow._core.ops.control_flow.tensor_array import TensorArray, gradient_source
from graphflow._core.ops.core import constant, convert_to_tensor


class UnconnectedGradients:
    """What gradients() gives for an x that y does not depend on: "none" or "zero"."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """How gradients of several uses are added; accepted for compatibility, the plan decides."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: TensorLike | Sequence[TensorLike],
    xs: TensorLike | Sequence[TensorLike],
    grad_ys: TensorLike | Sequence[TensorLike | None] | None = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: TensorLike | Sequence[TensorLike] | None = None,
    unconnected_gradients: str = UnconnectedGradients.NONE,
) -> list[Tensor | Any]:
    """The derivative of the sum of some tensors with respect to others (tf.gradients).

    Args:
        ys: A tensor, or a list of them.
        xs: What to derive by: a tensor or variable, or a list of them.
        grad_ys: The gradient of each y, of its shape; ones by default.
        name: A name for the scope of the operations.
        colocate_gradients_with_ops: Whether each operation is placed with that which it derives.
        gate_gradients: Changes nothing: the plan decides the order.
        aggregation_method: Changes nothing: the plan decides how gradients are added.
        stop_gradients: Tensors that are taken as constants.
        unconnected_gradients: "none" or "zero": what stands for an x on which no y depends.

    Returns:
        A list with the gradient by each x: a tensor of its shape, IndexedSlices if it is only gathered from, or
        None if no y depends on it, as for integers.

    Raises:
        LookupError: An operation between them has no gradient.
        ValueError: There are not as many grad_ys as ys.
        TypeError: A dtype of grad_ys differs.

    Examples:
        >>> x = gf.constant(3.0)
        >>> gf.Session().run(gf.gradients(x * x, [x]))
        [np.float32(6.0)]
    """
    ys, xs = _as_list(ys), _as_list(xs)
    if unconnected_gradients not in (UnconnectedGradients.NONE, UnconnectedGradients.ZERO):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}")
    graph = get_default_graph()
    with graph.name_scope(name) as scope, gradient_source(scope.rstrip("/")):
        y_tensors = [as_tensor(y) for y in ys]
        x_tensors = [as_tensor(x) for x in xs]
        stops = frozenset(as_tensor(s) for s in _as_list(stop_gradients))
        given = [None] * len(y_tensors) if grad_ys is None else _as_list(grad_ys)
        seeds = _default_gradients(y_tensors, given)
        task = Task(graph, stops, colocate_gradients_with_ops, DIFFERENTIATORS)
        found = backpropagate(task, y_tensors, seeds, x_tensors, graph.context)
        if unconnected_gradients == UnconnectedGradients.ZERO:
            found = [zeros_like(x) if g is None else g for g, x in zip(found, x_tensors, strict=True)]
    return found


def hessians(
    ys: TensorLike | Sequence[TensorLike],
    xs: TensorLike | Sequence[TensorLike],
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """The second derivatives of the sum of `ys` with respect to each of `xs`, of shape x.shape + x.shape (tf.hessians).

    One row after the other in a loop; `name` names nothing, as in TensorFlow.

    Args:
        ys: A tensor, or a list of them.
        xs: A tensor or variable, or a list of them.
        name: A name for the operation.
        colocate_gradients_with_ops: Whether gradients are placed with the operations they belong to.
        gate_gradients: Whether updates wait until all gradients are there.
        aggregation_method: How gradients of several uses are added, of gf.AggregationMethod.

    Returns:
        A list of tensors.

    Raises:
        ValueError: If ys do not depend on an x.
    """
    wanted = [as_tensor(x) for x in _as_list(xs)]
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    first = gradients(ys, wanted, **options)
    for x, gradient in zip(wanted, first, strict=True):
        if gradient is None:
            raise ValueError(f"hessians: the result does not depend on {x.name!r}.")
    return [
        _hessian(x, reshape(convert_to_tensor(g), [-1]), options) for x, g in zip(wanted, first, strict=True)
    ]


def _hessian(x: Tensor, gradient: Tensor, options: dict[str, Any]) -> Tensor:
    count = size(x)

    def row(i: Tensor, rows: TensorArray) -> tuple[Tensor, TensorArray]:
        (found,) = gradients(gradient[i], x, unconnected_gradients=UnconnectedGradients.ZERO, **options)
        return i + 1, rows.write(i, convert_to_tensor(found))

    start = (constant(0), TensorArray(x.dtype, count))
    _, rows = while_loop(lambda i, _: i < count, row, start)
    sides = shape(x)
    result: Tensor = reshape(rows.stack(), concat([sides, sides], 0))
    if x.dims is not None:
        result.set_shape(x.dims + x.dims)
    return result


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _default_gradients(ys: Sequence[Tensor], given: Sequence[Any]) -> list[Any]:
    if len(given) != len(ys):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(ys)} ys")
    result: list[Any] = []
    for position, (y, g) in enumerate(zip(ys, given, strict=True)):
        label = f"grad_ys_{position}"
        if g is None:
            if y.dtype.is_complex:
                raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype.name})")
            result.append(fill(shape(y), constant(1, dtype=y.dtype, name=label)))
            continue
        if not isinstance(g, IndexedSlices | Tensor):
            g = convert_to_tensor(g, dtype=y.dtype, name=label)
        if g.dtype is not y.dtype:
            raise TypeError(
                f"The gradient {g.name!r} has dtype {g.dtype.name}, but {y.name!r} has {y.dtype.name}."
            )
        result.append(g)
    return result

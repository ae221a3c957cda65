"""Running sums and products along an axis, and the place of the largest element."""

from __future__ import annotations

from typing import Any

import graphflow._core.ops.core as core
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, broadcasting, comparison, numeric, transcendental
from graphflow._core.ops.rules import deprecated, same_as_input


def _argument_infer(op: Operation) -> Signature:
    x, axis = op.inputs
    dims: Dims = None
    if axis.dims not in (None, ()):
        raise ValueError(f"the axis must be a scalar, got shape {shapes.text(axis.dims)}.")
    known = core.constant_value(axis)
    if x.dims == ():
        raise ValueError("a scalar has no axis to look along.")
    if x.dims is not None:
        dims = (None,) * (len(x.dims) - 1)
        if known is not None:
            place = shapes.normalize_axis(int(known), len(x.dims), "Dimension")
            dims = x.dims[:place] + x.dims[place + 1 :]
    return [(op.attrs["output_type"], dims)]


def _argument(name: str) -> OpDef:
    inputs = ("input: T=number", "dimension: Tidx=index")
    return op_def(name, inputs, infer=_argument_infer, gradient=NOT_DIFFERENTIABLE)


ARG_MAX = _argument("ArgMax")
ARG_MIN = _argument("ArgMin")


def _place(
    definition: OpDef, x: Any, axis: Any, dimension: Any, output_type: Any, name: str | None
) -> Tensor:
    axis = deprecated(axis, dimension, "axis", "dimension")
    attrs = {"output_type": as_dtype(output_type)}
    return apply(definition, (x, 0 if axis is None else axis), attrs, name).outputs[0]


def argmax(
    input: TensorLike,
    axis: IntTensorLike | None = None,
    name: str | None = None,
    dimension: IntTensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """The index of the largest element along an axis, the first of equals; a NaN counts as largest (tf.argmax).

    Args:
        input: A tensor of numbers.
        axis: The axis, an int32 or int64 scalar in [-rank, rank); 0 by default.
        name: A name for the operation.
        dimension: The old name of `axis`.
        output_type: int32 or int64.

    Returns:
        A tensor of output_type, of the input's shape without the axis. InvalidArgumentError when it runs if the
        axis has no elements.

    Examples:
        >>> gf.Session().run(gf.argmax([[1, 9, 2], [7, 0, 3]], axis=1))
        array([1, 0])
    """
    return _place(ARG_MAX, input, axis, dimension, output_type, name)


def argmin(
    input: TensorLike,
    axis: IntTensorLike | None = None,
    name: str | None = None,
    dimension: IntTensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """The index of the smallest element along an axis, the first of equals; a NaN counts as smallest (tf.argmin).

    Args:
        input: A tensor of numbers.
        axis: The axis; by default the first.
        name: A name for the operation.
        dimension: The old name of `axis`.
        output_type: gf.int32 or gf.int64.

    Returns:
        The indices, without that axis.
    """
    return _place(ARG_MIN, input, axis, dimension, output_type, name)


def arg_max(
    input: TensorLike,
    dimension: IntTensorLike,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """argmax with its older arguments (tf.arg_max).

    Args:
        input: A tensor of numbers.
        dimension: The axis.
        output_type: gf.int32 or gf.int64.
        name: A name for the operation.

    Returns:
        The indices, without that axis.
    """
    return _place(ARG_MAX, input, dimension, None, output_type, name)


def arg_min(
    input: TensorLike,
    dimension: IntTensorLike,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """argmin with its older arguments (tf.arg_min).

    Args:
        input: A tensor of numbers.
        dimension: The axis.
        output_type: gf.int32 or gf.int64.
        name: A name for the operation.

    Returns:
        The indices, without that axis.
    """
    return _place(ARG_MIN, input, dimension, None, output_type, name)


def _scanned(op: Operation, g: Tensor) -> Tensor:
    """The running sum of a gradient in the opposite direction."""
    return cumsum(g, op.inputs[1], op.attrs["exclusive"], not op.attrs["reverse"])


def _cumprod_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    x, y = numeric.conj(op.inputs[0]), numeric.conj(op.outputs[0])
    return arithmetic.realdiv(_scanned(op, arithmetic.multiply(y, g)), x), None


def _log_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    # In logarithms, positive and negative parts of the gradient apart, so that nothing overflows.
    x, y = op.inputs[0], op.outputs[0]
    lowest = core.constant(g.dtype.min / 2, dtype=g.dtype)
    parts = []
    for part in (g, numeric.negative(g)):
        positive = comparison.greater(part, 0)
        safe = array.where(positive, part, array.ones_like(part))
        logarithm = array.where(positive, transcendental.log(safe), broadcasting.broadcast_like(lowest, part))
        total = cumulative_logsumexp(
            arithmetic.subtract(logarithm, y), op.inputs[1], op.attrs["exclusive"], not op.attrs["reverse"]
        )
        parts.append(transcendental.exp(arithmetic.add(total, x)))
    return arithmetic.subtract(parts[0], parts[1]), None


def _scan(name: str, types: str, gradient: Any) -> OpDef:
    return op_def(name, (f"x: T={types}", "axis: Tidx=index"), infer=same_as_input, gradient=gradient)


CUMSUM = _scan("Cumsum", "number", lambda op, g: (_scanned(op, g), None))
CUMPROD = _scan("Cumprod", "number", _cumprod_gradient)
CUMULATIVE_LOGSUMEXP = _scan("CumulativeLogsumexp", "float", _log_gradient)


def _running(
    definition: OpDef, x: Any, axis: Any, exclusive: bool, reverse: bool, name: str | None
) -> Tensor:
    with op_scope(name, definition.name, (x,)) as scope:
        x = convert_to_tensor(x, name="x")
        attrs = {"exclusive": bool(exclusive), "reverse": bool(reverse)}
        return apply(definition, (x, axis), attrs, scope).outputs[0]


def cumsum(
    x: TensorLike,
    axis: IntTensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The running sum along an axis (tf.cumsum).

    exclusive leaves each element out of its own sum, reverse runs from the end.

    Args:
        x: A tensor of numbers.
        axis: The axis, an int32 scalar.
        exclusive: Whether each element is left out of its own sum.
        reverse: Whether it runs from the end.
        name: A name for the operation.

    Returns:
        A tensor like `x`.

    Raises:
        InvalidArgumentError: If the axis does not exist.
    """
    return _running(CUMSUM, x, axis, exclusive, reverse, name)


def cumprod(
    x: TensorLike,
    axis: IntTensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The running product along an axis (tf.cumprod). See cumsum; the gradient is NaN at zeros, as in TensorFlow.

    Args:
        x: A tensor of numbers.
        axis: The axis, an int32 scalar.
        exclusive: Whether each element is left out of its own product.
        reverse: Whether it runs from the end.
        name: A name for the operation.

    Returns:
        A tensor like `x`.
    """
    return _running(CUMPROD, x, axis, exclusive, reverse, name)


def cumulative_logsumexp(
    x: TensorLike,
    axis: IntTensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The logarithm of the running sum of exp(x), without overflow (tf.math.cumulative_logsumexp).

    Args:
        x: A tensor of numbers.
        axis: The axis.
        exclusive: Whether each element is left out of its own sum.
        reverse: Whether it runs from the end.
        name: A name for the operation.

    Returns:
        A tensor like `x`.
    """
    return _running(CUMULATIVE_LOGSUMEXP, x, axis, exclusive, reverse, name)

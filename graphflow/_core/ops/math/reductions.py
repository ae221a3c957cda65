"""Reductions along axes. The axes are an input, as in TensorFlow, so that they may be computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphflow._core.ops.core as core
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import creation, indexing, shaping
from graphflow._core.ops.core import apply, constant, convert_to_tensor, graph_of, op_scope
from graphflow._core.ops.math import arithmetic, casting, comparison, transcendental
from graphflow._core.ops.rules import MATH_GRADIENTS, deprecated


def _reduction_infer(op: Operation) -> Signature:
    x, indices = op.inputs
    keep = op.attrs["keep_dims"]
    dims: Dims
    if indices.dims is not None and len(indices.dims) > 1:
        raise ValueError(
            f"Shape must be at most rank 1 but is rank {len(indices.dims)} for the axes to reduce, of shape "
            f"{shapes.text(indices.dims)}: expected a scalar or a vector."
        )
    axes = known_axes(op)
    if axes is None or x.dims is None:
        dims = (None,) * len(x.dims) if keep and x.dims is not None else None
    elif keep:
        dims = tuple(1 if i in axes else d for i, d in enumerate(x.dims))
    else:
        dims = tuple(d for i, d in enumerate(x.dims) if i not in axes)
    return [(x.dtype, dims)]


def known_axes(op: Operation) -> tuple[int, ...] | None:
    """The axes of a reduction, counted from the front, if they and the rank are known; ValueError out of range."""
    x, indices = op.inputs
    values = core.constant_value(indices)
    if values is None or x.dims is None:
        return None
    rank = len(x.dims)
    for axis in np.atleast_1d(values):
        if not -rank <= axis < rank:
            raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
    return tuple(sorted({int(axis) % rank for axis in np.atleast_1d(values)}))


def _reduction(name: str, types: str, gradient: Any, partial: Any = None) -> OpDef:
    inputs = (f"input: {types}", "reduction_indices: Tidx=index")
    return op_def(name, inputs, infer=_reduction_infer, gradient=gradient, partial_value=partial)


def _partial(function: Callable[[list[int]], int]) -> Callable[[Operation], int | None]:
    """The value of a reduction of a shape vector, as in `reduce_prod(gf.shape(x))`."""

    def rule(op: Operation) -> int | None:
        known = core.partial_value(op.inputs[0])
        if not isinstance(known, list) or op.outputs[0].dims != ():
            return None
        values = [v for v in known if v is not None]
        return function(values) if len(values) == len(known) and values else None

    return rule


SUM = _reduction("Sum", "T=number", MATH_GRADIENTS, _partial(sum))
MEAN = _reduction("Mean", "T=number", MATH_GRADIENTS)
MAX = _reduction("Max", "T=number", MATH_GRADIENTS, _partial(max))
MIN = _reduction("Min", "T=number", MATH_GRADIENTS, _partial(min))
PROD = _reduction(
    "Prod", "T=number", MATH_GRADIENTS, _partial(lambda values: int(np.prod(values, dtype=object)))
)
EUCLIDEAN_NORM = _reduction("EuclideanNorm", "T=number", MATH_GRADIENTS)
ALL = _reduction("All", "bool", NOT_DIFFERENTIABLE)
ANY = _reduction("Any", "bool", NOT_DIFFERENTIABLE)


def _restore_infer(op: Operation) -> Signature:
    reduced, x, indices = op.inputs
    values = core.constant_value(indices)
    if x.dims is None or values is None:
        return [(reduced.dtype, None if x.dims is None else (None,) * len(x.dims))]
    axes = {int(axis) % max(len(x.dims), 1) for axis in np.atleast_1d(values)}
    return [(reduced.dtype, tuple(1 if i in axes else size for i, size in enumerate(x.dims)))]


RESTORE_AXES = op_def(
    "RestoreReducedAxes",
    ("reduced: T", "input: any", "reduction_indices: Tidx=index"),
    infer=_restore_infer,
    gradient=lambda op, g: (shaping.reshape(g, shaping.shape(op.inputs[0])), None, None),
)

# ---- public functions ----------------------------------------------------------------------------------------------


def _reduce(
    definition: OpDef,
    x: Any,
    axis: Any,
    keepdims: Any,
    name: str | None,
    reduction_indices: Any,
    keep_dims: Any,
) -> Tensor:
    axis = deprecated(axis, reduction_indices, "axis", "reduction_indices")
    keep = bool(deprecated(keepdims, keep_dims, "keepdims", "keep_dims"))
    everything = axis is None
    if everything:
        with graph_of((x,)).as_default():
            x = convert_to_tensor(x, name="Const")
            axis = (
                creation.range_(0, apply(shaping.RANK, (x,)).outputs[0])
                if x.dims is None
                else constant(np.arange(len(x.dims), dtype=np.int32))
            )
    result = apply(definition, (x, axis), {"keep_dims": keep}, name).outputs[0]
    if everything and not keep:
        result.set_shape(())
    return result


def reduce_sum(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: IntTensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The sum of the elements along axes, all of them by default; of nothing it is 0 (tf.reduce_sum).

    Args:
        input_tensor: The tensor, of numbers.
        axis: The axes to reduce: an int, a list of ints or an integer tensor, in [-rank, rank); a negative one
            counts from the end. None, the default, reduces all of them to a scalar.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor of the same dtype, without the reduced axes.

    Raises:
        ValueError: An axis does not exist, or both names of an argument are given.

    Examples:
        >>> gf.Session().run(gf.reduce_sum([[1, 2], [3, 4]], axis=1))
        array([3, 7], dtype=int32)
    """
    return _reduce(SUM, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_mean(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: IntTensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The mean along axes; of nothing it is NaN, of integers it is truncated (tf.reduce_mean).

    Args:
        input_tensor: The tensor, of numbers.
        axis: The axes to reduce: an int, a list of ints or an integer tensor, in [-rank, rank); a negative one
            counts from the end. None, the default, reduces all of them to a scalar.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor of the same dtype, without the reduced axes.

    Raises:
        ValueError: An axis does not exist, or both names of an argument are given.

    Examples:
        >>> gf.Session().run(gf.reduce_mean([[1.0, 3.0], [5.0, 7.0]], axis=0))
        array([3., 5.], dtype=float32)
    """
    return _reduce(MEAN, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_max(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: IntTensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The largest element along axes, NaN if there is one; of nothing the lowest value (tf.reduce_max).

    Args:
        input_tensor: The tensor, of numbers.
        axis: The axes to reduce: an int, a list of ints or an integer tensor, in [-rank, rank); a negative one
            counts from the end. None, the default, reduces all of them to a scalar.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor of the same dtype, without the reduced axes.

    Raises:
        ValueError: An axis does not exist, or both names of an argument are given.

    Examples:
        >>> gf.Session().run(gf.reduce_max([[1, 5], [7, 2]], axis=1))
        array([5, 7], dtype=int32)
    """
    return _reduce(MAX, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_min(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: IntTensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The smallest element along axes, NaN if there is one; of nothing the highest value (tf.reduce_min).

    Args:
        input_tensor: A tensor.
        axis: The axes to reduce, an int or a list of ints; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor without the reduced axes.

    Examples:
        >>> gf.Session().run(gf.reduce_min([[1, 5], [7, 2]], axis=0))
        array([1, 2], dtype=int32)
    """
    return _reduce(MIN, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_prod(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: IntTensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The product along axes; of nothing it is 1 (tf.reduce_prod). See reduce_sum.

    Args:
        input_tensor: A tensor.
        axis: The axes to reduce, an int or a list of ints; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor without the reduced axes.
    """
    return _reduce(PROD, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_all(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: IntTensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Whether all booleans along axes are true (tf.reduce_all). See reduce_sum.

    Args:
        input_tensor: A tensor.
        axis: The axes to reduce, an int or a list of ints; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor without the reduced axes.
    """
    return _reduce(ALL, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_any(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: IntTensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Whether any boolean along axes is true (tf.reduce_any). See reduce_sum.

    Args:
        input_tensor: A tensor.
        axis: The axes to reduce, an int or a list of ints; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor without the reduced axes.
    """
    return _reduce(ANY, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_euclidean_norm(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The square root of the sum of squares along axes (tf.math.reduce_euclidean_norm). See reduce_sum.

    Args:
        input_tensor: A tensor.
        axis: The axes to reduce, an int or a list of ints; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
    """
    return _reduce(EUCLIDEAN_NORM, input_tensor, axis, keepdims, name, None, None)


def reduce_variance(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The mean squared distance from the mean along axes (tf.math.reduce_variance).

    Args:
        input_tensor: A tensor.
        axis: The axes to reduce, an int or a list of ints; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
    """
    with op_scope(name, "reduce_variance", (input_tensor,)):
        x = convert_to_tensor(input_tensor)
        distance = arithmetic.subtract(x, reduce_mean(x, axis, True), "sub")
        return reduce_mean(transcendental.square(distance), axis, keepdims)


def reduce_std(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The square root of the variance along axes (tf.math.reduce_std).

    Args:
        input_tensor: A tensor.
        axis: The axes to reduce, an int or a list of ints; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
    """
    with op_scope(name, "reduce_std", (input_tensor,)):
        result: Tensor = transcendental.sqrt(reduce_variance(input_tensor, axis, keepdims))
        return result


def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: IntTensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: IntTensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """log(sum(exp(x))) along axes, without overflow (tf.reduce_logsumexp). See reduce_sum.

    Args:
        input_tensor: A tensor.
        axis: The axes to reduce, an int or a list of ints; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.

    Returns:
        A tensor without the reduced axes.
    """
    keep = bool(deprecated(keepdims, keep_dims, "keepdims", "keep_dims"))
    axis = deprecated(axis, reduction_indices, "axis", "reduction_indices")
    x = convert_to_tensor(input_tensor)
    with op_scope(name, "ReduceLogSumExp", (x,)):
        largest = reduce_max(x, axis, True)
        usable = indexing.where(comparison.is_finite(largest), largest, creation.zeros_like(largest))
        usable = shaping.stop_gradient(usable)
        total = transcendental.log(reduce_sum(transcendental.exp(arithmetic.subtract(x, usable)), axis, keep))
        if not keep:
            usable = shaping.reshape(usable, shaping.shape(total))
        return arithmetic.add(total, usable)


def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: IntTensorLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
    reduction_indices: IntTensorLike | None = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """How many elements along axes are not zero (or not empty, of strings), as `dtype` (tf.count_nonzero).

    Args:
        input_tensor: A tensor.
        axis: The axes to reduce, an int or a list of ints; None for all.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        dtype: The dtype of the counts.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keep_dims: The old name of `keepdims`.
        input: A newer name of `input_tensor`.

    Returns:
        A tensor without the reduced axes.
    """
    keep = deprecated(keepdims, keep_dims, "keepdims", "keep_dims")
    values = deprecated(input_tensor, input, "input_tensor", "input")
    axis = deprecated(axis, reduction_indices, "axis", "reduction_indices")
    with op_scope(name, "count_nonzero", (values,)):
        x = convert_to_tensor(values, name="input")
        zero = constant("" if x.dtype is dtypes.string else x.dtype.as_numpy_dtype(0), name="zeros")
        counted = casting.cast(comparison.not_equal(x, zero), dtypes.int64)
        result: Tensor = casting.cast(reduce_sum(counted, axis, keep), dtype)
        return result

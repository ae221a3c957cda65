"""Means and variances, and the normalisations built on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntsLike, IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.array import array, indexing
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.rules import deprecated


def moments(
    x: TensorLike,
    axes: IntsLike,
    shift: TensorLike | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance over `axes` (tf.nn.moments).

    float16 is computed in float32. `shift` is accepted and ignored, as in TensorFlow.

    Args:
        x: A tensor of floats.
        axes: The axes, a list of ints.
        shift: Not needed.
        name: A name for the operation.
        keep_dims: The old name of `keepdims`.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.

    Returns:
        The mean and the variance, of shape `x.shape` without the axes.

    Examples:
        >>> gf.Session().run(gf.nn.moments([1.0, 3.0], axes=[0]))
        (np.float32(2.0), np.float32(1.0))
    """
    keep = deprecated(keepdims, keep_dims, "keepdims", "keep_dims")
    with op_scope(name, "moments", (x,)):
        given = convert_to_tensor(x, name="x")
        y = math.cast(given, dtypes.float32) if given.dtype is dtypes.float16 else given
        mean = reductions.reduce_mean(y, axes, keepdims=True, name="mean")
        distance = math.squared_difference(y, array.stop_gradient(mean))
        variance = reductions.reduce_mean(distance, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = array.squeeze(mean, axes), array.squeeze(variance, axes)
        if given.dtype is dtypes.float16:
            return math.cast(mean, dtypes.float16), math.cast(variance, dtypes.float16)
        return mean, variance


def weighted_moments(
    x: TensorLike,
    axes: IntsLike,
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance over `axes`, each element counted `frequency_weights` times (tf.nn.weighted_moments).

    Args:
        x: A tensor of floats.
        axes: The axes, a list of ints.
        frequency_weights: Their weights, which broadcast with `x`.
        name: A name for the operation.
        keep_dims: The old name of `keepdims`.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.

    Returns:
        The mean and the variance.
    """
    keep = deprecated(keepdims, keep_dims, "keepdims", "keep_dims")
    with op_scope(name, "weighted_moments", (x, frequency_weights)):
        given = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        y = math.cast(given, dtypes.float32) if given.dtype is dtypes.float16 else given
        weights = weights if weights.dtype is y.dtype else math.cast(weights, y.dtype)
        total = reductions.reduce_sum(weights * y, axes, keepdims=True, name="weighted_input_sum")
        spread = weights + array.zeros_like(y)
        count = reductions.reduce_sum(spread, axes, keepdims=True, name="sum_of_weights")
        divisor = math.reciprocal(count, name="inv_weight_sum")
        mean = math.multiply(total, divisor)
        distance = weights * math.squared_difference(y, mean)
        squares = reductions.reduce_sum(distance, axes, keepdims=True, name="weighted_distsq")
        variance = math.multiply(squares, divisor)
        if not keep:
            mean, variance = array.squeeze(mean, axes), array.squeeze(variance, axes)
        if given.dtype is dtypes.float16:
            return math.cast(mean, dtypes.float16), math.cast(variance, dtypes.float16)
        return mean, variance


def sufficient_statistics(
    x: TensorLike,
    axes: Iterable[int],
    shift: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Count, sum and sum of squares over `axes`, of x - shift if a shift is given (tf.nn.sufficient_statistics).

    Args:
        x: A tensor of floats.
        axes: The axes, a list of ints.
        shift: What is taken away from each, or None.
        keep_dims: The old name of `keepdims`.
        name: A name for the operation.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.

    Returns:
        The count, the sum, the sum of squares, and the shift.
    """
    keep = bool(deprecated(keepdims, keep_dims, "keepdims", "keep_dims"))
    over = sorted(set(axes))
    with op_scope(name, "sufficient_statistics", (x, shift)):
        y = convert_to_tensor(x, name="x")
        sizes = None if y.dims is None else [y.dims[axis] for axis in over]
        if sizes is not None and None not in sizes:
            count = 1
            for size in sizes:
                count *= size or 0
            counts = constant(count, dtype=y.dtype)
        else:
            counts = reductions.reduce_prod(
                indexing.gather(math.cast(array.shape(y), y.dtype), over), name="count"
            )
        if shift is None:
            first, second, offset = y, math.square(y), None
        else:
            offset = convert_to_tensor(shift, name="shift")
            first, second = math.subtract(y, offset), math.squared_difference(y, offset)
        return (
            counts,
            reductions.reduce_sum(first, over, keepdims=keep, name="mean_ss"),
            reductions.reduce_sum(second, over, keepdims=keep, name="var_ss"),
            offset,
        )


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance from what sufficient_statistics gives (tf.nn.normalize_moments).

    Args:
        counts: How many elements, a scalar.
        mean_ss: Their sum, less the shift.
        variance_ss: The sum of their squares, less the shift.
        shift: What was taken away from each, or None.
        name: A name for the operation.

    Returns:
        The mean and the variance.
    """
    with op_scope(name, "normalize", (counts, mean_ss, variance_ss, shift)):
        divisor = math.reciprocal(counts, name="divisor")
        if shift is None:
            shifted = mean = math.multiply(mean_ss, divisor, name="mean")
        else:
            shifted = math.multiply(mean_ss, divisor, name="shifted_mean")
            mean = math.add(shifted, shift, name="mean")
        variance = math.subtract(math.multiply(variance_ss, divisor), math.square(shifted), name="variance")
        return mean, variance


def batch_normalization(
    x: TensorLike,
    mean: NumberLike,
    variance: NumberLike,
    offset: NumberLike | None,
    scale: NumberLike | None,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset (tf.nn.batch_normalization).

    Scale and offset may be None.

    Args:
        x: A tensor of floats.
        mean: A tensor that broadcasts with `x`.
        variance: The same.
        offset: The same, or None.
        scale: The same, or None.
        variance_epsilon: A small float.
        name: A name for the operation.

    Returns:
        A tensor like `x`.
    """
    with op_scope(name, "batchnorm", (x, mean, variance, scale, offset)):
        y = convert_to_tensor(x, name="x")
        factor: Any = math.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        scaled = y * math.cast(factor, y.dtype)
        rest = -mean * factor if offset is None else offset - mean * factor
        result: Tensor = scaled + math.cast(rest, y.dtype)
        return result


def batch_norm_with_global_normalization(
    t: TensorLike | None = None,
    m: NumberLike | None = None,
    v: NumberLike | None = None,
    beta: NumberLike | None = None,
    gamma: NumberLike | None = None,
    variance_epsilon: float | None = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> Tensor:
    """batch_normalization under its older name (tf.nn.batch_norm_with_global_normalization).

    Args:
        t: Images.
        m: The means of the channels.
        v: The variances of the channels.
        beta: The offsets.
        gamma: The factors.
        variance_epsilon: A small float.
        scale_after_normalization: Whether to multiply by gamma.
        name: A name for the operation.
        input: A newer name of `t`.
        mean: A newer name of `m`.
        variance: A newer name of `v`.

    Returns:
        A tensor like `t`.
    """
    return batch_normalization(
        deprecated(input, t, "input", "t"),
        deprecated(mean, m, "mean", "m"),
        deprecated(variance, v, "variance", "v"),
        beta,
        gamma if scale_after_normalization else None,
        variance_epsilon or 0.0,
        name,
    )


def l2_normalize(
    x: TensorLike,
    axis: IntTensorLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: IntTensorLike | None = None,
) -> Tensor:
    """x / sqrt(max(sum(x ** 2), epsilon)) along `axis` (tf.nn.l2_normalize).

    Args:
        x: A tensor of floats.
        axis: The axes of one vector; None for all.
        epsilon: The least squared norm.
        name: A name for the operation.
        dim: The old name of `axis`.

    Returns:
        A tensor like `x`.
    """
    axis = deprecated(axis, dim, "axis", "dim")
    with op_scope(name, "l2_normalize", (x,)) as scope:
        y = convert_to_tensor(x, name="x")
        squares = reductions.reduce_sum(math.square(y), axis, keepdims=True)
        return math.multiply(y, math.rsqrt(math.maximum(squares, epsilon)), name=scope)


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The share of elements that are zero, float32; NaN if there is no element (tf.nn.zero_fraction).

    Args:
        value: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A scalar of float32.
    """
    with op_scope(name, "zero_fraction", (value,)):
        x = convert_to_tensor(value, name="value")
        zeros = reductions.reduce_sum(math.cast(math.equal(x, array.zeros_like(x)), dtypes.int64))
        count = math.cast(array.size(x, out_type=dtypes.int64), dtypes.float32)
        return math.truediv(math.cast(zeros, dtypes.float32), count, name="fraction")

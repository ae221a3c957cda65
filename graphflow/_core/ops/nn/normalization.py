"""Batch normalisation of images and normalisation across channels, each one op with one gradient op.

Second derivatives are written out in primitive ops: they are rare, and the formulas below are shorter than a third op.
With r = (variance + epsilon) ** -0.5, u = (x - mean) * r and P(a) = a - mean(a) - u * mean(a * u), the gradient that a
batch normalisation in training passes on is scale * r * P(g), and du/dx = r * P.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, constant, convert_to_tensor
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.nn.convolution import check_layout, conv2d
from graphflow._core.ops.rules import require_rank, same_as_input

SMALLEST_EPSILON = 1.001e-5
"""A smaller epsilon is raised to this, as TensorFlow does."""


def _channels(op: Operation, position: int) -> tuple[shapes.Dims, int | None]:
    """The image's shape and its channels, merged with the length of the vectors at `position` and after."""
    dims = require_rank(op.inputs[0].dims, 4, "the input") or ()
    axis = 1 if op.attrs["data_format"] == "NCHW" else 3
    vector: shapes.Dims = (dims[axis],)
    for tensor in op.inputs[position : position + 2]:
        vector = shapes.merge(vector, require_rank(tensor.dims, 1, "scale and offset"))
    channels = (vector or (None,))[0]
    return (*dims[:axis], channels, *dims[axis + 1 :]), channels


def _batch_norm_infer(op: Operation) -> Signature:
    dims, channels = _channels(op, 1)
    statistics = op.inputs[1].dtype
    return [(op.inputs[0].dtype, dims), *[(statistics, (channels,))] * 4, (statistics, (0,))]


def _batch_norm_grad_infer(op: Operation) -> Signature:
    dims, _ = _channels(op, 2)
    statistics = op.inputs[2].dtype
    vector = op.inputs[2].dims
    return [(op.inputs[0].dtype, dims), (statistics, vector), (statistics, vector), *[(statistics, (0,))] * 2]


def _batch_norm_gradient(op: Operation, g: Tensor, *others: Any) -> tuple[Any, ...]:
    x, scale, _, mean, variance = op.inputs
    if op.attrs["is_training"]:
        mean, variance = op.outputs[3], op.outputs[4]
    attrs = {name: op.attrs[name] for name in ("epsilon", "data_format", "is_training")}
    found = apply(BATCH_NORM_GRAD, (g, x, scale, mean, variance, op.outputs[5]), attrs).outputs
    return found[0], found[1], found[2], None, None


def _batch_norm_grad_gradient(
    op: Operation, a: Tensor, b: Tensor, c: Tensor, *others: Any
) -> tuple[Any, ...]:
    """The gradients to g, x and scale of what BATCH_NORM_GRAD gives, for a, b, c arriving at its results."""
    g, x, scale, mean, variance, _ = op.inputs
    wide = scale.dtype
    axes = [0, 2, 3] if op.attrs["data_format"] == "NCHW" else [0, 1, 2]

    def spread(vector: Tensor) -> Tensor:
        return array.reshape(vector, [1, -1, 1, 1]) if axes[1] == 2 else vector

    def average(value: Tensor) -> Tensor:
        return reductions.reduce_mean(value, axes, keepdims=True)

    wide_a, wide_g = math.cast(a, wide), math.cast(g, wide)
    r = math.rsqrt(variance + op.attrs["epsilon"])
    sr, r_all = spread(scale * r), spread(r)
    u = (math.cast(x, wide) - spread(mean)) * r_all

    def project(value: Tensor) -> Tensor:
        return value - average(value) - u * average(value * u) if op.attrs["is_training"] else value

    projected_g = project(wide_g)
    to_g = sr * project(wide_a) + spread(b) * u + spread(c)
    to_scale = reductions.reduce_sum(wide_a * projected_g, axes) * r
    to_x = spread(b) * wide_g * r_all
    if op.attrs["is_training"]:
        through_u = spread(b) * wide_g - sr * (wide_a * average(wide_g * u) + wide_g * average(wide_a * u))
        to_x = r_all * project(through_u) - sr * r_all * u * average(wide_a * projected_g)
    return math.cast(to_g, g.dtype), math.cast(to_x, x.dtype), to_scale, None, None, None


BATCH_NORM = op_def(
    "FusedBatchNormV3",
    ("x: T=float", "scale: U=float", "offset: U", "mean: U", "variance: U"),
    infer=_batch_norm_infer,
    gradient=_batch_norm_gradient,
    outputs=("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"),
)
BATCH_NORM_GRAD = op_def(
    "FusedBatchNormGradV3",
    (
        "y_backprop: T=float", "x: T", "scale: U=float", "reserve_space_1: U", "reserve_space_2: U",
        "reserve_space_3: U",
    ),
    infer=_batch_norm_grad_infer,
    gradient=_batch_norm_grad_gradient,
    outputs=("x_backprop", "scale_backprop", "offset_backprop", "reserve_space_4", "reserve_space_5"),
)  # fmt: skip


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Images normalised by channel: (result, mean, variance) (tf.nn.fused_batch_norm; Ioffe and Szegedy 2015).

    In training the batch's own mean and variance are used and returned, the variance with n - 1 in its denominator;
    otherwise those given.

    Args:
        x: Images of float16 or float32.
        scale: A factor for each channel.
        offset: An offset for each channel.
        mean: The means of the channels, if not in training.
        variance: The variances of the channels, if not in training.
        epsilon: Added to the variance.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        is_training: Whether the batch's own mean and variance are used.
        name: A name for the operation.

    Returns:
        The result, the means and the variances.

    Raises:
        ValueError: If they are given in training.
    """
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    images = convert_to_tensor(x, name="input")
    factors = convert_to_tensor(scale, name="scale")
    shifts = convert_to_tensor(offset, name="offset")
    attrs = {
        "epsilon": max(float(epsilon), SMALLEST_EPSILON),
        "data_format": check_layout(data_format),
        "is_training": bool(is_training),
    }
    mean = constant([], dtype=factors.dtype) if mean is None else mean
    variance = constant([], dtype=factors.dtype) if variance is None else variance
    found = apply(BATCH_NORM, (images, factors, shifts, mean, variance), attrs, name).outputs
    return found[0], found[1], found[2]


def _window_sum(value: Tensor, radius: int) -> Tensor:
    """The sum over the channels at most `radius` away."""
    rows = array.reshape(value, array.stack([-1, 1, array.shape(value)[3], 1]))
    ones = array.ones([1, 2 * radius + 1, 1, 1], value.dtype)
    return array.reshape(conv2d(rows, ones, [1, 1, 1, 1], "SAME"), array.shape(value))


def _lrn_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    attrs = {name: op.attrs[name] for name in ("depth_radius", "bias", "alpha", "beta")}
    return (apply(LRN_GRAD, (g, op.inputs[0], op.outputs[0]), attrs).outputs[0],)


def _lrn_grad_gradient(op: Operation, a: Tensor) -> tuple[Tensor, Tensor, None]:
    """Of g * n ** -beta - c * x * sum(g * x * m), with n = bias + alpha * sum(x ** 2), m = n ** (-beta - 1)."""
    g, x, _ = op.inputs
    alpha, beta, radius = op.attrs["alpha"], op.attrs["beta"], op.attrs["depth_radius"]
    c = 2 * alpha * beta
    n = op.attrs["bias"] + alpha * _window_sum(math.square(x), radius)
    m = math.pow_(n, -beta - 1)
    sum_ax = _window_sum(a * x, radius)
    to_g = a * math.pow_(n, -beta) - c * x * m * sum_ax
    inner = a * g * m - 2 * alpha * (beta + 1) * g * x * (m / n) * sum_ax
    to_x = -c * (x * _window_sum(inner, radius) + a * _window_sum(g * x * m, radius) + g * m * sum_ax)
    return to_g, to_x, None


LRN = op_def(
    "LRN",
    ("input: T=float(float32)",),
    infer=lambda op: [(op.inputs[0].dtype, require_rank(op.inputs[0].dims, 4, "the input"))],
    gradient=_lrn_gradient,
)
LRN_GRAD = op_def(
    "LRNGrad",
    ("input_grads: T=float", "input_image: T", "output_image: T"),
    infer=same_as_input,
    gradient=_lrn_grad_gradient,
)


def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """x / (bias + alpha * sum of squares over the channels within depth_radius) ** beta.

    TensorFlow: tf.nn.local_response_normalization. Takes images [N, rows, columns, channels]; Krizhevsky et al. 2012.

    Args:
        input: Images [N, rows, columns, channels].
        depth_radius: How many channels to either side count.
        bias: An offset, above 0.
        alpha: A factor.
        beta: An exponent.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    attrs = {
        "depth_radius": int(depth_radius),
        "bias": float(bias),
        "alpha": float(alpha),
        "beta": float(beta),
    }
    images = convert_to_tensor(input, name="input", preferred_dtype=dtypes.float32)
    return apply(LRN, (images,), attrs, name).outputs[0]

"""Numbers rounded as a quantized network would have them, so that training meets its rounding (tf.quantization).

A range is cut into 2 ** num_bits - 1 steps, and moved so that 0 is one of the ends of a step. Gradients flow where the
range holds the number; what is cut off tells the range's ends.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import Dims, merge
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import require_rank, same_as_input


def _of_scalars(op: Operation) -> Signature:
    for end in op.inputs[-2:]:
        require_rank(end.dims, 0, "an end of the range")
    return [(op.inputs[0].dtype, op.inputs[0].dims)]


def _of_channels(op: Operation) -> Signature:
    values, low, high = op.inputs
    return [(values.dtype, _channels(values.dims, low, high)[0])]


def _channels(dims: Dims, low: Tensor, high: Tensor) -> tuple[Dims, Dims]:
    """The shape of the values and that of the ends of ranges; ValueError if there are not as many as channels."""
    ends = merge(*(require_rank(end.dims, 1, "an end of the range") for end in (low, high)))
    if dims is None or ends is None:
        return dims, ends
    if not dims:
        raise ValueError("The values must have channels as their last axis, but they have no axis.")
    whole = merge(dims, (*dims[:-1], ends[0]))
    return whole, ends if whole is None else whole[-1:]


def _of_scalars_gradient_shapes(op: Operation) -> Signature:
    g, values, low, high = op.inputs
    for end in (low, high):
        require_rank(end.dims, 0, "an end of the range")
    return [(g.dtype, merge(g.dims, values.dims)), (g.dtype, ()), (g.dtype, ())]


def _of_channels_gradient_shapes(op: Operation) -> Signature:
    g, values, low, high = op.inputs
    dims, ends = _channels(merge(g.dims, values.dims), low, high)
    return [(g.dtype, dims), (g.dtype, ends), (g.dtype, ends)]


def _args_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (apply(FAKE_QUANT_ARGS_GRADIENT, (g, op.inputs[0]), dict(op.attrs)).outputs[0],)


def _vars_gradient(op: Operation, g: Tensor) -> list[Tensor]:
    return apply(FAKE_QUANT_VARS_GRADIENT, (g, *op.inputs), dict(op.attrs)).outputs


def _channels_gradient(op: Operation, g: Tensor) -> list[Tensor]:
    return apply(FAKE_QUANT_CHANNELS_GRADIENT, (g, *op.inputs), dict(op.attrs)).outputs


_GRADIENTS = ("backprops_wrt_input", "backprop_wrt_min", "backprop_wrt_max")
FAKE_QUANT_ARGS = op_def(
    "FakeQuantWithMinMaxArgs", ("inputs: float32",), infer=same_as_input, gradient=_args_gradient
)
FAKE_QUANT_ARGS_GRADIENT = op_def(
    "FakeQuantWithMinMaxArgsGradient",
    ("gradients: float32", "inputs: float32"),
    infer=lambda op: [(op.inputs[0].dtype, merge(op.inputs[0].dims, op.inputs[1].dims))],
    gradient=NOT_DIFFERENTIABLE,
    outputs=("backprops",),
)
FAKE_QUANT_VARS = op_def(
    "FakeQuantWithMinMaxVars",
    ("inputs: float32", "min: float32", "max: float32"),
    infer=_of_scalars,
    gradient=_vars_gradient,
)
FAKE_QUANT_VARS_GRADIENT = op_def(
    "FakeQuantWithMinMaxVarsGradient",
    ("gradients: float32", "inputs: float32", "min: float32", "max: float32"),
    infer=_of_scalars_gradient_shapes,
    gradient=NOT_DIFFERENTIABLE,
    outputs=_GRADIENTS,
)
FAKE_QUANT_CHANNELS = op_def(
    "FakeQuantWithMinMaxVarsPerChannel",
    ("inputs: float32", "min: float32", "max: float32"),
    infer=_of_channels,
    gradient=_channels_gradient,
)
FAKE_QUANT_CHANNELS_GRADIENT = op_def(
    "FakeQuantWithMinMaxVarsPerChannelGradient",
    ("gradients: float32", "inputs: float32", "min: float32", "max: float32"),
    infer=_of_channels_gradient_shapes,
    gradient=NOT_DIFFERENTIABLE,
    outputs=_GRADIENTS,
)


def _steps(num_bits: int, narrow_range: bool) -> dict[str, Any]:
    if not 2 <= num_bits <= 16:
        raise ValueError(f"num_bits must be between 2 and 16, inclusive, got {num_bits}.")
    return {"num_bits": int(num_bits), "narrow_range": bool(narrow_range)}


def _range(min: float, max: float) -> dict[str, Any]:
    if not min < max:
        raise ValueError(f"min has to be smaller than max, was: {min} >= {max}.")
    return {"min": float(min), "max": float(max)}


def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The nearest of 2 ** num_bits numbers of a range that has 0 (tf.quantization.fake_quant_with_min_max_args).

    Args:
        inputs: A float32 tensor.
        min: The least number, which is moved a little so that 0 is one.
        max: The largest.
        num_bits: From 2 to 16.
        narrow_range: Whether there is one number less, as in quantizations that are symmetric about 0.
        name: A name for the operation.

    Returns:
        A tensor like the inputs.

    Raises:
        ValueError: If num_bits is another, or the range is empty.

    Examples:
        >>> with gf.Session() as session:
        ...     print(session.run(gf.fake_quant_with_min_max_args([-1.0, 0.4, 0.6, 9.0], 0.0, 3.0, num_bits=2)))
        [0. 0. 1. 3.]
    """
    attrs = {**_range(min, max), **_steps(num_bits, narrow_range)}
    return apply(FAKE_QUANT_ARGS, (inputs,), attrs, name).outputs[0]


def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradients of fake_quant_with_min_max_args: those given where the range holds the input.

    TensorFlow: tf.quantization.fake_quant_with_min_max_args_gradient.

    Args:
        gradients: Of its results.
        inputs: Its inputs.
        min: As there.
        max: As there.
        num_bits: As there.
        narrow_range: As there.
        name: A name for the operation.

    Returns:
        A tensor like the inputs.
    """
    attrs = {**_range(min, max), **_steps(num_bits, narrow_range)}
    return apply(FAKE_QUANT_ARGS_GRADIENT, (gradients, inputs), attrs, name).outputs[0]


def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """fake_quant_with_min_max_args with a range that is learned (tf.quantization.fake_quant_with_min_max_vars).

    Args:
        inputs: A float32 tensor.
        min: The least number, a scalar.
        max: The largest, a scalar.
        num_bits: From 2 to 16.
        narrow_range: Whether there is one number less.
        name: A name for the operation.

    Returns:
        A tensor like the inputs; of zeros if both ends are 0.

    Raises:
        ValueError: If num_bits is another, or an end is no scalar.
    """
    return apply(FAKE_QUANT_VARS, (inputs, min, max), _steps(num_bits, narrow_range), name).outputs[0]


def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of fake_quant_with_min_max_vars (tf.quantization.fake_quant_with_min_max_vars_gradient).

    Args:
        gradients: Of its results.
        inputs: Its inputs.
        min: As there.
        max: As there.
        num_bits: As there.
        narrow_range: As there.
        name: A name for the operation.

    Returns:
        The gradients by the inputs, by min and by max.
    """
    given = (gradients, inputs, min, max)
    found = apply(FAKE_QUANT_VARS_GRADIENT, given, _steps(num_bits, narrow_range), name).outputs
    return found[0], found[1], found[2]


def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """fake_quant_with_min_max_vars with a range for each channel, the last axis.

    TensorFlow: tf.quantization.fake_quant_with_min_max_vars_per_channel.

    Args:
        inputs: A float32 tensor [..., channels].
        min: The least numbers, [channels].
        max: The largest, [channels].
        num_bits: From 2 to 16.
        narrow_range: Whether there is one number less.
        name: A name for the operation.

    Returns:
        A tensor like the inputs.

    Raises:
        ValueError: If num_bits is another, or there are not as many ends as channels.
    """
    return apply(FAKE_QUANT_CHANNELS, (inputs, min, max), _steps(num_bits, narrow_range), name).outputs[0]


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of fake_quant_with_min_max_vars_per_channel.

    TensorFlow: tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient.

    Args:
        gradients: Of its results.
        inputs: Its inputs.
        min: As there.
        max: As there.
        num_bits: As there.
        narrow_range: As there.
        name: A name for the operation.

    Returns:
        The gradients by the inputs, by min and by max.
    """
    given = (gradients, inputs, min, max)
    found = apply(FAKE_QUANT_CHANNELS_GRADIENT, given, _steps(num_bits, narrow_range), name).outputs
    return found[0], found[1], found[2]

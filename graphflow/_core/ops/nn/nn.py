"""Activations, bias_add and l2_loss: the ops of a layer that are elementwise or nearly so.

The gradient of each activation is an op of its own, as in TensorFlow, because it is written on the value that is at
hand (the result for elu and selu, the input elsewhere), so that a training step keeps one array alive and not two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NUMBERS, Signature, op_def
from graphflow._core.graph.shapes import Dims, merge, text
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array, indexing
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math import math
from graphflow._core.ops.rules import require_rank, require_rank_at_least, same_as_input

SELU_SCALE = 1.0507009873554804934193349852946
SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


def _merged(op: Operation) -> Signature:
    return [(op.inputs[0].dtype, merge(op.inputs[0].dims, op.inputs[1].dims))]


def _through(op: Operation, *gradients: Tensor) -> Any:
    """The gradient of a gradient op that is linear in its first input and constant in its second."""
    gradient = apply(op.op_def, (gradients[0], op.inputs[1]), _own_attrs(op)).outputs[0]
    return gradient, array.zeros_like(op.inputs[1])


def _own_attrs(op: Operation) -> dict[str, Any]:
    return {name: value for name, value in op.attrs.items() if not name.startswith("_")}


RELU_GRAD = op_def(
    "ReluGrad",
    ("gradients: T=real", "features: T"),
    infer=_merged,
    gradient=_through,
    scalar="{gradients} if {features} > 0 else 0",
    outputs=("backprops",),
)
RELU = op_def(
    "Relu",
    ("features: T=real",),
    infer=same_as_input,
    gradient=lambda op, g: (apply(RELU_GRAD, (g, op.outputs[0])).outputs[0],),
    scalar="max({features}, 0)",
    outputs=("activations",),
)
RELU6_GRAD = op_def(
    "Relu6Grad",
    ("gradients: T=real", "features: T"),
    infer=_merged,
    gradient=_through,
    scalar="{gradients} if ({features} > 0) & ({features} < 6) else 0",
    outputs=("backprops",),
)
RELU6 = op_def(
    "Relu6",
    ("features: T=real",),
    infer=same_as_input,
    gradient=lambda op, g: (apply(RELU6_GRAD, (g, op.outputs[0])).outputs[0],),
    scalar="min(max({features}, 0), 6)",
    outputs=("activations",),
)
LEAKY_RELU_GRAD = op_def(
    "LeakyReluGrad",
    ("gradients: T=float", "features: T"),
    infer=_merged,
    gradient=_through,
    scalar="{gradients} if {features} > 0 else {gradients} * {@alpha}",
    outputs=("backprops",),
)
LEAKY_RELU = op_def(
    "LeakyRelu",
    ("features: T=float(float32)",),
    infer=same_as_input,
    gradient=lambda op, g: (
        apply(LEAKY_RELU_GRAD, (g, op.inputs[0]), {"alpha": op.attrs["alpha"]}).outputs[0],
    ),
    scalar="{features} if {features} > 0 else {features} * {@alpha}",
    outputs=("activations",),
)


def _elu_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    gradients, outputs = op.inputs
    below = math.less(outputs, array.zeros_like(outputs))
    return (
        apply(ELU_GRAD, (g, outputs)).outputs[0],
        indexing.where(below, math.multiply(g, gradients), array.zeros_like(gradients)),
    )


ELU_GRAD = op_def(
    "EluGrad",
    ("gradients: T=float", "outputs: T"),
    infer=_merged,
    gradient=_elu_grad_gradient,
    scalar="{gradients} * ({outputs} + 1) if {outputs} < 0 else {gradients}",
    outputs=("backprops",),
)
ELU = op_def(
    "Elu",
    ("features: T=float",),
    infer=same_as_input,
    gradient=lambda op, g: (apply(ELU_GRAD, (g, op.outputs[0])).outputs[0],),
    scalar="expm1({features}) if {features} < 0 else {features}",
    outputs=("activations",),
)


def _selu_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    gradients, outputs = op.inputs
    below = math.less(outputs, array.zeros_like(outputs))
    return (
        apply(SELU_GRAD, (g, outputs)).outputs[0],
        indexing.where(below, math.multiply(g, gradients), array.zeros_like(gradients)),
    )


SELU_GRAD = op_def(
    "SeluGrad",
    ("gradients: T=float", "outputs: T"),
    infer=_merged,
    gradient=_selu_grad_gradient,
    scalar=(
        f"{{gradients}} * ({{outputs}} + {SELU_SCALE_ALPHA!r}) if {{outputs}} < 0 "
        f"else {{gradients}} * {SELU_SCALE!r}"
    ),
    outputs=("backprops",),
)
SELU = op_def(
    "Selu",
    ("features: T=float",),
    infer=same_as_input,
    gradient=lambda op, g: (apply(SELU_GRAD, (g, op.outputs[0])).outputs[0],),
    scalar=(
        f"{SELU_SCALE_ALPHA!r} * expm1({{features}}) if {{features}} < 0 else {SELU_SCALE!r} * {{features}}"
    ),
    outputs=("activations",),
)


def _softsign_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    gradients, x = op.inputs
    toward_x = math.multiply(apply(SOFTSIGN_GRAD, (g, x)).outputs[0], gradients)
    slope = math.divide(-2.0 * math.sign(x), 1.0 + math.abs_(x))
    return apply(SOFTSIGN_GRAD, (g, x)).outputs[0], math.multiply(toward_x, slope)


SOFTSIGN_GRAD = op_def(
    "SoftsignGrad",
    ("gradients: T=float", "features: T"),
    infer=_merged,
    gradient=_softsign_grad_gradient,
    scalar="{gradients} / ((1 + abs({features})) * (1 + abs({features})))",
    outputs=("backprops",),
)
SOFTSIGN = op_def(
    "Softsign",
    ("features: T=float",),
    infer=same_as_input,
    gradient=lambda op, g: (apply(SOFTSIGN_GRAD, (g, op.inputs[0])).outputs[0],),
    scalar="{features} / (1 + abs({features}))",
    outputs=("activations",),
)
L2_LOSS = op_def(
    "L2Loss",
    ("t: T=float",),
    infer=lambda op: [(op.inputs[0].dtype, ())],
    gradient=lambda op, g: (math.multiply(op.inputs[0], g),),
)


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """max(features, 0) elementwise (tf.nn.relu).

    Args:
        features: A tensor of real numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Examples:
        >>> gf.Session().run(gf.nn.relu([-1.0, 0.0, 2.0]))
        array([0., 0., 2.], dtype=float32)
    """
    return apply(RELU, (features,), name=name).outputs[0]


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """min(max(features, 0), 6) elementwise (tf.nn.relu6).

    Args:
        features: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    with op_scope(name, "Relu6", (features,)) as scope:
        return apply(RELU6, (convert_to_tensor(features, name="features"),), name=scope).outputs[0]


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """exp(features) - 1 if negative, features elsewhere (tf.nn.elu).

    Args:
        features: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return apply(ELU, (features,), name=name).outputs[0]


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """The scaled elu that keeps unit variance (tf.nn.selu; Klambauer et al. 2017).

    Args:
        features: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return apply(SELU, (features,), name=name).outputs[0]


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """features / (abs(features) + 1) elementwise (tf.nn.softsign).

    Args:
        features: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return apply(SOFTSIGN, (features,), name=name).outputs[0]


def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """features above 0 as they are, the others times `alpha` (tf.nn.leaky_relu).

    Integer features become float32. `alpha` is a Python number: TypeError for a tensor.

    Args:
        features: A tensor of numbers.
        alpha: The slope below 0, a Python number.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    with op_scope(name, "LeakyRelu", (features,)) as scope:
        x = convert_to_tensor(features, name="features")
        if x.dtype.is_integer:
            x = math.cast(x, np.float32)
        if isinstance(alpha, np.ndarray | np.generic):
            alpha = alpha.item()
        if not isinstance(alpha, int | float):
            raise TypeError(f"Expected float for argument 'alpha' not {alpha!r}.")
        # The attribute is a float32, also for float64 features.
        return apply(LEAKY_RELU, (x,), {"alpha": float(np.float32(alpha))}, scope).outputs[0]


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """relu of [features, -features] concatenated along `axis` (tf.nn.crelu).

    Args:
        features: A tensor of numbers.
        name: A name for the operation.
        axis: The axis along which both are joined.
    """
    with op_scope(name, "CRelu", (features,)) as scope:
        x = convert_to_tensor(features, name="features")
        return relu(array.concat([x, -x], axis, name=scope))


def swish(features: TensorLike) -> Tensor:
    """features * sigmoid(features) elementwise (tf.nn.swish; Ramachandran et al. 2017).

    Args:
        features: A tensor of numbers.

    Returns:
        A tensor of the same shape and dtype.
    """
    x = convert_to_tensor(features, name="features")
    return array.identity_n([x * math.sigmoid(x)])[0]


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """sum(t ** 2) / 2 as a scalar (tf.nn.l2_loss).

    Args:
        t: A tensor of floats.
        name: A name for the operation.

    Returns:
        A scalar of the same dtype.

    Examples:
        >>> gf.Session().run(gf.nn.l2_loss([3.0, 4.0]))
        np.float32(12.5)
    """
    return apply(L2_LOSS, (t,), name=name).outputs[0]


def _channel_axis(dims: Dims, data_format: str) -> int:
    return 1 if data_format == "NCHW" else len(dims or ()) - 1


def _bias_add_infer(op: Operation) -> Signature:
    value, bias = op.inputs
    data_format = op.attrs["data_format"]
    dims = require_rank_at_least(value.dims, 3 if data_format == "NCHW" else 2, "the value")
    channels = require_rank(bias.dims, 1, "the bias")[0]  # type: ignore[index]
    if dims is None:
        return [(value.dtype, None)]
    axis = _channel_axis(dims, data_format)
    own = dims[axis]
    if None not in (own, channels) and own != channels:
        raise ValueError(
            f"Dimensions must be equal, but are {own} and {channels}: a value of shape {text(dims)} ({data_format}) "
            f"needs a bias of {own} elements."
        )
    return [(value.dtype, (*dims[:axis], channels if own is None else own, *dims[axis + 1 :]))]


def _bias_add_grad_infer(op: Operation) -> Signature:
    dims = op.inputs[0].dims
    if dims is None:
        return [(op.inputs[0].dtype, (None,))]
    data_format = op.attrs["data_format"]
    require_rank_at_least(dims, 3 if data_format == "NCHW" else 2, "the gradient of bias_add")
    return [(op.inputs[0].dtype, (dims[_channel_axis(dims, data_format)],))]


BIAS_ADD_GRAD = op_def(
    "BiasAddGrad",
    ("out_backprop: T=number",),
    infer=_bias_add_grad_infer,
    gradient=lambda op, g: (bias_add(array.zeros_like(op.inputs[0]), g, op.attrs["data_format"]),),
)
BIAS_ADD = op_def(
    "BiasAdd",
    ("value: T=number", "bias: T"),
    infer=_bias_add_infer,
    gradient=lambda op, g: (
        g,
        apply(BIAS_ADD_GRAD, (g,), {"data_format": op.attrs["data_format"]}).outputs[0],
    ),
)


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Adds a vector along the channels (tf.nn.bias_add).

    Args:
        value: A tensor of numbers, [..., channels] or [batch, channels, ...].
        bias: A vector of the same dtype, an element for each channel.
        data_format: "NHWC", the default, if the channels are the last axis; "NCHW", or any "NC...", if they are
            axis 1.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape as `value`.

    Raises:
        ValueError: The number of channels differs, or the format is none.

    Examples:
        >>> gf.Session().run(gf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0]))
        array([[11., 22.]], dtype=float32)
    """
    layout = "NHWC"
    if data_format is not None:
        if data_format.startswith("NC"):
            layout = "NCHW"
        elif not (data_format.startswith("N") and data_format.endswith("C")):
            raise ValueError(f"data_format must be of the form `N...C` or `NC...`, got {data_format!r}")
    with op_scope(name, "BiasAdd", (value, bias)) as scope:
        x = convert_to_tensor(value, name="input")
        if x.dtype not in NUMBERS:
            raise TypeError(f"bias_add takes numbers, got a value of {x.dtype.name}.")
        b = convert_to_tensor(bias, dtype=x.dtype, name="bias")
        return apply(BIAS_ADD, (x, b), {"data_format": layout}, scope).outputs[0]

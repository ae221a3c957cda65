"""NumPy kernels of activations and biases."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
from graphflow._core.ops.nn.nn import SELU_SCALE, SELU_SCALE_ALPHA
from graphflow.errors import InvalidArgumentError


def _relu(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


def _relu6(x: Any) -> Any:
    return np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6))


def _gate(condition: Any, gradient: Any) -> Any:
    return np.where(condition, gradient, gradient.dtype.type(0))


simple("Relu", _relu)
simple("Relu6", _relu6)
simple("ReluGrad", lambda g, x: _gate(x > 0, g))
simple("Relu6Grad", lambda g, x: _gate((x > 0) & (x < 6), g))


@kernel("LeakyRelu")
def _leaky_relu(node: Node) -> Kernel:
    alpha = node.dtypes[0].as_numpy_dtype(node.attrs["alpha"])
    if 0 <= alpha <= 1:
        return lambda x: np.maximum(x, x * alpha)
    return lambda x: np.where(x > 0, x, x * alpha)


@kernel("LeakyReluGrad")
def _leaky_relu_grad(node: Node) -> Kernel:
    alpha = node.dtypes[0].as_numpy_dtype(node.attrs["alpha"])
    return lambda g, x: np.where(x > 0, g, g * alpha)


def _selu(x: Any) -> Any:
    real = x.dtype.type
    return np.where(x < 0, real(SELU_SCALE_ALPHA) * np.expm1(x), real(SELU_SCALE) * x)


def _selu_grad(g: Any, y: Any) -> Any:
    real = g.dtype.type
    return np.where(y < 0, g * (y + real(SELU_SCALE_ALPHA)), g * real(SELU_SCALE))


def _softsign_grad(g: Any, x: Any) -> Any:
    scale = 1 + np.abs(x)
    return g / (scale * scale)


simple("Elu", lambda x: np.where(x < 0, np.expm1(x), x))
simple("EluGrad", lambda g, y: np.where(y < 0, g * (y + 1), g))
simple("Selu", _selu)
simple("SeluGrad", _selu_grad)
simple("Softsign", lambda x: x / (1 + np.abs(x)))
simple("SoftsignGrad", _softsign_grad)


def _l2_loss(x: Any) -> Any:
    flat = np.ravel(x)
    wide = flat.astype(np.float32) if flat.dtype == np.float16 else flat
    return x.dtype.type(np.dot(wide, wide) / 2)


simple("L2Loss", _l2_loss)


def _check_channels(value: Any, bias: Any, axis: int) -> None:
    if bias.ndim != 1 or value.ndim < 2 or value.shape[axis] != bias.shape[0]:
        raise InvalidArgumentError(
            None,
            None,
            f"a value of shape {value.shape} needs a bias of {value.shape[axis:][:1]}, got {bias.shape}",
        )


@kernel("BiasAdd")
def _bias_add(node: Node) -> Kernel:
    def last(value: Any, bias: Any) -> Any:
        _check_channels(value, bias, -1)
        return value + bias

    def second(value: Any, bias: Any) -> Any:
        _check_channels(value, bias, 1)
        return value + bias.reshape((-1,) + (1,) * (value.ndim - 2))

    return second if node.attrs["data_format"] == "NCHW" else last


@kernel("BiasAddGrad")
def _bias_add_grad(node: Node) -> Kernel:
    if node.attrs["data_format"] == "NCHW":
        return lambda g: g.sum(axis=(0, *range(2, g.ndim)), dtype=g.dtype)
    return lambda g: g.sum(axis=tuple(range(g.ndim - 1)), dtype=g.dtype)

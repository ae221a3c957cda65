"""NumPy kernels of activations, softmax and its cross entropies."""

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
    return lambda x: np.maximum(x, x * alpha)


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


def _shifted(x: Any) -> Any:
    return x - x.max(axis=-1, keepdims=True) if x.size else x


def _softmax(x: Any) -> Any:
    exponentials = np.exp(_shifted(x))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _log_softmax(x: Any) -> Any:
    shifted = _shifted(x)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


simple("Softmax", _softmax)
simple("LogSoftmax", _log_softmax)


def _cross_entropy(logits: Any, labels: Any) -> tuple[Any, Any]:
    if logits.ndim != 2 or np.broadcast_shapes(logits.shape, labels.shape) != logits.shape:
        raise InvalidArgumentError(
            None,
            None,
            f"logits and labels must be broadcastable: logits {logits.shape}, labels {labels.shape}",
        )
    shifted = _shifted(logits)
    exponentials = np.exp(shifted)
    total = exponentials.sum(axis=1, keepdims=True)
    loss = (labels * (np.log(total) - shifted)).sum(axis=1)
    return loss, exponentials / total - labels


def check_labels(labels: Any, classes: int) -> None:
    """InvalidArgumentError if a label is not in [0, classes)."""
    bad = (labels < 0) | (labels >= classes)
    if bad.any():
        raise InvalidArgumentError(
            None, None,
            f"Received a label value of {labels[bad][0]} which is outside the valid range of [0, {classes}). "
            f"Label values: {' '.join(map(str, labels[:20]))}",
        )  # fmt: skip


def _sparse_cross_entropy(logits: Any, labels: Any) -> tuple[Any, Any]:
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise InvalidArgumentError(
            None, None,
            "logits and labels must have the same first dimension, "
            f"got logits shape {logits.shape} and labels shape {labels.shape}",
        )  # fmt: skip
    check_labels(labels, logits.shape[1])
    shifted = _shifted(logits)
    exponentials = np.exp(shifted)
    total = exponentials.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = np.log(total[:, 0]) - shifted[rows, labels]
    backprop = exponentials / total
    backprop[rows, labels] -= 1
    return loss, backprop


simple("SoftmaxCrossEntropyWithLogits", _cross_entropy)
simple("SparseSoftmaxCrossEntropyWithLogits", _sparse_cross_entropy)

"""NumPy kernels of softmax and its cross entropies."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.registry import simple
from graphflow.errors import InvalidArgumentError


def _shifted(x: Any) -> Any:
    return x - x.max(axis=-1, keepdims=True) if x.size else x


def _softmax(x: Any) -> Any:
    exponentials = np.exp(_shifted(x))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def log_softmax(x: Any) -> Any:
    """The logarithms of softmax along the last axis, of the same dtype."""
    shifted = _shifted(x)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


simple("Softmax", _softmax)
simple("LogSoftmax", log_softmax)


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

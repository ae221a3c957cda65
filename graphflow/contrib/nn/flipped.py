"""Cross entropies whose logits come first, as they did before TensorFlow 1.0."""

from __future__ import annotations

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow.nn import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)


def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: TensorLike, labels: TensorLike, dim: int = -1, name: str | None = None
) -> Tensor:
    """gf.nn.softmax_cross_entropy_with_logits.

    Args:
        logits: [..., classes].
        labels: Of the same shape: probabilities.
        dim: The axis of the classes.
        name: A name for the operation.

    Returns:
        The losses, without that axis.
    """
    return softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: TensorLike, labels: TensorLike, name: str | None = None
) -> Tensor:
    """gf.nn.sparse_softmax_cross_entropy_with_logits.

    Args:
        logits: [..., classes].
        labels: [...] of class numbers.
        name: A name for the operation.

    Returns:
        The losses, [...].
    """
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: TensorLike, targets: TensorLike, name: str | None = None
) -> Tensor:
    """gf.nn.sigmoid_cross_entropy_with_logits.

    Args:
        logits: A tensor of floats.
        targets: Of the same shape: probabilities.
        name: A name for the operation.

    Returns:
        The losses, of the same shape.
    """
    return sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)

"""Cross entropies of probabilities, by the logits behind them where a softmax or sigmoid made them."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.backend.settings import epsilon


def _logits_behind(output: Any, op_type: str) -> Any:
    """The logits that an activation was computed from; None if it was none of that type."""
    return (
        output.op.inputs[0] if getattr(output, "op", None) is not None and output.op.type == op_type else None
    )


def _clipped(output: Any) -> Any:
    return ops.clip_by_value(output, epsilon(), 1.0 - epsilon())


def _last_axis(axis: int, rank: int, what: str) -> None:
    if axis % rank != rank - 1:
        raise ValueError(f"{what} takes classes along the last axis, not along axis {axis} of {rank}.")


def categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Any:
    """-sum(target * log(output)) along an axis (tf.keras.backend.categorical_crossentropy).

    Args:
        target: The targets, of the shape of `output`.
        output: The predictions: probabilities, or logits with `from_logits`.
        from_logits: Whether `output` holds logits, before softmax or sigmoid.
        axis: The axis of the classes; of logits, it is the last one.

    Returns:
        A tensor of the shape of `output` without that axis.

    Raises:
        ValueError: `output` is logits whose classes are not on the last axis.
    """
    target, scores = ops.convert_to_tensor(target), ops.convert_to_tensor(output)
    logits = scores if from_logits else _logits_behind(scores, "Softmax")
    if logits is not None:
        _last_axis(axis, len(logits.shape.as_list()), "categorical_crossentropy of logits")
        return ops.softmax_cross_entropy_with_logits_v2(labels=target, logits=logits)
    scores = scores / ops.reduce_sum(scores, axis, keepdims=True)
    return -ops.reduce_sum(target * ops.log(_clipped(scores)), axis)


def sparse_categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Any:
    """-log of the output at the target, a class (tf.keras.backend.sparse_categorical_crossentropy).

    Args:
        target: The numbers of the classes, of the shape of `output` without its last axis.
        output: The predictions: probabilities, or logits with `from_logits`.
        from_logits: Whether `output` holds logits, before softmax or sigmoid.
        axis: The axis of the classes, which is the last one.

    Returns:
        A tensor of the shape of `output` without its last axis; flat if `output` has two axes.

    Raises:
        ValueError: `axis` is not the last one.
    """
    target, scores = ops.convert_to_tensor(target), ops.convert_to_tensor(output)
    logits = scores if from_logits else _logits_behind(scores, "Softmax")
    if logits is None:
        logits = ops.log(_clipped(scores))
    rank = len(logits.shape.as_list())
    _last_axis(axis, rank, "sparse_categorical_crossentropy")
    labels = ops.cast(ops.reshape(target, [-1]), "int64")
    size = logits.shape.as_list()[-1]
    flat = ops.reshape(logits, [-1, ops.shape(logits)[-1] if size is None else size]) if rank != 2 else logits
    found = ops.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=flat)
    return ops.reshape(found, ops.shape(logits)[:-1]) if rank >= 3 else found


def binary_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False) -> Any:
    """The cross entropy of each element with a probability (tf.keras.backend.binary_crossentropy).

    Args:
        target: The targets, of the shape of `output`.
        output: The predictions: probabilities, or logits with `from_logits`.
        from_logits: Whether `output` holds logits, before softmax or sigmoid.

    Returns:
        A tensor of the shape of `output`.
    """
    target, scores = ops.convert_to_tensor(target), ops.convert_to_tensor(output)
    logits = scores if from_logits else _logits_behind(scores, "Sigmoid")
    if logits is not None:
        return ops.sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    scores = _clipped(scores)
    found = target * ops.log(scores + epsilon())
    return -(found + (1 - target) * ops.log(1 - scores + epsilon()))

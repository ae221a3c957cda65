"""Products along axes (tf.keras.backend)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops


def dot(x: TensorLike, y: TensorLike) -> Any:
    """The product over the last axis of x and the last but one of y (tf.keras.backend.dot).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor whose last axis but one, or only axis, has the size of the last axis of `x`.

    Returns:
        A tensor of the axes of `x` that are left, then those of `y`.
    """
    first, second = ops.convert_to_tensor(x), ops.convert_to_tensor(y)
    ranks = [len(t.shape.as_list()) for t in (first, second)]
    if max(ranks) <= 2:
        return ops.matmul(first, second)
    return ops.tensordot(first, second, [[ranks[0] - 1], [max(ranks[1] - 2, 0)]])


def batch_dot(x: TensorLike, y: TensorLike, axes: int | Sequence[int] | None = None) -> Any:
    """The product of each example over an axis of each of the two (tf.keras.backend.batch_dot).

    The first axis is the batch's; axes that are left come in their order, x's first, at least one of size 1.

    Args:
        x: A tensor of two axes or more, the first of which is the batch's.
        y: A tensor likewise, of the same batch.
        axes: The axis of `x` and that of `y`, or one number for both; by default the last one of `x` and the last but
            one of `y`.

    Returns:
        A tensor [batch, ...].

    Raises:
        ValueError: `axes` names the batch's axis.
    """
    first, second = ops.convert_to_tensor(x), ops.convert_to_tensor(y)
    ranks = [len(t.shape.as_list()) for t in (first, second)]
    if axes is None:
        axes = [ranks[0] - 1, max(ranks[1] - 2, 1)]
    both = [axes, axes] if isinstance(axes, int) else list(axes)
    left, right = (axis % rank for axis, rank in zip(both, ranks, strict=True))
    if 0 in (left, right):
        raise ValueError(f"batch_dot sums over axes of each example: {both} names the batch's.")
    letters = "bcdefghijklmno"
    of_first = ["a", *letters[: ranks[0] - 1]]
    of_second = ["a", *letters[ranks[0] - 1 : ranks[0] + ranks[1] - 2]]
    of_first[left] = of_second[right] = "z"
    if ranks == [2, 2]:
        return ops.reduce_sum(first * second, 1, keepdims=True)
    if ranks == [3, 3]:
        return ops.matmul(first, second, transpose_a=left == 1, transpose_b=right == 2)
    kept = [c for c in [*of_first, *of_second[1:]] if c != "z"]
    found = ops.einsum(f"{''.join(of_first)},{''.join(of_second)}->{''.join(kept)}", first, second)
    return found if len(kept) > 1 else ops.expand_dims(found, 1)

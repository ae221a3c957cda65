"""Elements of tensors in other shapes and orders (tf.keras.backend)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.types import DTypeLike, IntsLike, IntTensorLike, TensorLike
from graphflow.keras import ops


def reshape(x: TensorLike, shape: IntTensorLike) -> Any:
    """Another shape (tf.keras.backend.reshape).

    Args:
        x: A tensor, or what becomes one, of any shape.
        shape: The sizes, one of which may be -1 for what is left.

    Returns:
        A tensor of that shape with the elements of `x`.
    """
    return ops.reshape(x, shape)


def flatten(x: TensorLike) -> Any:
    """One axis (tf.keras.backend.flatten).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A vector of the elements of `x`.
    """
    return ops.reshape(x, [-1])


def batch_flatten(x: TensorLike) -> Any:
    """All axes but the first joined to one (tf.keras.backend.batch_flatten).

    Args:
        x: A tensor [batch, ...].

    Returns:
        A tensor [batch, size].
    """
    tensor = ops.convert_to_tensor(x)
    sizes = tensor.shape.as_list()[1:]
    if None in sizes:
        return ops.reshape(tensor, ops.stack([-1, ops.reduce_prod(ops.shape(tensor)[1:])]))
    size = 1
    for n in sizes:
        size *= n
    return ops.reshape(tensor, [-1, size])


def transpose(x: TensorLike) -> Any:
    """The axes turned round (tf.keras.backend.transpose).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the axes of `x` in the opposite order.
    """
    return ops.transpose(x)


def permute_dimensions(x: TensorLike, pattern: Sequence[int]) -> Any:
    """The axes in another order (tf.keras.backend.permute_dimensions).

    Args:
        x: A tensor, or what becomes one, of any shape.
        pattern: The numbers of the axes in their new order.

    Returns:
        A tensor of those axes.
    """
    return ops.transpose(x, list(pattern))


def concatenate(tensors: Sequence[TensorLike], axis: int = -1) -> Any:
    """Tensors behind one another (tf.keras.backend.concatenate).

    Args:
        tensors: Tensors whose sizes are the same on all other axes.
        axis: The axis, counted from the end if negative.

    Returns:
        A tensor.
    """
    return ops.concat(list(tensors), axis)


def stack(x: Sequence[TensorLike], axis: int = 0) -> Any:
    """Tensors along a new axis (tf.keras.backend.stack).

    Args:
        x: Tensors of one shape.
        axis: Where the new axis is.

    Returns:
        A tensor of an axis more.
    """
    return ops.stack(list(x), axis)


def expand_dims(x: TensorLike, axis: int = -1) -> Any:
    """An axis of 1 (tf.keras.backend.expand_dims).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: Where the new axis is.

    Returns:
        A tensor of an axis more.
    """
    return ops.expand_dims(x, axis)


def squeeze(x: TensorLike, axis: int) -> Any:
    """Without an axis of 1 (tf.keras.backend.squeeze).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis that goes, of size 1.

    Returns:
        A tensor of an axis less.
    """
    return ops.squeeze(x, [axis])


def repeat(x: TensorLike, n: int) -> Any:
    """[batch, size] as [batch, n, size] (tf.keras.backend.repeat).

    Args:
        x: A tensor [batch, size].
        n: How many times.

    Returns:
        A tensor [batch, n, size].
    """
    return ops.tile(ops.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x: TensorLike, rep: int, axis: int) -> Any:
    """Each element along an axis several times (tf.keras.backend.repeat_elements).

    Args:
        x: A tensor, or what becomes one, of any shape.
        rep: How many times.
        axis: The axis.

    Returns:
        A tensor whose axis is `rep` times as large.
    """
    return ops.repeat(x, rep, axis)


def tile(x: TensorLike, n: IntsLike) -> Any:
    """The whole several times along each axis (tf.keras.backend.tile).

    Args:
        x: A tensor, or what becomes one, of any shape.
        n: How many times along each axis; an int for a vector.

    Returns:
        A tensor of the dtype of `x`.
    """
    return ops.tile(x, [n] if isinstance(n, int) else list(n))


def reverse(x: TensorLike, axes: IntsLike) -> Any:
    """Axes turned round (tf.keras.backend.reverse).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axes: The axis, or axes.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.reverse(x, [axes] if isinstance(axes, int) else list(axes))


def gather(reference: TensorLike, indices: IntTensorLike) -> Any:
    """Rows by their numbers (tf.keras.backend.gather).

    Args:
        reference: A tensor of an axis or more.
        indices: The numbers of the rows, ints of any shape.

    Returns:
        A tensor of the shape of the indices, then that of a row.
    """
    return ops.gather(reference, indices)


def one_hot(indices: TensorLike, num_classes: int) -> Any:
    """1 at the index, else 0 (tf.keras.backend.one_hot).

    Args:
        indices: Ints of any shape.
        num_classes: The size of the new, last axis.

    Returns:
        A float32 tensor [..., num_classes].
    """
    return ops.one_hot(indices, num_classes)


def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: DTypeLike = "int32"
) -> Any:
    """Numbers from start to stop (tf.keras.backend.arange).

    Args:
        start: The first number; or the end, if `stop` is not given: then it begins with 0.
        stop: The end, which is not among them.
        step: The distance of one number to the next.
        dtype: The dtype.

    Returns:
        A vector.
    """
    found = ops.range(start, delta=step) if stop is None else ops.range(start, stop, step)
    return ops.cast(found, dtype)

"""Sums, means and others over axes of tensors (tf.keras.backend)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.backend.settings import floatx

Axis = int | Sequence[int] | None


def _floats(x: Any) -> Any:
    tensor = ops.convert_to_tensor(x)
    return ops.cast(tensor, floatx()) if tensor.dtype.name == "bool" else tensor


def sum(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The sum over axes (tf.keras.backend.sum).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_sum(x, axis, keepdims)


def prod(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The product over axes (tf.keras.backend.prod).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_prod(x, axis, keepdims)


def mean(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The mean over axes (tf.keras.backend.mean).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_mean(_floats(x), axis, keepdims)


def var(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The variance over axes (tf.keras.backend.var).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    tensor = _floats(x)
    return ops.reduce_mean(ops.square(tensor - ops.reduce_mean(tensor, axis, True)), axis, keepdims)


def std(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The standard deviation over axes (tf.keras.backend.std).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.sqrt(var(x, axis, keepdims))


def max(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The largest over axes (tf.keras.backend.max).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_max(x, axis, keepdims)


def min(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The smallest over axes (tf.keras.backend.min).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_min(x, axis, keepdims)


def logsumexp(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over axes (tf.keras.backend.logsumexp).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_logsumexp(x, axis, keepdims)


def any(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether any is true (tf.keras.backend.any).

    Args:
        x: A tensor; what is not 0 is true.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A bool tensor without those axes.
    """
    return ops.reduce_any(ops.cast(x, "bool"), axis, keepdims)


def all(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether all are true (tf.keras.backend.all).

    Args:
        x: A tensor; what is not 0 is true.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A bool tensor without those axes.
    """
    return ops.reduce_all(ops.cast(x, "bool"), axis, keepdims)


def argmax(x: TensorLike, axis: int = -1) -> Any:
    """Where the largest is (tf.keras.backend.argmax).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, counted from the end if negative.

    Returns:
        An int64 tensor of the shape of `x` without that axis.
    """
    return ops.argmax(x, axis)


def argmin(x: TensorLike, axis: int = -1) -> Any:
    """Where the smallest is (tf.keras.backend.argmin).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, counted from the end if negative.

    Returns:
        An int64 tensor of the shape of `x` without that axis.
    """
    return ops.argmin(x, axis)


def cumsum(x: TensorLike, axis: int = 0) -> Any:
    """The sums so far (tf.keras.backend.cumsum).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, counted from the end if negative.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.cumsum(x, axis)


def cumprod(x: TensorLike, axis: int = 0) -> Any:
    """The products so far (tf.keras.backend.cumprod).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, counted from the end if negative.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.cumprod(x, axis)

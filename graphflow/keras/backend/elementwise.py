"""Functions of tensors element by element (tf.keras.backend)."""

from __future__ import annotations

import builtins
from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops


def abs(x: TensorLike) -> Any:
    """|x| (tf.keras.backend.abs).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.abs(x)


def square(x: TensorLike) -> Any:
    """x ** 2 (tf.keras.backend.square).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.square(x)


def sqrt(x: TensorLike) -> Any:
    """The root of x, of 0 where it is negative (tf.keras.backend.sqrt).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.sqrt(ops.clip_by_value(x, 0.0, float("inf")))


def exp(x: TensorLike) -> Any:
    """The exponential (tf.keras.backend.exp).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.exp(x)


def log(x: TensorLike) -> Any:
    """The natural logarithm (tf.keras.backend.log).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.log(x)


def pow(x: TensorLike, a: TensorLike) -> Any:
    """x ** a (tf.keras.backend.pow).

    Args:
        x: A tensor, or what becomes one, of any shape.
        a: The exponent, a number or a tensor that broadcasts with `x`.

    Returns:
        A tensor of the dtype of `x`.
    """
    return ops.pow(x, a)


def round(x: TensorLike) -> Any:
    """The nearest whole numbers (tf.keras.backend.round).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.round(x)


def sign(x: TensorLike) -> Any:
    """-1, 0 or 1 (tf.keras.backend.sign).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.sign(x)


def sin(x: TensorLike) -> Any:
    """The sine (tf.keras.backend.sin).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.sin(x)


def cos(x: TensorLike) -> Any:
    """The cosine (tf.keras.backend.cos).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.cos(x)


def clip(x: TensorLike, min_value: float | None, max_value: float | None) -> Any:
    """x between two values (tf.keras.backend.clip).

    Args:
        x: A tensor, or what becomes one, of any shape.
        min_value: The smallest value; None for no limit.
        max_value: The largest value; None for no limit.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    low = float("-inf") if min_value is None else min_value
    high = float("inf") if max_value is None else max_value
    return ops.clip_by_value(x, low, builtins.max(low, high))


def equal(x: TensorLike, y: TensorLike) -> Any:
    """x == y (tf.keras.backend.equal).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.equal(x, y)


def not_equal(x: TensorLike, y: TensorLike) -> Any:
    """x != y (tf.keras.backend.not_equal).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.not_equal(x, y)


def greater(x: TensorLike, y: TensorLike) -> Any:
    """x > y (tf.keras.backend.greater).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.greater(x, y)


def greater_equal(x: TensorLike, y: TensorLike) -> Any:
    """x >= y (tf.keras.backend.greater_equal).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.greater_equal(x, y)


def less(x: TensorLike, y: TensorLike) -> Any:
    """x < y (tf.keras.backend.less).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.less(x, y)


def less_equal(x: TensorLike, y: TensorLike) -> Any:
    """x <= y (tf.keras.backend.less_equal).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.less_equal(x, y)


def maximum(x: TensorLike, y: TensorLike) -> Any:
    """The larger (tf.keras.backend.maximum).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A tensor of the shape that the two broadcast to.
    """
    return ops.maximum(x, y)


def minimum(x: TensorLike, y: TensorLike) -> Any:
    """The smaller (tf.keras.backend.minimum).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A tensor of the shape that the two broadcast to.
    """
    return ops.minimum(x, y)

"""Functions of Python over the elements of a tensor (tf.keras.backend)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph.types import DTypeLike
from graphflow.keras import ops
from graphflow.keras.typing import Tensors


def map_fn(
    fn: Callable[..., Any], elems: Tensors, name: str | None = None, dtype: DTypeLike | None = None
) -> Any:
    """A function of each element (tf.keras.backend.map_fn).

    Args:
        fn: A function of a tensor, or of a structure of them like `elems`.
        elems: A tensor, or a structure of them; the function is given their parts along the first axis.
        name: The name; by default one is made.
        dtype: The dtype of the results; by default that of `elems`.

    Returns:
        The results, put together along the first axis.
    """
    return ops.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(
    fn: Callable[..., Any], elems: Tensors, initializer: Tensors = None, name: str | None = None
) -> Any:
    """Elements put together from the first on (tf.keras.backend.foldl).

    Args:
        fn: A function of what came of the elements so far and the next one.
        elems: A tensor whose first axis is gone along.
        initializer: What it begins with; by default an element.
        name: The name; by default one is made.

    Returns:
        The last result of the function.
    """
    return ops.foldl(fn, elems, initializer=initializer, name=name)


def foldr(
    fn: Callable[..., Any], elems: Tensors, initializer: Tensors = None, name: str | None = None
) -> Any:
    """Elements put together from the last on (tf.keras.backend.foldr).

    Args:
        fn: A function of what came of the elements so far and the next one.
        elems: A tensor whose first axis is gone along.
        initializer: What it begins with; by default an element.
        name: The name; by default one is made.

    Returns:
        The last result of the function.
    """
    return ops.foldr(fn, elems, initializer=initializer, name=name)

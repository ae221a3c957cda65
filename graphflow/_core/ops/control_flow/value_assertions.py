"""Assertions about what Python values are, and which dtype tensors share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike


def assert_proper_iterable(values: Any) -> None:
    """Raises TypeError unless a value is a collection of several, such as a list (tf.assert_proper_iterable).

    Args:
        values: A value. Tensors, arrays and texts can be iterated over, too, but stand for one.

    Raises:
        TypeError: If it is one of those, or cannot be iterated over.
    """
    if isinstance(values, Tensor | SparseTensor | np.ndarray | bytes | str):
        raise TypeError(f"Expected a list of values, got a single {type(values).__name__}: {values!r}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected a list of values, got {values!r}, which cannot be iterated over.")


def assert_same_float_dtype(
    tensors: Sequence[Any] | None = None, dtype: DTypeLike | None = None
) -> dtypes.DType:
    """The float dtype that all tensors have (tf.assert_same_float_dtype).

    Args:
        tensors: Tensors; None among them is skipped.
        dtype: The dtype that they must have; by default that of the first.

    Returns:
        The dtype, float32 if there is neither.

    Raises:
        ValueError: If the dtypes differ, or are not of floats.
    """
    found = None if dtype is None else dtypes.as_dtype(dtype)
    for tensor in tensors or ():
        if tensor is None:
            continue
        own = dtypes.as_dtype(tensor.dtype)
        found = own if found is None else found
        if own is not found:
            raise ValueError(f"Expected tensors of dtype {found.name}, got {tensor!r} of {own.name}.")
    found = dtypes.float32 if found is None else found
    if not found.is_floating:
        raise ValueError(f"Expected a floating point dtype, got {found.name}.")
    return found

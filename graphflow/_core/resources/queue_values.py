"""The arrays in a queue: several as one, and one as several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.dtypes import DType


def rows(value: Any, dtype: DType, apart: bool = True) -> list[Any]:
    """The rows of an array, copied: each with memory of its own, or all in one block if not `apart`."""
    if dtype.native == np.dtype(object):
        return [np.array(row, object) for row in value] if value.ndim == 1 else [row.copy() for row in value]
    if value.ndim == 1 or not apart:
        return list(value if value.ndim == 1 else value.copy())
    return [row.copy() for row in value]


def zeros(shape: Sequence[int], dtype: DType) -> Any:
    """An array of zeros, or of empty strings."""
    return np.full(shape, b"", object) if dtype.native == np.dtype(object) else np.zeros(shape, dtype.native)


def filled(values: Sequence[Any], dtype: DType, shape: tuple[int, ...]) -> Any:
    """Values of one shape as one array, along a new first axis."""
    if shape and values:
        return np.concatenate(values).reshape(len(values), *shape)
    if values and dtype.native != np.dtype(object):
        return np.fromiter(values, dtype.native, len(values))
    out = np.empty((len(values), *shape), dtype.native)
    for number, value in enumerate(values):
        out[number] = value[()] if not shape else value
    return out

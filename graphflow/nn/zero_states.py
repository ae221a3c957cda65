"""Zeros in the structure of a cell's state."""

from __future__ import annotations

from typing import Any

import graphflow.nest as nest
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import counted_as
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike
from graphflow._core.ops.array import array


def zero_state_of(state_size: Any, batch_size: IntTensorLike, dtype: DTypeLike) -> Any:
    """Zeros of shape [batch_size, ...] for each size, an int, TensorShape or int32 scalar, of a nested structure."""

    def zeros(size: Any) -> Tensor:
        # TensorFlow builds the shape, the zeros, and the shape once more.
        parts = [2 if isinstance(part, Tensor) and part.dims == () else 1 for part in (batch_size, size)]
        with counted_as(2 * sum(parts) + 4):
            made: Tensor = rows_of_zeros(size, batch_size, dtype)
            return made

    return nest.map_structure(zeros, state_size)


def rows_of_zeros(state_size: Any, batch_size: IntTensorLike, dtype: DTypeLike) -> Any:
    """What zero_state_of gives, as seeds of what follows count the operations that are built."""

    def zeros(size: Any) -> Tensor:
        if isinstance(size, TensorShape):
            rest: list[Any] = size.as_list()
        else:
            rest = [size if isinstance(size, Tensor) else int(size)]
        sizes: list[Any] = [batch_size, *rest]
        if not any(isinstance(extent, Tensor) for extent in sizes):
            return array.zeros([int(extent) for extent in sizes], as_dtype(dtype))
        made = array.zeros(array.stack(sizes), as_dtype(dtype))
        made.set_shape([None if isinstance(extent, Tensor) else int(extent) for extent in sizes])
        return made

    return nest.map_structure(zeros, state_size)

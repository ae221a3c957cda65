"""Where a value lies: a root block of memory, and how the value walks through it.

Views (reshapes, slices, transposes, broadcasts) are never computed: their NumPy kernel is run once on an array of the
same layout that nobody reads, and what comes back says where the view's elements are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.arrays import memory_address
from graphflow._core.common.records import dataclass


@dataclass(frozen=True)
class Value:
    """An array in a block of memory; offset and strides count elements.

    Args:
        root: The name of the block that it lies in.
        dtype: The name of its dtype, such as "float32".
        shape: Its sizes.
        strides: From one element to the next along each axis.
        offset: Of its first element in the block.
    """

    root: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def contiguous(self) -> bool:
        """Whether its elements lie side by side in row-major order."""
        return all(
            s == w for n, s, w in zip(self.shape, self.strides, row_major(self.shape), strict=True) if n != 1
        )

    def step_over(self, count: int) -> int | None:
        """The stride with which its first axes are walked as if they were one.

        The stride of an axis of one place says nothing: 0 if there are no others.

        Args:
            count: How many axes.

        Returns:
            The stride, in elements; None if they cannot be walked so.
        """
        walked = [(n, s) for n, s in zip(self.shape[:count], self.strides[:count], strict=True) if n != 1]
        if any(outer != n * inner for (_, outer), (n, inner) in pairwise(walked)):
            return None
        return walked[-1][1] if walked else 0

    def reshaped(self, shape: tuple[int, ...]) -> Value:
        """The same elements in another shape.

        Args:
            shape: The sizes.

        Raises:
            ValueError: If they do not lie side by side, or are not so many.
        """
        if not self.contiguous or math.prod(shape) != self.size:
            raise ValueError(f"A value of shape {self.shape}, strides {self.strides} has no shape {shape}.")
        return Value(self.root, self.dtype, shape, row_major(shape), self.offset)

    def transposed(self, axes: Sequence[int]) -> Value:
        """The same elements with the axes in another order.

        Args:
            axes: The order of the axes.
        """
        shape, strides = (tuple(of[a] for a in axes) for of in (self.shape, self.strides))
        return Value(self.root, self.dtype, shape, strides, self.offset)

    def broadcast(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Its strides when it is repeated to `shape`, by NumPy's rule.

        Args:
            shape: The sizes.
        """
        missing = len(shape) - len(self.shape)
        own = [0] * missing + [
            0 if have == 1 and want != 1 else stride
            for have, want, stride in zip(self.shape, shape[missing:], self.strides, strict=True)
        ]
        return tuple(own)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous array."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def whole(root: str, dtype: str, shape: tuple[int, ...]) -> Value:
    """A value that is all of its root."""
    return Value(root, dtype, shape, row_major(shape))


def spreads(shape: tuple[int, ...], space: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another."""
    return len(shape) <= len(space) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(space), strict=False)
    )


def view_of(
    value: Value, kernel: Callable[..., Any], arguments: Sequence[Any], position: int
) -> list[Value] | None:
    """The values that a kernel returns as views of `value`, its input at a position; None if it is no view."""
    item = np.dtype(value.dtype).itemsize
    # Its first element is not its last one in memory if it is walked backwards: nothing of it lies before the block.
    extent = (
        value.offset + sum((n - 1) * max(s, 0) for n, s in zip(value.shape, value.strides, strict=True)) + 1
    )
    block = np.zeros(max(1, extent), value.dtype)
    strides = tuple(s * item for s in value.strides)
    array = np.lib.stride_tricks.as_strided(block[value.offset :], value.shape, strides)
    inputs = list(arguments)
    inputs[position] = array
    try:
        result = kernel(*inputs)
    except errors.InvalidArgumentError:  # The result depends on the value.
        return None
    found = []
    for part in result if isinstance(result, tuple | list) else (result,):
        if not isinstance(part, np.ndarray) or part.dtype != block.dtype or not part.size:
            return None
        start = memory_address(part) - memory_address(block)
        if not 0 <= start < block.nbytes or not np.may_share_memory(part, block):
            return None
        found.append(
            Value(value.root, value.dtype, part.shape, tuple(s // item for s in part.strides), start // item)
        )
    return found


def boxes_apart(first: Value, second: Value) -> bool:
    """Whether two parts of one block, walked through alike, have no element in common."""
    if first.strides != second.strides or len(first.shape) != len(second.shape):
        return False
    order = sorted(range(len(first.shape)), key=lambda k: -first.strides[k])
    low, high = first.offset, second.offset
    for axis in order:
        step = first.strides[axis]
        if step <= 0:
            return False
        start, other = low // step, high // step
        low, high = low % step, high % step
        if start + first.shape[axis] <= other or other + second.shape[axis] <= start:
            return True
    return False

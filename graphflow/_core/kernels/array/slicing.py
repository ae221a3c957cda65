"""NumPy kernels of the ops that take blocks of a tensor, by NumPy's own indexing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import boxed, invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple


def indexer(node: Node) -> Callable[[Any, Any, Any], tuple[Any, ...]]:
    """A function (begin, end, strides) -> NumPy's index for a strided slice with the node's masks."""
    begin_mask, end_mask, shrink = (node.attrs[k] for k in ("begin_mask", "end_mask", "shrink_axis_mask"))
    ellipsis, new_axis = node.attrs["ellipsis_mask"], node.attrs["new_axis_mask"]

    def index(begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
        starts, stops, steps = begin.tolist(), end.tolist(), strides.tolist()
        result: list[Any] = []
        for i, step in enumerate(steps):
            bit = 1 << i
            if ellipsis & bit:
                result.append(Ellipsis)
            elif new_axis & bit:
                result.append(None)
            elif step == 0:
                raise invalid(f"strides[{i}] must be non-zero")
            elif shrink & bit:
                result.append(0 if begin_mask & bit else starts[i])
            else:
                result.append(
                    slice(None if begin_mask & bit else starts[i], None if end_mask & bit else stops[i], step)
                )
        return tuple(result)

    return index


@kernel("StridedSlice", view=True)
def _strided_slice(node: Node) -> Kernel:
    index = indexer(node)

    def run(x: Any, begin: Any, end: Any, strides: Any) -> Any:
        position = index(begin, end, strides)
        try:
            return boxed(x[position])
        except IndexError as error:
            raise invalid(f"slice index {position} out of bounds of shape {x.shape}: {error}") from None

    return run


@kernel("StridedSliceGrad")
def _strided_slice_grad(node: Node) -> Kernel:
    index = indexer(node)

    def run(shape: Any, begin: Any, end: Any, strides: Any, dy: Any) -> Any:
        result = np.zeros(tuple(shape.tolist()), dy.dtype)
        result[index(begin, end, strides)] = dy
        return result

    return run


def _slice(x: Any, begin: Any, size: Any) -> Any:
    index = []
    if len(begin) != x.ndim or len(size) != x.ndim:
        raise invalid(
            f"begin {begin.tolist()} and size {size.tolist()} must have {x.ndim} elements for shape {x.shape}."
        )
    for axis, (start, length) in enumerate(zip(begin.tolist(), size.tolist(), strict=True)):
        stop = x.shape[axis] if length == -1 else start + length
        if start < 0 or length < -1 or start > stop or stop > x.shape[axis]:
            raise invalid(
                f"Expected begin[{axis}] in [0, {x.shape[axis]}] and the block within, but got begin "
                f"{start} and size {length}."
            )
        index.append(slice(start, stop))
    return x[tuple(index)]


simple("Slice", _slice, view=True)

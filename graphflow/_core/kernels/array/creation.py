"""NumPy kernels of the ops that make tensors: filled ones, ranges and one-hot rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid, normalized
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple


def _fill(dims: Any, value: Any) -> Any:
    shape = tuple(dims.tolist())
    if any(n < 0 for n in shape):
        raise invalid(f"Fill dimensions must be >= 0, got {list(shape)}.")
    result = np.empty(shape, value.dtype if hasattr(value, "dtype") else object)
    result[...] = value.item() if result.dtype == object and hasattr(value, "item") else value
    return result


def _zeros_like(x: Any) -> Any:
    return np.full(x.shape, b"", object) if x.dtype == object else np.zeros(x.shape, x.dtype)


simple("Fill", _fill)
simple("ZerosLike", _zeros_like)
simple("OnesLike", lambda x: np.ones(x.shape, x.dtype))


def _range(start: Any, limit: Any, delta: Any) -> Any:
    first, last, step = start.item(), limit.item(), delta.item()
    if step == 0:
        raise invalid("Requires delta != 0: 0")
    if (step > 0 and first > last) or (step < 0 and first < last):
        raise invalid(
            f"Requires start {'<=' if step > 0 else '>='} limit when delta {'>' if step > 0 else '<'} "
            f"0: {first}/{last}"
        )
    if start.dtype.kind in "iu":
        return np.arange(first, last, step, dtype=start.dtype)
    count = math.ceil(abs((last - first) / step))
    # Added up as TensorFlow does, so that long float ranges agree to the last bit.
    return np.add.accumulate(
        np.concatenate([np.array([start]), np.full(max(count - 1, 0), delta)]), dtype=start.dtype
    )[:count]


simple("Range", _range)


def _linspace(start: Any, stop: Any, num: Any) -> Any:
    count = int(num)
    if count <= 0:
        raise invalid(f"Requires num > 0: {count}")
    kind = start.dtype
    if count == 1:
        return np.array([start], kind)
    step = (stop - start) / kind.type(count - 1)
    result = start + step * np.arange(count, dtype=kind)
    result[-1] = stop
    return result


simple("LinSpace", _linspace)


@kernel("OneHot")
def _one_hot(node: Node) -> Kernel:
    axis = node.attrs["axis"]

    def run(indices: Any, depth: Any, on_value: Any, off_value: Any) -> Any:
        length = int(depth)
        if length < 0:
            raise invalid(f"depth must be non-negative, got: {length}")
        where = normalized(axis, indices.ndim + 1)
        classes = np.arange(length).reshape(
            *(length if i == 0 else 1 for i in range(indices.ndim - where + 1))
        )
        hot = np.expand_dims(indices, where) == classes
        return np.where(hot, on_value, off_value).astype(node.dtypes[0].as_numpy_dtype, copy=False)

    return run

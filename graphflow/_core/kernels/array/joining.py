"""NumPy kernels of the ops that join tensors and take them apart again; what is taken apart shares their memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import boxed, checked, invalid, normalized
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple


@kernel("Unpack", view=True)
def _unpack(node: Node) -> Kernel:
    axis, count = node.attrs["axis"], node.attrs["num"]

    def run(value: Any) -> Any:
        where = normalized(axis, value.ndim)
        if value.shape[where] != count:
            raise invalid(f"Input shape {value.shape} along axis {where} must equal num, {count}.")
        rows = np.moveaxis(value, where, 0)
        return boxed(rows[0]) if count == 1 else tuple(boxed(rows[i]) for i in range(count))

    return run


def _concat(*inputs: Any) -> Any:
    *parts, axis = inputs
    return np.concatenate(parts, normalized(axis.item(), parts[0].ndim))


simple("ConcatV2", checked(_concat))


def _pieces(value: Any, sizes: list[int], axis: int) -> Any:
    lead = (slice(None),) * axis
    start, result = 0, []
    for length in sizes:
        result.append(value[(*lead, slice(start, start + length))])
        start += length
    return result[0] if len(result) == 1 else tuple(result)


@kernel("Split", view=True)
def _split(node: Node) -> Kernel:
    count = node.attrs["num_split"]

    def run(where: Any, value: Any) -> Any:
        axis = normalized(where, value.ndim)
        if value.shape[axis] % count:
            raise invalid(
                "Number of ways to split should evenly divide the split dimension, but got split_dim "
                f"{axis} (size = {value.shape[axis]}) and num_split {count}"
            )
        return _pieces(value, [value.shape[axis] // count] * count, axis)

    return run


@kernel("SplitV", view=True)
def _split_v(node: Node) -> Kernel:
    count = node.attrs["num_split"]

    def run(value: Any, sizes: Any, where: Any) -> Any:
        axis = normalized(where, value.ndim)
        lengths = [int(n) for n in sizes]
        total, fixed = value.shape[axis], sum(n for n in lengths if n >= 0)
        if len(lengths) != count or lengths.count(-1) > 1 or min(lengths) < -1:
            raise invalid(f"size_splits must be {count} sizes, of which one may be -1, got {lengths}.")
        if fixed > total or (fixed != total and -1 not in lengths):
            raise invalid(
                f"Determined shape must either match input: the sizes {lengths} must sum to the length of axis {axis}, "
                f"{total}."
            )
        return _pieces(value, [total - fixed if n == -1 else n for n in lengths], axis)

    return run

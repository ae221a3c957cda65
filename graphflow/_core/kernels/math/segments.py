"""NumPy kernels of segments, partitions and stitching. Rows are combined in their order, so the bits never vary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.array.indexing import check_below, check_range, reduce_rows
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple

_UFUNCS = {"Sum": np.add, "Mean": np.add, "Prod": np.multiply, "Max": np.maximum, "Min": np.minimum}


def _sorted_count(ids: Any, rows: int, count: int | None = None, what: str = "dimension 0 of input") -> int:
    """The number of segments of ids that must not decrease: `count` if that is given, and larger than all of them."""
    if ids.shape != (rows,):
        raise invalid(f"segment_ids should be the same size as {what}: {ids.size} vs. {rows}.")
    if not ids.size:
        return 0 if count is None else count
    last = int(ids[-1])
    if count is not None and last >= count:
        raise invalid(
            f"segment ids must be < num_segments, which is {count}: segment_ids[{rows - 1}] = {last}."
        )
    if count is None and last < 0:
        raise invalid(f"segment ids must be >= 0: segment_ids[{rows - 1}] = {last}.")
    total = last + 1 if count is None else count
    if ids[0] < 0 or (ids[1:] < ids[:-1]).any():
        raise invalid(_disorder(ids, total))
    return total


def _disorder(ids: Any, total: int) -> str:
    """What is wrong with ids that decrease somewhere, or begin with a negative one: the first place where it shows."""
    ends = [*np.flatnonzero(np.diff(ids)).tolist(), ids.size - 1]  # The last place of each segment.
    for place in ends:
        one = int(ids[place])
        if place + 1 < ids.size and ids[place + 1] < one:
            then = int(ids[place + 1])
            return f"segment ids are not increasing: segment_ids[{place}] = {one}, segment_ids[{place + 1}] = {then}."
        if not 0 <= one < total:
            break
    return (
        f"Segment id {one} out of range [0, {total}), possibly because 'segment_ids' input is not sorted: "
        f"segment_ids[{place}] = {one}."
    )


def _neutral(kind: str, dtype: Any) -> Any:
    if kind == "Prod":
        return 1
    if kind in ("Max", "Min"):
        info = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        return info.min if kind == "Max" else info.max
    return 0


def _combined(kind: str, ids: Any, data: Any, count: int) -> Any:
    shape, neutral = (count, *data.shape[ids.ndim :]), _neutral(kind, data.dtype)
    result = np.full(shape, neutral, data.dtype) if neutral else np.zeros(shape, data.dtype)
    return reduce_rows(_UFUNCS[kind], ids, data, result)


def _segment(kind: str) -> Kernel:
    def run(data: Any, ids: Any) -> Any:
        count = _sorted_count(ids, data.shape[0] if data.ndim else 0)
        result = _combined(kind, ids, data, count)
        if kind in ("Max", "Min", "Mean"):
            counts = np.bincount(ids, minlength=count).reshape(-1, *(1,) * (data.ndim - 1))
            if kind == "Mean":
                return _divided(result, np.maximum(counts, 1))
            result[counts.reshape(-1) == 0] = 0
        return result

    return run


def _divided(sums: Any, counts: Any) -> Any:
    if sums.dtype.kind in "iu":
        return (sums // counts).astype(sums.dtype)
    return sums / counts.astype(sums.real.dtype)


for _kind in ("Sum", "Mean", "Prod", "Max", "Min"):
    simple(f"Segment{_kind}", _segment(_kind))


def _unsorted(kind: str) -> Kernel:
    def run(data: Any, ids: Any, num_segments: Any) -> Any:
        count = int(num_segments)
        if count < 0:
            raise invalid(f"num_segments must be non-negative, got {count}.")
        if data.shape[: ids.ndim] != ids.shape:
            raise invalid(f"data.shape = {data.shape} does not start with segment_ids.shape = {ids.shape}")
        tail = data.shape[ids.ndim :]
        check_below(ids, count, "segment_ids")
        flat_ids, rows = ids.reshape(-1), data.reshape(ids.size, *tail)
        if flat_ids.size and flat_ids.min() < 0:
            kept = flat_ids >= 0
            flat_ids, rows = flat_ids[kept], rows[kept]
        return _combined(kind, flat_ids, rows, count)

    return run


for _kind in ("Sum", "Prod", "Max", "Min"):
    simple(f"UnsortedSegment{_kind}", _unsorted(_kind))


def _sparse(kind: str) -> Kernel:
    def run(data: Any, indices: Any, ids: Any, num_segments: Any = None) -> Any:
        if indices.size and (indices.min() < 0 or indices.max() >= data.shape[0]):
            place = int(np.flatnonzero((indices < 0) | (indices >= data.shape[0]))[0])
            raise invalid(f"Bad: indices[{place}] == {int(indices[place])} out of range [0, {data.shape[0]})")
        if num_segments is not None and (num_segments.ndim or num_segments < 0):
            raise invalid(f"num_segments should be a scalar of at least 0, not {num_segments.tolist()}.")
        count = None if num_segments is None else int(num_segments)
        count = _sorted_count(ids, indices.size, count, "indices")
        sums = _combined("Sum", ids, data[indices], count)
        if kind == "Sum":
            return sums
        counts = np.maximum(np.bincount(ids, minlength=count), 1).reshape(-1, *(1,) * (data.ndim - 1))
        return _divided(sums, counts if kind == "Mean" else np.sqrt(counts))

    return run


for _kind in ("Sum", "Mean", "SqrtN"):
    simple(f"SparseSegment{_kind}", _sparse(_kind))
    simple(f"SparseSegment{_kind}WithNumSegments", _sparse(_kind))


@kernel("DynamicPartition")
def _dynamic_partition(node: Node) -> Kernel:
    count = node.attrs["num_partitions"]

    def run(data: Any, partitions: Any) -> Any:
        if data.shape[: partitions.ndim] != partitions.shape:
            raise invalid(f"data.shape {data.shape} must start with partitions.shape {partitions.shape}")
        check_range(partitions, count, "partitions")
        rows = data.reshape(partitions.size, *data.shape[partitions.ndim :])
        flat = partitions.reshape(-1)
        parts = tuple(rows[flat == i] for i in range(count))
        return parts[0] if count == 1 else parts

    return run


@kernel("DynamicStitch")
def _dynamic_stitch(node: Node) -> Kernel:
    count = node.attrs["N"]

    def run(*inputs: Any) -> Any:
        places, data = inputs[:count], inputs[count:]
        total = max((int(p.max()) + 1 for p in places if p.size), default=0)
        tail = data[0].shape[places[0].ndim :]
        result = np.zeros((total, *tail), data[0].dtype)
        if result.dtype == object:
            result.fill(b"")
        for place, part in zip(places, data, strict=True):
            if part.shape != place.shape + tail:
                raise invalid(
                    f"data of shape {part.shape} does not fit indices of shape {place.shape}: expected "
                    f"{place.shape + tail}"
                )
            check_range(place, total, "indices")
            result[place.reshape(-1)] = part.reshape(math.prod(place.shape), *tail)
        return result

    return run

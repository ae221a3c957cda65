"""NumPy kernels of the ops that put elements in order, find places among them, tell them apart and count them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple, takes


def _top_k(x: Any, k: Any) -> tuple[Any, Any]:
    count = int(k)
    if count < 0:
        raise invalid(f"Need k >= 0, got {count}")
    if not x.ndim or x.shape[-1] < count:
        raise invalid(
            f"input must have at least k columns. Had {x.shape[-1] if x.ndim else 0}, needed {count}"
        )
    length = x.shape[-1]
    if not 0 < count * _FEW <= length:
        return _in_order(x, count)
    rows = x.reshape(-1, length)
    places = np.nonzero(_among_largest(rows, count))[1].reshape(*x.shape[:-1], count)
    values, order = _in_order(np.take_along_axis(x, places, -1), count)
    return values, np.take_along_axis(places, order, -1).astype(np.int32)


_FEW = 4
"""So many times as many elements as are wanted are not sorted all."""


def _in_order(x: Any, count: int) -> tuple[Any, Any]:
    """The first `count` of each row from the largest on, and where they are."""
    length = x.shape[-1]
    # Backwards and stable, so that of equal elements the one with the lower index comes first.
    order = length - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :count]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


def _among_largest(rows: Any, count: int) -> Any:
    """Which elements are among the `count` largest of their row, of equal ones those with the lower index."""
    least = np.partition(rows, rows.shape[1] - count, axis=1)[:, -count, None]
    above, equal = rows > least, rows == least
    if rows.dtype.kind == "f":  # No number is above all numbers.
        odd, odd_least = np.isnan(rows), np.isnan(least)
        above, equal = above | (odd & ~odd_least), equal | (odd & odd_least)
    room = count - above.sum(axis=1, keepdims=True)
    return above | (equal & (np.cumsum(equal, axis=1) <= room))


def _in_top_k(predictions: Any, targets: Any, k: Any) -> Any:
    if predictions.ndim != 2 or targets.shape != predictions.shape[:1]:
        raise invalid(
            f"predictions must be 2-dimensional and targets have a row each, got {predictions.shape} "
            f"and {targets.shape}"
        )
    rows, classes = predictions.shape
    known = (targets >= 0) & (targets < classes)
    if not classes:
        return np.zeros(rows, np.bool_)
    chosen = predictions[np.arange(rows), np.where(known, targets, 0)]
    finite = np.isfinite(predictions).all(-1)
    return known & finite & ((predictions > chosen[:, None]).sum(-1) < k)


simple("TopKV2", _top_k)
takes(45, "TopKV2", call=30_000.0)
simple("InTopKV2", _in_top_k)


def _bound(side: Any) -> Any:
    def make(node: Node) -> Kernel:
        kind = node.attrs["out_type"].as_numpy_dtype

        def run(rows: Any, values: Any) -> Any:
            found = [np.searchsorted(row, wanted, side) for row, wanted in zip(rows, values, strict=True)]
            return np.array(found, kind).reshape(values.shape)

        return run

    return make


kernel("LowerBound")(_bound("left"))
kernel("UpperBound")(_bound("right"))


@kernel("Bucketize")
def _bucketize(node: Node) -> Kernel:
    edges = np.array(node.attrs["boundaries"], np.float32)

    def run(x: Any) -> Any:
        values = np.asarray(x)
        if values.dtype != np.float64:  # as a C++ compiler compares an integer with a float
            values = values.astype(np.float32)
        return np.searchsorted(edges, values, "right").astype(np.int32)

    return run


_DENSE = 4
"""Integers of a range that is at most so many times their number are told apart by a table."""


def distinct(x: Any) -> tuple[Any, Any, Any]:
    """The distinct elements in the order of their first appearance, which of them each element is, and how often."""
    if x.dtype.kind in "iu" and x.size:
        low, high = int(x.min()), int(x.max())
        if high - low < _DENSE * x.size:
            return _distinct_by_table(x, low, high - low + 1)
    found, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return found[order], place[inverse.reshape(-1)], counts[order]


def _distinct_by_table(x: Any, low: int, width: int) -> tuple[Any, Any, Any]:
    """The same of integers of a small range."""
    keys = (x.astype(np.int64) - low) if x.dtype.kind == "i" else (x - x.dtype.type(low)).astype(np.int64)
    positions = np.arange(x.size)
    table = np.empty(width, np.int64)
    # Of several values for one place the last one stays: here that of the first appearance.
    table[keys[::-1]] = positions[::-1]
    first = np.flatnonzero(table[keys] == positions)
    table[keys[first]] = np.arange(first.size)
    places = table[keys]
    return x[first], places, np.bincount(places, minlength=first.size)


def _unique(node: Node, results: int) -> Kernel:
    """The values, their places and their counts, or the first of these."""
    kind = node.attrs["out_idx"].as_numpy_dtype

    def run(x: Any) -> Any:
        if x.ndim != 1:
            raise invalid(f"unique expects a 1D vector, got shape {x.shape}.")
        values, places, counts = distinct(x)
        return (values, places.astype(kind), counts.astype(kind))[:results]

    return run


kernel("Unique")(partial(_unique, results=2))
kernel("UniqueWithCounts")(partial(_unique, results=3))
takes(90, "Unique", "UniqueWithCounts")


@kernel("ListDiff")
def _list_diff(node: Node) -> Kernel:
    kind = node.attrs["out_idx"].as_numpy_dtype

    def run(x: Any, y: Any) -> Any:
        kept = np.flatnonzero(~np.isin(x, y))
        return x[kept], kept.astype(kind)

    return run


@kernel("Bincount")
def _bincount(node: Node) -> Kernel:
    kind = node.dtypes[0].as_numpy_dtype

    def run(values: Any, size: Any, weights: Any) -> Any:
        length, flat = int(size), values.reshape(-1)
        if length < 0:
            raise invalid(f"size ({length}) must be non-negative")
        if flat.size and flat.min() < 0:
            raise invalid("Input arr must be non-negative!")
        kept = flat < length
        result = np.zeros(length, kind)
        np.add.at(result, flat[kept], weights.reshape(-1)[kept] if weights.size else kind(1))
        return result

    return run


def width_of_bins(value_range: Any, count: int) -> float:
    """How wide each of so many bins is; InvalidArgumentError if there are none.

    As TensorFlow has it, the range is a number of the values' dtype, and its part a float64.
    """
    low, high = value_range
    if low >= high:
        raise invalid(f"value_range should satisfy value_range[0] < value_range[1], but got [{low}, {high}]")
    if count <= 0:
        raise invalid(f"nbins should be a positive number, but got {count}")
    return float(high - low) / count


def _bins(values: Any, value_range: Any, count: int) -> Any:
    """The bin of each value; what is no number is in the first one."""
    width, low = width_of_bins(value_range, count), value_range[0]
    above = np.where(values > low, values, low) - low
    return np.clip((above / np.float64(width)), 0, count - 1)


@kernel("HistogramFixedWidth")
def _histogram(node: Node) -> Kernel:
    kind = node.dtypes[0].as_numpy_dtype

    def run(values: Any, value_range: Any, nbins: Any) -> Any:
        count = int(nbins)
        places = _bins(values.reshape(-1), value_range, count).astype(np.int64)
        return np.bincount(places, minlength=count).astype(kind)

    return run

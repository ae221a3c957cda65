"""NumPy kernels of the ops that pick elements by index and put them back.

An index outside its axis is an InvalidArgumentError, also a negative one: NumPy would count it from the end.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import boxed, invalid, normalized
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple


def place_text(place: int, shape: tuple[int, ...]) -> str:
    """Where the element of that number is in an array of a shape, as [row,column]; of a scalar nothing."""
    at = ",".join(str(int(i)) for i in np.unravel_index(place, shape or (1,)))
    return f"[{at}]" if shape else ""


def check_range(indices: Any, limit: int, what: str) -> None:
    """InvalidArgumentError if an index is not in [0, limit)."""
    if not indices.size:
        return
    low, high = int(indices.min()), int(indices.max())
    if low < 0 or high >= limit:
        flat = indices.reshape(-1)
        place = int(np.flatnonzero((flat < 0) | (flat >= limit))[0])
        where = place_text(place, indices.shape)
        raise invalid(f"{what}{where} = {int(flat[place])} is not in [0, {limit})")


def check_below(indices: Any, limit: int, what: str) -> None:
    """InvalidArgumentError if an index is `limit` or larger; negative ones stand for what is left out."""
    if indices.size and int(indices.max()) >= limit:
        place = int(np.flatnonzero(indices.reshape(-1) >= limit)[0])
        found = int(indices.reshape(-1)[place])
        raise invalid(f"{what}{place_text(place, indices.shape)} = {found} is out of range [0, {limit})")


@kernel("GatherV2")
def _gather(node: Node) -> Kernel:
    batch_dims = node.attrs["batch_dims"]

    def run(params: Any, indices: Any, axis: Any) -> Any:
        where = normalized(axis, params.ndim)
        check_range(indices, params.shape[where], "indices")
        if not batch_dims:
            return boxed(params.take(indices, where))
        return _gather_batches(params, indices, where, batch_dims + (indices.ndim if batch_dims < 0 else 0))

    return run


def _gather_batches(params: Any, indices: Any, axis: int, batch: int) -> Any:
    lead, inner = params.shape[:batch], indices.shape[batch:]
    if lead != indices.shape[:batch]:
        raise invalid(
            f"params {params.shape} and indices {indices.shape} must agree in their first {batch} axes."
        )
    moved = np.moveaxis(params, axis, batch)
    count = math.prod(lead)
    rows = moved.reshape(count, moved.shape[batch], math.prod(moved.shape[batch + 1 :]))
    picked = rows[np.arange(count)[:, None], indices.reshape(count, math.prod(inner))]
    whole = picked.reshape(lead + inner + moved.shape[batch + 1 :])
    source = range(batch, batch + len(inner))
    return np.moveaxis(whole, list(source), list(range(axis, axis + len(inner))))


def check_coordinates(indices: Any, shape: tuple[int, ...]) -> Any:
    """The coordinates in the last axis of `indices`, one a row; InvalidArgumentError if one is outside of `shape`."""
    depth = indices.shape[-1]
    if depth > len(shape):
        raise invalid(
            f"index innermost dimension length must be <= params rank; saw: {depth} vs. {len(shape)}"
        )
    flat = indices.reshape(math.prod(indices.shape[:-1]), depth)
    if flat.size and flat.min() >= 0 and all(map(operator.lt, flat.max(0).tolist(), shape)):
        return flat
    bad = np.flatnonzero(((flat < 0) | (flat >= np.array(shape[:depth], np.int64))).any(-1))
    if bad.size:
        if 0 in shape[:depth]:
            raise invalid(f"Requested more than 0 entries, but params is empty. Params shape: {list(shape)}")
        where = place_text(int(bad[0]), indices.shape[:-1])
        index, sizes = (",".join(map(str, numbers)) for numbers in (flat[bad[0]].tolist(), shape))
        raise invalid(f"indices{where} = [{index}] does not index into param shape [{sizes}]")
    return flat


def linear(indices: Any, shape: tuple[int, ...]) -> Any:
    """The row number of each coordinate in the last axis of `indices`, in a tensor with the leading axes `shape`."""
    flat = check_coordinates(indices, shape)
    rows = np.zeros(len(flat), np.int64)
    for axis in range(flat.shape[1]):  # A product with a vector of strides is not BLAS's, and takes longer.
        if axis:
            rows *= shape[axis]
        rows += flat[:, axis]
    return rows


def _gather_nd(params: Any, indices: Any) -> Any:
    depth = indices.shape[-1]
    rows = linear(indices, params.shape)
    rest = params.shape[depth:]
    flat = params.reshape(math.prod(params.shape[:depth]), *rest)
    return flat[rows].reshape(indices.shape[:-1] + rest)


simple("GatherNd", _gather_nd)


def combine_rows(ufunc: Any, array: Any, ids: Any, rows: Any) -> None:
    """`array[i] = ufunc(array[i], row)` for each id and its row, one after the other, also where ids repeat.

    The same as `ufunc.at`, which takes five times as long for rows as for their numbers one by one.
    """
    columns = math.prod(array.shape[1:])
    if array.ndim < 2 or not array.flags.c_contiguous or not columns:
        ufunc.at(array, ids, rows)
        return
    numbers, step = array.reshape(-1), max(1, _AT_ONCE // columns)
    rows, column = rows.reshape(len(ids), columns), np.arange(columns)
    for first in range(0, len(ids), step):
        places = ids[first : first + step, np.newaxis].astype(np.int64) * columns + column
        ufunc.at(numbers, places.reshape(-1), rows[first : first + step].reshape(-1))


_AT_ONCE = 1 << 14
"""Numbers of which the places are in memory together."""
_FEW_ELEMENTS = 1 << 16
"""Up to so many are sooner combined one by one than sorted by rows."""


def reduce_rows(ufunc: Any, ids: Any, rows: Any, result: Any) -> Any:
    """Combines the rows of each id, in their order, into row `ids[i]` of `result`, which holds the neutral element.

    Sorting and reducing runs is faster for many rows, and gives the same bits each time, too.
    """
    if not ids.size:
        return result
    if rows.ndim == 1 or rows.size <= _FEW_ELEMENTS:
        combine_rows(ufunc, result, ids, rows)
        return result
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids, kind="stable")
        ids, rows = ids[order], rows[order]
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    lengths = np.diff(starts, append=ids.size)
    found = ids[starts]
    result[found] = ufunc(result[found], _reduce_runs(ufunc, rows, starts, lengths))
    return result


_STEP_ELEMENTS = 600
"""An operation on arrays costs as much as so many elements of a reduction over short runs."""


def _reduce_runs(ufunc: Any, rows: Any, starts: Any, lengths: Any) -> Any:
    """Combines the rows of each run, in their order.

    A reduction over many short runs takes five times as long as the same sums of whole arrays: so all runs go on by a
    row at a time, the longest first, or each is reduced alone, whichever are fewer steps.
    """
    longest = int(lengths.max())
    if longest == 1:
        return rows if lengths.size == len(rows) else rows[starts]
    steps = min(longest, lengths.size)
    if steps * _STEP_ELEMENTS > rows.size:
        return ufunc.reduceat(rows, starts, axis=0, dtype=rows.dtype)
    sums = np.empty((lengths.size, *rows.shape[1:]), rows.dtype)
    if steps == lengths.size:
        for k, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
            ufunc.reduce(rows[start : start + length], axis=0, dtype=rows.dtype, out=sums[k])
        return sums
    order = np.argsort(-lengths, kind="stable")
    places = starts[order]
    left = np.searchsorted(-lengths[order], -np.arange(1, longest + 1), side="right")
    total = rows[places]
    for k, count in enumerate(left.tolist()[1:], 1):
        part = total[:count]
        ufunc(part, rows[places[:count] + k], out=part)
    sums[order] = total
    return sums


def check_not_empty(indices: Any, updates: Any, shape: tuple[int, ...]) -> None:
    """InvalidArgumentError if there are updates for a tensor without elements, or for one without axes."""
    if not shape:
        raise invalid(f"Output must be at least 1-D, got shape: {list(shape)}")
    if 0 in shape and (indices.size or updates.size):
        raise invalid(
            f"Indices and updates specified for empty output. indices shape: {list(indices.shape)}, "
            f"output shape: {list(shape)}"
        )


def _scatter_rows(indices: Any, updates: Any, shape: tuple[int, ...]) -> tuple[Any, Any, tuple[int, ...]]:
    depth = indices.shape[-1]
    check_not_empty(indices, updates, shape)
    rows = linear(indices, shape)
    rest = shape[depth:]
    if updates.shape != indices.shape[:-1] + rest:
        raise invalid(
            f"updates of shape {list(updates.shape)} do not fit indices of shape {list(indices.shape)} "
            f"into {list(shape)}."
        )
    return rows, updates.reshape(rows.size, *rest), (math.prod(shape[:depth]), *rest)


def _scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    wanted = tuple(shape.tolist())
    rows, values, flat = _scatter_rows(indices, updates, wanted)
    nothing = np.full(flat, b"", object) if updates.dtype == object else np.zeros(flat, updates.dtype)
    return reduce_rows(np.add, rows, values, nothing).reshape(wanted)


def _tensor_scatter(combine: Any) -> Kernel:
    def run(tensor: Any, indices: Any, updates: Any) -> Any:
        rows, values, flat = _scatter_rows(indices, updates, tensor.shape)
        result = tensor.reshape(flat).copy()
        if combine is None:
            result[rows] = values
        elif combine is np.subtract:
            reduce_rows(np.add, rows, -values, result)
        else:
            reduce_rows(combine, rows, values, result)
        return result.reshape(tensor.shape)

    return run


simple("ScatterNd", _scatter_nd)
simple("TensorScatterUpdate", _tensor_scatter(None))
simple("TensorScatterAdd", _tensor_scatter(np.add))
simple("TensorScatterSub", _tensor_scatter(np.subtract))


def _select(condition: Any, x: Any, y: Any) -> Any:
    if x.shape != y.shape:
        raise invalid(f"x and y must have the same shape, got {x.shape} and {y.shape}.")
    if condition.ndim and condition.shape != x.shape:
        if condition.ndim != 1 or not x.ndim or condition.shape[0] != x.shape[0]:
            raise invalid(
                f"The condition's shape {condition.shape} fits neither {x.shape} nor its first axis."
            )
        condition = condition.reshape(-1, *(1,) * (x.ndim - 1))
    return np.where(condition, x, y)


def _select_v2(condition: Any, x: Any, y: Any) -> Any:
    try:
        return np.where(condition, x, y)
    except ValueError:
        raise invalid(
            f"The shapes {condition.shape}, {x.shape} and {y.shape} do not broadcast together."
        ) from None


simple("Where", lambda condition: np.argwhere(condition).astype(np.int64, copy=False))
simple("Select", _select)
simple("SelectV2", _select_v2)

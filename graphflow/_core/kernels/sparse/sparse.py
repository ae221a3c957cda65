"""NumPy kernels of sparse tensors. A coordinate out of range is an InvalidArgumentError."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid, normalized
from graphflow._core.kernels.array.indexing import check_coordinates, linear, reduce_rows
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple


def _as_matrix(indices: Any) -> Any:
    """Coordinates, one a row, of indices given as a scalar, a vector or a matrix."""
    return indices.reshape(-1, 1) if indices.ndim < 2 else indices


@kernel("SparseToDense")
def _sparse_to_dense(node: Node) -> Kernel:
    validate = node.attrs["validate_indices"]

    def run(indices: Any, shape: Any, values: Any, default: Any) -> Any:
        wanted = tuple(shape.tolist())
        places = _as_matrix(indices)
        if places.shape[1] != len(wanted):
            raise invalid(f"indices of shape {indices.shape} do not fit the output shape {list(wanted)}")
        rows = linear(places, wanted)
        if np.ndim(default):
            raise invalid(f"default_value should be a scalar, got shape {list(np.shape(default))}")
        if values.ndim and values.shape != (rows.size,):
            found = ",".join(map(str, values.shape))
            raise invalid(f"sparse_values has incorrect shape [{found}], should be [] or [{rows.size}]")
        if validate and rows.size > 1:
            bad = np.flatnonzero(rows[1:] <= rows[:-1])
            if bad.size:
                what = "repeated" if rows[bad[0] + 1] == rows[bad[0]] else "out of order"
                raise invalid(f"indices[{int(bad[0]) + 1}] = {places[bad[0] + 1].tolist()} is {what}")
        result = np.empty(math.prod(wanted), values.dtype)
        result[:] = default.item() if result.dtype == object and hasattr(default, "item") else default
        result[rows] = values
        return result.reshape(wanted)

    return run


_FEW_COLUMNS = 32
"""Of at most so many columns each is summed alone, in float64: with more the sums of whole rows are faster."""


@kernel("SparseTensorDenseMatMul")
def _matmul(node: Node) -> Kernel:
    adjoint_a, adjoint_b = node.attrs["adjoint_a"], node.attrs["adjoint_b"]

    def run(indices: Any, values: Any, shape: Any, b: Any) -> Any:
        dims = tuple(shape.tolist())
        linear(indices, dims)
        right = b.T.conj() if adjoint_b else b
        rows, columns = indices[:, 0], indices[:, 1]
        if adjoint_a:
            rows, columns, values, dims = columns, rows, values.conj(), dims[::-1]
        if right.ndim != 2 or right.shape[0] != dims[1]:
            raise invalid(
                f"Cannot multiply A and B because inner dimension does not match: {dims} vs. {right.shape}."
            )
        if b.dtype in (np.float32, np.float64) and 0 < right.shape[1] <= _FEW_COLUMNS:
            sums = np.empty((right.shape[1], dims[0]), b.dtype)
            for line, column in zip(sums, np.ascontiguousarray(right.T), strict=True):
                line[:] = np.bincount(rows, column[columns] * values, dims[0])
            return np.ascontiguousarray(sums.T)
        result = np.zeros((dims[0], right.shape[1]), b.dtype)
        return reduce_rows(np.add, rows, right[columns] * values[:, None], result)

    return run


def _reduce(node: Node, largest: bool) -> Kernel:
    keep = node.attrs["keep_dims"]

    def run(indices: Any, values: Any, shape: Any, axes: Any) -> Any:
        dims = tuple(shape.tolist())
        linear(indices, dims)
        reduced = {normalized(a, len(dims)) for a in np.atleast_1d(axes)}
        kept = [i for i in range(len(dims)) if i not in reduced]
        inner = tuple(dims[i] for i in kept)
        rows = linear(indices[:, kept], inner) if kept else np.zeros(len(indices), np.int64)
        if largest:
            info = np.finfo(values.dtype) if values.dtype.kind == "f" else np.iinfo(values.dtype)
            result = reduce_rows(np.maximum, rows, values, np.full(math.prod(inner), info.min, values.dtype))
            result[np.bincount(rows, minlength=result.size) == 0] = 0
        else:
            result = reduce_rows(np.add, rows, values, np.zeros(math.prod(inner), values.dtype))
        return result.reshape(
            tuple(1 if i in reduced else d for i, d in enumerate(dims) if keep or i not in reduced)
        )

    return run


kernel("SparseReduceSum")(partial(_reduce, largest=False))
kernel("SparseReduceMax")(partial(_reduce, largest=True))


def _reorder(indices: Any, values: Any, shape: Any) -> Any:
    order = np.argsort(linear(indices, tuple(shape.tolist())), kind="stable")
    return indices[order], values[order]


def _reshape(indices: Any, shape: Any, new_shape: Any) -> Any:
    old, wanted = tuple(shape.tolist()), new_shape.tolist()
    size = math.prod(old)
    if wanted.count(-1) > 1 or any(n < -1 for n in wanted):
        raise invalid(f"only one output dimension may be -1, got {wanted}")
    if wanted == list(old):
        return indices, shape
    rest = math.prod(n for n in wanted if n != -1)
    if -1 in wanted:
        if not rest or size % rest:
            raise invalid(
                f"Input to reshape is a SparseTensor with {size} dense values, but the requested shape requires a "
                f"multiple of {rest}: {wanted}"
            )
        wanted[wanted.index(-1)] = size // rest
    elif rest != size:
        raise invalid(
            f"Input to reshape is a tensor with {size} dense values, but the requested shape has {rest}: {wanted}"
        )
    rows = linear(indices, old)
    coordinates = np.stack(np.unravel_index(rows, tuple(wanted)), 1) if wanted else np.zeros((rows.size, 0))
    return coordinates.astype(np.int64), np.array(wanted, np.int64)


def _within(indices: Any, start: Any, end: Any) -> Any:
    return ((indices >= start) & (indices < end)).all(-1)


def _slice(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
    if (start < 0).any() or (size < 0).any():
        raise invalid(f"start {start.tolist()} and size {size.tolist()} must not be negative")
    end = np.minimum(start + size, shape)
    kept = _within(indices, start, end)
    return indices[kept] - start, values[kept], np.maximum(end - start, 0)


def _slice_grad(g: Any, indices: Any, start: Any, output_indices: Any) -> Any:
    result = np.zeros(len(indices), g.dtype)
    places = {tuple(row): i for i, row in enumerate((output_indices + start).tolist())}
    for i, row in enumerate(indices.tolist()):
        found = places.get(tuple(row))
        if found is not None:
            result[i] = g[found]
    return result


simple("SparseReorder", _reorder)
simple("SparseReshape", _reshape)
simple("SparseSlice", _slice)
simple("SparseSliceGrad", _slice_grad)


def _add(
    a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any, threshold: Any
) -> Any:
    if a_shape.tolist() != b_shape.tolist():
        raise invalid(f"operands' shapes do not match: {a_shape.tolist()} and {b_shape.tolist()}")
    dims = tuple(a_shape.tolist())
    rows = np.concatenate([linear(a_indices, dims), linear(b_indices, dims)])
    places, inverse = np.unique(rows, return_inverse=True)
    sums = np.zeros(places.size, a_values.dtype)
    np.add.at(sums, inverse.reshape(-1), np.concatenate([a_values, b_values]))
    kept = np.abs(sums) >= threshold
    coordinates = np.stack(np.unravel_index(places[kept], dims), 1).astype(np.int64)
    return coordinates, sums[kept], a_shape.copy()


def _add_grad(g: Any, a_indices: Any, b_indices: Any, sum_indices: Any) -> Any:
    places = {tuple(row): i for i, row in enumerate(sum_indices.tolist())}
    found = []
    for indices in (a_indices, b_indices):
        rows = np.array([places.get(tuple(row), -1) for row in indices.tolist()], np.int64)
        found.append(
            np.where(rows >= 0, g[rows] if g.size else np.zeros(rows.shape, g.dtype), g.dtype.type(0))
        )
    return found[0], found[1]


def _dense_add(indices: Any, values: Any, shape: Any, b: Any) -> Any:
    if tuple(shape.tolist()) != b.shape:
        raise invalid(f"the shapes of the operands differ: {shape.tolist()} and {list(b.shape)}")
    result = b.reshape(-1).copy()
    np.add.at(result, linear(indices, b.shape), values)
    return result.reshape(b.shape)


simple("SparseAdd", _add)
simple("SparseAddGrad", _add_grad)
simple("SparseTensorDenseAdd", _dense_add)


def _fill_empty_rows(indices: Any, values: Any, shape: Any, default: Any) -> Any:
    check_coordinates(indices, tuple(shape.tolist()))
    count, firsts = int(shape[0]), indices[:, 0]
    empty = np.bincount(firsts, minlength=count) == 0
    if not empty.any() and (firsts[1:] >= firsts[:-1]).all():  # As most are: there is nothing to do.
        return indices.copy(), values.copy(), empty, np.arange(len(indices))
    added = np.zeros((int(empty.sum()), indices.shape[1]), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    rows = np.concatenate([indices, added])
    filled = np.empty(len(added), values.dtype)
    filled[:] = default.item() if filled.dtype == object and hasattr(default, "item") else default
    order = np.argsort(rows[:, 0], kind="stable")
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    return rows[order], np.concatenate([values, filled])[order], empty, back[: len(indices)]


simple("SparseFillEmptyRows", _fill_empty_rows)

"""Functions of SparseTensors that are written on other ops: joining, merging ids and values, softmax, larger ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import IntTensorLike, SparseTensorLike
from graphflow._core.ops.array.creation import ones_like, zeros_like
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.array.joining import concat, stack
from graphflow._core.ops.array.shaping import expand_dims, reshape, shape, stop_gradient
from graphflow._core.ops.control_flow.assertions import assert_equal, assert_less_equal
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.control_flow.flow_basics import with_dependencies
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math import casting, comparison, math, reductions
from graphflow._core.ops.math.scans import cumprod
from graphflow._core.ops.math.segments import unsorted_segment_max, unsorted_segment_sum
from graphflow._core.ops.math.sorting import unique
from graphflow._core.ops.sparse.sparse import as_sparse, sparse_add, sparse_reorder, sparse_tensor_to_dense


def sparse_concat(
    axis: int, sp_inputs: Sequence[SparseTensorLike], name: str | None = None,
    expand_nonconcat_dim: bool = False,
) -> SparseTensor:  # fmt: skip
    """SparseTensors joined along an axis, in row-major order (tf.sparse_concat).

    With `expand_nonconcat_dim` their other extents may differ, and the largest counts.

    Args:
        axis: The axis.
        sp_inputs: The SparseTensors.
        name: A name for the operation.
        expand_nonconcat_dim: Whether other axes may differ: the largest counts.

    Returns:
        A SparseTensor.
    """
    inputs = [as_sparse(s) for s in sp_inputs]
    with op_scope(name, "SparseConcat", [s.values for s in inputs]):
        count = next((s.shape.ndims for s in inputs if s.shape.ndims is not None), None)
        if count is None:
            raise ValueError("sparse_concat needs a SparseTensor of known rank.")
        where_to = shapes.normalize_axis(axis, count)
        along = constant([1 if i == where_to else 0 for i in range(count)], dtypes.int64)
        offset: Any = zeros_like(inputs[0].dense_shape)
        moved = []
        for sparse in inputs:
            moved.append(sparse.indices + offset)
            offset = offset + sparse.dense_shape * along
        if expand_nonconcat_dim:
            others = reductions.reduce_max(stack([s.dense_shape for s in inputs]), 0)
        else:
            others = _common_extents(inputs, along, where_to)
        whole = others * (1 - along) + offset
        merged = SparseTensor(concat(moved, 0), concat([s.values for s in inputs], 0), whole)
        for part, dims in zip(
            (merged.indices, merged.values, whole), ((None, count), (None,), (count,)), strict=True
        ):
            part.set_shape(dims)
        return sparse_reorder(merged)


def _common_extents(inputs: Sequence[SparseTensor], along: Tensor, axis: int) -> Tensor:
    """The shape of all, which may differ along an axis; InvalidArgumentError at the run if others differ."""
    first = inputs[0].dense_shape
    known = [s.shape.as_list() if s.shape.is_fully_defined() else None for s in inputs]
    rest = [None if dims is None else dims[:axis] + dims[axis + 1 :] for dims in known]
    if None not in rest and all(dims == rest[0] for dims in rest):
        return first
    every = stack([s.dense_shape for s in inputs])
    alike = reductions.reduce_all(comparison.equal(every * (1 - along), first * (1 - along)))
    told = f"Input shapes must match but for axis {axis}, along which they are joined; they are the rows of"
    checked: Tensor = with_dependencies([assert_(alike, [told, every])], first)
    return checked


def sparse_merge(
    sp_ids: SparseTensorLike | Sequence[SparseTensorLike],
    sp_values: SparseTensorLike,
    vocab_size: IntTensorLike | Sequence[IntTensorLike],
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Values at the places that ids say: the ids are the last axis's indices (tf.sparse_merge).

    Args:
        sp_ids: Whole numbers, in the shape of the values; or a list of such, for several last axes.
        sp_values: The values.
        vocab_size: The size of the new last axis; or a list of sizes.
        name: A name for the operation.
        already_sorted: Whether the result is in row-major order as it is.

    Returns:
        A SparseTensor of the values, of the shape of the ids but for its last axis.

    Raises:
        TypeError: If one of sp_ids and vocab_size is a list and the other is not.
        ValueError: If they are of different lengths.
    """
    several = isinstance(sp_ids, list | tuple) and not isinstance(sp_ids, SparseTensor | SparseTensorValue)
    if several != isinstance(vocab_size, list | tuple):
        raise TypeError("sp_ids and vocab_size have to be both lists, or neither.")
    every: Any = sp_ids if several else [sp_ids]
    sizes: Any = vocab_size if several else [vocab_size]
    if len(every) != len(sizes):
        raise ValueError(
            f"sp_ids and vocab_size have to be of one length, got {len(every)} and {len(sizes)}."
        )
    with op_scope(name, "SparseMerge", []):
        ids = [as_sparse(one) for one in every]
        values = as_sparse(sp_values)
        columns = [expand_dims(casting.cast(one.values, dtypes.int64), 1) for one in ids]
        indices = concat([ids[0].indices[:, :-1], *columns], 1)
        last = [reshape(casting.cast(convert_to_tensor(size), dtypes.int64), [1]) for size in sizes]
        merged = SparseTensor(indices, values.values, concat([ids[0].dense_shape[:-1], *last], 0))
        return merged if already_sorted else sparse_reorder(merged)


def sparse_to_indicator(
    sp_input: SparseTensorLike, vocab_size: IntTensorLike, name: str | None = None
) -> Tensor:
    """Which ids there are along the last axis: True at the place of each (tf.sparse_to_indicator).

    Args:
        sp_input: Ids, whole numbers below vocab_size.
        vocab_size: The size of the last axis.
        name: A name for the operation.

    Returns:
        A tensor of bools.
    """
    with op_scope(name, "SparseToIndicator", []):
        ids = as_sparse(sp_input)
        there = SparseTensor(ids.indices, ones_like(ids.values, dtype=dtypes.bool_), ids.dense_shape)
        return sparse_tensor_to_dense(sparse_merge(ids, there, vocab_size), False, validate_indices=False)


def sparse_reset_shape(sp_input: SparseTensorLike, new_shape: IntTensorLike | None = None) -> SparseTensor:
    """The same values in another shape that has all their places (tf.sparse_reset_shape).

    Args:
        sp_input: A SparseTensor.
        new_shape: The shape, nowhere below that of sp_input; by default the smallest that has all places.

    Returns:
        A SparseTensor. InvalidArgumentError when it runs, if the shape is too small.
    """
    given = as_sparse(sp_input)
    if new_shape is None:
        empty = math.multiply(given.dense_shape, 0)
        used = math.add(reductions.reduce_max(given.indices, 0), 1)
        return SparseTensor(given.indices, given.values, math.maximum(empty, used))
    wanted = casting.cast(convert_to_tensor(new_shape, name="new_shape"), dtypes.int64)
    checks = [
        assert_equal(shape(given.dense_shape), shape(wanted), message="The ranks differ."),
        assert_less_equal(given.dense_shape, wanted, message="The new shape is too small."),
    ]
    return SparseTensor(given.indices, given.values, with_dependencies(checks, wanted))


def sparse_softmax(sp_input: SparseTensorLike, name: str | None = None) -> SparseTensor:
    """The softmax over the last axis, of the values that there are (tf.sparse_softmax).

    Args:
        sp_input: A SparseTensor of floats, of two axes or more.
        name: A name for the operation.

    Returns:
        A SparseTensor with the same places.
    """
    with op_scope(name, "SparseSoftmax", []):
        given = as_sparse(sp_input)
        # Each row's number in row-major order, and these numbered from 0.
        strides = cumprod(given.dense_shape[:-1], exclusive=True, reverse=True)
        rows = unique(reductions.reduce_sum(math.multiply(given.indices[:, :-1], strides), 1))
        count = shape(rows.y)[0]
        largest = stop_gradient(unsorted_segment_max(given.values, rows.idx, count))
        powers = math.exp(math.subtract(given.values, gather(largest, rows.idx)))
        sums = unsorted_segment_sum(powers, rows.idx, count)
        values = math.truediv(powers, gather(sums, rows.idx))
        return SparseTensor(given.indices, values, given.dense_shape)


def _of_both(
    choose: Callable[..., Any], sp_a: SparseTensorLike, sp_b: SparseTensorLike, name: str
) -> SparseTensor:
    """A function of two values at each place that either has, where the other counts as 0."""
    with op_scope(name, name, []):
        a, b = as_sparse(sp_a), as_sparse(sp_b)

        def without_values(of: SparseTensor) -> SparseTensor:
            return SparseTensor(of.indices, zeros_like(of.values), of.dense_shape)

        first, second = sparse_add(a, without_values(b)), sparse_add(without_values(a), b)
        return SparseTensor(first.indices, choose(first.values, second.values), first.dense_shape)


def sparse_maximum(sp_a: SparseTensorLike, sp_b: SparseTensorLike, name: str | None = None) -> SparseTensor:
    """The larger of two SparseTensors of one shape, where what is not there is 0 (tf.sparse_maximum).

    Args:
        sp_a: A SparseTensor.
        sp_b: A SparseTensor of the same shape and dtype.
        name: A name for the operation.

    Returns:
        A SparseTensor with the places of both.
    """
    return _of_both(math.maximum, sp_a, sp_b, name or "SparseSparseMaximum")


def sparse_minimum(sp_a: SparseTensorLike, sp_b: SparseTensorLike, name: str | None = None) -> SparseTensor:
    """The smaller of two SparseTensors of one shape, where what is not there is 0 (tf.sparse_minimum).

    Args:
        sp_a: A SparseTensor.
        sp_b: A SparseTensor of the same shape and dtype.
        name: A name for the operation.

    Returns:
        A SparseTensor with the places of both.
    """
    return _of_both(math.minimum, sp_a, sp_b, name or "SparseSparseMinimum")

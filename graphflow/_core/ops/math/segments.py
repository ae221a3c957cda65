"""Rows combined by segment, partitions, and stitching: what embeddings and sparse gradients stand on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import graphflow._core.ops.rules as rules
from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.creation import ones_like, range_, zeros_like
from graphflow._core.ops.array.extents import rank, size
from graphflow._core.ops.array.indexing import gather, where
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.shaping import full_value, reshape, scalar_value, shape
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, comparison, numeric, transcendental

# ---- sorted segments ----------------------------------------------------------------------------------------------


def _segment_infer(op: Operation) -> Signature:
    data, ids = op.inputs
    rules.require_rank_at_least(data.dims, 1, "data")
    rules.require_rank(ids.dims, 1, "segment_ids")
    if data.dims is not None and ids.dims is not None:
        shapes.merge(data.dims[:1], ids.dims)
    return [(data.dtype, None if data.dims is None else (None, *data.dims[1:]))]


def _like_rows(vector: Tensor, data: Tensor) -> Tensor:
    """A vector with axes of length 1 after it, so that it broadcasts over rows of `data`."""
    if data.dims is not None:
        return reshape(vector, [-1, *(1 for _ in data.dims[1:])])
    tail = ones_like(shape(data)[1:])

    return reshape(vector, concat([[-1], tail], 0))


def _counts(ids: Tensor, data: Tensor) -> Tensor:
    """How many rows each segment has, at least 1."""
    ones = ones_like(ids, dtype=data.dtype.real_dtype)
    return _like_rows(casting.cast(arithmetic.maximum(segment_sum(ones, ids), 1), data.dtype), data)


def _segment_mean_gradient(op: Operation, g: Any) -> tuple[Any, None]:
    data, ids = op.inputs
    return gather(convert_to_tensor(g) / _counts(ids, data), ids), None


def _selected(data: Tensor, result: Tensor, ids: Tensor) -> Tensor:
    return comparison.equal(data, gather(result, ids))


def _segment_extreme_gradient(op: Operation, g: Any) -> tuple[Any, None]:
    """The gradient goes to the largest (smallest) rows in equal shares."""
    data, ids = op.inputs
    chosen = _selected(data, op.outputs[0], ids)
    shares = convert_to_tensor(g) / segment_sum(casting.cast(chosen, data.dtype), ids)
    return where(chosen, gather(shares, ids), zeros_like(data)), None


SEGMENT_SUM = op_def(
    "SegmentSum", ("data: T=number", "segment_ids: Tindices=index"), infer=_segment_infer, dynamic_shape=True,
    gradient=lambda op, g: (gather(g, op.inputs[1]), None),
)  # fmt: skip
SEGMENT_MEAN = op_def(
    "SegmentMean", ("data: T=number", "segment_ids: Tindices=index"), infer=_segment_infer, dynamic_shape=True,
    gradient=_segment_mean_gradient,
)  # fmt: skip
SEGMENT_PROD = op_def(
    "SegmentProd", ("data: T=number", "segment_ids: Tindices=index"), infer=_segment_infer, dynamic_shape=True,
    gradient=NO_GRADIENT,
)  # fmt: skip
SEGMENT_MAX = op_def(
    "SegmentMax", ("data: T=real", "segment_ids: Tindices=index"), infer=_segment_infer, dynamic_shape=True,
    gradient=_segment_extreme_gradient,
)  # fmt: skip
SEGMENT_MIN = op_def(
    "SegmentMin", ("data: T=real", "segment_ids: Tindices=index"), infer=_segment_infer, dynamic_shape=True,
    gradient=_segment_extreme_gradient,
)  # fmt: skip


def segment_sum(data: TensorLike, segment_ids: IntTensorLike, name: str | None = None) -> Tensor:
    """Sums of runs of rows: row i belongs to segment_ids[i], which must not decrease (tf.segment_sum).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row: a vector of integers in ascending order.
        name: A name for the operation.

    Returns:
        A tensor with a row for each segment.
    """
    return apply(SEGMENT_SUM, (data, segment_ids), name=name).outputs[0]


def segment_mean(data: TensorLike, segment_ids: IntTensorLike, name: str | None = None) -> Tensor:
    """Means of runs of rows; 0 for a segment without rows (tf.segment_mean).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row: a vector of integers in ascending order.
        name: A name for the operation.

    Returns:
        A tensor with a row for each segment.
    """
    return apply(SEGMENT_MEAN, (data, segment_ids), name=name).outputs[0]


def segment_prod(data: TensorLike, segment_ids: IntTensorLike, name: str | None = None) -> Tensor:
    """Products of runs of rows; 1 for a segment without rows (tf.segment_prod).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row: a vector of integers in ascending order.
        name: A name for the operation.

    Returns:
        A tensor with a row for each segment.
    """
    return apply(SEGMENT_PROD, (data, segment_ids), name=name).outputs[0]


def segment_max(data: TensorLike, segment_ids: IntTensorLike, name: str | None = None) -> Tensor:
    """The largest of runs of rows; 0 for a segment without rows (tf.segment_max).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row: a vector of integers in ascending order.
        name: A name for the operation.

    Returns:
        A tensor with a row for each segment.
    """
    return apply(SEGMENT_MAX, (data, segment_ids), name=name).outputs[0]


def segment_min(data: TensorLike, segment_ids: IntTensorLike, name: str | None = None) -> Tensor:
    """The smallest of runs of rows; 0 for a segment without rows (tf.segment_min).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row: a vector of integers in ascending order.
        name: A name for the operation.

    Returns:
        A tensor with a row for each segment.
    """
    return apply(SEGMENT_MIN, (data, segment_ids), name=name).outputs[0]


# ---- segments in any order ----------------------------------------------------------------------------------------


def _unsorted_infer(op: Operation) -> Signature:
    data, ids, count = op.inputs
    if count.dims not in (None, ()):
        raise ValueError(f"num_segments must be a scalar, but has shape {shapes.text(count.dims)}.")
    known = scalar_value(count)
    if known is not None and known < 0:
        raise ValueError(f"num_segments must be non-negative, got {known}.")
    if data.dims is None or ids.dims is None:
        return [(data.dtype, None)]
    if len(ids.dims) > len(data.dims) or not shapes.compatible(data.dims[: len(ids.dims)], ids.dims):
        raise ValueError(
            f"segment_ids of shape {shapes.text(ids.dims)} must be a prefix of the data's shape "
            f"{shapes.text(data.dims)}."
        )
    return [(data.dtype, (known, *data.dims[len(ids.dims) :]))]


def _kept_rows(values: Any, ids: Tensor, clipped: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Rows by segment, zeros for the dropped ones; also the ids without negative ones, and which rows were kept."""
    zero_clipped = arithmetic.maximum(ids, zeros_like(ids)) if clipped is None else clipped
    rows = gather(values, zero_clipped)
    kept = comparison.greater_equal(ids, 0)
    if ids.dims is None or rows.dims is None:
        extra = rank(rows) - rank(ids)
        wide = reshape(kept, concat([shape(kept), ones_like(range_(extra))], 0))
    else:
        wide = reshape(kept, [*_extents(kept), *(1 for _ in rows.dims[len(ids.dims) :])])
    everywhere = comparison.logical_and(wide, ones_like(rows, dtype="bool"))
    return where(everywhere, rows, zeros_like(rows)), zero_clipped, everywhere


def _extents(tensor: Tensor) -> list[Any]:
    dims = tensor.dims or ()
    if None not in dims:
        return list(dims)
    whole = shape(tensor)
    return [whole[i] if d is None else d for i, d in enumerate(dims)]


def _unsorted_extreme_gradient(op: Operation, g: Any) -> tuple[Any, None, None]:
    data, ids, count = op.inputs
    best, clipped, kept = _kept_rows(op.outputs[0], ids)
    chosen = comparison.logical_and(comparison.equal(data, best), kept)
    shares = convert_to_tensor(g) / unsorted_segment_sum(casting.cast(chosen, data.dtype), ids, count)
    rows, _, _ = _kept_rows(shares, ids, clipped)
    return where(chosen, rows, zeros_like(rows)), None, None


def _unsorted_prod_gradient(op: Operation, g: Any) -> tuple[Any, None, None]:
    """The product of the others: the segment's by the row, or, if that is 0, that of the rows that are not."""
    data, ids, count = numeric.conj(op.inputs[0]), op.inputs[1], op.inputs[2]
    zero = comparison.equal(data, 0)
    zeros = unsorted_segment_sum(casting.cast(zero, "int32"), ids, count)
    g = convert_to_tensor(g)
    passed = where(comparison.greater(zeros, 1), zeros_like(g), g)
    others = unsorted_segment_prod(where(zero, ones_like(data), data), ids, count)
    product, clipped, _ = _kept_rows(numeric.conj(op.outputs[0]), ids)
    without, _, _ = _kept_rows(others, ids, clipped)
    quotient = product / where(zero, ones_like(data), data)
    rows, _, _ = _kept_rows(passed, ids, clipped)
    return rows * where(zero, without, quotient), None, None


UNSORTED_SEGMENT_SUM = op_def(
    "UnsortedSegmentSum", ("data: T=number", "segment_ids: Tindices=index", "num_segments: Tnumsegments=index"),
    infer=_unsorted_infer, gradient=lambda op, g: (_kept_rows(g, op.inputs[1])[0], None, None),
)  # fmt: skip
UNSORTED_SEGMENT_PROD = op_def(
    "UnsortedSegmentProd", ("data: T=number", "segment_ids: Tindices=index", "num_segments: Tnumsegments=index"),
    infer=_unsorted_infer, gradient=_unsorted_prod_gradient,
)  # fmt: skip
UNSORTED_SEGMENT_MAX = op_def(
    "UnsortedSegmentMax", ("data: T=real", "segment_ids: Tindices=index", "num_segments: Tnumsegments=index"),
    infer=_unsorted_infer, gradient=_unsorted_extreme_gradient,
)  # fmt: skip
UNSORTED_SEGMENT_MIN = op_def(
    "UnsortedSegmentMin", ("data: T=real", "segment_ids: Tindices=index", "num_segments: Tnumsegments=index"),
    infer=_unsorted_infer, gradient=_unsorted_extreme_gradient,
)  # fmt: skip


def unsorted_segment_sum(
    data: TensorLike, segment_ids: IntTensorLike, num_segments: IntTensorLike, name: str | None = None
) -> Tensor:
    """Sums of the rows of each segment; rows with a negative id are dropped (tf.unsorted_segment_sum).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row, integers of a shape that the shape of `data` begins with.
        num_segments: How many segments the result has, an int32 scalar.
        name: A name for the operation.

    Returns:
        A tensor [num_segments, ...] of the same dtype.
    """
    return apply(UNSORTED_SEGMENT_SUM, (data, segment_ids, num_segments), name=name).outputs[0]


def unsorted_segment_prod(
    data: TensorLike, segment_ids: IntTensorLike, num_segments: IntTensorLike, name: str | None = None
) -> Tensor:
    """Products of the rows of each segment; 1 for an empty one (tf.unsorted_segment_prod).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row, integers of a shape that the shape of `data` begins with.
        num_segments: How many segments the result has, an int32 scalar.
        name: A name for the operation.

    Returns:
        A tensor [num_segments, ...] of the same dtype.
    """
    return apply(UNSORTED_SEGMENT_PROD, (data, segment_ids, num_segments), name=name).outputs[0]


def unsorted_segment_max(
    data: TensorLike, segment_ids: IntTensorLike, num_segments: IntTensorLike, name: str | None = None
) -> Tensor:
    """The largest rows of each segment; the dtype's least value for an empty one (tf.unsorted_segment_max).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row, integers of a shape that the shape of `data` begins with.
        num_segments: How many segments the result has, an int32 scalar.
        name: A name for the operation.

    Returns:
        A tensor [num_segments, ...] of the same dtype.
    """
    return apply(UNSORTED_SEGMENT_MAX, (data, segment_ids, num_segments), name=name).outputs[0]


def unsorted_segment_min(
    data: TensorLike, segment_ids: IntTensorLike, num_segments: IntTensorLike, name: str | None = None
) -> Tensor:
    """The smallest rows of each segment; the dtype's largest value for an empty one (tf.unsorted_segment_min).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row, integers of a shape that the shape of `data` begins with.
        num_segments: How many segments the result has, an int32 scalar.
        name: A name for the operation.

    Returns:
        A tensor [num_segments, ...] of the same dtype.
    """
    return apply(UNSORTED_SEGMENT_MIN, (data, segment_ids, num_segments), name=name).outputs[0]


def _unsorted_counts(data: Tensor, ids: Tensor, num_segments: Any) -> Tensor:
    ones = ones_like(ids, dtype=data.dtype)
    counts = arithmetic.maximum(unsorted_segment_sum(ones, ids, num_segments), 1)
    if data.dims is None or ids.dims is None:
        extra = rank(data) - rank(ids)
        return reshape(counts, concat([[-1], ones_like(range_(extra))], 0))
    return reshape(counts, [-1, *(1 for _ in data.dims[len(ids.dims) :])])


def unsorted_segment_mean(
    data: TensorLike, segment_ids: IntTensorLike, num_segments: IntTensorLike, name: str | None = None
) -> Tensor:
    """Means of the rows of each segment; 0 for an empty one (tf.unsorted_segment_mean).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row, integers of a shape that the shape of `data` begins with.
        num_segments: How many segments the result has, an int32 scalar.
        name: A name for the operation.

    Returns:
        A tensor [num_segments, ...] of the same dtype.
    """
    with op_scope(name, "UnsortedSegmentMean", [data, segment_ids, num_segments]):
        data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        counts = _unsorted_counts(data, ids, num_segments)
        return unsorted_segment_sum(data, ids, num_segments) / counts


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: IntTensorLike, num_segments: IntTensorLike, name: str | None = None
) -> Tensor:
    """Sums of the rows of each segment over the root of their number (tf.unsorted_segment_sqrt_n).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        segment_ids: The segment of each row, integers of a shape that the shape of `data` begins with.
        num_segments: How many segments the result has, an int32 scalar.
        name: A name for the operation.

    Returns:
        A tensor [num_segments, ...] of the same dtype.
    """
    with op_scope(name, "UnsortedSegmentSqrtN", [data, segment_ids, num_segments]):
        data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        roots: Tensor = transcendental.sqrt(_unsorted_counts(data, ids, num_segments))
        return unsorted_segment_sum(data, ids, num_segments) / roots


def _densify(values: Tensor, indices: Tensor, dense_shape: Tensor, name: str | None) -> Tensor:
    total = dense_shape[0]
    return unsorted_segment_sum(values, indices, total, name=name)


IndexedSlices.install_conversion(_densify)

# ---- segments of gathered rows ------------------------------------------------------------------------------------


def _sparse_infer(op: Operation) -> Signature:
    data, indices, ids = op.inputs[:3]
    rules.require_rank_at_least(data.dims, 1, "data")
    rules.require_rank(shapes.merge(indices.dims, ids.dims), 1, "indices and segment_ids")
    count = None
    if len(op.inputs) > 3:
        rules.require_rank(op.inputs[3].dims, 0, "num_segments")
        count = scalar_value(op.inputs[3])
        if count is not None and count < 0:
            raise ValueError(f"Cannot specify a negative value for num_segments, as {count} is.")
    return [(data.dtype, None if data.dims is None else (count, *data.dims[1:]))]


def _sparse_gradient(op: Operation, g: Any) -> tuple[Any, ...]:
    data, indices, ids = op.inputs[:3]
    g = convert_to_tensor(g)
    if "Sum" not in op.type:
        counts = _unsorted_counts(data, ids, shape(g)[0])
        g = g / (transcendental.sqrt(counts) if "Sqrt" in op.type else counts)
    result = unsorted_segment_sum(gather(g, ids), indices, shape(data)[0])
    result.set_shape(data.dims)
    return (result, *(None for _ in op.inputs[1:]))


def _sparse_ops(kind: str, types: str) -> tuple[Any, Any]:
    inputs = (f"data: T={types}", "indices: Tidx=index", "segment_ids: int32")
    counted = (*inputs, "num_segments: Tnumsegments=index")
    return (
        op_def(kind, inputs, infer=_sparse_infer, gradient=_sparse_gradient, dynamic_shape=True),
        op_def(kind + "WithNumSegments", counted, infer=_sparse_infer, gradient=_sparse_gradient),
    )


_SPARSE_SUM = _sparse_ops("SparseSegmentSum", "real")
_SPARSE_MEAN = _sparse_ops("SparseSegmentMean", "float")
_SPARSE_SQRT_N = _sparse_ops("SparseSegmentSqrtN", "float")


def _sparse_segment(
    pair: tuple[Any, Any], data: Any, indices: Any, ids: Any, name: str | None, count: Any
) -> Tensor:
    ids = convert_to_tensor(ids, dtype=None if hasattr(ids, "dtype") else "int32", name="segment_ids")
    if ids.dtype != "int32":
        ids = casting.cast(ids, "int32")
    if count is None:
        return apply(pair[0], (data, indices, ids), name=name).outputs[0]
    return apply(pair[1], (data, indices, ids, count), name=name).outputs[0]


def sparse_segment_sum(
    data: TensorLike,
    indices: IntTensorLike,
    segment_ids: IntTensorLike,
    name: str | None = None,
    num_segments: IntTensorLike | None = None,
) -> Tensor:
    """As segment_sum of gather(data, indices) (tf.sparse_segment_sum).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        indices: The rows of `data` to take, a vector of integers.
        segment_ids: The segment of each row: a vector of integers in ascending order.
        name: A name for the operation.
        num_segments: How many segments the result has, an int32 scalar.

    Returns:
        A tensor with a row for each segment.
    """
    return _sparse_segment(_SPARSE_SUM, data, indices, segment_ids, name, num_segments)


def sparse_segment_mean(
    data: TensorLike,
    indices: IntTensorLike,
    segment_ids: IntTensorLike,
    name: str | None = None,
    num_segments: IntTensorLike | None = None,
) -> Tensor:
    """As segment_mean of gather(data, indices) (tf.sparse_segment_mean).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        indices: The rows of `data` to take, a vector of integers.
        segment_ids: The segment of each row: a vector of integers in ascending order.
        name: A name for the operation.
        num_segments: How many segments the result has, an int32 scalar.

    Returns:
        A tensor with a row for each segment.
    """
    return _sparse_segment(_SPARSE_MEAN, data, indices, segment_ids, name, num_segments)


def sparse_segment_sqrt_n(
    data: TensorLike,
    indices: IntTensorLike,
    segment_ids: IntTensorLike,
    name: str | None = None,
    num_segments: IntTensorLike | None = None,
) -> Tensor:
    """As segment_sum of gather(data, indices), over the root of the rows' number (tf.sparse_segment_sqrt_n).

    Args:
        data: A tensor whose rows, along the first axis, are put together.
        indices: The rows of `data` to take, a vector of integers.
        segment_ids: The segment of each row: a vector of integers in ascending order.
        name: A name for the operation.
        num_segments: How many segments the result has, an int32 scalar.

    Returns:
        A tensor with a row for each segment.
    """
    return _sparse_segment(_SPARSE_SQRT_N, data, indices, segment_ids, name, num_segments)


# ---- partition and stitch -----------------------------------------------------------------------------------------


def _partition_infer(op: Operation) -> Signature:
    data, parts = op.inputs
    tail: Dims = None
    if data.dims is not None and parts.dims is not None:
        if len(parts.dims) > len(data.dims) or not shapes.compatible(
            data.dims[: len(parts.dims)], parts.dims
        ):
            raise ValueError(
                f"partitions of shape {shapes.text(parts.dims)} must be a prefix of the data's shape "
                f"{shapes.text(data.dims)}."
            )
        tail = (None, *data.dims[len(parts.dims) :])
    return [(data.dtype, tail)] * op.attrs["num_partitions"]


def _partition_partial(op: Operation) -> tuple[list[int], ...] | None:
    known, parts = full_value(op.inputs[0]), full_value(op.inputs[1])
    if not isinstance(known, list) or not isinstance(parts, list) or len(known) != len(parts):
        return None
    return tuple(
        [v for v, p in zip(known, parts, strict=True) if p == i] for i in range(op.attrs["num_partitions"])
    )


def _partition_gradient(op: Operation, *grads: Any) -> tuple[Any, None]:
    data, parts = op.inputs
    places = reshape(range_(size(parts)), shape(parts))
    back = dynamic_stitch(dynamic_partition(places, parts, op.attrs["num_partitions"]), list(grads))
    result = reshape(back, shape(data))
    result.set_shape(data.dims)
    return result, None


def _stitch_infer(op: Operation) -> Signature:
    count = op.attrs["N"]
    places, data = op.inputs[:count], op.inputs[count:]
    tail: Dims = None
    for where_to, part in zip(places, data, strict=True):
        if where_to.dims is not None and part.dims is not None:
            lead = len(where_to.dims)
            if not shapes.compatible(part.dims[:lead], where_to.dims):
                raise ValueError(
                    f"data of shape {shapes.text(part.dims)} must start with its indices' shape "
                    f"{shapes.text(where_to.dims)}."
                )
            tail = shapes.merge(tail, part.dims[lead:])
    known = [constant_value(p) for p in places]
    total = None
    if all(v is not None for v in known):
        total = max((int(v.max()) + 1 for v in known if v.size), default=0)
    return [(data[0].dtype, None if tail is None else (total, *tail))]


DYNAMIC_PARTITION = op_def(
    "DynamicPartition", ("data: T", "partitions: int32"), infer=_partition_infer, gradient=_partition_gradient,
    dynamic_shape=True, partial_value=_partition_partial,
)  # fmt: skip
DYNAMIC_STITCH = op_def(
    "DynamicStitch", ("indices*: int32", "data*: T"), infer=_stitch_infer, dynamic_shape=True,
    gradient=lambda op, g: (
        *(None for _ in range(op.attrs["N"])),
        *(gather(g, place) for place in op.inputs[: op.attrs["N"]]),
    ),
)  # fmt: skip


def dynamic_partition(
    data: TensorLike, partitions: IntTensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The rows of `data` sorted into tensors: row i goes to number partitions[i] (tf.dynamic_partition).

    Args:
        data: A tensor.
        partitions: Numbers below `num_partitions`, an int32 tensor whose shape `data` begins with.
        num_partitions: How many tensors there are, a Python int.
        name: A name for the operation.

    Returns:
        A list of tensors.
    """
    attrs = {"num_partitions": int(num_partitions)}
    return list(apply(DYNAMIC_PARTITION, (data, partitions), attrs, name).outputs)


def dynamic_stitch(
    indices: Sequence[IntTensorLike], data: Sequence[TensorLike], name: str | None = None
) -> Tensor:
    """One tensor whose row `indices[m][i]` is `data[m][i]`; the last one wins (tf.dynamic_stitch).

    Args:
        indices: A list of int32 tensors.
        data: A list of tensors, whose shapes begin with those of the indices.
        name: A name for the operation.

    Returns:
        A tensor of max(indices) + 1 rows.
    """
    places = [np.asarray(p, np.int32) if isinstance(p, list | tuple) and not p else p for p in indices]
    return apply(DYNAMIC_STITCH, (places, list(data)), {"N": len(places)}, name).outputs[0]

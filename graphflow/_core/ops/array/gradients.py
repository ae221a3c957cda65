"""Gradients of array ops that need ops above them: reductions, arithmetic, segments.

Loaded when one of them is first asked for (graphflow._core.graph.op_def.GradientsIn).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import gradient_of
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.creation import range_, zeros_like
from graphflow._core.ops.array.extents import rank, size
from graphflow._core.ops.array.indexing import gather, where, where_v2
from graphflow._core.ops.array.joining import concat, split, stack, unstack
from graphflow._core.ops.array.layout import pad
from graphflow._core.ops.array.shaping import reshape, scalar_value, shape, squeeze
from graphflow._core.ops.array.transposing import transpose
from graphflow._core.ops.core import convert_to_tensor, pack
from graphflow._core.ops.math import arithmetic, broadcasting, casting, comparison, reductions
from graphflow._core.ops.math.broadcasting import unbroadcast
from graphflow._core.ops.math.segments import unsorted_segment_sum


@gradient_of("Fill")
def _fill_gradient(op: Operation, g: Any) -> tuple[None, Any]:
    return None, reductions.reduce_sum(g)


@gradient_of("Pack")
def _pack_gradient(op: Operation, g: Any) -> Any:
    return unstack(g, len(op.inputs), op.attrs["axis"])


@gradient_of("ConcatV2")
def _concat_gradient(op: Operation, g: Any) -> tuple[Any, ...]:
    *parts, where = op.inputs
    axis = scalar_value(where)
    if len(parts) == 1:
        return g, None
    dims = op.outputs[0].dims
    if axis is not None and axis < 0 and dims is not None:
        axis += len(dims)
    if isinstance(g, IndexedSlices):
        if axis == 0:
            return (*_rows_of_parts(g, parts), None)
        if axis is not None and axis > 0:
            values = _pieces(g.values, parts, axis, where)
            for rows, part in zip(values, parts, strict=True):
                rows.set_shape(None if part.dims is None else (None, *part.dims[1:]))
            return (
                *(IndexedSlices(v, g.indices, shape(p)) for v, p in zip(values, parts, strict=True)),
                None,
            )
        g = convert_to_tensor(g)
    pieces = _pieces(g, parts, axis, where)
    for piece, part in zip(pieces, parts, strict=True):
        piece.set_shape(part.dims)
    return (*pieces, None)


def _rows_of_parts(g: IndexedSlices, parts: Sequence[Tensor]) -> Iterator[IndexedSlices]:
    """Of rows of what was joined along the first axis those that are of each part, in its numbers."""
    start: Any = 0
    for part in parts:
        end = start + shape(part, out_type=g.indices.dtype)[0]
        inside = comparison.logical_and(g.indices >= start, g.indices < end)
        chosen = squeeze(where(inside), axis=[1])
        yield IndexedSlices(gather(g.values, chosen), gather(g.indices, chosen) - start, shape(part))
        start = end


def _pieces(g: Tensor, parts: Sequence[Tensor], axis: int | None, where: Tensor) -> list[Tensor]:
    """Cuts the gradient of joined arrays into those of the parts; the axis is a number, or else a tensor."""
    lengths = [None if p.dims is None or axis is None else p.dims[axis] for p in parts]
    sizes: Any
    if None not in lengths:
        sizes = np.array(lengths, np.int32)
    else:
        sizes = pack([shape(p)[where if axis is None else axis] for p in parts])
    if axis is None and where.dtype is not dtypes.int32:
        where = casting.cast(where, dtypes.int32)
    return split(g, sizes, where if axis is None else axis, num=len(parts))


@gradient_of("GatherV2")
def _gather_gradient(op: Operation, g: Any) -> tuple[Any, None, None]:
    params, indices, where = op.inputs
    axis, batch = scalar_value(where), op.attrs["batch_dims"]
    if axis == 0 and batch == 0:
        dense = shape(params)
        count = reshape(size(indices), [1])
        values = reshape(g, concat([count, dense[1:]], 0))
        return IndexedSlices(values, reshape(indices, count), dense), None, None
    return (
        _summed_rows(convert_to_tensor(g), params, indices, where if axis is None else axis, batch),
        None,
        None,
    )


def _summed_rows(g: Tensor, params: Tensor, indices: Tensor, axis: Any, batch: Any) -> Tensor:
    """The transpose of a gather along an inner axis: rows of the gradient summed by index, batch by batch."""
    if isinstance(axis, Tensor) or axis < 0:
        known = params.dims is not None and not isinstance(axis, Tensor)
        axis = (
            axis + len(params.dims or ())
            if known
            else arithmetic.floormod(axis, casting.cast(rank(params), axis.dtype))
        )
    if batch < 0:
        batch = batch + (rank(indices) if indices.dims is None else len(indices.dims))
    extents = shape(params)
    batches, middle, length, rest = (
        reductions.reduce_prod(extents[:batch]),
        reductions.reduce_prod(extents[batch:axis]),
        extents[axis],
        reductions.reduce_prod(extents[axis + 1 :]),
    )
    count = reductions.reduce_prod(shape(indices)[batch:])
    rows = transpose(reshape(g, [batches, middle, count, rest]), [0, 2, 1, 3])
    ids = reshape(indices, [batches, count]) + casting.cast(
        reshape(range_(batches) * length, [-1, 1]), indices.dtype
    )
    flat = reshape(rows, [batches * count, middle, rest])
    summed = unsorted_segment_sum(flat, reshape(ids, [batches * count]), batches * length)
    whole = transpose(reshape(summed, [batches, length, middle, rest]), [0, 2, 1, 3])
    result = reshape(whole, extents)
    result.set_shape(params.dims)
    return result


@gradient_of("SelectV2")
def _select_v2_gradient(op: Operation, g: Any) -> tuple[None, Any, Any]:
    condition, x, y = op.inputs
    nothing = zeros_like(g)
    return (
        None,
        unbroadcast(where_v2(condition, g, nothing), x),
        unbroadcast(where_v2(condition, nothing, g), y),
    )


@gradient_of("Tile")
def _tile_gradient(op: Operation, g: Any) -> tuple[Any, None]:
    x, multiples = op.inputs
    extents = shape(x, out_type=multiples.dtype)
    split_shape = reshape(stack([multiples, extents], axis=1), [-1])
    if x.dims is not None:
        axes: Any = np.arange(0, 2 * len(x.dims), 2, dtype=np.int32)
    else:
        axes = range_(0, size(split_shape), 2)
    result = reductions.reduce_sum(reshape(g, split_shape), axes)
    result.set_shape(x.dims)
    return result, None


@gradient_of("BroadcastTo")
def _broadcast_to_gradient(op: Operation, g: Any) -> tuple[Any, None]:
    return broadcasting.sum_to_shape_of(convert_to_tensor(g), op.inputs[0]), None


@gradient_of("Slice")
def _slice_gradient(op: Operation, g: Any) -> tuple[Any, None, None]:
    x, begin, _ = op.inputs
    after = shape(x, out_type=begin.dtype) - shape(op.outputs[0], out_type=begin.dtype) - begin
    result = pad(g, pack([begin, after], axis=1))
    result.set_shape(x.dims)
    return result, None, None

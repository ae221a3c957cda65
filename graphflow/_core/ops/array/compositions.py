"""Array functions that are made of several ops, also of arithmetic and reductions: grids, masks, repetition."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.creation import one_hot, ones, range_
from graphflow._core.ops.array.extents import size
from graphflow._core.ops.array.indexing import gather, where
from graphflow._core.ops.array.joining import concat, stack
from graphflow._core.ops.array.layout import broadcast_to, tile
from graphflow._core.ops.array.shaping import expand_dims, reshape, scalar_value, shape, squeeze
from graphflow._core.ops.core import apply, constant, convert_to_tensor, op_scope, pack
from graphflow._core.ops.math import arithmetic, casting, comparison, reductions


def eye(
    num_rows: IntTensorLike,
    num_columns: IntTensorLike | None = None,
    batch_shape: IntTensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The identity matrix, or a batch of them (tf.eye).

    Args:
        num_rows: How many rows, an int32 scalar.
        num_columns: How many columns; by default as many.
        batch_shape: The shape in front.
        dtype: The dtype.
        name: A name for the operation.

    Returns:
        [*batch_shape, num_rows, num_columns].
    """
    with op_scope(name, "eye", [num_rows, num_columns]):
        columns = num_rows if num_columns is None else num_columns
        kind = as_dtype(dtype)
        matrix = one_hot(range_(num_rows), columns, dtype=kind)
        if batch_shape is None:
            return matrix

        batch = convert_to_tensor(batch_shape, dtype=dtypes.int32, name="shape")
        return broadcast_to(matrix, concat([batch, shape(matrix)], 0))


def sequence_mask(
    lengths: IntTensorLike,
    maxlen: IntTensorLike | None = None,
    dtype: DTypeLike = dtypes.bool_,
    name: str | None = None,
) -> Tensor:
    """For each length a row of `maxlen` elements, True before the length and False from it on (tf.sequence_mask).

    Args:
        lengths: A tensor of integers.
        maxlen: How long a row is; by default the largest length.
        dtype: The dtype of the mask.
        name: A name for the operation.

    Returns:
        A tensor [*lengths.shape, maxlen].
    """
    with op_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            longest = reductions.reduce_max(lengths)
            maxlen = arithmetic.maximum(constant(0, lengths.dtype), longest)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.dims not in (None, ()):
            raise ValueError(
                f"maxlen must be scalar for sequence_mask, but has shape {shapes.text(maxlen.dims)}."
            )
        row = range_(constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype), name="Range")
        # TensorFlow has this cast also if there is nothing to cast, and seeds follow from the number of operations.
        attrs = {"DstT": maxlen.dtype, "Truncate": False}
        column = apply(casting.CAST, (expand_dims(lengths, -1),), attrs).outputs[0]
        mask = comparison.less(row, column)
        return mask if as_dtype(dtype) is dtypes.bool_ else casting.cast(mask, dtype)


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = "meshgrid") -> list[Tensor]:
    """The coordinates of a grid's points, a tensor for each of the vectors given (tf.meshgrid).

    Args:
        *args: Vectors.
        indexing: "xy" or "ij".
        name: A name for the operation.

    Returns:
        A list of tensors of one shape.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    if not args:
        return []

    with op_scope(name, "meshgrid", args):
        count = len(args)
        tensors = [convert_to_tensor(a) for a in args]
        widest = tensors[0].dtype
        order = list(range(count))
        if indexing == "xy" and count > 1:
            order[:2] = [1, 0]
        columns = [
            reshape(t, [-1 if k == axis else 1 for k in range(count)])
            for t, axis in zip(tensors, order, strict=True)
        ]
        lengths = [size(tensors[order.index(axis)]) for axis in range(count)]
        whole = ones(pack(lengths), widest)
        return [arithmetic.multiply(column, whole) for column in columns]


def repeat(
    input: TensorLike, repeats: IntTensorLike, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Each element along an axis repeated, all as often or each its own number of times (tf.repeat).

    Without `axis` the tensor is flattened first.

    Args:
        input: A tensor.
        repeats: How often each element, a scalar or a vector.
        axis: The axis; None for the tensor as a vector.
        name: A name for the operation.

    Returns:
        A tensor.
    """
    with op_scope(name, "Repeat", [input, repeats]):
        data = convert_to_tensor(input, name="input")
        if axis is None:
            data, axis = reshape(data, [-1]), 0
        times = convert_to_tensor(
            repeats,
            dtype=None if hasattr(repeats, "dtype") else dtypes.int32,
            name="repeats",
            preferred_dtype=dtypes.int32,
        )
        if data.dims is None:
            raise ValueError("repeat needs a tensor of known rank.")
        axis = shapes.normalize_axis(axis, len(data.dims))
        extents = shape(data, out_type=times.dtype)
        if times.dims in ((), (1,)):
            count = reshape(times, [1])
            ones = np.ones(len(data.dims) + 1, times.dtype.as_numpy_dtype)
            pieces: list[Any] = [ones[: axis + 1], count, ones[axis + 2 :]]
            whole = tile(
                expand_dims(data, axis + 1),
                concat([p for p in pieces if not isinstance(p, np.ndarray) or p.size], 0),
            )
            result = reshape(whole, concat([extents[:axis], [-1], extents[axis + 1 :]], 0))
        else:
            longest = reductions.reduce_max(times)
            kept = sequence_mask(times, longest)
            rank = len(data.dims)
            spread = tile(
                expand_dims(data, axis + 1),
                stack([longest if i == axis + 1 else _one(times) for i in range(rank + 1)]),
            )
            result = boolean_mask(spread, kept, axis=axis)
        known, extent = scalar_value(times) if times.dims in ((), (1,)) else None, data.dims[axis]
        total = None if known is None or extent is None else known * extent
        result.set_shape((*data.dims[:axis], total, *data.dims[axis + 1 :]))
        return result


def _one(like: Tensor) -> Tensor:
    return convert_to_tensor(1, like.dtype)


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, name: str | None = "boolean_mask", axis: IntTensorLike | None = None
) -> Tensor:
    """The elements, or slices, of a tensor at which a mask holds (tf.boolean_mask).

    The mask's shape is that of the tensor's axes from `axis` on.

    Args:
        tensor: A tensor.
        mask: A tensor of bools, of known rank.
        name: A name for the operation.
        axis: The axis that the mask begins at.

    Returns:
        A tensor: what the mask covers is one axis.

    Raises:
        ValueError: If the mask's shape is unknown, scalar or another.
    """
    with op_scope(name, "boolean_mask", [tensor, mask]):
        values = convert_to_tensor(tensor, name="tensor")
        flags = convert_to_tensor(mask, name="mask")
        if flags.dims is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None. E.g. "
                "shape=[None] is ok, but shape=None is not."
            )
        if not flags.dims:
            raise ValueError("mask cannot be scalar.")
        start, count = _static_axis(axis, values.dims), len(flags.dims)
        if values.dims is not None:
            covered = values.dims[start : start + count]
            if not shapes.compatible(covered, flags.dims):
                raise ValueError(
                    f"Shapes {shapes.text(covered)} and {shapes.text(flags.dims)} are incompatible"
                )
        flat = _merged_axes(values, start, count)
        places = squeeze(where(reshape(flags, [-1])), axis=[1])
        return gather(flat, places, axis=start)


def _static_axis(axis: Any, dims: Dims) -> int:
    if axis is None:
        return 0
    known = scalar_value(axis) if isinstance(axis, Tensor) else int(axis)
    if known is None:
        raise ValueError("The axis of boolean_mask must be known while the graph is built.")
    return shapes.normalize_axis(known, len(dims)) if dims is not None else known


def _merged_axes(values: Tensor, start: int, count: int) -> Tensor:
    """The tensor with `count` axes from `start` on made one."""
    extents = shape(values)
    dims = values.dims
    merged = None if dims is None else shapes.size_of(dims[start : start + count])
    if merged is None:
        leading = reshape(reductions.reduce_prod(extents[start : start + count], [0]), [1])
    else:
        leading = convert_to_tensor(np.array([merged], np.int32))
    flat = reshape(values, concat([extents[:start], leading, extents[start + count :]], 0))
    if dims is not None:
        flat.set_shape((*dims[:start], merged, *dims[start + count :]))
    return flat

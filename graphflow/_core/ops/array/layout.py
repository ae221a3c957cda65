"""The same elements elsewhere: tiled, padded, reversed, rolled, broadcast, and moved between space, depth and batch."""

from __future__ import annotations

from typing import Any

import graphflow._core.ops.rules as rules
from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, ShapeLike, TensorLike
from graphflow._core.ops.array.shaping import full_value, reshape, shape
from graphflow._core.ops.array.slicing import slice_
from graphflow._core.ops.core import (
    apply,
    constant_value,
    partial_shape,
    partial_value,
    partial_vector,
)
from graphflow._core.ops.rules import ARRAY_GRADIENTS


def matrix_rows(tensor: Tensor) -> list[list[int | None]] | None:
    """The known part of the rows of an integer matrix; None if not even their number is."""
    value = constant_value(tensor)
    if value is not None and value.ndim == 2:
        return [[int(v) for v in row] for row in value]
    if tensor.op.type == "Pack" and tensor.op.attrs["axis"] == 0:
        rows = [partial_vector(part) for part in tensor.op.inputs]
        known = [row for row in rows if row is not None]
        return known if len(known) == len(rows) else None
    if tensor.dims is not None and None not in tensor.dims and len(tensor.dims) == 2:
        return [[None] * (tensor.dims[1] or 0) for _ in range(tensor.dims[0] or 0)]
    return None


# ---- tile ---------------------------------------------------------------------------------------------------------


def _tile_infer(op: Operation) -> Signature:
    x, multiples = op.inputs
    rules.require_rank(multiples.dims, 1, "multiples")
    times = partial_vector(multiples)
    if times is not None and any(n is not None and n < 0 for n in times):
        raise ValueError(f"Expected multiples >= 0, but got {times}.")
    if x.dims is None:
        return [(x.dtype, None if times is None else (None,) * len(times))]
    if times is None:
        return [(x.dtype, (None,) * len(x.dims))]
    if len(times) != len(x.dims):
        raise ValueError(
            f"Shape must be rank {len(times)} but is rank {len(x.dims)}: one multiple an axis is needed."
        )
    return [
        (
            x.dtype,
            tuple(None if d is None or n is None else d * n for d, n in zip(x.dims, times, strict=True)),
        )
    ]


def _tile_partial(op: Operation) -> list[int | None] | None:
    known, times = partial_vector(op.inputs[0]), full_value(op.inputs[1])
    return known * times[0] if known is not None and isinstance(times, list) and len(times) == 1 else None


TILE = op_def(
    "Tile", ("input: T", "multiples: Tmultiples=index"), infer=_tile_infer, gradient=ARRAY_GRADIENTS,
    partial_value=_tile_partial,
)  # fmt: skip


def tile(input: TensorLike, multiples: IntTensorLike, name: str | None = None) -> Tensor:
    """The tensor repeated `multiples[i]` times along axis i (tf.tile).

    Args:
        input: A tensor.
        multiples: How often along each axis, a vector of int32 or int64.
        name: A name for the operation.

    Returns:
        A tensor of shape `input.shape * multiples`.

    Examples:
        >>> gf.Session().run(gf.tile([[1, 2]], [2, 2]))
        array([[1, 2, 1, 2],
               [1, 2, 1, 2]], dtype=int32)
    """
    return apply(TILE, (input, multiples), name=name).outputs[0]


# ---- pad ----------------------------------------------------------------------------------------------------------


def _pad_infer(op: Operation) -> Signature:
    x, paddings = op.inputs[:2]
    if paddings.dims is not None and (len(paddings.dims) != 2 or paddings.dims[1] not in (None, 2)):
        raise ValueError(
            f"paddings must be a matrix of two columns, but has shape {shapes.text(paddings.dims)}."
        )
    rank = None if paddings.dims is None else paddings.dims[0]
    rows = matrix_rows(paddings)
    if rows is not None and any(v is not None and v < 0 for row in rows for v in row):
        raise ValueError(f"Paddings must be non-negative: {rows}.")
    if x.dims is None:
        return [(x.dtype, None if rank is None else (None,) * rank)]
    if rank is not None and rank != len(x.dims):
        raise ValueError(
            f"Shape must be rank {rank} but is rank {len(x.dims)}: one row of paddings an axis is needed."
        )
    if rows is None:
        return [(x.dtype, (None,) * len(x.dims))]
    dims = [_padded(d, before, after) for d, (before, after) in zip(x.dims, rows, strict=True)]
    if op.op_def is MIRROR_PAD:
        edge = 1 if op.attrs["mode"] == "REFLECT" else 0
        for d, row in zip(x.dims, rows, strict=True):
            if d is not None and any(v is not None and v > d - edge for v in row):
                raise ValueError(
                    f"Paddings {row} must be no greater than {d - edge} for an axis of length {d}."
                )
    return [(x.dtype, tuple(dims))]


def _padded(extent: int | None, before: int | None, after: int | None) -> int | None:
    return None if extent is None or before is None or after is None else extent + before + after


def _pad_gradient(op: Operation, g: Any) -> tuple[Any, ...]:
    x, paddings = op.inputs[:2]
    begin = reshape(slice_(paddings, [0, 0], [-1, 1]), [-1])
    result = slice_(g, begin, shape(x, out_type=begin.dtype))
    result.set_shape(x.dims)
    return (result, *(None for _ in op.inputs[1:]))


def _mirror_pad_gradient(op: Operation, g: Any) -> tuple[Any, None]:
    result = apply(MIRROR_PAD_GRAD, (g, op.inputs[1]), {"mode": op.attrs["mode"]}).outputs[0]
    result.set_shape(op.inputs[0].dims)
    return result, None


def _mirror_pad_grad_infer(op: Operation) -> Signature:
    g, rows = op.inputs[0], matrix_rows(op.inputs[1])
    if g.dims is None or rows is None:
        return [(g.dtype, None if g.dims is None else (None,) * len(g.dims))]
    dims: list[int | None] = []
    for extent, (before, after) in zip(g.dims, rows, strict=True):
        known = extent is not None and before is not None and after is not None
        dims.append(extent - before - after if known else None)  # type: ignore[operator]
    return [(g.dtype, tuple(dims))]


PAD = op_def("Pad", ("input: T", "paddings: Tpaddings=index"), infer=_pad_infer, gradient=_pad_gradient)
PAD_V2 = op_def(
    "PadV2",
    ("input: T", "paddings: Tpaddings=index", "constant_values: T"),
    infer=_pad_infer,
    gradient=_pad_gradient,
)
MIRROR_PAD = op_def(
    "MirrorPad", ("input: T", "paddings: Tpaddings=index"), infer=_pad_infer, gradient=_mirror_pad_gradient
)
MIRROR_PAD_GRAD = op_def(
    "MirrorPadGrad", ("input: T", "paddings: Tpaddings=index"), infer=_mirror_pad_grad_infer,
    gradient=lambda op, g: (pad(g, op.inputs[1], op.attrs["mode"]), None),
)  # fmt: skip


def pad(
    tensor: TensorLike,
    paddings: IntTensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """The tensor with `paddings[i] = (before, after)` elements added to axis i (tf.pad).

    Args:
        tensor: A tensor.
        paddings: [rank, 2], int32: how many elements before and after, along each axis.
        mode: CONSTANT adds `constant_values`, REFLECT mirrors without the edge, SYMMETRIC with it.
        name: A name for the operation.
        constant_values: A scalar.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: For another mode.

    Examples:
        >>> gf.Session().run(gf.pad([1, 2], [[1, 2]]))
        array([0, 1, 2, 0, 0], dtype=int32)
    """
    chosen = mode.upper()
    if chosen == "CONSTANT":
        if isinstance(constant_values, Tensor) or constant_values != 0:
            return apply(PAD_V2, (tensor, paddings, constant_values), name=name).outputs[0]
        return apply(PAD, (tensor, paddings), name=name).outputs[0]
    if chosen not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"Unknown padding mode: {mode}")
    return apply(MIRROR_PAD, (tensor, paddings), {"mode": chosen}, name).outputs[0]


# ---- reverse and roll ---------------------------------------------------------------------------------------------


def _reverse_infer(op: Operation) -> Signature:
    tensor, axis = op.inputs
    rules.require_rank(axis.dims, 1, "axis")
    known = full_value(axis)
    if tensor.dims is not None and isinstance(known, list):
        rank = len(tensor.dims)
        for i, a in enumerate(known):
            if not -rank <= a < rank:
                raise ValueError(f"axis[{i}] = {a} is out of valid range [-{rank}, {rank}).")
        chosen = [shapes.normalize_axis(a, rank) for a in known]
        twice = next((a for a in chosen if chosen.count(a) > 1), None)
        if twice is not None:
            raise ValueError(f"axis {twice} specified more than once.")
    return [(tensor.dtype, tensor.dims)]


def _reverse_partial(op: Operation) -> list[int | None] | None:
    known, axis = partial_vector(op.inputs[0]), full_value(op.inputs[1])
    if known is None or not isinstance(axis, list):
        return None
    return known[::-1] if axis else known


REVERSE = op_def(
    "ReverseV2", ("tensor: T", "axis: Tidx=index"), infer=_reverse_infer, partial_value=_reverse_partial,
    gradient=lambda op, g: (reverse(g, op.inputs[1]), None),
)  # fmt: skip


def reverse(tensor: TensorLike, axis: IntTensorLike, name: str | None = None) -> Tensor:
    """The tensor backwards along some axes (tf.reverse).

    Args:
        tensor: A tensor.
        axis: The axes, a list of ints.
        name: A name for the operation.

    Returns:
        A tensor like it.
    """
    return apply(REVERSE, (tensor, axis), name=name).outputs[0]


def _reverse_sequence_infer(op: Operation) -> Signature:
    x, lengths = op.inputs
    rules.require_rank(lengths.dims, 1, "seq_lengths")
    if x.dims is None:
        return [(x.dtype, None)]
    batch = shapes.normalize_axis(op.attrs["batch_dim"], len(x.dims), "batch_dim")
    along = shapes.normalize_axis(op.attrs["seq_dim"], len(x.dims), "seq_dim")
    if batch == along:
        raise ValueError(f"seq_axis and batch_axis must differ, both are {batch}.")
    if lengths.dims is not None:
        count = shapes.merge((x.dims[batch],), lengths.dims)
        return [(x.dtype, (*x.dims[:batch], *(count or ()), *x.dims[batch + 1 :]))]
    return [(x.dtype, x.dims)]


def _reverse_sequence_gradient(op: Operation, g: Any) -> tuple[Any, None]:
    attrs = {key: op.attrs[key] for key in ("seq_dim", "batch_dim")}
    return apply(REVERSE_SEQUENCE, (g, op.inputs[1]), attrs).outputs[0], None


REVERSE_SEQUENCE = op_def(
    "ReverseSequence", ("input: T", "seq_lengths: Tlen=index"), infer=_reverse_sequence_infer,
    gradient=_reverse_sequence_gradient,
)  # fmt: skip


def reverse_sequence(
    input: TensorLike, seq_lengths: IntTensorLike, seq_axis: int | None = None,
    batch_axis: int | None = None, name: str | None = None, seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """Each sequence of a batch with its first `seq_lengths[i]` elements backwards (tf.reverse_sequence).

    Args:
        input: A tensor.
        seq_lengths: How many elements are reversed, a vector of int32 or int64.
        seq_axis: The axis of the sequences.
        batch_axis: The axis of the batch.
        name: A name for the operation.
        seq_dim: The old name of `seq_axis`.
        batch_dim: The old name of `batch_axis`.

    Returns:
        A tensor like `input`.
    """
    along = rules.deprecated(seq_axis, seq_dim, "seq_axis", "seq_dim")
    batch = rules.deprecated(batch_axis, batch_dim, "batch_axis", "batch_dim")
    if along is None:
        raise ValueError("reverse_sequence needs seq_axis.")
    attrs = {"seq_dim": int(along), "batch_dim": int(batch or 0)}
    return apply(REVERSE_SEQUENCE, (input, seq_lengths), attrs, name).outputs[0]


def _roll_infer(op: Operation) -> Signature:
    x, shift, axis = op.inputs
    rules.require_rank_at_least(x.dims, 1, "input")
    for what, tensor in (("shift", shift), ("axis", axis)):
        if tensor.dims is not None and len(tensor.dims) > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {len(tensor.dims)} for {what}.")
    if not shapes.compatible(shift.dims, axis.dims):
        raise ValueError(
            f"both shapes must be equal: shift has {shapes.text(shift.dims)}, axis {shapes.text(axis.dims)}."
        )
    return [(x.dtype, x.dims)]


ROLL = op_def(
    "Roll", ("input: T", "shift: Tshift=index", "axis: Taxis=index"), infer=_roll_infer,
    gradient=lambda op, g: (roll(g, -op.inputs[1], op.inputs[2]), None, None),
)  # fmt: skip


def roll(input: TensorLike, shift: IntTensorLike, axis: IntTensorLike, name: str | None = None) -> Tensor:
    """The tensor with its elements moved by `shift` along `axis`, those that leave coming in again (tf.roll).

    Args:
        input: A tensor.
        shift: How far, a scalar or one for each axis.
        axis: The axes.
        name: A name for the operation.

    Returns:
        A tensor like `input`.
    """
    return apply(ROLL, (input, shift, axis), name=name).outputs[0]


# ---- broadcast ----------------------------------------------------------------------------------------------------


def _broadcast_to_infer(op: Operation) -> Signature:
    x, vector = op.inputs
    dims = partial_shape(vector)
    if x.dims is not None and dims is not None:
        aligned = (1,) * (len(dims) - len(x.dims)) + x.dims
        if len(aligned) != len(dims) or any(
            d not in (1, None, n) and n is not None for d, n in zip(aligned, dims)
        ):
            raise ValueError(
                f"Incompatible shapes: {shapes.text(x.dims)} cannot be broadcast to {shapes.text(dims)}."
            )
    return [(x.dtype, dims)]


def _broadcast_args_infer(op: Operation) -> Signature:
    first, second = (t.dims for t in op.inputs)
    if first is None or second is None or None in (*first, *second):
        return [(op.inputs[0].dtype, (None,))]
    return [(op.inputs[0].dtype, (max(first[0], second[0]),))]  # type: ignore[type-var]


def _broadcast_args_partial(op: Operation) -> list[int | None] | None:
    first, second = full_value(op.inputs[0]), full_value(op.inputs[1])
    if not isinstance(first, list) or not isinstance(second, list):
        return None
    dims = shapes.broadcast(tuple(first), tuple(second))
    return None if dims is None else list(dims)


def _ensure_infer(op: Operation) -> Signature:
    try:
        return [(op.inputs[0].dtype, shapes.merge(op.inputs[0].dims, op.attrs["shape"].raw))]
    except ValueError:
        raise ValueError(
            f"the tensor has shape {shapes.text(op.inputs[0].dims)}, expected {shapes.text(op.attrs['shape'].raw)}."
        ) from None


BROADCAST_TO = op_def(
    "BroadcastTo",
    ("input: T", "shape: Tidx=index"),
    infer=_broadcast_to_infer,
    gradient=ARRAY_GRADIENTS,
)
BROADCAST_ARGS = op_def(
    "BroadcastArgs", ("s0: T=index(int32)", "s1: T"), infer=_broadcast_args_infer, gradient=NOT_DIFFERENTIABLE,
    partial_value=_broadcast_args_partial,
)  # fmt: skip
ENSURE_SHAPE = op_def(
    "EnsureShape",
    ("input: T",),
    infer=_ensure_infer,
    gradient=lambda op, g: (g,),
    partial_value=lambda op: partial_value(op.inputs[0]),
)


def broadcast_to(input: TensorLike, shape: IntTensorLike, name: str | None = None) -> Tensor:
    """The tensor repeated along new axes and axes of length 1 to a shape (tf.broadcast_to).

    Args:
        input: A tensor.
        shape: The shape, a vector of integers.
        name: A name for the operation.

    Returns:
        A tensor of that shape.
    """
    return apply(BROADCAST_TO, (input, shape), name=name).outputs[0]


def broadcast_dynamic_shape(shape_x: IntTensorLike, shape_y: IntTensorLike) -> Tensor:
    """The shape vector of two shapes broadcast together (tf.broadcast_dynamic_shape).

    Args:
        shape_x: A vector of integers.
        shape_y: A vector of integers.

    Returns:
        A vector of integers.
    """
    return apply(BROADCAST_ARGS, (shape_x, shape_y)).outputs[0]


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """The TensorShape of two shapes broadcast together (tf.broadcast_static_shape).

    Args:
        shape_x: A gf.TensorShape.
        shape_y: A gf.TensorShape.

    Returns:
        A gf.TensorShape.

    Raises:
        ValueError: If they do not.
    """
    return TensorShape(shapes.broadcast(shapes.as_dims(shape_x), shapes.as_dims(shape_y)))


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """The tensor, whose shape is checked when it runs and known from here on (tf.ensure_shape).

    Args:
        x: A tensor.
        shape: A shape, of which parts may be None.
        name: A name for the operation.

    Returns:
        A tensor like `x`.
    """
    return apply(ENSURE_SHAPE, (x,), {"shape": TensorShape(shape)}, name).outputs[0]

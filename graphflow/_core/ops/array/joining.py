"""Putting tensors together and taking them apart: stack, concat and their inverses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.graph.shapes import Dimension, Dims
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.shaping import full_value, identity, scalar_value
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope, pack, partial_vector
from graphflow._core.ops.rules import ARRAY_GRADIENTS


def stack(
    values: Sequence[TensorLike] | np.ndarray[Any, Any], axis: int = 0, name: str | None = "stack"
) -> Tensor:
    """Tensors of one shape joined along a new axis (tf.stack).

    Args:
        values: A list of tensors of one dtype and shape.
        axis: Where the new axis is to be in the result, in [-rank - 1, rank].
        name: A name for the operation.

    Returns:
        A tensor of that dtype, of one axis more; a constant if all are Python values and the axis is 0.

    Raises:
        ValueError: The shapes differ, or the axis is out of range.

    Examples:
        >>> gf.Session().run(gf.stack([[1, 2], [3, 4]], axis=1))
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    name = name or "stack"
    if isinstance(values, Tensor) and axis:
        values = list(values)
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    if not len(values):
        raise ValueError("At least one tensor must be given to stack.")
    convert_to_tensor(values[0], name=name)
    return pack(values, axis, name)


def parallel_stack(
    values: Sequence[TensorLike] | np.ndarray[Any, Any], name: str | None = "parallel_stack"
) -> Tensor:
    """Tensors of one shape joined along a new first axis (tf.parallel_stack).

    Args:
        values: The tensors, of known shape.
        name: A name for the operation.

    Returns:
        A tensor of one axis more.
    """
    with op_scope(name, "parallel_stack", [values]):
        return pack(values)


def _unpack_infer(op: Operation) -> Signature:
    value, count = op.inputs[0], op.attrs["num"]
    if value.dims is None:
        return [(value.dtype, None)] * count
    if not value.dims:
        raise ValueError("A scalar cannot be unstacked: it has no axis.")
    axis = shapes.normalize_axis(op.attrs["axis"], len(value.dims))
    if value.dims[axis] not in (None, count):
        raise ValueError(
            f"Dimension must be {count} but is {value.dims[axis]}: num and axis {axis} of "
            f"{shapes.text(value.dims)} differ."
        )
    return [(value.dtype, value.dims[:axis] + value.dims[axis + 1 :])] * count


def _unpack_partial(op: Operation) -> tuple[int, ...] | None:
    known = full_value(op.inputs[0])
    return tuple(known) if isinstance(known, list) and len(known) == op.attrs["num"] else None


UNPACK = op_def(
    "Unpack", ("value: T",), infer=_unpack_infer, partial_value=_unpack_partial,
    gradient=lambda op, *grads: (pack(grads, op.attrs["axis"]),),
)  # fmt: skip


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str | None = "unstack"
) -> list[Tensor]:
    """The slices along an axis, of which there are `num` (tf.unstack).

    Args:
        value: A tensor.
        num: The number of slices; by default what the shape says.
        axis: The axis, an int.
        name: A name for the operation.

    Returns:
        A list of tensors of one rank less.

    Raises:
        ValueError: If their number is unknown.

    Examples:
        >>> a, b = gf.unstack([[1, 2], [3, 4]])
        >>> gf.Session().run(b)
        array([3, 4], dtype=int32)
    """
    name = name or "unstack"
    if num is None:
        value = convert_to_tensor(value)
        dims = value.dims
        if dims:
            num = dims[shapes.normalize_axis(axis, len(dims))]
        elif dims is not None:
            raise ValueError("A scalar cannot be unstacked: it has no axis.")
        if num is None:
            raise ValueError(f"Cannot infer num from shape {shapes.text(dims)}: pass num.")
    return list(apply(UNPACK, (value,), {"num": int(num), "axis": int(axis)}, name).outputs)


def _concat_infer(op: Operation) -> Signature:
    *parts, where = op.inputs
    dtype = parts[0].dtype
    rank = next((len(p.dims) for p in parts if p.dims is not None), None)
    axis = scalar_value(where)
    if where.dims not in (None, (), (1,)):
        raise ValueError(f"Shape must be rank 0 for the axis, but is {shapes.text(where.dims)}.")
    if rank is None:
        return [(dtype, None)]
    for part in parts:
        if part.dims is not None and len(part.dims) != rank:
            raise ValueError(
                "Shapes must be equal rank to be concatenated, but are "
                f"{', '.join(shapes.text(p.dims) for p in parts)}."
            )
    if rank == 0:
        raise ValueError("Can't concatenate scalars (use gf.stack instead).")
    if axis is None:
        return [(dtype, (None,) * rank)]
    axis = shapes.normalize_axis(axis, rank)
    total: int | None = 0
    others: Dims = None
    for part in parts:
        length = None if part.dims is None else part.dims[axis]
        total = None if total is None or length is None else total + length
        rest = None if part.dims is None else part.dims[:axis] + part.dims[axis + 1 :]
        try:
            others = shapes.merge(others, rest)
        except ValueError:
            raise ValueError(
                f"Dimensions other than axis {axis} must be equal to concatenate "
                f"{', '.join(shapes.text(p.dims) for p in parts)}."
            ) from None
    assert others is not None
    return [(dtype, (*others[:axis], total, *others[axis:]))]


def _concat_partial(op: Operation) -> list[int | None] | None:
    if scalar_value(op.inputs[-1]) not in (0, -1):
        return None
    result: list[int | None] = []
    for part in op.inputs[:-1]:
        known = partial_vector(part)
        if known is None:
            return None
        result += known
    return result


CONCAT = op_def(
    "ConcatV2", ("values*: T", "axis: Tidx=index"), infer=_concat_infer, gradient=ARRAY_GRADIENTS,
    partial_value=_concat_partial,
)  # fmt: skip


def concat(values: TensorLike, axis: IntTensorLike, name: str | None = "concat") -> Tensor:
    """Tensors joined along an axis that they have (tf.concat).

    Args:
        values: A list of tensors of one dtype and rank, which agree in all extents but that of the axis.
        axis: The axis, a scalar in [-rank, rank).
        name: A name for the operation.

    Returns:
        A tensor of that dtype, whose extent along the axis is the sum of theirs.

    Raises:
        ValueError: The list is empty, the shapes do not fit, or the axis is out of range.
        TypeError: The dtypes differ.

    Examples:
        >>> gf.Session().run(gf.concat([[[1, 2]], [[3, 4]]], axis=0))
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    name = name or "concat"
    parts: Sequence[Any] = values if isinstance(values, list | tuple) else [values]
    if not parts:
        raise ValueError("concat needs at least one tensor, got an empty list.")
    if len(parts) == 1:
        with op_scope(name, "concat", parts):
            where = convert_to_tensor(axis, dtype=dtypes.int32, name="concat_dim")
            if where.dims not in (None, ()):
                raise ValueError(
                    f"The axis of concat must be a scalar, but has shape {shapes.text(where.dims)}."
                )
            return identity(parts[0], name=name)
    return apply(CONCAT, (list(parts), axis), {"N": len(parts)}, name).outputs[0]


def _split_infer(op: Operation) -> Signature:
    where, value = op.inputs
    count, axis, dims = op.attrs["num_split"], scalar_value(where), value.dims
    if count <= 0:
        raise ValueError(f"The number of pieces must be positive, got {count}.")
    if dims is None:
        return [(value.dtype, None)] * count
    if axis is None:
        return [(value.dtype, (None,) * len(dims))] * count
    axis = shapes.normalize_axis(axis, len(dims))
    length = dims[axis]
    if length is not None and length % count:
        raise ValueError(
            f"Dimension size must be evenly divisible by {count} but is {length}: {shapes.text(dims)} "
            "cannot be split "
            f"evenly along axis {axis}. Give the sizes of the pieces as a list."
        )
    piece = None if length is None else length // count
    return [(value.dtype, (*dims[:axis], piece, *dims[axis + 1 :]))] * count


def _split_v_infer(op: Operation) -> Signature:
    value, sizes, where = op.inputs
    count, axis, dims = op.attrs["num_split"], scalar_value(where), value.dims
    if dims is None:
        return [(value.dtype, None)] * count
    known = partial_vector(sizes)
    if axis is None:
        return [(value.dtype, dims if count == 1 else (None,) * len(dims))] * count
    axis = shapes.normalize_axis(axis, len(dims))
    lengths: list[int | None] = [None] * count if known is None else list(known)
    if None in lengths:
        lengths = [None] * count
    total, free = dims[axis], [i for i, n in enumerate(lengths) if n == -1]
    if len(free) > 1:
        raise ValueError("size_splits can only have one -1.")
    for place, given in enumerate(lengths):
        if given is not None and given < -1:
            raise ValueError(f"Split size at index {place} must be >= 0. Got: {given}")
    fixed = sum(n for n in lengths if n is not None and n >= 0)
    if free:
        lengths[free[0]] = None if total is None else total - fixed
    if None not in lengths and total is not None and (sum(n or 0 for n in lengths) != total or fixed > total):
        raise ValueError(
            f"can't split axis of size {total} into pieces of size {known}: they must sum to it."
        )
    return [(value.dtype, (*dims[:axis], n, *dims[axis + 1 :])) for n in lengths]


def _split_partial(op: Operation) -> tuple[list[int], ...] | None:
    value = op.inputs[0] if op.op_def is SPLIT_V else op.inputs[1]
    known = full_value(value)
    if not isinstance(known, list):
        return None
    sizes = (
        full_value(op.inputs[1])
        if op.op_def is SPLIT_V
        else [len(known) // op.attrs["num_split"]] * op.attrs["num_split"]
    )
    if not isinstance(sizes, list) or -1 in sizes:
        return None
    ends = np.cumsum([0, *sizes])
    return tuple(known[a:b] for a, b in pairwise(ends))


SPLIT = op_def(
    "Split", ("split_dim: int32", "value: T"), infer=_split_infer, partial_value=_split_partial,
    gradient=lambda op, *grads: (None, concat(list(grads), op.inputs[0])),
)  # fmt: skip
SPLIT_V = op_def(
    "SplitV", ("value: T", "size_splits: Tlen=index", "split_dim: int32"), infer=_split_v_infer,
    partial_value=_split_partial, gradient=lambda op, *grads: (concat(list(grads), op.inputs[2]), None, None),
)  # fmt: skip


def split(
    value: TensorLike,
    num_or_size_splits: IntTensorLike,
    axis: IntTensorLike = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """The tensor in pieces along an axis (tf.split).

    Args:
        value: The tensor.
        num_or_size_splits: An int for that many equal pieces; or the length of each, a list or vector, of which one
            may be -1 for what is left.
        axis: The axis, a scalar in [-rank, rank).
        num: How many pieces there are, needed if the lengths are a tensor whose size is not known.
        name: A name for the operation.

    Returns:
        A list of tensors of the same dtype.

    Raises:
        ValueError: The axis cannot be divided so, or `num` is needed.

    Examples:
        >>> parts = gf.split([1, 2, 3, 4, 5, 6], 3)
        >>> gf.Session().run(parts[1])
        array([3, 4], dtype=int32)
    """
    name = name or "split"
    if isinstance(num_or_size_splits, Dimension):
        num_or_size_splits = int(num_or_size_splits)
    sizes = convert_to_tensor(num_or_size_splits)
    if isinstance(num_or_size_splits, int | np.integer):
        return list(apply(SPLIT, (axis, value), {"num_split": int(num_or_size_splits)}, name).outputs)
    if sizes.dims == ():
        raise ValueError(
            f"Rank-0 tensors are not supported as the num_or_size_splits argument to split: {num_or_size_splits}. "
            "Give a Python int."
        )
    if num is None:
        num = None if sizes.dims is None else sizes.dims[0]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {shapes.text(sizes.dims)}: pass num.")
    elif sizes.dims is not None and sizes.dims[0] not in (None, num):
        raise ValueError(f"split was given {sizes.dims[0]} sizes, but num={num}.")
    return list(apply(SPLIT_V, (value, sizes, axis), {"num_split": num}, name).outputs)

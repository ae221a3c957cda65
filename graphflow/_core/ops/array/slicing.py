"""The slice ops: blocks of a tensor, and what Python's indexing (getitem) becomes.

`x[begin:end:step, ..., None, 3]` is one StridedSlice: begin, end and strides are integer vectors, and masks say which
of their entries mean "from the start", "to the end", an ellipsis, a new axis, or an index that removes its axis.
"""

from __future__ import annotations

from typing import Any

import graphflow._core.ops.rules as rules
from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import IntTensorLike, TensorLike, VariableLike
from graphflow._core.ops.array.creation import ones_like
from graphflow._core.ops.array.shaping import full_value, shape
from graphflow._core.ops.core import apply, partial_shape, partial_vector
from graphflow._core.ops.rules import ARRAY_GRADIENTS

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _whole(tensor: Tensor) -> list[int] | None:
    known = full_value(tensor)
    return known if isinstance(known, list) else None


def _strided_infer(op: Operation) -> Signature:
    x = op.inputs[0]
    begin, end, strides = (_whole(t) for t in op.inputs[1:4])
    for tensor in op.inputs[1:4]:
        rules.require_rank(tensor.dims, 1, "begin, end and strides")
    if x.dims is None or strides is None:
        return [(x.dtype, None)]
    return [(x.dtype, strided_dims(x.dims, begin, end, strides, op.attrs))]


def strided_dims(
    dims: tuple[int | None, ...],
    begin: list[int] | None,
    end: list[int] | None,
    strides: list[int],
    masks: Any,
) -> Dims:
    """The shape of a strided slice; ValueError if an index is out of range or there are too many."""
    count = len(strides)
    for given in (begin, end):
        if given is not None and len(given) != count:
            raise ValueError(
                f"begin, end and strides must have the same length, but have {len(given)} and {count}."
            )
    ellipsis, new_axis = masks["ellipsis_mask"], masks["new_axis_mask"]
    ellipses = [i for i in range(count) if ellipsis >> i & 1]
    if len(ellipses) > 1:
        raise ValueError("Multiple ellipses in slice spec not allowed")
    used = sum(1 for i in range(count) if i not in ellipses and not new_axis >> i & 1)
    if used > len(dims):
        raise ValueError(f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims")
    result: list[int | None] = []
    axis = 0
    for i in range(count):
        if i in ellipses:
            result += dims[axis : axis + len(dims) - used]
            axis += len(dims) - used
        elif new_axis >> i & 1:
            result.append(1)
        else:
            place = (None if begin is None else begin[i], None if end is None else end[i], strides[i])
            result += _strided_extent(dims[axis], place, i, axis, masks)
            axis += 1
    return (*result, *dims[axis:])


def _strided_extent(
    extent: int | None, place: tuple[int | None, int | None, int], i: int, axis: int, masks: Any
) -> list[int | None]:
    begin, end, stride = place
    if stride == 0:
        raise ValueError(f"strides[{i}] must be non-zero")
    from_start, to_end = masks["begin_mask"] >> i & 1, masks["end_mask"] >> i & 1
    if masks["shrink_axis_mask"] >> i & 1:
        if stride <= 0:
            raise ValueError("only stride 1 allowed on non-range indexing.")
        if begin is not None and extent is not None and not from_start and not -extent <= begin < extent:
            raise ValueError(f"slice index {begin} of dimension {axis} out of bounds.")
        return []
    known = (begin is not None or from_start) and (end is not None or to_end)
    if extent is None or not known:
        return [None]
    return [shapes.walked(slice(None if from_start else begin, None if to_end else end, stride), extent)[1]]


def _strided_partial(op: Operation) -> int | list[int | None] | None:
    known = partial_vector(op.inputs[0])
    begin, end, strides = (_whole(t) for t in op.inputs[1:4])
    masks = op.attrs
    if known is None or begin is None or end is None or strides is None or len(strides) != 1:
        return None
    if masks["ellipsis_mask"] or masks["new_axis_mask"]:
        return None
    if masks["shrink_axis_mask"]:
        # TensorFlow knows one extent of a shape only if it knows them all; programs may rely on its absence.
        return None if None in known or not -len(known) <= begin[0] < len(known) else known[begin[0]]
    return known[
        slice(None if masks["begin_mask"] else begin[0], None if masks["end_mask"] else end[0], strides[0])
    ]


def _strided_gradient(op: Operation, g: Any) -> tuple[Any, None, None, None]:
    x, begin, end, strides = op.inputs
    size = shape(x, out_type=begin.dtype)
    masks = {key: op.attrs[key] for key in MASKS}
    result = apply(STRIDED_SLICE_GRAD, (size, begin, end, strides, g), masks).outputs[0]
    result.set_shape(x.dims)
    return result, None, None, None


def _strided_grad_gradient(op: Operation, g: Any) -> tuple[Any, ...]:
    masks = {key: op.attrs[key] for key in MASKS}
    return None, None, None, None, apply(STRIDED_SLICE, (g, *op.inputs[1:4]), masks).outputs[0]


STRIDED_SLICE = op_def(
    "StridedSlice", ("input: T", "begin: Index=index", "end: Index", "strides: Index"), infer=_strided_infer,
    gradient=_strided_gradient, partial_value=_strided_partial,
)  # fmt: skip
STRIDED_SLICE_GRAD = op_def(
    "StridedSliceGrad", ("shape: Index=index", "begin: Index", "end: Index", "strides: Index", "dy: T"),
    infer=lambda op: [(op.inputs[4].dtype, partial_shape(op.inputs[0]))], gradient=_strided_grad_gradient,
)  # fmt: skip


def strided_slice(
    input_: TensorLike, begin: IntTensorLike, end: IntTensorLike, strides: IntTensorLike | None = None,
    begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0,
    shrink_axis_mask: int = 0, var: VariableLike | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Every strides-th element from begin to end along each axis; bit i of a mask is about entry i (tf.strided_slice).

    `var`, a variable of which `input_` is a read, is accepted and not needed.

    Args:
        input_: A tensor.
        begin: Where to begin along each axis, integers.
        end: Where to end.
        strides: The steps; by default 1.
        begin_mask: The entries of `begin` that do not count.
        end_mask: The entries of `end` that do not count.
        ellipsis_mask: The entry that stands for all axes between.
        new_axis_mask: The entries that make an axis of length 1.
        shrink_axis_mask: The entries that take one element and no axis.
        var: Accepted, and not needed.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype.
    """
    if strides is None:
        strides = ones_like(begin)
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    attrs = dict(zip(MASKS, map(int, masks), strict=True))
    return apply(STRIDED_SLICE, (input_, begin, end, strides), attrs, name).outputs[0]


# ---- Slice --------------------------------------------------------------------------------------------------------


def _slice_infer(op: Operation) -> Signature:
    x, begin, size = op.inputs
    lengths, starts = partial_vector(size), partial_vector(begin)
    for vector in (begin, size):
        rules.require_rank(vector.dims, 1, "begin and size")
    rank = next(
        (n for n in (None if v.dims is None else v.dims[0] for v in (begin, size)) if n is not None), None
    )
    if x.dims is None:
        if lengths is not None:
            return [(x.dtype, tuple(None if n == -1 else n for n in lengths))]
        return [(x.dtype, None if rank is None else (None,) * rank)]
    for vector in (begin, size):
        if not shapes.compatible(vector.dims, (len(x.dims),)):
            raise ValueError(
                f"begin and size must have {len(x.dims)} elements for shape {shapes.text(x.dims)}, "
                f"got {shapes.text(begin.dims)} and {shapes.text(size.dims)}."
            )
    result = []
    for axis, extent in enumerate(x.dims):
        start = None if starts is None else starts[axis]
        length = None if lengths is None else lengths[axis]
        result.append(_slice_extent(extent, start, length, axis))
    return [(x.dtype, tuple(result))]


def _slice_extent(extent: int | None, start: int | None, length: int | None, axis: int) -> int | None:
    if length is not None and length < -1 or start is not None and start < 0:
        raise ValueError(
            f"begin must be at least 0 and size at least -1, got {start} and {length} for axis {axis}."
        )
    if length == -1:
        rest = None if extent is None or start is None else extent - start
        if rest is not None and rest < 0:
            raise ValueError(f"Slice begins at {start}, past the length {extent} of axis {axis}.")
        return rest
    if extent is not None and start is not None and length is not None and start + length > extent:
        raise ValueError(
            f"Slice from {start} of length {length} is out of range of axis {axis} of length {extent}."
        )
    return length


def _slice_partial(op: Operation) -> list[int | None] | None:
    known, begin, size = partial_vector(op.inputs[0]), _whole(op.inputs[1]), _whole(op.inputs[2])
    if known is None or begin is None or size is None:
        return None
    return known[begin[0] :] if size[0] == -1 else known[begin[0] : begin[0] + size[0]]


SLICE = op_def(
    "Slice", ("input: T", "begin: Index=index", "size: Index"), infer=_slice_infer, gradient=ARRAY_GRADIENTS,
    partial_value=_slice_partial,
)  # fmt: skip


def slice_(input_: TensorLike, begin: IntTensorLike, size: IntTensorLike, name: str | None = None) -> Tensor:
    """The block of shape `size` that starts at `begin`; a size of -1 means all that is left (tf.slice).

    Args:
        input_: A tensor.
        begin: Where the block starts along each axis, int32 or int64.
        size: How long it is along each axis; -1 for all that is left.
        name: A name for the operation.

    Returns:
        A tensor of the same rank and dtype.

    Examples:
        >>> gf.Session().run(gf.slice([[1, 2, 3], [4, 5, 6]], begin=[0, 1], size=[2, -1]))
        array([[2, 3],
               [5, 6]], dtype=int32)
    """
    return apply(SLICE, (input_, begin, size), name=name).outputs[0]

"""Blocks of an image moved between space, depth and batch."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphflow._core.ops.rules as rules
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.creation import zeros, zeros_like
from graphflow._core.ops.array.joining import stack
from graphflow._core.ops.array.layout import matrix_rows
from graphflow._core.ops.array.shaping import full_value, index_vector
from graphflow._core.ops.core import apply, constant, constant_value, convert_to_tensor, op_scope


def _axes(op: Operation) -> tuple[int, int, int]:
    """Height, width and channel axis."""
    return (2, 3, 1) if op.attrs["data_format"] == "NCHW" else (1, 2, 3)


def _divided(extent: int | None, divisor: int, what: str) -> int | None:
    if extent is not None and extent % divisor:
        raise ValueError(f"Dimension size must be evenly divisible by {divisor} but is {extent}: {what}.")
    return None if extent is None else extent // divisor


def _depth_infer(op: Operation) -> Signature:
    x = op.inputs[0]
    dims = list(rules.require_rank(x.dims, 4, "input") or ())
    block, (high, wide, deep) = op.attrs["block_size"], _axes(op)
    if block < 2:
        raise ValueError(f"Block size should be > 1: {block}")
    if op.op_def is SPACE_TO_DEPTH:
        for axis in (high, wide):
            dims[axis] = _divided(dims[axis], block, "height and width by the block size")
        dims[deep] = None if dims[deep] is None else (dims[deep] or 0) * block * block
    else:
        for axis in (high, wide):
            dims[axis] = None if dims[axis] is None else (dims[axis] or 0) * block
        dims[deep] = _divided(dims[deep], block * block, "the depth by the square of the block size")
    return [(x.dtype, tuple(dims))]


def _depth_gradient(op: Operation, g: Any) -> tuple[Any]:
    function = depth_to_space if op.op_def is SPACE_TO_DEPTH else space_to_depth
    return (function(g, op.attrs["block_size"], data_format=op.attrs["data_format"]),)


SPACE_TO_DEPTH = op_def("SpaceToDepth", ("input: T",), infer=_depth_infer, gradient=_depth_gradient)
DEPTH_TO_SPACE = op_def("DepthToSpace", ("input: T",), infer=_depth_infer, gradient=_depth_gradient)


def _depth_attrs(block_size: int, data_format: str) -> dict[str, Any]:
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format must be NHWC or NCHW, got {data_format!r}.")
    return {"block_size": int(block_size), "data_format": data_format}


def space_to_depth(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Blocks of block_size x block_size pixels moved into channels (tf.space_to_depth).

    Args:
        input: Images, or as `data_format` says.
        block_size: The side of a block, an int of at least 2.
        name: A name for the operation.
        data_format: "NHWC" or "NCHW".

    Returns:
        Images with block_size * block_size times more channels.
    """
    return apply(SPACE_TO_DEPTH, (input,), _depth_attrs(block_size, data_format), name).outputs[0]


def depth_to_space(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Channels moved into blocks of block_size x block_size pixels (tf.depth_to_space).

    Args:
        input: Images, or as `data_format` says.
        block_size: The side of a block, an int of at least 2.
        name: A name for the operation.
        data_format: "NHWC" or "NCHW".

    Returns:
        Images with block_size * block_size times fewer channels.
    """
    return apply(DEPTH_TO_SPACE, (input,), _depth_attrs(block_size, data_format), name).outputs[0]


def _batch_infer(op: Operation) -> Signature:
    x, block_shape, margins = op.inputs
    what = op.op_def.inputs[2].name
    (count,) = rules.require_rank(block_shape.dims, 1, "block_shape") or (None,)
    sides = rules.require_rank(margins.dims, 2, what) or (None, None)
    if not shapes.compatible(sides, (count, 2)):
        raise ValueError(
            f"{what} must have a row of two for each of the {count} blocks, but has shape {shapes.text(sides)}."
        )
    count = sides[0] if count is None else count
    blocks, rows = full_value(block_shape), matrix_rows(margins)
    for row in rows or ():
        if any(side is not None and side < 0 for side in row):
            raise ValueError(f"{what} cannot be negative, got {row}.")
    if x.dims is None:
        return [(x.dtype, None)]
    if count is None:
        return [(x.dtype, (None,) * len(x.dims))]
    if len(x.dims) < 1 + count:
        raise ValueError(
            f"The input must have at least {1 + count} axes, but its shape is {shapes.text(x.dims)}."
        )
    if not isinstance(blocks, list):
        return [(x.dtype, ((None,) * (1 + count) + x.dims[1 + count :]))]
    if any(b < 1 for b in blocks):
        raise ValueError(f"block_shape must be positive, got {blocks}.")
    product = int(np.prod(blocks))
    grow = op.op_def is SPACE_TO_BATCH
    batch = x.dims[0]
    if batch is not None:
        batch = (
            batch * product if grow else _divided(batch, product, "the batch by the product of block_shape")
        )
    space: list[int | None] = []
    unknown: list[list[int | None]] = [[None, None] for _ in blocks]
    for extent, block, row in zip(x.dims[1:], blocks, rows or unknown, strict=False):
        before, after = row
        if extent is None or before is None or after is None:
            space.append(None)
        elif grow:
            space.append(_divided(extent + before + after, block, "the padded space by block_shape"))
        else:
            rest = extent * block - before - after
            if rest < 0:
                raise ValueError(f"The crops {row} are larger than the axis, {extent * block}.")
            space.append(rest)
    return [(x.dtype, (batch, *space, *x.dims[1 + len(blocks) :]))]


def _batch_gradient(op: Operation, g: Any) -> tuple[Any, None, None]:
    function = batch_to_space_nd if op.op_def is SPACE_TO_BATCH else space_to_batch_nd
    return function(g, op.inputs[1], op.inputs[2]), None, None


SPACE_TO_BATCH = op_def(
    "SpaceToBatchND", ("input: T", "block_shape: Tblock_shape=index", "paddings: Tpaddings=index"), infer=_batch_infer,
    gradient=_batch_gradient,
)  # fmt: skip
BATCH_TO_SPACE = op_def(
    "BatchToSpaceND", ("input: T", "block_shape: Tblock_shape=index", "crops: Tcrops=index"), infer=_batch_infer,
    gradient=_batch_gradient,
)  # fmt: skip


def space_to_batch_nd(
    input: TensorLike, block_shape: IntTensorLike, paddings: IntTensorLike, name: str | None = None
) -> Tensor:
    """The padded tensor's blocks moved into the batch (tf.space_to_batch_nd).

    Args:
        input: A tensor.
        block_shape: The size of a block along each axis.
        paddings: [axes, 2] of int32: zeros added at each side.
        name: A name for the operation.

    Returns:
        A tensor.
    """
    return apply(
        SPACE_TO_BATCH, (input, index_vector(block_shape), index_vector(paddings)), name=name
    ).outputs[0]


def batch_to_space_nd(
    input: TensorLike, block_shape: IntTensorLike, crops: IntTensorLike, name: str | None = None
) -> Tensor:
    """The batch moved into blocks of space, which is then cropped (tf.batch_to_space_nd).

    Args:
        input: A tensor.
        block_shape: The size of a block along each axis.
        crops: [axes, 2] of int32: what is cut off at each side.
        name: A name for the operation.

    Returns:
        A tensor.
    """
    return apply(BATCH_TO_SPACE, (input, index_vector(block_shape), index_vector(crops)), name=name).outputs[
        0
    ]


def _square(block_size: Any, block_shape: Any) -> Any:
    chosen = rules.deprecated(block_shape, block_size, "block_shape", "block_size")
    if isinstance(chosen, int | np.integer):
        return np.array([chosen, chosen], np.int64)
    return convert_to_tensor(chosen)


def space_to_batch(
    input: TensorLike,
    paddings: IntTensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: IntTensorLike | None = None,
) -> Tensor:
    """space_to_batch_nd with square blocks (tf.space_to_batch).

    Args:
        input: A tensor.
        paddings: [2, 2] of int32: zeros added at each side.
        block_size: The side of a block.
        name: A name for the operation.
        block_shape: A newer name of `block_size`.

    Returns:
        A tensor.
    """
    result = space_to_batch_nd(input, _square(block_size, block_shape), paddings, name)
    result.set_shape(result.shape.with_rank(4))
    return result


def batch_to_space(
    input: TensorLike,
    crops: IntTensorLike,
    block_size: int,
    name: str | None = None,
    block_shape: IntTensorLike | None = None,
) -> Tensor:
    """batch_to_space_nd with square blocks (tf.batch_to_space).

    Args:
        input: A tensor.
        crops: [2, 2] of int32: what is cut off at each side.
        block_size: The side of a block.
        name: A name for the operation.
        block_shape: A newer name of `block_size`.

    Returns:
        A tensor.
    """
    result = batch_to_space_nd(input, _square(block_size, block_shape), crops, name)
    result.set_shape(result.shape.with_rank(4))
    return result


def required_space_to_batch_paddings(
    input_shape: IntTensorLike,
    block_shape: IntTensorLike,
    base_paddings: IntTensorLike | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The paddings with which blocks divide a space, and the crops that undo what was added
    (tf.required_space_to_batch_paddings).

    Args:
        input_shape: The sizes of the axes of space, a vector of int32.
        block_shape: The size of a block along each of them.
        base_paddings: [axes, 2] of int32: what is padded in any case; by default nothing.
        name: A name for the operation.

    Returns:
        `paddings` for gf.space_to_batch_nd and `crops` for gf.batch_to_space_nd, both [axes, 2]: constants if all is
        known.

    Raises:
        ValueError: The number of axes is unknown.

    Examples:
        >>> paddings, crops = gf.required_space_to_batch_paddings([4, 5], [3, 2])
        >>> gf.Session().run(paddings)
        array([[0, 2],
               [0, 1]], dtype=int32)
    """
    with op_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        extents = convert_to_tensor(index_vector(input_shape), dtypes.int32, name="input_shape")
        blocks = convert_to_tensor(index_vector(block_shape), dtypes.int32, name="block_shape")
        (count,) = rules.require_rank(blocks.dims, 1, "block_shape") or (None,)
        if count is None:
            raise ValueError("required_space_to_batch_paddings needs a block_shape of known length.")
        if count == 0:
            return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
        base = zeros([count, 2], dtypes.int32) if base_paddings is None else base_paddings
        base = convert_to_tensor(base, dtypes.int32, name="base_paddings")
        known = [constant_value(tensor) for tensor in (extents, blocks, base)]
        if all(value is not None for value in known):
            sizes, steps, given = known
            more = -(sizes + given[:, 0] + given[:, 1]) % steps
            padded = np.stack([given[:, 0], given[:, 1] + more], 1)
            return (
                constant(padded, name="paddings"),
                constant(np.stack([np.zeros_like(more), more], 1), name="crops"),
            )
        before, after = base[:, 0], base[:, 1]
        extra = (blocks - (extents + before + after) % blocks) % blocks
        paddings = stack([before, after + extra], 1, "paddings")
        return paddings, stack([zeros_like(extra), extra], 1, "crops")

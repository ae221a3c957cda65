"""Signals cut into frames, and frames added up to signals."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic
from graphflow._core.ops.math.segments import unsorted_segment_sum
from graphflow._core.ops.rules import require_rank, require_rank_at_least


def frame(
    signal: TensorLike,
    frame_length: IntTensorLike,
    frame_step: IntTensorLike,
    pad_end: bool = False,
    pad_value: NumberLike = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Frames of a length, each some elements behind the one before (tf.signal.frame).

    Args:
        signal: A tensor with at least one axis.
        frame_length: How long a frame is, a scalar.
        frame_step: How far one frame is behind the one before, a scalar.
        pad_end: Whether frames that reach behind the end are given as well, filled up.
        pad_value: What they are filled up with.
        axis: The axis that is cut.
        name: A name for the scope of the operations.

    Returns:
        A tensor with two axes, of frames and of their elements, in place of `axis`.

    Raises:
        ValueError: The lengths are no scalars, or the axis is not there.

    Examples:
        >>> gf.Session().run(gf.signal.frame([1, 2, 3, 4, 5], 3, 2))
        array([[1, 2, 3],
               [3, 4, 5]], dtype=int32)
    """
    with op_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        x = convert_to_tensor(signal, name="signal")
        length = convert_to_tensor(frame_length, dtypes.int32, name="frame_length")
        step = convert_to_tensor(frame_step, dtypes.int32, name="frame_step")
        for number, what in ((length, "frame_length"), (step, "frame_step")):
            require_rank(number.dims, 0, what)
        require_rank_at_least(x.dims, 1, "signal")
        filling = convert_to_tensor(pad_value, x.dtype, name="pad_value")
        require_rank(filling.dims, 0, "pad_value")
        if x.dims is None and axis < 0:
            last = array.rank(x) - 1
            if axis != -1:
                raise ValueError(
                    "A signal of unknown rank is framed along axis -1, or one counted from the front."
                )
            order = array.concat([array.expand_dims(last, 0), array.range_(last)], 0)
            framed = _framed(array.transpose(x, order), 0, length, step, pad_end, filling)
            back = array.concat([array.range_(2, array.rank(framed)), [0, 1]], 0)
            return array.transpose(framed, back)
        if x.dims is not None and not -len(x.dims) <= axis < len(x.dims):
            raise ValueError(f"axis {axis} is not one of a signal of shape {x.shape}.")
        return _framed(x, axis if x.dims is None else axis % len(x.dims), length, step, pad_end, filling)


def _framed(x: Tensor, axis: int, length: Tensor, step: Tensor, pad_end: bool, filling: Tensor) -> Tensor:
    size = array.shape(x)[axis]
    known = _known_count(None if x.dims is None else x.dims[axis], length, step, pad_end)
    if pad_end:
        count = -(-size // step)
        behind = arithmetic.maximum(0, length + step * (count - 1) - size)
        lengths = array.concat(
            [array.shape(x)[:axis], array.expand_dims(behind, 0), array.shape(x)[axis + 1 :]], 0
        )
        x = array.concat([x, array.fill(lengths, filling)], axis)
    else:
        count = arithmetic.maximum(0, 1 + (size - length) // step)
    places = array.expand_dims(array.range_(count) * step, 1) + array.range_(length)
    # Gathered from a copy, whose gradient is dense: that of what is gathered along the first axis is slices.
    framed = gather(x if axis else array.reshape(x, array.shape(x)), places, axis=axis)
    if x.dims is not None:
        each = constant_value(length)
        framed.set_shape([*x.dims[:axis], known, None if each is None else int(each), *x.dims[axis + 1 :]])
    return framed


def _known_count(size: int | None, length: Tensor, step: Tensor, pad_end: bool) -> int | None:
    """How many frames there are, as far as it is known while the graph is built."""
    each, every = constant_value(length), constant_value(step)
    if size is None or every is None or (each is None and not pad_end):
        return None
    return -(-size // int(every)) if pad_end else max(0, 1 + (size - int(each)) // int(every))


def overlap_and_add(signal: TensorLike, frame_step: IntTensorLike, name: str | None = None) -> Tensor:
    """The signal that is the sum of frames, each some elements behind the one before (tf.signal.overlap_and_add).

    Args:
        signal: Numbers [..., frames, frame_length].
        frame_step: How far one frame is behind the one before, a scalar.
        name: A name for the scope of the operations.

    Returns:
        A tensor of the same dtype, [..., (frames - 1) * frame_step + frame_length].

    Raises:
        ValueError: The signal has less than two axes, or frame_step is no scalar integer.

    Examples:
        >>> gf.Session().run(gf.signal.overlap_and_add([[1, 1, 1], [2, 2, 2]], 2))
        array([1, 1, 3, 2, 2], dtype=int32)
    """
    with op_scope(name, "overlap_and_add", [signal, frame_step]):
        x = convert_to_tensor(signal, name="signal")
        require_rank_at_least(x.dims, 2, "signal")
        step = convert_to_tensor(frame_step, name="frame_step")
        require_rank(step.dims, 0, "frame_step")
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        outer = array.shape(x)[:-2]
        count, length = array.shape(x)[-2], array.shape(x)[-1]
        total = arithmetic.maximum(0, (count - 1) * step + length)
        places = array.expand_dims(array.range_(count) * step, 1) + array.range_(length)
        columns = array.transpose(array.reshape(x, array.concat([[-1], [count * length]], 0)))
        summed = unsorted_segment_sum(columns, array.reshape(places, [-1]), total)
        result = array.reshape(array.transpose(summed), array.concat([outer, array.expand_dims(total, 0)], 0))
        if x.dims is not None:
            result.set_shape([*x.dims[:-2], _known_length(x.dims[-2], constant_value(step), x.dims[-1])])
        return result


def _known_length(count: int | None, step: Any, length: int | None) -> int | None:
    if count is None or step is None or length is None:
        return None
    return max(0, (count - 1) * int(step) + length)

"""Tensors made of little: zeros, ones, ranges, one-hot rows.

Small tensors of a known shape become constants, larger ones a Fill, so that a graph sent elsewhere stays small.
"""

from __future__ import annotations

import math as python_math
from numbers import Integral
from typing import Any

import numpy as np

import graphflow._core.ops.rules as rules
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.shaping import full_value, reshape, scalar_value, shape
from graphflow._core.ops.array.values import as_array
from graphflow._core.ops.core import (
    apply,
    constant,
    constant_value,
    convert_to_tensor,
    op_scope,
    partial_shape,
    partial_value,
    partial_vector,
)
from graphflow._core.ops.math import casting
from graphflow._core.ops.rules import ARRAY_GRADIENTS, same_as_input

_LARGEST_CONSTANT = 1000


def _fill_infer(op: Operation) -> Signature:
    dims, value = op.inputs
    rules.require_rank(dims.dims, 1, "dims")
    if value.dims not in (None, ()):
        raise ValueError(f"Shape must be rank 0 for the value, but is {shapes.text(value.dims)}.")
    known = partial_vector(dims)
    if known is not None and any(v is not None and v < 0 for v in known):
        raise ValueError(f"Fill dimensions must be >= 0, got {known}.")
    return [(value.dtype, partial_shape(dims))]


def _fill_partial(op: Operation) -> int | list[int | None] | None:
    known, value = full_value(op.inputs[0]), partial_value(op.inputs[1])
    if not isinstance(known, list) or not isinstance(value, int) or len(known) > 1:
        return None
    return [value] * known[0] if known else value


def _like_partial(value: int) -> Any:
    def rule(op: Operation) -> int | list[int] | None:
        dims = op.inputs[0].dims
        if not op.inputs[0].dtype.is_integer or dims is None or None in dims or len(dims) > 1:
            return None
        return [value] * (dims[0] or 0) if dims else value

    return rule


FILL = op_def(
    "Fill",
    ("dims: index", "value: T"),
    infer=_fill_infer,
    gradient=ARRAY_GRADIENTS,
    partial_value=_fill_partial,
)
ZEROS_LIKE = op_def(
    "ZerosLike", ("x: T",), infer=same_as_input, gradient=NOT_DIFFERENTIABLE, partial_value=_like_partial(0)
)
ONES_LIKE = op_def(
    "OnesLike", ("x: T",), infer=same_as_input, gradient=NOT_DIFFERENTIABLE, partial_value=_like_partial(1)
)


def fill(dims: IntTensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of shape `dims` of which every element is the scalar `value` (tf.fill).

    Args:
        dims: The shape, a vector of int32 or int64.
        value: A scalar.
        name: A name for the operation.

    Returns:
        A tensor of that shape.
    """
    return apply(FILL, (dims, value), name=name).outputs[0]


def _filled(value: int, shape: Any, dtype: Any, name: str) -> Tensor:
    """A tensor of one value: a constant if it is small and its shape known."""
    element_type = as_dtype(dtype)
    element: Any = value
    if element_type is dtypes.string:
        if value:
            raise TypeError("A tensor of strings cannot be filled with ones.")
        element = b""
    elif element_type.is_bool:
        element = bool(value)
    with op_scope(name, name, [shape]) as scope:
        if not isinstance(shape, Tensor):
            try:
                dims = shapes.as_dims(shape)
            except (TypeError, ValueError):
                dims = None
            if dims is not None and None not in dims:
                known = np.array(dims, np.int64)
                listed = not isinstance(shape, Integral)  # TensorFlow makes no constant of ones(3).
                if listed and known.prod() < _LARGEST_CONSTANT:
                    return constant(element, element_type, shape=dims, name=scope)
                shape = constant(
                    known, dtypes.int32 if known.max() < 2**31 else dtypes.int64, name="shape_as_tensor"
                )
            else:
                shape = convert_to_tensor(shape, dtype=dtypes.int32, name="packed")
        if shape.dims == ():
            shape = reshape(shape, [-1])
        return fill(shape, constant(element, element_type), name=scope)


def zeros(shape: IntTensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Zeros of a shape; False, or empty strings, of other dtypes (tf.zeros).

    Args:
        shape: The shape: a list of ints and integer scalars, a vector of int32 or int64, or a TensorShape that is
            known.
        dtype: The type of the elements.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.

    Examples:
        >>> gf.Session().run(gf.zeros([2, 2]))
        array([[0., 0.],
               [0., 0.]], dtype=float32)
    """
    return _filled(0, shape, dtype, name or "zeros")


def ones(shape: IntTensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Ones of a shape, or True (tf.ones).

    Args:
        shape: The shape: a list of ints and integer scalars, a vector of int32 or int64, or a TensorShape that is
            known.
        dtype: The type of the elements, numbers or bool.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.

    Examples:
        >>> gf.Session().run(gf.ones([2], gf.int32))
        array([1, 1], dtype=int32)
    """
    return _filled(1, shape, dtype, name or "ones")


def zeros_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros of the shape, and by default the dtype, of a tensor (tf.zeros_like).

    Args:
        tensor: A tensor.
        dtype: The dtype, by default the tensor's.
        name: A name for the operation.
        optimize: Accepted, and not needed.

    Returns:
        A tensor of zeros of that shape.

    Examples:
        >>> gf.Session().run(gf.zeros_like([[1, 2]]))
        array([[0, 0]], dtype=int32)
    """
    with op_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        element_type = tensor.dtype if dtype is None else as_dtype(dtype)
        if optimize and tensor.dims is not None and None not in tensor.dims:
            return _filled(0, tensor.dims, element_type, scope)
        if element_type is not tensor.dtype:
            return _filled(0, shape(tensor), element_type, scope)
        return apply(ZEROS_LIKE, (tensor,), name=scope).outputs[0]


def ones_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones of the shape, and by default the dtype, of a tensor (tf.ones_like).

    Args:
        tensor: A tensor.
        dtype: The dtype, by default the tensor's.
        name: A name for the operation.
        optimize: Accepted, and not needed.

    Returns:
        A tensor of ones of that shape.

    Examples:
        >>> gf.Session().run(gf.ones_like([[1.5, 2.5]]))
        array([[1., 1.]], dtype=float32)
    """
    with op_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        element_type = tensor.dtype if dtype is None else as_dtype(dtype)
        if optimize and tensor.dims is not None and None not in tensor.dims:
            return _filled(1, tensor.dims, element_type, scope)
        result = _filled(1, shape(tensor), element_type, scope)
        result.set_shape(tensor.dims)
        return result


# ---- sequences ---------------------------------------------------------------------------------------------------


def _known_number(tensor: Tensor) -> Any:
    value = constant_value(tensor)
    return None if value is None or value.ndim else value.item()


def range_length(start: Any, limit: Any, delta: Any) -> int:
    """The number of elements of a range; ValueError if there is none such."""
    if delta == 0:
        raise ValueError("Requires delta != 0.")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return -((start - limit) // delta) if delta > 0 else -((limit - start) // -delta)
    length: int = python_math.ceil(abs((limit - start) / delta))
    return length


def _range_infer(op: Operation) -> Signature:
    for tensor, label in zip(op.inputs, ("start", "limit", "delta"), strict=True):
        if tensor.dims not in (None, ()):
            raise ValueError(f"Shape must be rank 0 for '{label}', but is {shapes.text(tensor.dims)}.")
    known = [_known_number(t) for t in op.inputs]
    return [(op.inputs[0].dtype, (None if None in known else range_length(*known),))]


def _range_partial(op: Operation) -> list[int] | None:
    known = [full_value(t) for t in op.inputs]
    numbers = [v for v in known if isinstance(v, int)]
    if len(numbers) < 3 or range_length(*numbers) > _LARGEST_CONSTANT:
        return None
    return list(range(*numbers))


RANGE = op_def(
    "Range", ("start: Tidx=real", "limit: Tidx", "delta: Tidx"), infer=_range_infer, gradient=NOT_DIFFERENTIABLE,
    partial_value=_range_partial,
)  # fmt: skip
_RANGE_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def range_(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = "range",
) -> Tensor:
    """start, start + delta, start + 2 * delta, ... before `limit` (tf.range).

    Args:
        start: The first number, a real scalar; the limit, if it is the only argument, and 0 is the first.
        limit: Where the numbers end; it is not among them.
        delta: The step, which may be negative but not 0.
        dtype: The type of the numbers; by default the widest of int32, int64, float32 and float64 that is given.
        name: A name for the operation.

    Returns:
        A vector.

    Raises:
        ValueError: `delta` is 0.

    Examples:
        >>> gf.Session().run(gf.range(2, 10, 3))
        array([2, 5, 8], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    wanted = None if dtype is None else as_dtype(dtype)
    with op_scope(name, "Range", [start, limit, delta]) as scope:
        values: list[Any] = [start, limit, delta]
        if wanted is None:
            found = [as_dtype(v.dtype) if hasattr(v, "dtype") else convert_dtype(v) for v in values]
            bad = next((d for d in found if d not in _RANGE_TYPES), None)
            if bad is not None:
                raise ValueError(f"range takes {', '.join(d.name for d in _RANGE_TYPES)}, not {bad.name}.")
            wanted = max(found, key=_RANGE_TYPES.index)
            values = [
                casting.cast(convert_to_tensor(v), wanted) if hasattr(v, "dtype") else v for v in values
            ]
        labels = ("start", "limit", "delta")
        parts = [
            convert_to_tensor(v, dtype=wanted, name=label) for v, label in zip(values, labels, strict=True)
        ]
        return apply(RANGE, parts, name=scope).outputs[0]


def convert_dtype(value: Any) -> DType:
    """The dtype that a Python value, variable or Dimension becomes a tensor of."""
    if isinstance(value, shapes.Dimension):
        return dtypes.int32
    array = as_array(value, None)
    return dtypes.string if array.dtype == object else as_dtype(array.dtype)


def _linspace_infer(op: Operation) -> Signature:
    count = scalar_value(op.inputs[2])
    if count is not None and count <= 0:
        raise ValueError(f"Requires num > 0: {count}")
    return [(op.inputs[0].dtype, (count,))]


LIN_SPACE = op_def(
    "LinSpace",
    ("start: T=float", "stop: T", "num: Tidx=index"),
    infer=_linspace_infer,
    gradient=NOT_DIFFERENTIABLE,
)


def linspace(start: TensorLike, stop: TensorLike, num: IntTensorLike, name: str | None = None) -> Tensor:
    """`num` evenly spaced values from start to stop, both included (tf.linspace).

    Args:
        start: The first value, a float scalar.
        stop: The last value.
        num: How many, an int32 scalar.
        name: A name for the operation.

    Returns:
        A vector.
    """
    return apply(LIN_SPACE, (start, stop, num), name=name).outputs[0]


# ---- one-hot rows -------------------------------------------------------------------------------------------------


def _one_hot_infer(op: Operation) -> Signature:
    indices, depth, on_value, _ = op.inputs
    if depth.dims not in (None, ()):
        raise ValueError(f"depth must be a scalar, but has shape {shapes.text(depth.dims)}.")
    length, axis = scalar_value(depth), op.attrs["axis"]
    if length is not None and length < 0:
        raise ValueError(f"depth must be non-negative, got: {length}")
    if indices.dims is None:
        return [(on_value.dtype, None)]
    axis = shapes.normalize_axis(axis, len(indices.dims) + 1)
    return [(on_value.dtype, (*indices.dims[:axis], length, *indices.dims[axis:]))]


ONE_HOT = op_def(
    "OneHot", ("indices: TI=integer", "depth: int32", "on_value: T", "off_value: T"), infer=_one_hot_infer,
    gradient=NOT_DIFFERENTIABLE,
)  # fmt: skip


def one_hot(
    indices: TensorLike, depth: IntTensorLike, on_value: TensorLike | None = None,
    off_value: TensorLike | None = None, axis: int | None = None, dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A row of `depth` elements for each index, of which one differs (tf.one_hot).

    Args:
        indices: An integer tensor; an index outside [0, depth) gives a row of off_value.
        depth: The number of elements of a row, an int32 scalar.
        on_value: The element at the index, a scalar; 1 by default.
        off_value: The other elements, a scalar of the same dtype; 0 by default.
        axis: Where the new axis is to be in the result; by default it is the last.
        dtype: The type of the elements; by default that of on_value or off_value, or float32.
        name: A name for the operation.

    Returns:
        A tensor of one axis more than the indices.

    Raises:
        TypeError: The dtypes of the values differ.

    Examples:
        >>> gf.Session().run(gf.one_hot([0, 2], depth=3))
        array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    values: tuple[tuple[str, Any], ...] = (("on_value", on_value), ("off_value", off_value))
    with op_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        given = [
            (
                label,
                as_dtype(value.dtype)
                if hasattr(value, "dtype")
                else convert_to_tensor(value, preferred_dtype=dtype).dtype,
            )
            for label, value in values
            if value is not None
        ]
        wanted = as_dtype(dtype) if dtype is not None else given[0][1] if given else dtypes.float32
        for label, found in given:
            if found is not wanted:
                raise TypeError(
                    f"dtype {found.name} of {label} does not match dtype {wanted.name} of one_hot."
                )
        on = convert_to_tensor(1 if on_value is None else on_value, wanted, name="on_value")
        off = convert_to_tensor(0 if off_value is None else off_value, wanted, name="off_value")
        attrs = {"axis": -1 if axis is None else int(axis)}
        return apply(ONE_HOT, (indices, depth, on, off), attrs, scope).outputs[0]

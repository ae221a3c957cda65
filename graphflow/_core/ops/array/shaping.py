"""Values and their shapes: placeholders, identity, what a shape is, and changing it but not the elements.

Shape rules follow TensorFlow's: a shape that is built from pieces (`[-1, gf.shape(x)[1]]`) is known as far as
TensorFlow knows it, so that programs which rely on a static shape, or on its absence, behave alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import graphflow._core.ops.rules as rules
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import Dims, TensorShape
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import (
    DTypeLike,
    IntsLike,
    IntTensorLike,
    ShapeLike,
    SparseTensorLike,
    TensorLike,
)
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
from graphflow._core.ops.rules import same_as_input


def full_value(tensor: Tensor) -> int | list[int] | None:
    """An integer scalar or vector that is known whole while the graph is built; None otherwise."""
    known = partial_value(tensor)
    if known is None or isinstance(known, int):
        return known
    whole = [v for v in known if v is not None]
    return whole if len(whole) == len(known) else None


def folded_input(op: Operation) -> int | list[int] | None:
    """The partial value of an op that gives its first input on: only what is known whole, as in TensorFlow."""
    return full_value(op.inputs[0])


def scalar_value(tensor: Tensor) -> int | None:
    """The value of an integer scalar as far as it is known, also of a vector of one element."""
    known = full_value(tensor)
    if isinstance(known, list):
        return known[0] if len(known) == 1 else None
    return known


def _declared(op: Operation) -> Signature:
    return [(op.attrs["dtype"], op.attrs["shape"].raw)]


def _with_default(op: Operation) -> Signature:
    shape = op.attrs["shape"].raw
    if not shapes.compatible(shape, op.inputs[0].dims):
        raise ValueError(
            f"the default has shape {shapes.text(op.inputs[0].dims)}, expected {shapes.text(shape)}."
        )
    return [(op.inputs[0].dtype, shape)]


def _each_input(op: Operation) -> Signature:
    return [(x.dtype, x.dims) for x in op.inputs]


PLACEHOLDER = op_def("Placeholder", (), infer=_declared, gradient=NOT_DIFFERENTIABLE, stateful=True)
PLACEHOLDER_WITH_DEFAULT = op_def(
    "PlaceholderWithDefault", ("input: T",), infer=_with_default, gradient=lambda op, g: (g,)
)
IDENTITY = op_def(
    "Identity", ("input: T",), infer=same_as_input, gradient=lambda op, g: (g,), partial_value=folded_input
)
IDENTITY_N = op_def("IdentityN", ("input*: any",), infer=_each_input, gradient=lambda op, *grads: grads)
STOP_GRADIENT = op_def(
    "StopGradient",
    ("input: T",),
    infer=same_as_input,
    gradient=NOT_DIFFERENTIABLE,
    partial_value=folded_input,
)
PREVENT_GRADIENT = op_def(
    "PreventGradient", ("input: T",), infer=same_as_input, gradient=lambda op, g: _refuse_gradient(op)
)


def _refuse_gradient(op: Operation) -> Any:
    raise LookupError(f"Gradient explicitly disabled at {op.describe()}: {op.attrs['message']}")


def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """A tensor whose value is fed at each run (tf.placeholder).

    Args:
        dtype: The type of its elements.
        shape: What is known of its shape, None for an extent that may be any; if not given, whatever is fed is
            taken.
        name: A name for the operation.

    Returns:
        A tensor of that dtype and shape. A run that needs it and is not fed it raises InvalidArgumentError; one
        that is fed another shape raises ValueError.

    Examples:
        >>> x = gf.placeholder(gf.float32, [None, 2])
        >>> gf.Session().run(x * 2.0, {x: [[1.0, 2.0]]})
        array([[2., 4.]], dtype=float32)
    """
    attrs = {"dtype": as_dtype(dtype), "shape": TensorShape(shape)}
    return get_default_graph().add(PLACEHOLDER, (), attrs, name or "Placeholder").outputs[0]


def placeholder_with_default(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """A tensor that is `input` if it is not fed (tf.placeholder_with_default).

    Args:
        input: A tensor.
        shape: The shape, of which parts may be None.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype.
    """
    attrs = {"shape": TensorShape(shape)}
    op = apply(PLACEHOLDER_WITH_DEFAULT, (input,), attrs, name)
    op.attrs["dtype"] = op.inputs[0].dtype
    return op.outputs[0]


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """The same values in a new tensor (tf.identity).

    Args:
        input: A tensor.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.

    Examples:
        >>> gf.Session().run(gf.identity([1, 2]))
        array([1, 2], dtype=int32)
    """
    return apply(IDENTITY, (input,), name=name).outputs[0]


def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Tensor]:
    """The same values in new tensors, which exist when all of them do (tf.identity_n).

    Args:
        input: A list of tensors.
        name: A name for the operation.

    Returns:
        A list of tensors.
    """
    return apply(IDENTITY_N, (list(input),), name=name).outputs


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """The same values; TensorFlow's promise that they never change is not needed here (tf.guarantee_const).

    Args:
        input: A tensor.
        name: A name for the operation.

    Returns:
        A tensor like it.
    """
    return identity(input, name or "GuaranteeConst")


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """The same values, through which no gradient flows (tf.stop_gradient).

    Args:
        input: A tensor.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.

    Examples:
        >>> x = gf.constant(3.0)
        >>> gf.Session().run(gf.gradients(x * gf.stop_gradient(x), [x]))
        [np.float32(3.0)]
    """
    return apply(STOP_GRADIENT, (input,), name=name).outputs[0]


# ---- what a shape is ---------------------------------------------------------------------------------------------


def _shape_infer(op: Operation) -> Signature:
    return [(op.attrs["out_type"], (None if x.dims is None else len(x.dims),)) for x in op.inputs]


def _shape_partial(op: Operation) -> Any:
    known = [None if dims is None else list(dims) for dims in map(value_dims, op.inputs)]
    return known[0] if op.op_def is SHAPE else tuple(known)


def value_dims(tensor: Tensor) -> Dims:
    """The known part of a shape, also from the value: a vector whose elements are known has a known length."""
    if tensor.dims is None or len(tensor.dims) != 1 or tensor.dims[0] is not None:
        return tensor.dims
    known = partial_vector(tensor) if tensor.dtype.is_integer else None
    return tensor.dims if known is None else (len(known),)


def _rank_partial(op: Operation) -> int | None:
    dims = op.inputs[0].dims
    return None if dims is None else len(dims)


SHAPE = op_def(
    "Shape", ("input: T",), infer=_shape_infer, gradient=NOT_DIFFERENTIABLE, partial_value=_shape_partial
)
SHAPE_N = op_def(
    "ShapeN", ("input*: T",), infer=_shape_infer, gradient=NOT_DIFFERENTIABLE, partial_value=_shape_partial
)
RANK = op_def(
    "Rank",
    ("input: T",),
    infer=rules.scalar_of(dtypes.int32),
    gradient=NOT_DIFFERENTIABLE,
    partial_value=_rank_partial,
)


def shape(
    input: TensorLike | SparseTensorLike, name: str | None = None, out_type: DTypeLike = dtypes.int32
) -> Tensor:
    """The shape of a tensor when it runs, as a vector (tf.shape).

    Args:
        input: The tensor; of a SparseTensor it is the dense shape.
        name: A name for the operation.
        out_type: int32 or int64.

    Returns:
        A vector with the size of each axis, of `out_type`; a constant if the shape is known. What is known while
        the graph is built says `input.shape`.

    Examples:
        >>> gf.Session().run(gf.shape([[1, 2, 3], [4, 5, 6]]))
        array([2, 3], dtype=int32)
    """
    out_type = as_dtype(out_type)
    with op_scope(name, "Shape", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            vector: Tensor = casting.cast(input.dense_shape, out_type, name=scope)
            return vector
        tensor = convert_to_tensor(input, name="input")
        if tensor.dims is not None and None not in tensor.dims:
            return constant(np.array(tensor.dims, out_type.as_numpy_dtype), name=scope)
        return apply(SHAPE, (tensor,), {"out_type": out_type}, scope).outputs[0]


def shape_n(
    input: Sequence[TensorLike], out_type: DTypeLike = dtypes.int32, name: str | None = None
) -> list[Tensor]:
    """The shapes of several tensors of one dtype (tf.shape_n).

    Args:
        input: A list of tensors.
        out_type: gf.int32 or gf.int64.
        name: A name for the operation.

    Returns:
        A list of vectors.
    """
    return apply(SHAPE_N, (list(input),), {"out_type": as_dtype(out_type)}, name).outputs


# ---- another shape for the same elements -------------------------------------------------------------------------


def _reshape_infer(op: Operation) -> Signature:
    tensor, vector = op.inputs
    rules.require_rank(vector.dims, 1, "the shape")
    wanted = partial_vector(vector)
    if wanted is not None and any(n is not None and n < -1 for n in wanted):
        raise ValueError(f"Cannot reshape to {wanted}: an extent must be at least 0, or -1.")
    return [(tensor.dtype, reshaped(tensor.dims, partial_shape(vector)))]


def reshaped(old: Dims, new: Dims) -> Dims:
    """The shape after a reshape, one unknown extent worked out from the others; ValueError if it cannot be."""
    if old is None or new is None:
        return new
    unknown = [i for i, d in enumerate(new) if d is None]
    have, want = _known_size(old), _known_size(new)
    missing = sum(d is None for d in old)
    if len(unknown) > 1 or missing > 1:
        return new
    if not missing and not unknown:
        if have != want:
            listed = ",".join(map(str, new))
            raise ValueError(
                f"Cannot reshape a tensor with {have} elements to shape [{listed}] ({want} elements)."
            )
    elif not missing and want > 0:
        if have % want:
            raise ValueError(
                f"Dimension size must be evenly divisible by {want} but is {have}: shape {shapes.text(old)} cannot "
                f"become {shapes.text(new)}."
            )
        return tuple(have // want if d is None else d for d in new)
    elif missing and not unknown and have > 0 and want % have:
        raise ValueError(
            f"Dimension size must be evenly divisible by {have} but is {want}: shape {shapes.text(old)} cannot "
            f"become {shapes.text(new)}."
        )
    return new


def _known_size(dims: tuple[int | None, ...]) -> int:
    result = 1
    for d in dims:
        result *= 1 if d is None else d
    return result


def _as_shape_of_input(op: Operation, g: Any, *others: Any) -> tuple[Any, ...]:
    """The gradient of ops that only change the shape."""
    return (reshape(g, shape(op.inputs[0])), *(None for _ in op.inputs[1:]))


def _reshape_partial(op: Operation) -> int | list[int] | None:
    """A scalar becomes a vector of one element and the reverse, and a constant matrix a vector."""
    known = full_value(op.inputs[0])
    dims = op.outputs[0].dims
    if dims is None or len(dims) > 1:
        return None
    if known is None:
        value = constant_value(op.inputs[0]) if op.inputs[0].op.op_def.is_constant else None
        if value is None or not dims or value.dtype.kind not in "iu":
            return None
        return [int(v) for v in value.reshape(-1)]
    flat = known if isinstance(known, list) else [known]
    return flat if dims else flat[0]


RESHAPE = op_def(
    "Reshape", ("tensor: T", "shape: Tshape=index"), infer=_reshape_infer, gradient=_as_shape_of_input,
    partial_value=_reshape_partial,
)  # fmt: skip


def reshape(tensor: TensorLike, shape: IntTensorLike, name: str | None = None) -> Tensor:
    """The same elements in row-major order under another shape (tf.reshape).

    Args:
        tensor: The tensor, of any dtype.
        shape: The shape, as a list of ints and integer scalars or as a vector of int32 or int64. One extent may be
            -1: it becomes what is left. [] makes a scalar of one element, [-1] a vector.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype; an extent is known while the graph is built as far as `shape` is.

    Raises:
        ValueError: The known numbers of elements differ. If they are not known, InvalidArgumentError when it runs.

    Examples:
        >>> gf.Session().run(gf.reshape([1, 2, 3, 4, 5, 6], [2, -1]))
        array([[1, 2, 3],
               [4, 5, 6]], dtype=int32)
    """
    return apply(RESHAPE, (tensor, index_vector(shape)), name=name).outputs[0]


def index_vector(values: Any) -> Any:
    """An empty list means an empty vector of integers, not of floats; so does what NumPy makes of one."""
    if isinstance(values, list | tuple) and not values:
        return np.zeros(0, np.int32)
    if isinstance(values, np.ndarray) and not values.size and values.dtype == np.float64:
        return values.astype(np.int32)
    return values


def _expand_dims_infer(op: Operation) -> Signature:
    tensor, dim = op.inputs
    if dim.dims is not None and shapes.size_of(dim.dims) not in (1, None):
        raise ValueError(f"dim must be a tensor with a single value, but has shape {shapes.text(dim.dims)}.")
    axis = scalar_value(dim)
    if tensor.dims is None or axis is None:
        return [(tensor.dtype, None)]
    axis = shapes.normalize_axis(axis, len(tensor.dims) + 1, "dim")
    return [(tensor.dtype, (*tensor.dims[:axis], 1, *tensor.dims[axis:]))]


EXPAND_DIMS = op_def(
    "ExpandDims", ("input: T", "dim: Tdim=index"), infer=_expand_dims_infer, gradient=_as_shape_of_input,
    partial_value=_reshape_partial,
)  # fmt: skip


def expand_dims(
    input: TensorLike,
    axis: IntTensorLike | None = None,
    name: str | None = None,
    dim: IntTensorLike | None = None,
) -> Tensor:
    """The tensor with an axis of length 1 put in (tf.expand_dims).

    Args:
        input: The tensor.
        axis: Where the new axis is to be in the result, a scalar in [-rank - 1, rank]; -1 puts it at the end.
        name: A name for the operation.
        dim: The old name of `axis`.

    Returns:
        A tensor of the same elements, of one axis more.

    Raises:
        ValueError: The axis is out of range, or is not given, or both names of it are.

    Examples:
        >>> gf.expand_dims(gf.zeros([2, 3]), axis=0).shape
        TensorShape([1, 2, 3])
    """
    axis = rules.deprecated(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("Must specify an axis argument to expand_dims()")
    return apply(EXPAND_DIMS, (input, axis), name=name).outputs[0]


def _squeeze_infer(op: Operation) -> Signature:
    tensor = op.inputs[0]
    dims, axes = tensor.dims, op.attrs["squeeze_dims"]
    if dims is None or (not axes and None in dims):
        return [(tensor.dtype, None)]
    chosen = {shapes.normalize_axis(a, len(dims), "squeeze_dims") for a in axes}
    for axis in chosen:
        if dims[axis] not in (1, None):
            raise ValueError(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {dims[axis]}")
    if not axes:
        chosen = {i for i, d in enumerate(dims) if d == 1}
    return [(tensor.dtype, tuple(d for i, d in enumerate(dims) if i not in chosen))]


SQUEEZE = op_def(
    "Squeeze",
    ("input: T",),
    infer=_squeeze_infer,
    gradient=_as_shape_of_input,
    partial_value=_reshape_partial,
)


def squeeze(
    input: TensorLike,
    axis: IntsLike | None = None,
    name: str | None = None,
    squeeze_dims: IntsLike | None = None,
) -> Tensor:
    """The tensor without axes of length 1 (tf.squeeze).

    Args:
        input: The tensor.
        axis: The axes to take away, in [-rank, rank); by default all that have length 1.
        name: A name for the operation.
        squeeze_dims: The old name of `axis`.

    Returns:
        A tensor of the same elements.

    Raises:
        ValueError: An axis is known to have another length. If that is not known, InvalidArgumentError when it
            runs.

    Examples:
        >>> gf.squeeze(gf.zeros([1, 2, 1, 3])).shape
        TensorShape([2, 3])
    """
    axis = rules.deprecated(axis, squeeze_dims, "axis", "squeeze_dims")
    axes = [] if axis is None else list(rules.axes_list(axis))
    return apply(SQUEEZE, (input,), {"squeeze_dims": axes}, name).outputs[0]


def _bitcast_infer(op: Operation) -> Signature:
    x, target = op.inputs[0], op.attrs["type"]
    size_in, size_out = x.dtype.size, target.size
    if x.dims is None or size_in == size_out:
        return [(target, x.dims)]
    if size_in > size_out:
        return [(target, (*x.dims, size_in // size_out))]
    if not x.dims or x.dims[-1] not in (None, size_out // size_in):
        raise ValueError(
            f"Cannot bitcast {shapes.text(x.dims)} of {x.dtype.name} to {target.name}: its last axis "
            f"must be {size_out // size_in}."
        )
    return [(target, x.dims[:-1])]


BITCAST = op_def("Bitcast", ("input: T=number",), infer=_bitcast_infer, gradient=NOT_DIFFERENTIABLE)


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """The same bytes read as another type (tf.bitcast).

    Args:
        input: A tensor.
        type: The dtype to read it as.
        name: A name for the operation.

    Returns:
        A tensor with an axis more or less if the sizes differ.
    """
    return apply(BITCAST, (input,), {"type": as_dtype(type)}, name).outputs[0]

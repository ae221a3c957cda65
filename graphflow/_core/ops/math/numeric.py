"""Elementwise functions of one number that are not transcendental: sign, parts of complex numbers, bits.

Also the sums of many tensors (add_n, accumulate_n), which no broadcasting takes part in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

import graphflow._core.ops.core as core
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.slices import IndexedSlices, SparseTensor
from graphflow._core.graph.types import DTypeLike, ShapeLike, SupportsTensor, TensorLike
from graphflow._core.ops.array import creation, shaping
from graphflow._core.ops.core import apply, convert_n_to_tensor, convert_to_tensor, graph_of, op_scope
from graphflow._core.ops.math import arithmetic
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.elementwise import NARROW, binary, partial_arithmetic, sparse_unary, unary
from graphflow._core.ops.rules import MATH_GRADIENTS, broadcast_binary, same_as_input, same_shape

_REAL_OF = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}
_COMPLEX_OF = {real: wide for wide, real in _REAL_OF.items()}


def _real_infer(op: Operation) -> Signature:
    return [(_REAL_OF[op.inputs[0].dtype], op.inputs[0].dims)]


def _complex_infer(op: Operation) -> Signature:
    x, y = op.inputs
    return [(_COMPLEX_OF[x.dtype], shapes.broadcast(x.dims, y.dims))]


def _sign_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    x, y = op.inputs[0], op.outputs[0]
    if not x.dtype.is_complex:
        return (creation.zeros_like(x),)
    # Only what turns a complex number changes its sign, in proportion to 1 / abs(x).
    outward = real(arithmetic.multiply(conj(y), g))
    turning = arithmetic.subtract(g, arithmetic.multiply(y, complex_(outward, creation.zeros_like(outward))))
    size = abs_(x)
    return (arithmetic.div_no_nan(turning, complex_(size, creation.zeros_like(size))),)


def _abs_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (arithmetic.multiply(g, sign(op.inputs[0])),)


def _complex_abs_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (arithmetic.multiply(complex_(g, creation.zeros_like(g)), sign(op.inputs[0])),)


def _angle_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    x = op.inputs[0]
    outward = arithmetic.realdiv(creation.ones_like(x), complex_(imag(x), real(x)))
    return (arithmetic.multiply(negative(outward), complex_(g, creation.zeros_like(g))),)


def _real_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (complex_(g, creation.zeros_like(g)),)


def _imag_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (complex_(creation.zeros_like(g), g),)


NEG = op_def(
    "Neg",
    (f"x: T={NARROW}",),
    infer=same_as_input,
    gradient=lambda op, g: (-g,),
    scalar="-{x}",
    partial_value=partial_arithmetic(lambda x: -x),
)
SIGN = op_def(
    "Sign",
    (f"x: T={NARROW}",),
    infer=same_as_input,
    gradient=_sign_gradient,
    scalar="sign({x})",
)
ABS = op_def(
    "Abs",
    ("x: T=float|int8|int16|int32|int64",),
    infer=same_as_input,
    gradient=_abs_gradient,
    scalar="abs({x})",
)
COMPLEX_ABS = op_def("ComplexAbs", ("x: T=complex",), infer=_real_infer, gradient=_complex_abs_gradient)
CONJ = op_def("Conj", ("input: T=complex",), infer=same_as_input, gradient=lambda op, g: (conj(g),))
ANGLE = op_def("Angle", ("input: T=complex",), infer=_real_infer, gradient=_angle_gradient)
REAL = op_def("Real", ("input: T=complex",), infer=_real_infer, gradient=_real_gradient)
IMAG = op_def("Imag", ("input: T=complex",), infer=_real_infer, gradient=_imag_gradient)
COMPLEX = op_def(
    "Complex", ("real: T=float32|float64", "imag: T"), infer=_complex_infer, gradient=MATH_GRADIENTS
)


@overload
def negative(x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def negative(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
def negative(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor | SparseTensor:
    """-x elementwise (tf.negative).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return sparse_unary(NEG, x, name)


@overload
def sign(x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def sign(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
def sign(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor | SparseTensor:
    """-1, 0 or 1 elementwise; x / abs(x) of complex numbers (tf.sign).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return sparse_unary(SIGN, x, name)


@overload
def abs_(x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def abs_(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
def abs_(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor | SparseTensor:
    """The absolute value elementwise (tf.abs).

    Args:
        x: A tensor of numbers, or a SparseTensor, of which only the values are taken.
        name: A name for the operation.

    Returns:
        What was given, of the same shape and dtype; of complex numbers, floats of half their size.

    Examples:
        >>> gf.Session().run(gf.abs([-1.5, 2.0]))
        array([1.5, 2. ], dtype=float32)
    """
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, abs_(x.values, name), x.dense_shape)
    with op_scope(name, "Abs", (x,)) as scope:
        x = convert_to_tensor(x, name="x")
        definition = COMPLEX_ABS if x.dtype.is_complex else ABS
        return unary(definition, x, scope)


def complex_(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Complex numbers of real and imaginary parts (tf.complex).

    Args:
        real: A tensor of floats.
        imag: A tensor of the same dtype.
        name: A name for the operation.

    Returns:
        A tensor of complex numbers.

    Raises:
        TypeError: Unless both are float32 or both float64.
    """
    real, imag = convert_to_tensor(real, name="real"), convert_to_tensor(imag, name="imag")
    if real.dtype is not imag.dtype or real.dtype not in _COMPLEX_OF:
        raise TypeError(
            f"real and imag have incorrect types: {real.dtype.name} {imag.dtype.name}. Both must be float32 or float64."
        )
    return binary(COMPLEX, real, imag, name or "Complex")


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real part; a real tensor is returned as it is (tf.real).

    Args:
        input: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of floats of the same shape.
    """
    return _part(REAL, input, name)


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part; zeros of a real tensor (tf.imag).

    Args:
        input: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of floats of the same shape.
    """
    return _part(IMAG, input, name)


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The argument in radians; zeros of a real tensor, as in TensorFlow 1 (tf.angle).

    Args:
        input: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of floats of the same shape.
    """
    return _part(ANGLE, input, name)


def _part(definition: OpDef, value: Any, name: str | None) -> Tensor:
    if isinstance(value, Tensor) and value.dtype.is_floating and definition is REAL:
        return value
    with op_scope(name, definition.name, (value,)) as scope:
        tensor = convert_to_tensor(value, name="input")
        if tensor.dtype.is_complex:
            return unary(definition, tensor, scope)
        return tensor if definition is REAL else creation.zeros_like(tensor)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor is returned as it is (tf.conj). TypeError of what is no number.

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    if isinstance(x, Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with op_scope(name, "Conj", (x,)) as scope:
        tensor = convert_to_tensor(x, name="x")
        if tensor.dtype.is_complex:
            return unary(CONJ, tensor, scope)
        if tensor.dtype.is_floating or tensor.dtype.is_integer:
            return tensor
        raise TypeError(f"Expected numeric tensor, got dtype {tensor.dtype.name}.")


# ---- conversion into a range ----------------------------------------------------------------------------------------


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """As cast, but values beyond the range of the dtype become its nearest end (tf.saturate_cast).

    Args:
        value: A tensor of numbers.
        dtype: The dtype.
        name: A name for the operation.

    Returns:
        A tensor of that dtype.
    """
    with op_scope(name, "saturate_cast", (value,)) as scope:
        value, target = convert_to_tensor(value, name="value"), as_dtype(dtype)
        ends = (
            value.dtype
        )  # As Python's numbers: compared as NumPy's, they would be converted to each other's dtype.
        if float(ends.min) < float(target.min):
            value = arithmetic.maximum(value, _end_within(target.min, target, value.dtype, "min"))
        if float(ends.max) > float(target.max):
            value = arithmetic.minimum(value, _end_within(target.max, target, value.dtype, "max"))
        result: Tensor = cast(value, target, scope)
        return result


def _end_within(end: Any, target: DType, source: DType, name: str) -> Tensor:
    """The end of the target's range in the source's dtype, rounded into the range if it is no exact float."""
    if source.is_floating and target.is_integer:
        kind = source.as_numpy_dtype
        limit = kind(end)
        while not np.isfinite(limit) or not target.min <= int(limit) <= target.max:
            limit = np.nextafter(limit, kind(0))
        end = limit
    return core.constant(end, dtype=source, name=name)


# ---- sums of many --------------------------------------------------------------------------------------------------


def _merged(op: Operation) -> Signature:
    dims = op.inputs[0].dims
    for x in op.inputs[1:]:
        dims = shapes.merge(dims, x.dims)
    return [(op.inputs[0].dtype, dims)]


def _accumulate_infer(op: Operation) -> Signature:
    dtype, dims = _merged(op)[0]
    return [(dtype, shapes.merge(dims, op.attrs["shape"].raw))]


ADD_N = op_def(
    "AddN", ("inputs*: T=number",), infer=_merged, gradient=lambda op, g: tuple(g for _ in op.inputs)
)
ACCUMULATE_N = op_def(
    "AccumulateNV2",
    ("inputs*: T=number",),
    infer=_accumulate_infer,
    gradient=lambda op, g: tuple(g for _ in op.inputs),
)


def add_n(inputs: TensorLike | Sequence[TensorLike], name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype (tf.add_n); one alone is returned as it is.

    Args:
        inputs: A list of tensors, or IndexedSlices.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.

    Examples:
        >>> gf.Session().run(gf.add_n([[1, 2], [3, 4], [5, 6]]))
        array([ 9, 12], dtype=int32)
    """
    if not isinstance(inputs, list | tuple):
        raise TypeError(f"inputs must be a list of tensors, got {inputs!r}.")
    if not inputs:
        raise ValueError(
            "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape."
        )
    graph = graph_of(inputs)
    with graph.as_default():
        tensors = _as_tensors(inputs)
        if len(tensors) == 1:
            return shaping.identity(tensors[0], name=name) if name else tensors[0]
        return apply(ADD_N, (tensors,), {"N": len(tensors)}, name).outputs[0]


def _as_tensors(inputs: Any) -> list[Tensor]:
    dtype = next((x.dtype for x in inputs if isinstance(x, Tensor | IndexedSlices)), None)
    return [
        x if isinstance(x, Tensor) else convert_to_tensor(x, preferred_dtype=dtype, name=f"inputs_{i}")
        for i, x in enumerate(inputs)
    ]


def accumulate_n(
    inputs: Sequence[TensorLike],
    shape: ShapeLike = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The sum of tensors of one shape and dtype (tf.accumulate_n).

    Args:
        inputs: A list of tensors.
        shape: Their shape, if it is not known.
        tensor_dtype: Their dtype.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.

    Raises:
        ValueError: If they or `shape` differ.
    """
    if not isinstance(inputs, list | tuple) or not inputs:
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    tensors = convert_n_to_tensor(inputs)
    if any(x.dtype is not tensors[0].dtype for x in tensors):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not tensors[0].dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {tensors[0].dtype}")
    dims = shapes.as_dims(shape)
    for x in tensors:
        dims = shapes.merge(dims, x.dims)
    if len(tensors) == 1:
        return shaping.identity(tensors[0], name=name) if name else tensors[0]
    attrs = {"N": len(tensors), "shape": shapes.TensorShape(dims)}
    return apply(ACCUMULATE_N, (tensors,), attrs, name).outputs[0]


@overload
def scalar_mul(scalar: TensorLike, x: Tensor, name: str | None = None) -> Tensor: ...
@overload
def scalar_mul(  # type: ignore[overload-overlap]  # They could become a tensor too, but remain what they are.
    scalar: TensorLike, x: IndexedSlices, name: str | None = None
) -> IndexedSlices: ...
@overload
def scalar_mul(scalar: TensorLike, x: SupportsTensor, name: str | None = None) -> Tensor: ...
def scalar_mul(
    scalar: TensorLike, x: Tensor | SupportsTensor, name: str | None = None
) -> Tensor | IndexedSlices:
    """A scalar times a tensor or IndexedSlices (tf.scalar_mul).

    Args:
        scalar: A scalar.
        x: A tensor or IndexedSlices.
        name: A name for the operation.

    Returns:
        What `x` is.

    Raises:
        ValueError: If `scalar` is none.
    """
    scalar = convert_to_tensor(scalar, dtype=x.dtype, name="scalar")
    if scalar.dims is None or scalar.dims != ():
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(arithmetic.multiply(scalar, x.values, name), x.indices, x.dense_shape)
    return arithmetic.multiply(scalar, x, name)


# ---- bits ----------------------------------------------------------------------------------------------------------


def _bit_op(name: str, scalar: str | None) -> OpDef:
    return op_def(
        name, ("x: T=integer", "y: T"), infer=broadcast_binary, gradient=NOT_DIFFERENTIABLE, scalar=scalar
    )


BITWISE_AND = _bit_op("BitwiseAnd", "{x} & {y}")
BITWISE_OR = _bit_op("BitwiseOr", "{x} | {y}")
BITWISE_XOR = _bit_op("BitwiseXor", "{x} ^ {y}")
LEFT_SHIFT = _bit_op("LeftShift", None)
RIGHT_SHIFT = _bit_op("RightShift", None)
INVERT = op_def("Invert", ("x: T=integer",), infer=same_as_input, gradient=NOT_DIFFERENTIABLE, scalar="~{x}")
POPULATION_COUNT = op_def(
    "PopulationCount", ("x: T=integer",), infer=same_shape(dtypes.uint8), gradient=NOT_DIFFERENTIABLE
)


def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits that are set in both integers (tf.bitwise.bitwise_and).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(BITWISE_AND, x, y, name)


def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits that are set in either integer (tf.bitwise.bitwise_or).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(BITWISE_OR, x, y, name)


def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits in which two integers differ (tf.bitwise.bitwise_xor).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(BITWISE_XOR, x, y, name)


def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """All bits inverted (tf.bitwise.invert).

    Args:
        x: A tensor of integers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(INVERT, x, name)


def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x shifted left by y bits, y brought into [0, bits - 1] (tf.bitwise.left_shift).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(LEFT_SHIFT, x, y, name)


def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x shifted right by y bits, keeping the sign, y brought into [0, bits - 1] (tf.bitwise.right_shift).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(RIGHT_SHIFT, x, y, name)

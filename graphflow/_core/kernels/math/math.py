"""NumPy kernels of elementwise arithmetic, comparison, logic and conversion.

NumPy's own functions wherever their results are TensorFlow's; the others say what differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
from graphflow.errors import InvalidArgumentError

DIVISION_BY_ZERO: Final = "Integer division by zero. Keep zeros out of the divisor."

Array = Any


def _objects_too(function: Callable[..., Any]) -> Kernel:
    """NumPy returns bare Python objects for scalars of strings: they become arrays again."""

    def compute(x: Array, y: Array) -> Array:
        return function(x, y) if x.dtype != object else np.asarray(function(x, y), dtype=object)

    return compute


def _bools(function: Callable[..., Any]) -> Kernel:
    def compute(x: Array, y: Array) -> Array:
        return function(x, y) if x.dtype != object else np.asarray(function(x, y), dtype=np.bool_)

    return compute


def _divided_as_integers(function: Callable[..., Any], otherwise: Callable[..., Any]) -> Kernel:
    """Integers by `function`, of which a zero divisor is an error, floats by `otherwise`."""

    def compute(x: Array, y: Array) -> Array:
        if x.dtype.kind not in "iu":
            return otherwise(x, y)
        if x.size and not np.all(y):
            raise InvalidArgumentError(None, None, DIVISION_BY_ZERO)
        return function(x, y)

    return compute


def _truncated_divide(x: Array, y: Array) -> Array:
    quotient = np.floor_divide(x, y)
    rounded_down = (np.remainder(x, y) != 0) & ((x < 0) != (y < 0))
    return np.add(quotient, rounded_down, dtype=x.dtype)


def _floor_divide(x: Array, y: Array) -> Array:
    # NumPy's floor_divide of floats differs from floor(x / y), which TensorFlow and the compiled tier compute.
    return np.floor(np.divide(x, y)) if x.dtype.kind == "f" else np.divide(x, y)


def _floor_modulo(x: Array, y: Array) -> Array:
    remainder = np.fmod(x, y)
    return np.where((remainder != 0) & ((remainder < 0) != (y < 0)), remainder + y, remainder)


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(y < 0):
        raise InvalidArgumentError(
            None, None, "Integers to negative integer powers are not allowed. Cast to floats."
        )
    return np.power(x, y)


def _zero_where(zero: Array, value: Array) -> Array:
    return np.where(zero, value.dtype.type(0), value)


def _squared_difference(x: Array, y: Array) -> Array:
    difference = np.subtract(x, y)
    return np.multiply(difference, np.conjugate(difference))


divide = _divided_as_integers(_truncated_divide, np.divide)
"""x / y, of integers truncated; InvalidArgumentError if an integer is divided by 0."""
_BINARY: dict[str, Callable[..., Any]] = {
    "Sub": np.subtract,
    "Mul": np.multiply,
    "RealDiv": divide,
    "Div": divide,
    "TruncateDiv": divide,
    "FloorDiv": _divided_as_integers(np.floor_divide, _floor_divide),
    "FloorMod": _divided_as_integers(np.remainder, _floor_modulo),
    "TruncateMod": _divided_as_integers(np.fmod, np.fmod),
    "DivNoNan": lambda x, y: _zero_where(y == 0, np.divide(x, y)),
    "Xdivy": lambda x, y: _zero_where(x == 0, np.divide(x, y)),
    "Xlogy": lambda x, y: _zero_where(x == 0, x * np.log(y)),
    "Pow": _power,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "SquaredDifference": _squared_difference,
    "Atan2": np.arctan2,
    "Add": _objects_too(np.add),
    "AddV2": np.add,
    "Equal": _bools(np.equal),
    "NotEqual": _bools(np.not_equal),
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or,
    "LogicalNot": np.logical_not,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "Invert": np.invert,
}
for _name, _function in _BINARY.items():
    simple(_name, _function)


@kernel("ApproximateEqual")
def _approximate_equal(node: Node) -> Kernel:
    tolerance = node.attrs["tolerance"]
    return lambda x, y: np.abs(np.subtract(x, y)) < tolerance


# ---- one operand ---------------------------------------------------------------------------------------------------


def _sign(x: Array) -> Array:
    # Unlike NumPy's, the sign of a complex number is a number of modulus one.
    return _zero_where(x == 0, np.divide(x, np.abs(x))) if x.dtype.kind == "c" else np.sign(x)


def _sigmoid(x: Array) -> Array:
    if x.dtype.kind == "c":
        return np.reciprocal(1 + np.exp(-x))
    # exp of what is not positive only, so that nothing overflows.
    decayed = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, decayed).astype(x.dtype) / (1 + decayed)


def _reciprocal(x: Array) -> Array:
    if x.dtype.kind not in "iu":
        return np.reciprocal(x)
    if not np.all(x):
        raise InvalidArgumentError(
            None, None, "Integer division by zero: the reciprocal of 0. Cast to floats."
        )
    return np.where(np.abs(x) == 1, x, 0).astype(x.dtype)


def _round(x: Array) -> Array:
    return x if x.dtype.kind in "iu" else np.rint(x)


_UNARY: dict[str, Callable[..., Any]] = {
    "Neg": np.negative,
    "Abs": np.abs,
    "ComplexAbs": np.abs,
    "Sign": _sign,
    "Square": np.square,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: np.reciprocal(np.sqrt(x)),
    "Reciprocal": _reciprocal,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Log": np.log,
    "Log1p": np.log1p,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Tanh": np.tanh,
    "Asinh": np.arcsinh,
    "Acosh": np.arccosh,
    "Atanh": np.arctanh,
    "Sigmoid": _sigmoid,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Rint": np.rint,
    "Round": _round,
    "Conj": np.conjugate,
    "Angle": np.angle,
    "IsNan": np.isnan,
    "IsInf": np.isinf,
    "IsFinite": np.isfinite,
    "PopulationCount": lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")),
}
for _name, _function in _UNARY.items():
    simple(_name, _function)
simple("Real", np.real, view=True)
simple("Imag", np.imag, view=True)


@kernel("Complex")
def _complex(node: Node) -> Kernel:
    dtype = node.dtypes[0].as_numpy_dtype

    def compute(real: Array, imag: Array) -> Array:
        result = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtype)
        result.real, result.imag = real, imag
        return result

    return compute


# ---- gradients from the value --------------------------------------------------------------------------------------


def _conjugate(y: Array) -> Array:
    return np.conjugate(y) if y.dtype.kind == "c" else y


_FROM_VALUE: dict[str, Callable[..., Any]] = {
    "SqrtGrad": lambda y, dy: dy * 0.5 / _conjugate(y),
    "RsqrtGrad": lambda y, dy: dy * -0.5 * _conjugate(y * y * y),
    "ReciprocalGrad": lambda y, dy: -_conjugate(y) * _conjugate(y) * dy,
    "TanhGrad": lambda y, dy: dy * (1 - _conjugate(y * y)),
    "SigmoidGrad": lambda y, dy: dy * _conjugate(y) * (1 - _conjugate(y)),
}
for _name, _function in _FROM_VALUE.items():
    simple(_name, _function)


# ---- bits ----------------------------------------------------------------------------------------------------------


def _shift(function: Callable[..., Any]) -> Kernel:
    # NumPy leaves x no bits if all are shifted out; here the count stays within the width, as in TensorFlow.
    return lambda x, y: function(x, np.clip(y, 0, x.dtype.itemsize * 8 - 1))


simple("LeftShift", _shift(np.left_shift))
simple("RightShift", _shift(np.right_shift))


# ---- conversion ----------------------------------------------------------------------------------------------------


@kernel("Cast")
def _cast(node: Node) -> Kernel:
    target = np.dtype(node.attrs["DstT"].as_numpy_dtype)

    def compute(x: Array) -> Array:
        if x.dtype.kind == "c" and target.kind != "c":
            x = np.real(x)
        if x.dtype.kind == "f" and target.kind in "iu":
            return _float_to_integer(x, target)
        return x.astype(target)

    return compute


def _float_to_integer(x: Array, target: Any) -> Array:
    """Truncation; what does not fit becomes what an x86 processor makes of it, whatever the width."""
    if target.itemsize < 4:
        return x.astype(np.int32).astype(target)
    if target == np.uint32:
        return x.astype(np.int64).astype(target)
    if target != np.uint64:
        return x.astype(target)
    middle = np.float64(2**63)
    wide = x.astype(np.float64)
    upper = (wide - middle).astype(np.int64).astype(np.uint64) + np.uint64(2**63)
    return np.where(wide < middle, wide.astype(np.int64).astype(np.uint64), upper)


# ---- sums of many --------------------------------------------------------------------------------------------------


def _add_all(*inputs: Array) -> Array:
    first = inputs[0]
    if any(x.shape != first.shape for x in inputs):
        shapes = ", ".join(str(x.shape) for x in inputs)
        raise InvalidArgumentError(
            None, None, f"Inputs to a sum of tensors must have one shape, got {shapes}."
        )
    if len(inputs) == 1:
        return np.array(first)
    total = np.add(first, inputs[1])
    for x in inputs[2:]:
        total = np.add(total, x)
    return total


simple("AddN", _add_all)
simple("AccumulateNV2", _add_all)

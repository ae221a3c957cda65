"""The mathematical functions under one name, for the modules that need several of them; each is defined in the module of its subject."""

from __future__ import annotations

from typing import Any

from graphflow.ops import comparison, operators, reductions, scans, special
from graphflow.ops.arithmetic import (
    add,
    add_v2,
    div,
    div_no_nan,
    divide,
    floor_div,
    floordiv,
    floormod,
    maximum,
    minimum,
    multiply,
    pow_,
    realdiv,
    squared_difference,
    subtract,
    truediv,
    truncatediv,
    truncatemod,
    xdivy,
    xlogy,
)
from graphflow.ops.comparison import (
    equal,
    greater,
    greater_equal,
    is_finite,
    is_inf,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from graphflow.ops.elementwise import binary, unary, unbroadcast, unbroadcast_pair
from graphflow.ops.numeric import (
    abs_,
    accumulate_n,
    add_n,
    angle,
    cast,
    complex_,
    conj,
    imag,
    negative,
    real,
    saturate_cast,
    scalar_mul,
    sign,
    to_complex64,
    to_complex128,
    to_double,
    to_float,
    to_int32,
    to_int64,
)
from graphflow.ops.special import digamma, erf, erfc, lgamma
from graphflow.ops.transcendental import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    log,
    log1p,
    log_sigmoid,
    polyval,
    reciprocal,
    rint,
    round_,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
)

_EVERYWHERE: dict[str, Any] = {
    function.__name__.rstrip("_"): function
    for function in (
        *(add, subtract, multiply, divide, truediv, floordiv, truncatediv, realdiv, div, div_no_nan, floormod),
        *(truncatemod, pow_, maximum, minimum, squared_difference, abs_, sign, negative, cast, saturate_cast, add_n),
        *(accumulate_n, scalar_mul, complex_, real, imag, conj, angle, square, sqrt, rsqrt, exp, expm1, log, log1p),
        *(sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, asinh, acosh, atanh, sigmoid, log_sigmoid),
        *(floor, ceil, rint, round_, reciprocal),
        *(to_float, to_double, to_int32, to_int64, to_complex64, to_complex128),
    )
}
EXPORTS: dict[str, Any] = {
    **_EVERYWHERE,
    **comparison.EXPORTS,
    **reductions.EXPORTS,
    **scans.EXPORTS,
    **special.EXPORTS,
    "mod": floormod,
    "floor_div": floor_div,
}
operators.install()

__all__ = [
    "EXPORTS", "abs_", "accumulate_n", "acos", "acosh", "add", "add_n", "add_v2", "angle",
    "asin", "asinh", "atan", "atan2", "atanh", "binary", "cast", "ceil", "complex_", "conj", "cos", "cosh", "digamma",
    "div", "div_no_nan", "divide", "equal", "erf", "erfc", "exp", "expm1", "floor", "floor_div", "floordiv", "floormod",
    "greater", "greater_equal", "imag", "is_finite", "is_inf", "is_nan", "less", "less_equal", "lgamma", "log", "log1p",
    "log_sigmoid", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "not_equal", "polyval", "pow_", "real", "realdiv", "reciprocal", "rint", "round_", "rsqrt", "saturate_cast",
    "scalar_mul", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "squared_difference", "subtract", "tan", "tanh",
    "to_complex64", "to_complex128", "to_double", "to_float", "to_int32", "to_int64", "truediv", "truncatediv",
    "truncatemod", "unary", "unbroadcast", "unbroadcast_pair", "xdivy", "xlogy",
]  # fmt: skip

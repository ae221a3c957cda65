# mypy: disable-error-code="import-untyped, import-not-found"
"""Transcendental functions of one scalar as LLVM instructions that the loop vectoriser widens: the table of them.

A call of the C library inside a loop stops vectorisation (a tanh over a million floats takes twenty times as long). So
what models use is polynomials: of float32 in `single.py` and `trigonometry.py`, of float64 in `double.py`. Fused
multiply-adds are written out, the same in vector body and remainder, so that results do not depend on how a range is
cut. Everything else calls the C library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from graphflow._core.codegen.cpu.llvm.double import erf64, exp64, expm1_64, log1p64, log64, pow32, tanh64
from graphflow._core.codegen.cpu.llvm.pieces import F32, constant, intrinsic_call, is_nan
from graphflow._core.codegen.cpu.llvm.single import erf32, exp32, expm1_32, log1p32, log32, tanh32
from graphflow._core.codegen.cpu.llvm.trigonometry import cos32, sin32


def sigmoid(builder: Any, x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    one = constant(x, 1.0)
    return builder.fdiv(one, builder.fadd(one, FUNCTIONS["exp"](builder, builder.fneg(x))))


def softplus(builder: Any, x: Any) -> Any:
    """log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which neither overflows nor loses small results."""
    positive = intrinsic_call(builder, "llvm.fabs", x)
    tail = FUNCTIONS["log1p"](builder, FUNCTIONS["exp"](builder, builder.fneg(positive)))
    zero = constant(x, 0.0)
    return builder.fadd(builder.select(builder.fcmp_unordered(">", x, zero), x, zero), tail)


def _library(name: str, count: int = 1) -> Callable[..., Any]:
    """The C library's function, with the suffix f for float32; LLVM is not to put another in its place if an
    argument is known, since the bits are not to depend on that.
    """

    def emit(builder: Any, *args: Any) -> Any:
        kind = args[0].type
        symbol = name + ("f" if kind == F32 else "")
        module = builder.module
        function = module.globals.get(symbol)
        if function is None:
            function = ir.Function(module, ir.FunctionType(kind, [kind] * count), symbol)
            function.attributes.add("nounwind")
            function.attributes.add("nobuiltin")
        return builder.call(function, args)

    return emit


def _by_type(single: Callable[..., Any], double: Callable[..., Any]) -> Callable[..., Any]:
    def emit(builder: Any, *args: Any) -> Any:
        return (single if args[0].type == F32 else double)(builder, *args)

    return emit


def _instruction(name: str) -> Callable[..., Any]:
    def emit(builder: Any, x: Any) -> Any:
        return intrinsic_call(builder, name, x)

    return emit


def _rsqrt(builder: Any, x: Any) -> Any:
    return builder.fdiv(constant(x, 1.0), intrinsic_call(builder, "llvm.sqrt", x))


def _sign(builder: Any, x: Any) -> Any:
    """-1, 0 or 1; NaN stays NaN, as does the sign of zero."""
    signed = intrinsic_call(builder, "llvm.copysign", constant(x, 1.0), x)
    return builder.select(
        builder.fcmp_unordered("one", x, constant(x, 0.0)), builder.select(is_nan(builder, x), x, signed), x
    )


def _floor_modulo(builder: Any, x: Any, y: Any) -> Any:
    """The remainder with the divisor's sign (NumPy's remainder, but for the sign of a zero)."""
    remainder, zero = FUNCTIONS["fmod"](builder, x, y), constant(x, 0.0)
    below = (builder.fcmp_ordered("<", remainder, zero), builder.fcmp_ordered("<", y, zero))
    adjust = builder.and_(builder.fcmp_unordered("!=", remainder, zero), builder.xor(*below))
    return builder.select(adjust, builder.fadd(remainder, y), remainder)


_LIBRARY = (
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "acosh",
    "atanh",
    "erfc",
    "lgamma",
    "exp2",
    "log2",
    "log10",
)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": _by_type(exp32, exp64),
    "expm1": _by_type(expm1_32, expm1_64),
    "log": _by_type(log32, log64),
    "log1p": _by_type(log1p32, log1p64),
    "tanh": _by_type(tanh32, tanh64),
    "erf": _by_type(erf32, erf64),
    "sin": _by_type(sin32, _library("sin")),
    "cos": _by_type(cos32, _library("cos")),
    "sigmoid": sigmoid,
    "softplus": softplus,
    "sqrt": _instruction("llvm.sqrt"),
    "rsqrt": _rsqrt,
    "abs": _instruction("llvm.fabs"),
    "floor": _instruction("llvm.floor"),
    "ceil": _instruction("llvm.ceil"),
    "trunc": _instruction("llvm.trunc"),
    "round": _instruction("llvm.roundeven"),
    "sign": _sign,
    "pow": _by_type(pow32, _library("pow", 2)),
    "atan2": _library("atan2", 2),
    "fmod": _library("fmod", 2),
    "floor_modulo": _floor_modulo,
    **{name: _library(name) for name in _LIBRARY},
}

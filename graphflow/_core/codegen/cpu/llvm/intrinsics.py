# mypy: disable-error-code="untyped-decorator, import-untyped, import-not-found, no-any-return"
"""What generated kernels are written with: typed memory, calls, atomics and scalar arithmetic as Numba
intrinsics.

Imported only by the compiler process, because it needs Numba. A kernel receives machine words, not arrays, so
that it needs no Numba runtime and its object file has no unresolved symbols but those of the C library;
memory is therefore reached through these functions. Every store names a scope, so that LLVM knows what cannot
overlap without run-time checks, and every arithmetic function states its result's type, because Numba's own
promotion rules (int32 + int32 is int64) are not TensorFlow's. No fast-math flag is ever set on the user's
arithmetic; `accumulate` alone may be reordered, for the sake of vector reductions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import cfunc, float32, float64, int8, int16, int32, int64, uint8, uint16  # noqa: F401
from numba.core import types as numba_types
from numba.extending import intrinsic

from graphflow._core.codegen.cpu.llvm import memory_intrinsics, reduction_intrinsics
from graphflow._core.codegen.cpu.llvm.maths_ir import FUNCTIONS
from graphflow._core.codegen.cpu.llvm.pieces import fma, intrinsic_call
from graphflow._core.codegen.cpu.llvm.pipeline import KernelPipeline
from graphflow._core.codegen.cpu.llvm.pipeline import keep_instructions as keep_instructions

types: Any = numba_types  # Numba's own annotations do not know its type constructors
SIGNATURE = "void(CPointer(int64), int64, int64)"
_WORD = ir.IntType(64)


def kernel_function(function: Callable[..., Any]) -> Any:
    """Compile `function(args, begin, end)` with the C signature that every kernel has."""
    # inlined, the callback sees that there are no errors to report, which would need Numba's runtime
    return cfunc(SIGNATURE, error_model="numpy", forceinline=True, pipeline_class=KernelPipeline)(function)


# ---- arithmetic -----------------------------------------------------------------------------------------------------


@intrinsic
def select(typing_context: Any, condition: Any, chosen: Any, other: Any) -> Any:
    """`chosen if condition else other` without a branch."""
    signature = chosen(types.boolean, chosen, chosen)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(context.cast(builder, args[0], types.boolean, types.boolean), args[1], args[2])

    return signature, generate


def _accumulate_intrinsic(operation: str) -> Any:
    """The step of a reduction, which alone LLVM may reorder into vector lanes (its shape depends on sizes
    only).
    """

    @intrinsic
    def accumulate(typing_context: Any, total: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if isinstance(signature.return_type, types.Float):
                flags = ("reassoc",)
                if operation == "add":
                    return builder.fadd(args[0], args[1], flags=flags)
                return builder.fmul(args[0], args[1], flags=flags)
            return builder.add(*args) if operation == "add" else builder.mul(*args)

        return total(total, total), generate

    return accumulate


accumulate_sum = _accumulate_intrinsic("add")
accumulate_prod = _accumulate_intrinsic("mul")


def _extremum_intrinsic(name: str) -> Any:
    """Maximum or minimum as NumPy's: a NaN in either operand is the result."""

    @intrinsic
    def extremum(typing_context: Any, first: Any, second: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = signature.return_type
            order = ">" if name == "maximum" else "<"
            if isinstance(kind, types.Float):
                better = builder.fcmp_ordered(order, args[0], args[1])
                chosen = builder.select(better, args[0], args[1])
                return builder.select(builder.fcmp_unordered("uno", args[0], args[0]), args[0], chosen)
            compare = builder.icmp_signed if kind.signed else builder.icmp_unsigned
            return builder.select(compare(order, args[0], args[1]), args[0], args[1])

        return first(first, first), generate

    return extremum


def _reduce_extremum_intrinsic(name: str) -> Any:
    """Maximum or minimum in the form that LLVM knows as a reduction (NaN is propagated)."""

    @intrinsic
    def extremum(typing_context: Any, first: Any, second: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = signature.return_type
            if isinstance(kind, types.Float):
                return intrinsic_call(builder, f"llvm.{name}", *args)
            order = ">" if name == "maximum" else "<"
            compare = builder.icmp_signed if kind.signed else builder.icmp_unsigned
            return builder.select(compare(order, args[0], args[1]), args[0], args[1])

        return first(first, first), generate

    return extremum


maximum = _extremum_intrinsic("maximum")
minimum = _extremum_intrinsic("minimum")
accumulate_max = _reduce_extremum_intrinsic("maximum")
accumulate_min = _reduce_extremum_intrinsic("minimum")


@intrinsic
def fused_multiply_add(typing_context: Any, first: Any, second: Any, addend: Any) -> Any:
    """first * second + addend, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return fma(builder, *args)

    return first(first, first, first), generate


def _integer_division_intrinsic(kind: str) -> Any:
    """Integer division with floor or truncation.

    A zero divisor and the one overflow give defined values, no trap.
    """

    @intrinsic
    def divide(typing_context: Any, dividend: Any, divisor: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            integer, (a, b) = signature.return_type, args
            zero, one = ir.Constant(a.type, 0), ir.Constant(a.type, 1)
            if not integer.signed:
                safe = builder.select(builder.icmp_unsigned("==", b, zero), one, b)
                return builder.udiv(a, safe) if kind.endswith("divide") else builder.urem(a, safe)
            minus = builder.icmp_signed("==", b, ir.Constant(a.type, -1))
            unusual = builder.or_(minus, builder.icmp_signed("==", b, zero))
            safe = builder.select(unusual, one, b)
            quotient = builder.sdiv(a, safe)
            remainder = builder.sub(a, builder.mul(quotient, safe))
            if kind.startswith("floor"):
                differ = builder.icmp_signed("<", builder.xor(remainder, safe), zero)
                adjust = builder.and_(builder.icmp_signed("!=", remainder, zero), differ)
                quotient = builder.sub(quotient, builder.zext(adjust, a.type))
                remainder = builder.add(remainder, builder.select(adjust, safe, zero))
            if kind.endswith("divide"):
                return builder.select(minus, builder.sub(zero, a), quotient)
            return remainder

        return dividend(dividend, dividend), generate

    return divide


integer_floor_divide = _integer_division_intrinsic("floor_divide")
integer_floor_modulo = _integer_division_intrinsic("floor_modulo")
integer_truncate_divide = _integer_division_intrinsic("truncate_divide")
integer_truncate_modulo = _integer_division_intrinsic("truncate_modulo")


def _conversion_intrinsic(target: Any) -> Any:
    """Numeric cast.

    A float outside an integer's range (or NaN) becomes the value that x86 gives, the lowest one.
    """

    @intrinsic
    def convert(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            source = signature.args[0]
            if not (isinstance(source, types.Float) and isinstance(target, types.Integer)):
                return context.cast(builder, args[0], source, target)
            wide = types.int32 if target.bitwidth < 64 else types.int64
            bound = 2.0 ** (wide.bitwidth - 1)
            kind, wide_type = args[0].type, ir.IntType(wide.bitwidth)
            inside = builder.and_(
                builder.fcmp_ordered(">=", args[0], ir.Constant(kind, -bound)),
                builder.fcmp_ordered("<", args[0], ir.Constant(kind, bound)),
            )
            lowest = ir.Constant(wide_type, -(2 ** (wide.bitwidth - 1)))
            result = builder.select(inside, builder.fptosi(args[0], wide_type), lowest)
            return builder.trunc(result, ir.IntType(target.bitwidth)) if target.bitwidth < 32 else result

        return target(value), generate

    return convert


to_float32 = _conversion_intrinsic(types.float32)
to_float64 = _conversion_intrinsic(types.float64)
to_int8 = _conversion_intrinsic(types.int8)
to_int16 = _conversion_intrinsic(types.int16)
to_int32 = _conversion_intrinsic(types.int32)
to_int64 = _conversion_intrinsic(types.int64)
to_uint8 = _conversion_intrinsic(types.uint8)
to_uint16 = _conversion_intrinsic(types.uint16)


@intrinsic
def bits_float32(typing_context: Any, word: Any) -> Any:
    """The float32 whose bits are the low half of a word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(builder.trunc(args[0], ir.IntType(32)), ir.FloatType())

    return types.float32(types.int64), generate


@intrinsic
def bits_float64(typing_context: Any, word: Any) -> Any:
    """The float64 whose bits are a word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def word_float32(typing_context: Any, value: Any) -> Any:
    """The bits of a float32 as a word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(builder.bitcast(args[0], ir.IntType(32)), _WORD)

    return types.int64(types.float32), generate


@intrinsic
def word_float64(typing_context: Any, value: Any) -> Any:
    """The bits of a float64 as a word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], _WORD)

    return types.int64(types.float64), generate


def _float_function(name: str, emit: Callable[..., Any]) -> Any:
    count = 2 if name in ("pow", "atan2", "fmod", "floor_modulo") else 1

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit(builder, *args)

    if count == 2:

        @intrinsic
        def binary(typing_context: Any, first: Any, second: Any) -> Any:
            return first(first, first), generate

        return binary

    @intrinsic
    def unary(typing_context: Any, value: Any) -> Any:
        return value(value), generate

    return unary


# Each of maths_ir.FUNCTIONS as f_<name>, for float32 and float64: f_exp, f_tanh, f_pow ...
globals().update({f"f_{name}": _float_function(name, emit) for name, emit in FUNCTIONS.items()})

_memory = {name: value for name, value in vars(memory_intrinsics).items() if type(value) is type(select)}
globals().update(_memory)
_reduction = {name: getattr(reduction_intrinsics, name) for name in reduction_intrinsics.__all__}
globals().update(_reduction)

__all__ = [
    *_memory,
    *_reduction,
    *(name for name in dict(globals()) if name.startswith(("to_", "bits_", "word_", "f_"))),
    *("accumulate_sum", "accumulate_prod", "accumulate_max", "accumulate_min", "fused_multiply_add"),
    *("integer_floor_divide", "integer_floor_modulo", "integer_truncate_divide", "integer_truncate_modulo"),
    *("kernel_function", "maximum", "minimum", "select"),
    *("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16"),
]

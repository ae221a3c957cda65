# mypy: disable-error-code="import-untyped, import-not-found"
"""What functions are written of in LLVM's instructions: constants, polynomials, comparisons, and memory's scopes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import llvmlite.binding as llvm
from llvmlite import ir

SCOPES: Final = 24
"""Sets of memory that do not overlap: 0 is what is only read, k is what output k of a kernel writes."""
F32, F64, I32, I64 = ir.FloatType(), ir.DoubleType(), ir.IntType(32), ir.IntType(64)


def intrinsic_call(builder: Any, name: str, *args: Any) -> Any:
    """Call an LLVM intrinsic overloaded on its first argument's type."""
    kind = args[0].type
    function = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind] * len(args)))
    return builder.call(function, args)


def fma(builder: Any, first: Any, second: Any, addend: Any) -> Any:
    """first * second + addend with one rounding."""
    return intrinsic_call(builder, "llvm.fma", first, second, addend)


def constant(like: Any, value: float) -> Any:
    return ir.Constant(like.type, value)


def polynomial(builder: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """Horner's rule, highest power first."""
    value = constant(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = fma(builder, value, x, constant(x, coefficient))
    return value


def is_nan(builder: Any, x: Any) -> Any:
    return builder.fcmp_unordered("uno", x, x)


def clamp(builder: Any, x: Any, low: float, high: float) -> Any:
    """x within [low, high]; NaN passes."""
    x = builder.select(builder.fcmp_ordered("<", constant(x, high), x), constant(x, high), x)
    return builder.select(builder.fcmp_ordered(">", constant(x, low), x), constant(x, low), x)


@cache
def has_scale_instruction() -> bool:
    """Whether the vector form of ldexp is an instruction (AVX-512); the results are the same without it."""
    return bool(llvm.get_host_cpu_features().get("avx512f"))


def annotate(builder: Any, instruction: Any, scope: int) -> None:
    """Mark a memory access: scope 0 is read only, scope k is what output k writes.

    Different scopes never overlap.
    """
    module = builder.module
    domain = module.add_metadata(["graphflow"])
    scopes = [module.add_metadata([f"graphflow.{k}", domain]) for k in range(SCOPES)]
    instruction.set_metadata("alias.scope", module.add_metadata([scopes[scope]]))
    instruction.set_metadata("noalias", module.add_metadata([s for k, s in enumerate(scopes) if k != scope]))

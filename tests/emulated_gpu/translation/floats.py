"""Arithmetic of floats, and what floats and integers have in common: sums, comparisons, choices, conversions."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.emulated_gpu.translation import integers
from tests.emulated_gpu.translation.instruction import Instruction, Scope, Translator, inputs, result
from tests.emulated_gpu.translation.types import C_TYPES, size_of

_ROUNDINGS: Final = ("rn", "rz", "rm", "rp")
_WHOLE: Final = ("rni", "rzi", "rmi", "rpi")
_OPERATORS: Final = {"sum": "+", "difference": "-", "product": "*"}


def _floats(scope: Scope, i: Instruction) -> list[str]:
    """The inputs, of which "ftz" makes the smallest zeros."""
    flush = i.has("ftz") and i.kind == "f32"
    return [f"flushed({value})" if flush else value for value in inputs(scope, i)]


def _finished(scope: Scope, i: Instruction, value: str) -> str:
    """The statement that keeps a float, flushed or between 0 and 1 where that is asked for."""
    if i.has("sat"):
        if i.kind != "f32":
            raise ValueError("sat")
        value = f"saturated({value})"
    return result(scope, i, f"flushed({value})" if i.has("ftz") and i.kind == "f32" else f"({value})")


def _arithmetic(scope: Scope, i: Instruction, operation: str) -> str:
    """add, sub, mul."""
    if i.kind[0] != "f":
        if operation == "product":
            return integers.product(scope, i)
        return integers.sum_of(scope, i, _OPERATORS[operation])
    a, b = _floats(scope, i)
    rounding = i.one_of(_ROUNDINGS)
    if rounding in ("", "rn"):
        return _finished(scope, i, f"{a} {_OPERATORS[operation]} {b}")
    return _finished(scope, i, f"{operation}_{rounding}_{i.kind}({a}, {b})")


def _fused(scope: Scope, i: Instruction) -> str:
    a, b, c = _floats(scope, i)
    rounding = i.one_of(_ROUNDINGS)
    if rounding == "rn":
        return _finished(scope, i, f"fma{'f' if i.kind == 'f32' else ''}({a}, {b}, {c})")
    return _finished(scope, i, f"fused_{rounding}_{i.kind}({a}, {b}, {c})")


def _quotient(scope: Scope, i: Instruction) -> str:
    if i.kind[0] != "f":
        return integers.quotient(scope, i)
    i.without_effect("approx", "full", "rn")
    a, b = _floats(scope, i)
    return _finished(scope, i, f"{a} / {b}")


def _function(scope: Scope, i: Instruction, text: str) -> str:
    """A function of one float. text: C with {x} for it, and {f} for the suffix of C's functions."""
    i.without_effect("approx", "rn")  # What a GPU approximates is here as exact as C has it.
    if i.has("ftz") and i.kind == "f64":  # The upper half of the argument and of the result alone.
        (x,) = inputs(scope, i)
        return result(scope, i, f"upper_half({text.format(x=f'upper_half({x})', f='')})")
    (x,) = _floats(scope, i)
    return _finished(scope, i, text.format(x=x, f="f" if i.kind == "f32" else ""))


def _negated(scope: Scope, i: Instruction) -> str:
    if i.kind[0] != "f":
        return integers.negated(scope, i)
    (x,) = _floats(scope, i)
    return _finished(scope, i, f"-{x}")


def _magnitude(scope: Scope, i: Instruction) -> str:
    if i.kind[0] != "f":
        return integers.magnitude(scope, i)
    (x,) = _floats(scope, i)
    return _finished(scope, i, f"fabs{'f' if i.kind == 'f32' else ''}({x})")


def _extreme(scope: Scope, i: Instruction) -> str:
    """min, max; those that keep a NaN ("NaN") are not known."""
    if i.kind[0] != "f":
        return integers.extreme(scope, i)
    a, b = _floats(scope, i)
    name = "least" if i.name == "min" else "greatest"
    return _finished(scope, i, f"{name}_{i.kind}({a}, {b})")


def _signed_like(scope: Scope, i: Instruction) -> str:
    """copysign: the magnitude of the second input, the sign of the first."""
    sign, x = inputs(scope, i)
    return result(scope, i, f"copysign{'f' if i.kind == 'f32' else ''}({x}, {sign})")


_TESTS: Final = {"finite": "isfinite", "infinite": "isinf", "notanumber": "isnan", "normal": "isnormal"}


def _tested(scope: Scope, i: Instruction) -> str:
    (x,) = inputs(scope, i)
    return result(scope, i, f"({_TESTS[i.one_of(tuple(_TESTS))]}({x}) != 0)", "pred")


# ---- comparisons and choices --------------------------------------------------------------------------------

_COMPARISONS: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OF_UNSIGNED: Final = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_OR_UNORDERED: Final = {f"{name}u": operator for name, operator in _COMPARISONS.items()}
_ALL_COMPARISONS: Final = (*_COMPARISONS, *_OF_UNSIGNED, *_OR_UNORDERED, "num", "nan")
_JOINED: Final = {"and": "&", "or": "|", "xor": "^"}


def _compared(scope: Scope, i: Instruction) -> str:
    """The truth value of a comparison: with a NaN it is false, but for those that ask for one."""
    if i.has("ftz"):
        a, b = (f"flushed({scope.read(operand, i.kind)})" for operand in i.operands[1:3])
    else:
        a, b = (scope.read(operand, i.kind) for operand in i.operands[1:3])
    comparison = i.one_of(_ALL_COMPARISONS)
    unordered = f"(isnan({a}) || isnan({b}))"
    if comparison == "nan":
        return unordered
    if comparison == "num":
        return f"(!{unordered})"
    if comparison in _OR_UNORDERED:
        return f"({unordered} || {a} {_OR_UNORDERED[comparison]} {b})"
    if i.kind[0] == "f" and comparison == "ne":
        return f"(!{unordered} && {a} != {b})"
    return f"({a} {(_COMPARISONS | _OF_UNSIGNED)[comparison]} {b})"


def _set_predicate(scope: Scope, i: Instruction) -> str:
    """setp: a truth value and, after "|", its opposite, each joined with another one."""
    value = _compared(scope, i)
    values = [value, f"!{value}"]
    if joined := i.one_of(tuple(_JOINED)):
        other = scope.read(i.operands[3], "pred")
        values = [f"({value} {_JOINED[joined]} {other})" for value in values]
    targets = i.operands[0].split("|")
    return " ".join(scope.write(target, "pred", value) for target, value in zip(targets, values))


def _set(scope: Scope, i: Instruction) -> str:
    """set: a truth value as all bits, or as 1.0."""
    value = _compared(scope, i)
    to = i.modifiers[-2]
    i.without_effect(to)
    return result(scope, i, f"({value} ? 1.0f : 0.0f)" if to[0] == "f" else f"(({C_TYPES[to]})-{value})", to)


def _selected(scope: Scope, i: Instruction) -> str:
    a, b = (scope.read(operand, i.kind) for operand in i.operands[1:3])
    return result(scope, i, f"({scope.read(i.operands[3], 'pred')} ? {a} : {b})")


# ---- conversions --------------------------------------------------------------------------------------------


def _converted(scope: Scope, i: Instruction) -> str:
    """cvt: the value as another type; integers keep their low bits."""
    to, kind = i.modifiers[-2:]
    i.without_effect(to)
    value = scope.read(i.operands[1], kind)
    if kind[0] == "f" and i.has("ftz") and kind == "f32":
        value = f"flushed({value})"
    if kind[0] == "f" and to[0] == "f":
        return _float_of_float(scope, i, value, kind, to)
    if kind[0] == "f":
        whole = f"whole_{i.one_of(_WHOLE)}((double){value})"
        return result(scope, i, f"to_{C_TYPES[to]}({whole}, {_integer_of_nan(kind, to)})", to)
    if to[0] == "f" and not i.has("rn"):
        raise ValueError("rounding")
    return result(scope, i, f"({C_TYPES[to]}){value}", to)


def _float_of_float(scope: Scope, i: Instruction, value: str, kind: str, to: str) -> str:
    if whole := i.one_of(_WHOLE):
        value = f"whole_{whole}({value})"
    elif size_of(to) < size_of(kind):
        rounding = i.one_of(_ROUNDINGS)
        value = value if rounding == "rn" else f"narrowed_{rounding}({value})"
    value = f"({C_TYPES[to]}){value}"
    if i.has("ftz") and to == "f32":
        value = f"flushed({value})"
    return result(scope, i, f"saturated({value})" if i.has("sat") else value, to)


def _integer_of_nan(kind: str, to: str) -> str:
    """What a NaN becomes: 0, but where a 64-bit type takes part the highest bit."""
    return f"1ull << {to[1:]} - 1" if "64" in kind + to else "0"


INSTRUCTIONS: Final[dict[str, Translator]] = {
    "add": partial(_arithmetic, operation="sum"),
    "sub": partial(_arithmetic, operation="difference"),
    "mul": partial(_arithmetic, operation="product"),
    "fma": _fused,
    "div": _quotient,
    "neg": _negated,
    "abs": _magnitude,
    "min": _extreme,
    "max": _extreme,
    "rcp": partial(_function, text="1 / {x}"),
    "sqrt": partial(_function, text="sqrt{f}({x})"),
    "rsqrt": partial(_function, text="1 / sqrt{f}({x})"),
    "ex2": partial(_function, text="exp2{f}({x})"),
    "lg2": partial(_function, text="log2{f}({x})"),
    "sin": partial(_function, text="sin{f}({x})"),
    "cos": partial(_function, text="cos{f}({x})"),
    "tanh": partial(_function, text="tanh{f}({x})"),
    "copysign": _signed_like,
    "testp": _tested,
    "setp": _set_predicate,
    "set": _set,
    "selp": _selected,
    "cvt": _converted,
}

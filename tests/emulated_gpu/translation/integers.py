"""Integer arithmetic, and what works on bits: sums with carries, products and their halves, shifts, fields."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.emulated_gpu.translation.instruction import Instruction, Scope, Translator, inputs, result
from tests.emulated_gpu.translation.types import C_TYPES, size_of, unsigned

_WIDE: Final = "unsigned __int128"


def sum_of(scope: Scope, i: Instruction, operator: str) -> str:
    """add, sub."""
    if i.has("cc"):
        return _carried(scope, i, operator, "0")
    kind = unsigned(i.kind)
    a, b = inputs(scope, i, kind)
    return result(scope, i, f"({kind})({a} {operator} {b})", kind)


def _carried(scope: Scope, i: Instruction, operator: str, carry: str = "t->carry") -> str:
    """addc, subc, and sums whose carry goes on to them."""
    kind = unsigned(i.kind)
    a, b = inputs(scope, i, kind)
    return _with_carry(scope, i, kind, f"({_WIDE}){a} {operator} {b} {operator} {carry}")


def _with_carry(scope: Scope, i: Instruction, kind: str, total: str) -> str:
    carried = f"t->carry = (u32)(total >> {kind[1:]} & 1);" if i.has("cc") else ""
    return f"{{ {_WIDE} total = {total}; {carried} {result(scope, i, f'({kind})total', kind)} }}"


def product(scope: Scope, i: Instruction) -> str:
    """mul: its lower half, its upper half, or all of it."""
    half = i.one_of(("lo", "hi", "wide"))
    if half == "wide":
        wide = f"{i.kind[0]}{2 * int(i.kind[1:])}"
        a, b = inputs(scope, i)
        return result(scope, i, f"(({wide}){a} * ({wide}){b})", wide)
    if half == "hi":
        wide = "__int128" if i.kind[0] == "s" else _WIDE
        a, b = inputs(scope, i)
        return result(scope, i, f"({C_TYPES[i.kind]})((({wide}){a} * ({wide}){b}) >> {i.kind[1:]})")
    kind = unsigned(i.kind)
    a, b = inputs(scope, i, kind)
    return result(scope, i, f"({kind})((u64){a} * (u64){b})", kind)


def _product_and_sum(scope: Scope, i: Instruction) -> str:
    """mad."""
    half = i.one_of(("lo", "hi", "wide"))
    if half == "wide":
        kind = f"{i.kind[0]}{2 * int(i.kind[1:])}"
        bits = unsigned(kind)
        a, b = (scope.read(operand, i.kind) for operand in i.operands[1:3])
        c = scope.read(i.operands[3], kind)
        return result(scope, i, f"({kind})(({bits})(({kind}){a} * ({kind}){b}) + ({bits}){c})", kind)
    if half == "hi" or i.has("cc"):
        return _product_and_carry(scope, i, "0")
    kind = unsigned(i.kind)
    a, b, c = inputs(scope, i, kind)
    return result(scope, i, f"({kind})((u64){a} * (u64){b} + (u64){c})", kind)


def _product_and_carry(scope: Scope, i: Instruction, carry: str = "t->carry") -> str:
    """madc, and products whose sum has a carry."""
    if i.kind[0] != "u":
        raise ValueError(i.kind)
    a, b, c = inputs(scope, i)
    whole = f"({_WIDE}){a} * {b}"
    half = f"({whole})" if i.one_of(("lo", "hi")) == "lo" else f"(({whole}) >> {i.kind[1:]})"
    return _with_carry(scope, i, i.kind, f"({_WIDE})({i.kind}){half} + {c} + {carry}")


def quotient(scope: Scope, i: Instruction) -> str:
    """div, rem."""
    a, b = inputs(scope, i)
    function = {"div": "divided", "rem": "remainder"}[i.name]
    return result(scope, i, f"{function}_{C_TYPES[i.kind]}({a}, {b})")


def negated(scope: Scope, i: Instruction) -> str:
    """neg."""
    kind = unsigned(i.kind)
    (value,) = inputs(scope, i, kind)
    return result(scope, i, f"({kind})(0 - {value})", kind)


def magnitude(scope: Scope, i: Instruction) -> str:
    """abs."""
    (value,) = inputs(scope, i)
    return result(scope, i, f"({C_TYPES[i.kind]})({value} < 0 ? 0 - (u64){value} : (u64){value})")


def extreme(scope: Scope, i: Instruction) -> str:
    """min, max."""
    a, b = inputs(scope, i)
    return result(scope, i, f"({a} {'<' if i.name == 'min' else '>'} {b} ? {a} : {b})")


def _logical(scope: Scope, i: Instruction, operator: str) -> str:
    kind = i.kind if i.kind == "pred" else unsigned(i.kind)
    a, b = inputs(scope, i, kind)
    return result(scope, i, f"({C_TYPES[kind]})({a} {operator} {b})", kind)


def _complement(scope: Scope, i: Instruction) -> str:
    kind = i.kind if i.kind == "pred" else unsigned(i.kind)
    (value,) = inputs(scope, i, kind)
    return result(scope, i, f"!{value}" if kind == "pred" else f"({kind})~{value}", kind)


def _shift(scope: Scope, i: Instruction, direction: str) -> str:
    kind = i.kind if i.kind[0] == "s" and direction == "right" else unsigned(i.kind)
    value, by = scope.read(i.operands[1], kind), scope.read(i.operands[2], "u32")
    return result(scope, i, f"shifted_{direction}_{kind}({value}, {by})", kind)


def _funnel_shift(scope: Scope, i: Instruction) -> str:
    """shf: of the 64 bits of two registers, the upper half shifted left, or the lower half shifted right."""
    low, high, by = inputs(scope, i, "u32")
    count = f"({by} & 31)" if i.one_of(("wrap", "clamp")) == "wrap" else f"({by} > 32 ? 32 : {by})"
    both = f"((u64){high} << 32 | {low})"
    left = i.one_of(("l", "r")) == "l"
    return result(scope, i, f"(u32)({both} << {count} >> 32)" if left else f"(u32)({both} >> {count})", "u32")


def _inserted(scope: Scope, i: Instruction) -> str:
    kind = unsigned(i.kind)
    field, into = (scope.read(operand, kind) for operand in i.operands[1:3])
    start, count = (scope.read(operand, "u32") for operand in i.operands[3:5])
    return result(scope, i, f"({kind})bits_inserted({field}, {into}, {start}, {count}, {kind[1:]})", kind)


def _extracted(scope: Scope, i: Instruction) -> str:
    if i.kind[0] != "u":  # The sign of the field goes on to the left.
        raise ValueError(i.kind)
    value = scope.read(i.operands[1], i.kind)
    start, count = (scope.read(operand, "u32") for operand in i.operands[2:4])
    return result(scope, i, f"({i.kind})bits_extracted({value}, {start}, {count})")


def _permuted(scope: Scope, i: Instruction) -> str:
    a, b, how = inputs(scope, i, "u32")
    return result(scope, i, f"bytes_permuted({a}, {b}, {how})", "u32")


def _ones(scope: Scope, i: Instruction) -> str:
    (value,) = inputs(scope, i, unsigned(i.kind))
    return result(scope, i, f"(u32)__builtin_popcountll({value})", "u32")


def _leading_zeros(scope: Scope, i: Instruction) -> str:
    bits = 8 * size_of(i.kind)
    (value,) = inputs(scope, i, unsigned(i.kind))
    return result(scope, i, f"(u32)({value} ? __builtin_clzll({value}) - {64 - bits} : {bits})", "u32")


INSTRUCTIONS: Final[dict[str, Translator]] = {
    "addc": partial(_carried, operator="+"),
    "subc": partial(_carried, operator="-"),
    "mad": _product_and_sum,
    "madc": _product_and_carry,
    "rem": quotient,
    "and": partial(_logical, operator="&"),
    "or": partial(_logical, operator="|"),
    "xor": partial(_logical, operator="^"),
    "not": _complement,
    "shl": partial(_shift, direction="left"),
    "shr": partial(_shift, direction="right"),
    "shf": _funnel_shift,
    "bfi": _inserted,
    "bfe": _extracted,
    "prmt": _permuted,
    "popc": _ones,
    "clz": _leading_zeros,
}

"""Prints expression trees of the scalar language for a GPU: the same trees as on a CPU, other functions.

Every result is wrapped back into its dtype, because Numba widens integers. The functions are libdevice's, by dtype.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from graphflow._core.codegen.cpu.regions.scalar_source import SYMBOLS, Printer, Translation
from graphflow._core.codegen.cpu.regions.scalar_text import DIVISIONS, FLOATS, Node

_FUNCTIONS: Final = {"round": "rint"}


class _CudaPrinter(Printer):
    def literal(self, value: float, dtype: str) -> str:
        if dtype not in FLOATS or math.isfinite(value):
            return super().literal(value, dtype)
        return f"{dtype}({'1e999 - 1e999' if math.isnan(value) else '1e999' if value > 0 else '-1e999'})"

    def code(self, node: Node) -> str:
        op, dtype = node.op, node.dtype
        if op == "select":
            return self.select(node)
        args = [self.value(arg) for arg in node.args]
        if op in DIVISIONS:
            return self.divide(op, args[0], args[1], dtype)
        if op in ("and", "or") and dtype == "bool":
            return f"{args[0]} {op} {args[1]}"
        if op == "xor" and dtype == "bool":
            return f"{args[0]} != {args[1]}"
        if op in SYMBOLS:
            code = f"{args[0]} {SYMBOLS[op]} {args[1]}"
            return code if dtype == "bool" else f"{dtype}({code})"
        if op == "cast":
            return self._cast(args[0], node.args[0].dtype, dtype)
        return self._function(op, args, dtype)

    def _cast(self, value: str, source: str, dtype: str) -> str:
        if dtype == "bool":
            return f"{value} != {self.literal(0, source)}"
        if source == "bool":
            return f"({self.literal(1, dtype)} if {value} else {self.literal(0, dtype)})"
        return f"{dtype}({value})"

    def _function(self, op: str, args: list[str], dtype: str) -> str:
        x = args[0]
        zero, one = (self.literal(k, dtype) for k in (0, 1))
        if op == "not":
            return f"not {x}"
        if op in ("min", "max"):
            sign = "<" if op == "min" else ">"
            number = f" or {x} != {x}" if dtype in FLOATS else ""
            return f"({x} if {x} {sign} {args[1]}{number} else {args[1]})"
        if op in ("square", "neg", "invert"):
            return f"{dtype}({f'{x} * {x}' if op == 'square' else ('-' if op == 'neg' else '~') + x})"
        if op == "abs":
            return f"({dtype}(-{x}) if {x} < {zero} else {f'{x} + {zero}' if dtype in FLOATS else x})"
        if op == "sign":
            return f"({one} if {x} > {zero} else {dtype}(-1) if {x} < {zero} else {x})"
        if op == "sigmoid":
            small = self.temporary(f"exp_{dtype}({dtype}(-abs({x})))")
            return f"({one} if {x} >= {zero} else {small}) / ({one} + {small})"
        if op == "softplus":
            rest = f"log1p_{dtype}(exp_{dtype}({dtype}(-abs({x}))))"
            return f"{rest} + ({x} if {x} > {zero} or {x} != {x} else {zero})"
        return f"{_FUNCTIONS.get(op, op)}_{dtype}({', '.join(args)})"

    def divide(self, op: str, first: str, second: str, dtype: str) -> str:
        zero = self.literal(0, dtype)
        if dtype not in FLOATS:
            return self._divide_integers(op, first, second, dtype)
        if op in ("floordiv", "truncatediv"):
            return f"{'floor' if op == 'floordiv' else 'trunc'}_{dtype}({first} / {second})"
        rest = self.temporary(f"fmod_{dtype}({first}, {second})")
        if op == "truncatemod":
            return rest
        other_sign = f"({rest} < {zero}) != ({second} < {zero})"
        return f"({rest} + {second} if {rest} != {zero} and {other_sign} else {rest})"

    def _divide_integers(self, op: str, first: str, second: str, dtype: str) -> str:
        zero, one = self.literal(0, dtype), self.literal(1, dtype)
        condition = "" if self.condition is None else f" and {self.condition}"
        self.lines += [f"if {second} == {zero}{condition}:", "    bad = 1"]
        divisor = self.temporary(f"{one} if {second} == {zero} else {second}")
        floor = self.temporary(f"{dtype}({first} // {divisor})")
        rest = self.temporary(f"{dtype}({first} - {dtype}({floor} * {divisor}))")
        if op == "floordiv":
            return floor
        if op == "floormod":
            return rest
        inexact = f"{rest} != {zero} and ({first} < {zero}) != ({divisor} < {zero})"
        if op == "truncatediv":
            return f"({dtype}({floor} + {one}) if {inexact} else {floor})"
        return f"({dtype}({rest} - {divisor}) if {inexact} else {rest})"

    def choice(self, condition: str, chosen: str, other: str) -> str:
        return f"({chosen} if {condition} else {other})"


def translate(text: str, dtype: str, names: Mapping[str, str], prefix: str) -> Translation:
    """Prints a text of dtype `dtype` over `names` (name to dtype); intermediate names start with `prefix`.

    A text with a division of integers sets `bad` if it divides by zero.
    """
    return _CudaPrinter(prefix).translation(text, dtype, names)

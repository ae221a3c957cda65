"""Prints expression trees of the scalar language as lines of a generated kernel.

Every result is wrapped back into its dtype, because Numba widens integers. Conditionals become selections without
branches, which is what the vectoriser needs; an integer division by zero sets the kernel's variable `bad` under the
conditions it stands in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from graphflow._core.codegen.cpu.regions.scalar_text import (
    DIVISIONS,
    FLOAT_FUNCTIONS,
    FLOATS,
    INTEGERS,
    ROUNDINGS,
    Node,
    parse,
)
from graphflow._core.common.records import dataclass

SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^", "lshift": "<<"},
    **{"rshift": ">>", "lt": "<", "le": "<=", "eq": "==", "ne": "!="},
}
_INTEGER_DIVISIONS = {
    "floordiv": "integer_floor_divide",
    "floormod": "integer_floor_modulo",
    "truncatediv": "integer_truncate_divide",
    "truncatemod": "integer_truncate_modulo",
}


def variable(name: str) -> str:
    """What a value is called in generated text, in which it must not meet the generator's own names."""
    return f"v_{name}"


@dataclass(frozen=True)
class Translation:
    """Lines that compute intermediate values, then the value itself."""

    lines: tuple[str, ...]
    value: str


class Printer:
    """Prints one expression tree; `condition` is that under which what is printed is chosen."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.lines: list[str] = []
        self.done: dict[Node, str] = {}
        self.condition: str | None = None

    def temporary(self, code: str) -> str:
        name = f"{self.prefix}{len(self.lines)}"
        self.lines.append(f"{name} = {code}")
        return name

    def value(self, node: Node) -> str:
        """A name or literal for a node's value, computed at its first use."""
        if node.op == "name":
            return variable(node.name)
        if node.op == "literal":
            return self.literal(node.value, node.dtype)
        if node not in self.done:
            self.done[node] = self.temporary(self.code(node))
        return self.done[node]

    def literal(self, value: float, dtype: str) -> str:
        if dtype == "bool":
            return "True" if value else "False"
        if dtype not in FLOATS:
            return f"{dtype}({int(value)})"
        return f"{dtype}({float(value)!r})" if math.isfinite(value) else f"{dtype}(float('{float(value)!r}'))"

    def code(self, node: Node) -> str:
        op, dtype = node.op, node.dtype
        if op == "select":
            return self.select(node)
        args = [self.value(arg) for arg in node.args]
        if op in DIVISIONS:
            return self.divide(op, args[0], args[1], dtype)
        if op in SYMBOLS:
            code = f"{args[0]} {SYMBOLS[op]} {args[1]}"
            return f"to_{dtype}({code})" if dtype in INTEGERS else code
        if op == "cast":
            return (
                f"{args[0]} != {self.literal(0, node.args[0].dtype)}"
                if dtype == "bool"
                else f"to_{dtype}({args[0]})"
            )
        if op in ("min", "max"):
            return f"{op}imum({args[0]}, {args[1]})"
        if op == "square":
            return f"{args[0]} * {args[0]}" if dtype in FLOATS else f"to_{dtype}({args[0]} * {args[0]})"
        if op in ("neg", "invert", "not"):
            code = {"neg": "-", "invert": "~", "not": "not "}[op] + args[0]
            return f"to_{dtype}({code})" if dtype in INTEGERS else code
        if dtype in FLOATS and (
            op in FLOAT_FUNCTIONS or op in ROUNDINGS or op in ("abs", "sign", "pow", "atan2")
        ):
            return f"f_{op}({', '.join(args)})"
        zero = self.literal(0, dtype)
        if op == "abs":
            return f"select({args[0]} < {zero}, to_{dtype}(-{args[0]}), {args[0]})"
        assert op == "sign", op
        return f"to_{dtype}(int64({args[0]} > {zero}) - int64({args[0]} < {zero}))"

    def divide(self, op: str, first: str, second: str, dtype: str) -> str:
        zero = self.literal(0, dtype)
        if dtype in INTEGERS:
            condition = "" if self.condition is None else f" & {self.condition}"
            self.lines.append(f"bad = bad | int64(({second} == {zero}){condition})")
            return f"{_INTEGER_DIVISIONS[op]}({first}, {second})"
        if op in ("floordiv", "truncatediv"):
            return f"f_{'floor' if op == 'floordiv' else 'trunc'}({first} / {second})"
        return f"f_{'floor_modulo' if op == 'floormod' else 'fmod'}({first}, {second})"

    def select(self, node: Node) -> str:
        condition = self.value(node.args[0])
        outer, kept = self.condition, dict(self.done)
        branches = []
        for branch, here in ((node.args[1], condition), (node.args[2], f"(not {condition})")):
            self.condition = here if outer is None else f"{outer} & {here}"
            branches.append(self.value(branch))
            # a value first computed under a condition would miss its errors if it is used without
            self.done = dict(kept)
        self.condition = outer
        return self.choice(condition, branches[0], branches[1])

    def choice(self, condition: str, chosen: str, other: str) -> str:
        return f"select({condition}, {chosen}, {other})"

    def translation(self, text: str, dtype: str, names: Mapping[str, str]) -> Translation:
        """A text of dtype `dtype` over `names` (name to dtype)."""
        value = self.value(parse(text, dtype, names))
        return Translation(tuple(self.lines), value)


def translate(text: str, dtype: str, names: Mapping[str, str], prefix: str) -> Translation:
    """Print a text of dtype `dtype` over `names` (name to dtype); intermediate names start with `prefix`."""
    return Printer(prefix).translation(text, dtype, names)

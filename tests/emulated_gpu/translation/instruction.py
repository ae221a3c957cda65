"""One instruction: its modifiers, of which none may be overlooked, its operands, and about what it costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from tests.emulated_gpu.translation.types import size_of

_OPERAND: Final = re.compile(r"\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|[^,\s][^,]*")


class Untranslated(Exception):
    """An instruction or a directive that the translator does not know."""


class Instruction:
    """`name.modifier...kind operand, operand, ...`; those who translate it say which modifiers they know."""

    def __init__(self, statement: str) -> None:
        name, _, rest = statement.partition(" ")
        self.statement = statement
        self.name, *self.modifiers = name.split(".")
        self.kind = self.modifiers[-1] if self.modifiers else ""
        self.operands = [operand.strip() for operand in _OPERAND.findall(rest)]
        self._unknown = set(self.modifiers)

    def has(self, modifier: str) -> bool:
        """Whether the modifier is there."""
        self._unknown.discard(modifier)
        return modifier in self.modifiers

    def one_of(self, modifiers: Sequence[str]) -> str:
        """The modifier of several that is there; "" where none is."""
        for modifier in modifiers:
            if self.has(modifier):
                return modifier
        return ""

    def without_effect(self, *modifiers: str) -> None:
        """Says that these change nothing here."""
        self._unknown.difference_update(modifiers)

    def check(self) -> None:
        """Raises ValueError where a modifier is one that nobody has asked for."""
        self._unknown.discard(self.kind)
        if self._unknown:
            raise ValueError(f"modifiers {sorted(self._unknown)}")


class Scope(Protocol):
    """What an instruction may ask of the function that it is in."""

    meets: bool

    def register(self, name: str) -> tuple[str, str]:
        """A register's name in C, and its type."""

    def symbol(self, name: str) -> str:
        """The address of a variable or a parameter, as a C expression."""

    def read(self, operand: str, kind: str) -> str:
        """An operand as a C expression of a type."""

    def write(self, operand: str, kind: str, value: str) -> str:
        """The statement that puts a value of a type in a register; "_" takes nothing."""


Translator = Callable[[Scope, Instruction], str]
"""Makes a C statement of an instruction."""


def inputs(scope: Scope, i: Instruction, kind: str = "") -> list[str]:
    """All operands but the first as C expressions, of the instruction's type or another."""
    return [scope.read(operand, kind or i.kind) for operand in i.operands[1:]]


def result(scope: Scope, i: Instruction, value: str, kind: str = "") -> str:
    """The statement that puts a value of the instruction's type, or of another, in its first operand."""
    return scope.write(i.operands[0], kind or i.kind, value)


_DIVISION: Final = {8: 70, 4: 20, 2: 20}
_FREE: Final = ("mov", "cvta", "bar", "membar")
_FUNCTIONS: Final = ("ex2", "lg2", "rcp", "rsqrt", "sin", "cos", "tanh", "sqrt")
_TWICE_WHERE_WIDE: Final = ("add", "sub", "setp", "min", "max", "shl", "shr")


def cost(i: Instruction) -> int:
    """About how many issue slots of a warp an instruction takes on an SM of Ampere or Hopper, in 32 lanes' units."""
    wide_integer = i.kind[1:] == "64" and i.kind[0] != "f"
    if i.name in _FREE:
        return 0
    if i.name in ("div", "rem"):
        return {"f32": 12, "f64": 25}.get(i.kind) or _DIVISION[size_of(i.kind)]
    if i.name in _FUNCTIONS:
        return 4 if "approx" in i.modifiers else 12
    if i.name == "mul" and wide_integer:
        return 4
    if i.name == "cvt":
        if any(kind[0] == "f" for kind in i.modifiers[-2:]):
            return 2
        return 0 if wide_integer else 1
    return 2 if wide_integer and i.name in _TWICE_WHERE_WIDE else 1

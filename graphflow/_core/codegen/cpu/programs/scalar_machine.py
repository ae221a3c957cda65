"""Long chains of scalar ops and small loops, run by one precompiled interpreter instead of a function
compiled for each.

A function of a thousand scalar ops takes seconds to compile; interpreting it takes microseconds, and nothing
has to be compiled at all. float32 is rounded at every operation, as everywhere. A loop comes back to Python
every few million turns, so that Ctrl-C works (the program's run() goes on with it). An integer division by
zero stops the program with its status.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np

from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS, Step, Words
from graphflow._core.codegen.cpu.programs.scalar_machine_source import (
    ARG_ADDRESSES,
    COMMON,
    DTYPES,
    MEMORY,
    OPCODES,
)
from graphflow._core.codegen.cpu.regions.scalar_text import Node, ScalarTextError, parse
from graphflow._core.common.records import dataclass

CODE, REGISTERS = 1, 3
"""Which arguments of a step are the addresses of a program's code and of its registers."""
_TURNS = 1 << 22
_REGISTERS = 1 << 16


@dataclass(frozen=True)
class Register:
    """A scalar in the machine: its number and dtype (float32, float64, int32, int64, bool)."""

    number: int
    dtype: str


@dataclass(frozen=True, eq=False)
class Label:
    """A place in the code that jumps name; placed once."""


def _bits(value: float, dtype: str) -> int:
    if dtype == "float32":
        with np.errstate(over="ignore"):
            return int(np.float32(value).view(np.uint32))
    if dtype == "float64":
        return int(struct.unpack("q", struct.pack("d", value))[0])
    return int(value)


class ScalarProgram:
    """Builds the instructions of one scalar program; step() makes it a step of a native program.

    Registers are written once by evaluate() and load(), or again and again by assign() into a variable().
    ScalarTextError for a dtype or an operation that the machine lacks.
    """

    def __init__(self) -> None:
        self.common = True
        """Whether the interpreter of common operations runs it; the other runs all."""
        self._code: list[int] = []
        self._initial: list[int] = []
        self._constants: dict[tuple[int, str], Register] = {}
        self._addresses: list[int] = []
        self._slots: dict[int, int] = {}
        self._places: dict[Label, int] = {}
        self._jumps: list[tuple[int, Label]] = []
        self._words: tuple[Words, Words] | None = None

    # -- registers and memory ----------------------------------------------------------------------------------

    def variable(self, dtype: str) -> Register:
        """A new register."""
        if dtype not in DTYPES:
            raise ScalarTextError(f"the scalar machine knows no dtype {dtype}")
        if len(self._initial) >= _REGISTERS:
            raise ScalarTextError(f"a scalar program has at most {_REGISTERS} values")
        self._initial.append(0)
        return Register(len(self._initial) - 1, dtype)

    def constant(self, value: float, dtype: str) -> Register:
        """A register that holds a constant; it must not be assigned to."""
        key = (_bits(value, dtype), dtype)
        if key not in self._constants:
            register = self._constants[key] = self.variable(dtype)
            self._initial[register.number] = key[0]
        return self._constants[key]

    def load(self, address: int, dtype: str) -> Register:
        """A new register with the scalar in memory at `address`."""
        register = self.variable(dtype)
        self._emit(("load" + MEMORY[dtype],), register.number)
        self._code.append(self._slot(address))
        return register

    def store(self, register: Register, address: int) -> None:
        """Write a register to memory at `address`."""
        self._emit(("store" + MEMORY[register.dtype],), 0, register.number)
        self._code.append(self._slot(address))

    def assign(self, target: Register, value: Register) -> None:
        """Copy a value into a variable."""
        if target.dtype != value.dtype:
            raise ScalarTextError(f"cannot assign a {value.dtype} to a {target.dtype}")
        self._emit(("move",), target.number, value.number)

    def _slot(self, address: int) -> int:
        if address not in self._slots:
            self._slots[address] = len(self._addresses)
            self._addresses.append(address)
        return self._slots[address]

    # -- control -------------------------------------------------------------------------------------------------

    def place(self, label: Label) -> None:
        """Let a label stand here."""
        self._places[label] = len(self._code)

    def jump(self, label: Label, when: Register | None = None, *, unless: bool = False) -> None:
        """Go on at a label: always, when a bool register is true, or unless it is."""
        name = "jump" if when is None else "jump_unless" if unless else "jump_if"
        self._emit((name,), 0, 0 if when is None else when.number)
        self._jumps.append((len(self._code), label))
        self._code.append(0)

    # -- expressions ---------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str, dtype: str, names: Mapping[str, Register], target: Register | None = None
    ) -> Register:
        """The value of a text of the scalar language over named registers; in `target`, or wherever it is."""
        tree = parse(text, dtype, {name: register.dtype for name, register in names.items()})
        return self._value(tree, names, {}, target)

    def _value(
        self,
        node: Node,
        names: Mapping[str, Register],
        done: dict[Node, Register],
        target: Register | None = None,
    ) -> Register:
        if node.op == "name" or node.op == "literal":
            found = names[node.name] if node.op == "name" else self.constant(node.value, node.dtype)
            if target is not None:
                self.assign(target, found)
            return target or found
        if node in done and target is None:
            return done[node]
        if node.op == "select":
            result = self._select(node, names, done, target)
        else:
            args = [self._value(arg, names, done) for arg in node.args]
            source = node.args[0].dtype
            key = ("cast", source, node.dtype) if node.op == "cast" else (node.op, source)
            if key not in OPCODES:
                raise ScalarTextError(f"the scalar machine has no {' '.join(key)}")
            self.common = self.common and key in COMMON
            result = target or self.variable(node.dtype)
            self._emit(key, result.number, *(register.number for register in args))
        done[node] = result
        return result

    def _select(
        self, node: Node, names: Mapping[str, Register], done: dict[Node, Register], target: Register | None
    ) -> Register:
        """Only the chosen side is computed; what it computes is not reused after it."""
        condition = self._value(node.args[0], names, done)
        result, otherwise, end = self.variable(node.dtype), Label(), Label()
        self.jump(otherwise, condition, unless=True)
        self._value(node.args[1], names, dict(done), result)
        self.jump(end)
        self.place(otherwise)
        self._value(node.args[2], names, dict(done), result)
        self.place(end)
        if target is not None:
            self.assign(target, result)
        return target or result

    def _emit(self, key: tuple[str, ...], target: int, first: int = 0, second: int = 0) -> None:
        word = OPCODES[key] | target << 16 | first << 32 | second << 48
        self._code.append(word - (1 << 64) if word >> 63 else word)

    @property
    def memory(self) -> tuple[Words, Words] | None:
        """The code, and the registers that it computes in, once there is a step."""
        return self._words

    # -- the result ----------------------------------------------------------------------------------------------

    def step(self, interpreter: int, status: int = PROGRAM_STATUS) -> Step:
        """The program as one step for the interpreter at an address; this object must outlive it.

        Addresses given to load() and store() are the step's arguments from ARG_ADDRESSES on, in the order of
        their first mention.
        """
        for position, label in self._jumps:
            self._code[position] = self._places[label]
        code = np.array(self._code, dtype=np.int64)
        registers = np.array([*self._initial, 0], dtype=np.int64)
        self._words = (code, registers)
        header = [status, int(code.ctypes.data), len(code), int(registers.ctypes.data), 0, _TURNS]
        assert len(header) == ARG_ADDRESSES
        return Step(interpreter, [*header, *self._addresses], 0, 1)

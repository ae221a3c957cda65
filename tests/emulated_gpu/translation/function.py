"""One function of PTX as one of C, which keeps registers in local variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tests.emulated_gpu.translation import control, floats, integers
from tests.emulated_gpu.translation.instruction import Instruction, Untranslated, cost
from tests.emulated_gpu.translation.types import C_TYPES, c_name, cast, size_of

_INSTRUCTIONS: Final = {**integers.INSTRUCTIONS, **floats.INSTRUCTIONS, **control.INSTRUCTIONS}
_SPECIAL: Final = {
    **{
        f"%{name}.{axis}": f"t->{name}[{number}]"
        for name in ("tid", "ntid", "ctaid", "nctaid")
        for number, axis in enumerate("xyz")
    },
    "%laneid": "(t->number & 31)",
    "%warpid": "(t->number >> 5)",
}
_IGNORED: Final = (".pragma", ".loc", ".file", ".maxntid", ".minnctapersm")
_STATEMENT: Final = re.compile(r"\s*(?:([\w$]+)\s*:(?!:)|([{}])|([^\s;{}][^;{}]*(?:\{[^}]*\}[^;{}]*)*);)")
_GUARD: Final = re.compile(r"@(!?)([%\w$]+)\s+(.*)")
_SEVERAL: Final = re.compile(r"([%\w$]+)<(\d+)>")
_VARIABLE: Final = re.compile(r"\.(\w+) (?:\.align (\d+) )?\.(\w+) ([\w$]+)(?:\[(\d+)\])?")
_INTEGER: Final = re.compile(r"-?(0[xX][0-9a-fA-F]+|\d+)U?")
_FLOAT: Final = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")


def _statements(body: str) -> Iterator[str]:
    """The statements of a function, its labels ("name:") and braces."""
    for label, brace, statement in _STATEMENT.findall(body):
        yield f"{label}:" if label else brace or " ".join(statement.split())


class Function:
    """A function: its C, and what starts a kernel must know of it.

    meets: whether its threads wait for each other. shared: bytes. parameters: the offset and the size of each.
    """

    def __init__(self, kind: str, name: str, result: str, parameters: str, symbols: dict[str, str]) -> None:
        self.name = name
        self.meets = False
        self.shared = 0
        self.parameters: list[tuple[int, int]] = []
        self._module_symbols = symbols
        self._symbols: dict[str, str] = {}
        self._registers: list[dict[str, str]] = [{}]  # of each scope
        self._declared: list[str] = []
        self._code: list[str] = []
        self._cost = 0
        declared = [words.split() for words in parameters.split(",") if words.strip()]
        signature = self._of_kernel(declared) if kind == "entry" else self._of_function(result, declared)
        self.declaration = f"static void {c_name(name)}({', '.join(['Thread *t', *signature])})"

    def _of_kernel(self, declared: list[list[str]]) -> list[str]:
        """Arguments of a kernel lie in one block of memory."""
        offset = 0
        for words in declared:
            if len(words) != 3:
                raise Untranslated(" ".join(words))
            size = size_of(words[1].lstrip("."))
            offset = -(-offset // size) * size
            self._symbols[words[-1]] = f"(parameters + {offset})"
            self.parameters.append((offset, size))
            offset += size
        return ["const char *parameters"]

    def _of_function(self, result: str, declared: list[list[str]]) -> list[str]:
        """A function is given the addresses of its result and its arguments."""
        if result:
            self._symbols[result.split()[-1].partition("[")[0]] = "result"
        names = [words[-1].partition("[")[0] for words in declared]
        self._symbols.update((name, c_name(name)) for name in names)
        return ["char *result", *(f"char *{c_name(name)}" for name in names)]

    def text(self, body: str) -> str:
        """The function in C, of its body in PTX."""
        for statement in _statements(body):
            self._translate(statement)
        self._pay()
        return "\n".join([f"{self.declaration} {{", *self._declared, *self._code, "}", ""])

    # ---- statements --------------------------------------------------------------------------------------------------

    def _translate(self, statement: str) -> None:
        if statement.endswith(":"):
            self._pay()
            self._code.append(f"{c_name(statement[:-1])}:;")
        elif statement == "{":
            self._registers.append({})
            self._code.append("{")
        elif statement == "}":
            self._registers.pop()
            self._code.append("}")
        elif statement.startswith("."):
            self._directive(statement)
        elif guard := _GUARD.match(statement):
            negated, predicate, guarded = guard.groups()
            line = self._instruction(guarded)
            self._pay()
            self._code.append(f"if ({negated}{self.register(predicate)[0]}) {{ {line} }}")
        else:
            self._code.append(self._instruction(statement))

    def _instruction(self, statement: str) -> str:
        i = Instruction(statement)
        known = _INSTRUCTIONS.get(i.name)
        if known is None:
            raise Untranslated(statement)
        self._cost += cost(i)
        try:
            line = known(self, i)
            i.check()
        except (KeyError, IndexError, ValueError) as error:
            raise Untranslated(f"{statement}: {error}") from error
        if i.name in ("bra", "ret", "exit"):
            self._pay()
        return line

    def _pay(self) -> None:
        """Counts the instructions since the last label or branch."""
        if self._cost:
            self._code.append(f"t->cost += {self._cost};")
        self._cost = 0

    def _directive(self, statement: str) -> None:
        word, _, rest = statement.partition(" ")
        if word == ".reg":
            kind, _, names = rest.partition(" ")
            self._declare_registers(kind.lstrip("."), names.replace(" ", "").split(","))
        elif word in (".shared", ".local", ".param"):
            self._declare_variable(statement)
        elif word not in _IGNORED:
            raise Untranslated(statement)

    def _declare_registers(self, kind: str, declared: list[str]) -> None:
        for name in declared:
            several = _SEVERAL.fullmatch(name)
            names = [f"{several[1]}{n}" for n in range(int(several[2]))] if several else [name]
            self._registers[-1].update((name, kind) for name in names)
            # A register of an inner scope has a name that others may have elsewhere.
            target = self._declared if len(self._registers) == 1 else self._code
            target.append(f"{C_TYPES[kind]} {', '.join(f'{c_name(name)} = 0' for name in names)};")

    def _declare_variable(self, statement: str) -> None:
        match = _VARIABLE.fullmatch(statement)
        if match is None:
            raise Untranslated(statement)
        space, align, kind, name, count = match.groups()
        size = size_of(kind) * int(count or 1)
        if space == "shared":
            alignment = int(align or size_of(kind))
            self.shared = -(-self.shared // alignment) * alignment
            self._symbols[name] = f"(u64)(SHARED + {self.shared})"
            self.shared += size
            return
        target = self._declared if space == "local" else self._code
        target.append(f"char {c_name(name)}[{size}] __attribute__((aligned(16)));")
        self._symbols[name] = f"(u64)(uintptr_t){c_name(name)}" if space == "local" else c_name(name)

    # ---- what instructions ask for -----------------------------------------------------------------------------------

    def register(self, name: str) -> tuple[str, str]:
        """A register's name in C, and its type."""
        for scope in reversed(self._registers):
            if name in scope:
                return c_name(name), scope[name]
        raise KeyError(name)

    def symbol(self, name: str) -> str:
        """The address of a variable or a parameter, as a C expression."""
        found = self._symbols.get(name) or self._module_symbols.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def read(self, operand: str, kind: str) -> str:
        """An operand as a C expression of a type."""
        if any(operand in scope for scope in self._registers):
            return cast(*self.register(operand), kind)
        if operand in _SPECIAL:
            return cast(_SPECIAL[operand], "u32", kind)
        if operand.startswith("!"):
            return f"!{self.read(operand[1:], kind)}"
        if _INTEGER.fullmatch(operand):
            value = f"{int(operand.rstrip('U'), 0) & (2**64 - 1)}ull"
            return cast(value, "u64", kind) if kind[0] == "f" else f"(({C_TYPES[kind]}){value})"
        if match := _FLOAT.fullmatch(operand):
            single, double = match.groups()
            return cast(f"0x{single}u", "b32", kind) if single else cast(f"0x{double}ull", "b64", kind)
        return f"(({C_TYPES[kind]}){self.symbol(operand)})"

    def write(self, operand: str, kind: str, value: str) -> str:
        """The statement that puts a value of a type in a register; "_" takes nothing."""
        if operand == "_":
            return f"(void)({value});"
        name, its = self.register(operand)
        return f"{name} = {cast(value, kind, its)};"

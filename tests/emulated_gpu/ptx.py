"""Translates PTX, the assembly that NVIDIA's compiler makes of a kernel, to C, so that it runs without a GPU.

PTX is typed and has no side effects but those on memory, so that an instruction becomes a statement and a branch a
`goto`. What threads of a block do together, and each access to memory, becomes a call of machine.c. An instruction that
no kernel has used so far is an error that names it.

Source: PTX ISA 9.0 (https://docs.nvidia.com/cuda/parallel-thread-execution/).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

_C_TYPES: Final = {
    "pred": "u8",
    **{
        f"{kind}{bits}": f"{kind if kind != 'b' else 'u'}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)
    },
    "f32": "float",
    "f64": "double",
}
_COMPARISONS: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNSIGNED_NAMES: Final = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_OPERATORS: Final = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
_SPECIAL: Final = {
    **{
        f"%{name}.{axis}": f"t->{name}[{i}]"
        for name in ("tid", "ntid", "ctaid", "nctaid")
        for i, axis in enumerate("xyz")
    },
    "%laneid": "(t->number & 31)",
    "%warpid": "(t->number >> 5)",
}
_ROUNDINGS: Final = ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi")
_SPACES: Final = ("global", "shared", "local", "param", "const")


class Untranslated(Exception):
    """An instruction or a directive that this translator does not know."""


@dataclass
class Translated:
    """C for a module: its text, and the names of its kernels."""

    text: str
    kernels: list[str] = field(default_factory=list)


def _size(kind: str) -> int:
    return 1 if kind == "pred" else int(kind[1:]) // 8


def _c_name(name: str) -> str:
    """A name of PTX's as one of C's."""
    return "r_" + re.sub(r"\W", "_", name.lstrip("%$"))


def translated(ptx: str) -> Translated:
    """The module as C, which includes machine.h."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", ptx, flags=re.S).replace("\0", "")
    text = re.sub(r"^\s*\.(version|target|address_size)[^\n]*$", "", text, flags=re.M)
    found = Translated('#include "machine.h"\n')
    module = _Module()
    bodies = []
    for head, parameters, body in _functions(text, module):
        bodies.append(_Function(module, head, parameters, body, found.kernels).text)
    found.text += "\n".join([*module.lines, *bodies])
    rows = "".join(f'  {{"{name}", {module.kernels[name]}}},\n' for name in found.kernels)
    found.text += f"\nconst Kernel emulated_kernels[] = {{\n{rows}  {{0}}\n}};\n"
    return found


class _Module:
    """What the functions of a module share: constant arrays, and the signatures of functions."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.symbols: dict[str, str] = {}
        self.kernels: dict[str, str] = {}

    def variable(self, statement: str) -> None:
        """An array of the module, `.global .align 8 .b8 name[n] = {…}`."""
        match = re.fullmatch(
            r"(?:\.visible |\.weak |\.extern )*\.(?:global|const) (?:\.align (\d+) )?\.(\w+) ([\w$]+)(?:\[(\d*)\])?"
            r"(?: ?= ?(.*))?",
            " ".join(statement.split()),
        )
        if match is None:
            raise Untranslated(statement)
        align, kind, name, count, values = match.groups()
        self.symbols[name] = f"(u64)(uintptr_t){_c_name(name)}"
        values = values or "{0}"
        self.lines.append(
            f"static {_C_TYPES[kind]} {_c_name(name)}[{count or 1}] "
            f"__attribute__((aligned({align or _size(kind)}))) = {values if values[0] == '{' else '{' + values + '}'};"
        )


def _functions(text: str, module: _Module) -> Iterator[tuple[str, str, str]]:
    """(head, parameters, body) of each function; variables go to the module."""
    place = 0
    while match := re.compile(r"\s*([^{};]*?)\s*([{;])").match(text, place):
        head, end = match.groups()
        if end == ";" or "=" in head:
            stop = text.index(";", match.start(2))
            if not re.search(r"\.(func|entry)\b", head):
                module.variable(text[match.start(1) : stop])
            place = stop + 1
            continue
        stop, depth = match.end(2), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[stop], 0)
            stop += 1
        entry = re.match(r"[^(]*\.(entry|func)\s*(\([^)]*\))?\s*([\w$]+)\s*(?:\(([^)]*)\))?", head)
        if entry is None:
            raise Untranslated(head)
        kind, result, name, parameters = entry.groups()
        yield f"{kind} {name} {(result or '').strip('()')}", parameters or "", text[match.end(2) : stop - 1]
        place = stop


def _statements(body: str) -> Iterator[str]:
    """The statements of a function, its labels ("name:") and braces."""
    for part in re.finditer(r"\s*(?:([\w$]+)\s*:(?!:)|([{}])|([^\s;{}][^;{}]*(?:\{[^}]*\}[^;{}]*)*);)", body):
        label, brace, statement = part.groups()
        yield f"{label}:" if label else brace or " ".join(statement.split())


class _Function:
    """One function: `static void name(Thread *t, ...)`, which keeps registers in local variables."""

    def __init__(self, module: _Module, head: str, parameters: str, body: str, kernels: list[str]) -> None:
        kind, name, *result = head.split(maxsplit=2)
        self._module = module
        self._registers: list[dict[str, str]] = [{}]
        self._symbols: dict[str, str] = {}
        self._shared = 0
        self._declared: list[str] = []
        self._code: list[str] = []
        self._cost = 0
        self._meets = False
        signature = ["Thread *t"]
        declared = [p.split() for p in parameters.split(",") if p.strip()]
        if kind == "entry":
            signature.append("const char *parameters")
            sizes, offset = [], 0
            for words in declared:
                size = _size(words[1].lstrip("."))
                offset = -(-offset // size) * size
                self._symbols[words[-1]] = f"(parameters + {offset})"
                sizes.append((offset, size))
                offset += size
        else:
            if result:
                self._symbols[result[0].split()[-1].partition("[")[0]] = "result"
            signature += ["char *result", *(f"char *{_c_name(words[-1])}" for words in declared)]
            self._symbols.update((words[-1], _c_name(words[-1])) for words in declared)
        for statement in _statements(body):
            self._statement(statement)
        self._pay()
        declaration = f"static void {_c_name(name)}({', '.join(signature)})"
        module.lines.append(f"{declaration};")
        self.text = "\n".join([f"{declaration} {{", *self._declared, *self._code, "}", ""])
        if kind == "entry":
            kernels.append(name)
            offsets = ", ".join(f"{{{o}, {s}}}" for o, s in sizes)
            module.kernels[name] = (
                f"{_c_name(name)}, {self._shared}, {int(self._meets)}, {len(sizes)}, "
                f"(const Parameter[]){{{offsets or '{0}'}}}"
            )

    # ---- statements --------------------------------------------------------------------------------------------------

    def _statement(self, statement: str) -> None:
        if statement.endswith(":"):
            self._pay()
            self._code.append(f"{_c_name(statement[:-1])}:;")
        elif statement == "{":
            self._registers.append({})
            self._code.append("{")
        elif statement == "}":
            self._registers.pop()
            self._code.append("}")
        elif statement.startswith("."):
            self._directive(statement)
        elif statement:
            guard = re.match(r"@(!?)([%\w$]+)\s+(.*)", statement)
            if guard is None:
                self._code.append(self._instruction(statement))
                return
            negated, predicate, statement = guard.groups()
            line = self._instruction(statement)
            self._pay()
            self._code.append(f"if ({negated}{self._register(predicate)[0]}) {{ {line} }}")

    def _pay(self) -> None:
        """Counts the instructions since the last label or branch."""
        if self._cost:
            self._code.append(f"t->cost += {self._cost};")
        self._cost = 0

    def _directive(self, statement: str) -> None:
        words = statement.split()
        if words[0] == ".reg":
            kind = words[1].lstrip(".")
            for name in "".join(words[2:]).split(","):
                several = re.fullmatch(r"([%\w$]+)<(\d+)>", name)
                names = [f"{several[1]}{i}" for i in range(int(several[2]))] if several else [name]
                self._registers[-1].update((n, kind) for n in names)
                # In a scope of its own a register has a name that others may have elsewhere.
                target = self._declared if len(self._registers) == 1 else self._code
                c_names = ", ".join(f"{_c_name(n)} = 0" for n in names)
                target.append(f"{_C_TYPES[kind]} {c_names};")
        elif words[0] in (".shared", ".local", ".param"):
            match = re.fullmatch(r"\.(\w+) (?:\.align (\d+) )?\.(\w+) ([\w$]+)(?:\[(\d+)\])?", statement)
            if match is None:
                raise Untranslated(statement)
            space, align, kind, name, count = match.groups()
            size = _size(kind) * int(count or 1)
            if space == "shared":
                alignment = int(align or 8)
                self._shared = -(-self._shared // alignment) * alignment
                self._symbols[name] = f"(u64)(SHARED + {self._shared})"
                self._shared += size
            else:
                target = self._declared if space == "local" else self._code
                target.append(f"char {_c_name(name)}[{size}] __attribute__((aligned(16)));")
                self._symbols[name] = (
                    f"(u64)(uintptr_t){_c_name(name)}" if space == "local" else _c_name(name)
                )
        elif words[0] not in (".pragma", ".loc", ".file", ".maxntid", ".minnctapersm"):
            raise Untranslated(statement)

    def _instruction(self, statement: str) -> str:
        name, _, rest = statement.partition(" ")
        operation, *modifiers = name.split(".")
        operands = [o.strip() for o in re.findall(r"\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|[^,\s][^,]*", rest)]
        known: Callable[[list[str], list[str]], str] | None = getattr(self, f"_do_{operation}", None)
        if known is None:
            raise Untranslated(statement)
        self._cost += _cost(operation, modifiers)
        try:
            line = known(modifiers, operands)
        except (KeyError, IndexError, ValueError) as error:
            raise Untranslated(statement) from error
        if operation in ("bra", "ret", "exit"):
            self._pay()
        return line

    # ---- operands ----------------------------------------------------------------------------------------------------

    def _register(self, name: str) -> tuple[str, str]:
        for scope in reversed(self._registers):
            if name in scope:
                return _c_name(name), scope[name]
        raise KeyError(name)

    def _read(self, operand: str, kind: str) -> str:
        """An operand as a C expression of a type."""
        if operand in _SPECIAL:
            return f"(({_C_TYPES[kind]}){_SPECIAL[operand]})"
        if operand.startswith("!"):
            return f"!{self._read(operand[1:], kind)}"
        if operand.startswith("%") or any(operand in scope for scope in self._registers):
            return _cast(*self._register(operand), kind)
        if match := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", operand):
            return _cast(f"0x{match[1]}u", "b32", kind)
        if match := re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", operand):
            return _cast(f"0x{match[1]}ull", "b64", kind)
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", operand):
            value = int(operand.rstrip("U"), 0) & (2**64 - 1)
            return _cast(f"{value}ull", "b64", kind) if kind[0] == "f" else f"(({_C_TYPES[kind]}){value}ull)"
        symbol = self._symbols.get(operand) or self._module.symbols.get(operand)
        if symbol is None:
            raise KeyError(operand)
        return f"(({_C_TYPES[kind]}){symbol})"

    def _write(self, operand: str, kind: str, value: str) -> str:
        """The statement that puts a value of a type in a register; "_" takes nothing."""
        if operand == "_":
            return f"(void)({value});"
        name, its = self._register(operand)
        return f"{name} = {_cast(value, kind, its)};"

    def _address(self, operand: str) -> str:
        base, _, offset = operand.strip("[] ").partition("+")
        return f"{self._read(base.strip(), 'u64')} + {int(offset or 0)}"

    def _parameter(self, operand: str) -> str:
        """The host's address of `[name+offset]` in the space of parameters."""
        base, _, offset = operand.strip("[] ").partition("+")
        return f"({self._symbols[base.strip()]} + {int(offset or 0)})"

    # ---- instructions ------------------------------------------------------------------------------------------------

    def _do_mov(self, m: list[str], o: list[str]) -> str:
        kind = m[-1]
        if o[0].startswith("{"):  # halves of a register
            low, high = (part.strip() for part in o[0].strip("{}").split(","))
            half = f"b{8 * _size(kind) // 2}"
            whole = self._read(o[1], f"u{kind[1:]}")
            lines = [] if low == "_" else [self._write(low, half, f"({_C_TYPES[half]})({whole})")]
            lines += (
                [] if high == "_" else [self._write(high, half, f"({_C_TYPES[half]})({whole} >> {half[1:]})")]
            )
            return " ".join(lines)
        if o[1].startswith("{"):
            low, high = (part.strip() for part in o[1].strip("{}").split(","))
            half = f"b{8 * _size(kind) // 2}"
            joined = f"((u{kind[1:]}){self._read(high, half)} << {half[1:]} | {self._read(low, half)})"
            return self._write(o[0], f"u{kind[1:]}", joined)
        return self._write(o[0], kind, self._read(o[1], kind))

    def _do_cvta(self, m: list[str], o: list[str]) -> str:
        return self._write(o[0], "u64", self._read(o[1], "u64"))  # All spaces share one range of addresses.

    def _binary(self, m: list[str], o: list[str], operator: str) -> str:
        kind = m[-1]
        a, b = self._read(o[1], kind), self._read(o[2], kind)
        if kind[0] == "f":
            rounding = next((r for r in m if r in ("rz", "rm", "rp")), None)
            value = (
                f"{a} {operator} {b}" if rounding is None else f"round_{rounding}((double){a} {operator} {b})"
            )
            return self._write(o[0], kind, f"({_flushed(m, value)})")
        if kind == "pred":
            return self._write(o[0], kind, f"({a} {operator} {b})")
        unsigned = f"u{kind[1:]}"
        return self._write(
            o[0],
            unsigned,
            f"({unsigned})({self._read(o[1], unsigned)} {operator} {self._read(o[2], unsigned)})",
        )

    def _do_add(self, m: list[str], o: list[str]) -> str:
        return self._carried(m, o, "0") if "cc" in m else self._binary(m, o, "+")

    def _do_addc(self, m: list[str], o: list[str]) -> str:
        return self._carried(m, o, "t->carry")

    def _carried(self, m: list[str], o: list[str], carry: str, sign: str = "+") -> str:
        """A sum, or a difference, of which the carry goes on to the next."""
        kind = f"u{m[-1][1:]}"
        a, b = (self._read(x, kind) for x in o[1:3])
        return self._with_carry(m, o[0], kind, f"(unsigned __int128){a} {sign} {b} {sign} {carry}")

    def _with_carry(self, m: list[str], target: str, kind: str, total: str) -> str:
        carried = f"t->carry = (u32)(total >> {kind[1:]} & 1);" if "cc" in m else ""
        return f"{{ unsigned __int128 total = {total}; {carried} {self._write(target, kind, f'({kind})total')} }}"

    def _do_sub(self, m: list[str], o: list[str]) -> str:
        return self._carried(m, o, "0", "-") if "cc" in m else self._binary(m, o, "-")

    def _do_subc(self, m: list[str], o: list[str]) -> str:
        return self._carried(m, o, "t->carry", "-")

    def _do_and(self, m: list[str], o: list[str]) -> str:
        return self._binary(m, o, "&")

    def _do_or(self, m: list[str], o: list[str]) -> str:
        return self._binary(m, o, "|")

    def _do_xor(self, m: list[str], o: list[str]) -> str:
        return self._binary(m, o, "^")

    def _do_not(self, m: list[str], o: list[str]) -> str:
        kind = "pred" if m[-1] == "pred" else f"u{m[-1][1:]}"
        value = self._read(o[1], kind)
        return self._write(o[0], kind, f"!{value}" if kind == "pred" else f"({_C_TYPES[kind]})~{value}")

    def _do_neg(self, m: list[str], o: list[str]) -> str:
        kind = m[-1] if m[-1][0] == "f" else f"u{m[-1][1:]}"
        value = self._read(o[1], kind)
        return self._write(o[0], kind, f"-{value}" if kind[0] == "f" else f"({kind})(0 - {value})")

    def _do_abs(self, m: list[str], o: list[str]) -> str:
        kind = m[-1]
        value = self._read(o[1], kind)
        return self._write(
            o[0],
            kind,
            {"f32": f"fabsf({value})", "f64": f"fabs({value})"}.get(
                kind, f"({_C_TYPES[kind]})({value} < 0 ? 0 - (u64){value} : (u64){value})"
            ),
        )

    def _do_mul(self, m: list[str], o: list[str]) -> str:
        kind = m[-1]
        if kind[0] == "f":
            return self._binary(m, o, "*")
        if m[0] == "wide":
            wide = f"{kind[0]}{2 * int(kind[1:])}"
            return self._write(
                o[0], wide, f"(({wide}){self._read(o[1], kind)} * ({wide}){self._read(o[2], kind)})"
            )
        if m[0] == "hi":
            wide = "__int128" if kind[0] == "s" else "unsigned __int128"
            product = f"({wide}){self._read(o[1], kind)} * ({wide}){self._read(o[2], kind)}"
            return self._write(o[0], kind, f"({_C_TYPES[kind]})(({product}) >> {kind[1:]})")
        unsigned = f"u{kind[1:]}"
        product = f"(u64){self._read(o[1], unsigned)} * (u64){self._read(o[2], unsigned)}"
        return self._write(o[0], unsigned, f"({unsigned})({product})")

    def _do_mad(self, m: list[str], o: list[str]) -> str:
        kind = m[-1]
        if m[0] == "wide":
            wide = f"{kind[0]}{2 * int(kind[1:])}"
            product = f"({wide}){self._read(o[1], kind)} * ({wide}){self._read(o[2], kind)}"
            return self._write(
                o[0], wide, f"({wide})((u{wide[1:]})({product}) + (u{wide[1:]}){self._read(o[3], wide)})"
            )
        if "cc" in m or m[0] == "hi":
            return self._multiplied_and_carried(m, o, "0")
        unsigned = f"u{kind[1:]}"
        a, b, c = (self._read(x, unsigned) for x in o[1:4])
        return self._write(o[0], unsigned, f"({unsigned})((u64){a} * (u64){b} + (u64){c})")

    def _do_madc(self, m: list[str], o: list[str]) -> str:
        return self._multiplied_and_carried(m, o, "t->carry")

    def _multiplied_and_carried(self, m: list[str], o: list[str], carry: str) -> str:
        if m[-1][0] != "u":
            raise ValueError(m)
        kind = m[-1]
        a, b, c = (self._read(x, kind) for x in o[1:4])
        product = f"(unsigned __int128){a} * {b}"
        half = f"({kind})({product})" if m[0] == "lo" else f"({kind})(({product}) >> {kind[1:]})"
        return self._with_carry(m, o[0], kind, f"(unsigned __int128){half} + {c} + {carry}")

    def _do_fma(self, m: list[str], o: list[str]) -> str:
        kind = m[-1]
        a, b, c = (self._read(x, kind) for x in o[1:4])
        rounding = next(r for r in m if r in _ROUNDINGS)
        if rounding != "rn" and kind != "f32":
            raise ValueError(m)
        value = f"fma{'f' if kind == 'f32' else ''}({a}, {b}, {c})"
        if rounding != "rn":  # The product is exact as a double.
            value = f"round_{rounding}((double){a} * (double){b} + (double){c})"
        if "sat" in m:
            value = f"saturated({value})"
        return self._write(o[0], kind, _flushed(m, value))

    def _do_div(self, m: list[str], o: list[str]) -> str:
        kind = m[-1]
        a, b = self._read(o[1], kind), self._read(o[2], kind)
        if kind[0] == "f":
            return self._write(o[0], kind, f"({_flushed(m, f'{a} / {b}')})")
        return self._write(o[0], kind, f"divided_{_C_TYPES[kind]}({a}, {b})")

    def _do_rem(self, m: list[str], o: list[str]) -> str:
        kind = m[-1]
        return self._write(
            o[0], kind, f"remainder_{_C_TYPES[kind]}({self._read(o[1], kind)}, {self._read(o[2], kind)})"
        )

    def _float(self, m: list[str], o: list[str], value: str) -> str:
        """A function of one float: `value` has {x} for it, {f} for the suffix of C's functions."""
        kind = m[-1]
        suffix = "f" if kind == "f32" else ""
        x = _flushed(m, self._read(o[1], kind))
        if "ftz" in m and kind == "f64":  # The upper half of the argument and of the result alone.
            x = f"upper_half({self._read(o[1], kind)})"
            return self._write(o[0], kind, f"upper_half({value.format(x=x, f=suffix)})")
        return self._write(o[0], kind, _flushed(m, value.format(x=x, f=suffix)))

    def _do_rcp(self, m: list[str], o: list[str]) -> str:
        return self._float(m, o, "1 / {x}")

    def _do_sqrt(self, m: list[str], o: list[str]) -> str:
        return self._float(m, o, "sqrt{f}({x})")

    def _do_rsqrt(self, m: list[str], o: list[str]) -> str:
        return self._float(m, o, "1 / sqrt{f}({x})")

    def _do_ex2(self, m: list[str], o: list[str]) -> str:
        return self._float(m, o, "exp2{f}({x})")

    def _do_lg2(self, m: list[str], o: list[str]) -> str:
        return self._float(m, o, "log2{f}({x})")

    def _do_sin(self, m: list[str], o: list[str]) -> str:
        return self._float(m, o, "sin{f}({x})")

    def _do_cos(self, m: list[str], o: list[str]) -> str:
        return self._float(m, o, "cos{f}({x})")

    def _do_tanh(self, m: list[str], o: list[str]) -> str:
        return self._float(m, o, "tanh{f}({x})")

    def _do_copysign(self, m: list[str], o: list[str]) -> str:
        kind = m[-1]
        suffix = "f" if kind == "f32" else ""
        return self._write(
            o[0], kind, f"copysign{suffix}({self._read(o[2], kind)}, {self._read(o[1], kind)})"
        )

    def _do_testp(self, m: list[str], o: list[str]) -> str:
        test = {"finite": "isfinite", "infinite": "isinf", "notanumber": "isnan", "normal": "isnormal"}[m[0]]
        return self._write(o[0], "pred", f"({test}({self._read(o[1], m[-1])}) != 0)")

    def _extreme(self, m: list[str], o: list[str], operator: str) -> str:
        kind = m[-1]
        a, b = self._read(o[1], kind), self._read(o[2], kind)
        if kind[0] == "f":
            if "NaN" in m:
                raise ValueError(m)
            name = f"{'fmin' if operator == '<' else 'fmax'}{'f' if kind == 'f32' else ''}"
            return self._write(o[0], kind, f"{name}({a}, {b})")
        return self._write(o[0], kind, f"({a} {operator} {b} ? {a} : {b})")

    def _do_min(self, m: list[str], o: list[str]) -> str:
        return self._extreme(m, o, "<")

    def _do_max(self, m: list[str], o: list[str]) -> str:
        return self._extreme(m, o, ">")

    def _do_shl(self, m: list[str], o: list[str]) -> str:
        kind = f"u{m[-1][1:]}"
        return self._write(
            o[0], kind, f"shifted_left_{kind}({self._read(o[1], kind)}, {self._read(o[2], 'u32')})"
        )

    def _do_shr(self, m: list[str], o: list[str]) -> str:
        kind = m[-1].replace("b", "u")
        return self._write(
            o[0], kind, f"shifted_right_{kind}({self._read(o[1], kind)}, {self._read(o[2], 'u32')})"
        )

    def _do_shf(self, m: list[str], o: list[str]) -> str:
        low, high, by = (self._read(x, "u32") for x in o[1:4])
        count = f"({by} & 31)" if m[1] == "wrap" else f"({by} > 32 ? 32 : {by})"
        both = f"((u64){high} << 32 | {low})"
        value = f"(u32)({both} << {count} >> 32)" if m[0] == "l" else f"(u32)({both} >> {count})"
        return self._write(o[0], "u32", value)

    def _do_bfi(self, m: list[str], o: list[str]) -> str:
        kind = f"u{m[-1][1:]}"
        a, b = (self._read(x, kind) for x in o[1:3])
        start, count = (self._read(x, "u32") for x in o[3:5])
        return self._write(o[0], kind, f"({kind})bits_inserted({a}, {b}, {start}, {count}, {kind[1:]})")

    def _do_bfe(self, m: list[str], o: list[str]) -> str:
        if m[-1][0] != "u":
            raise ValueError(m)
        start, count = (self._read(x, "u32") for x in o[2:4])
        return self._write(
            o[0], m[-1], f"({m[-1]})bits_extracted({self._read(o[1], m[-1])}, {start}, {count})"
        )

    def _do_prmt(self, m: list[str], o: list[str]) -> str:
        a, b, c = (self._read(x, "u32") for x in o[1:4])
        return self._write(o[0], "u32", f"bytes_permuted({a}, {b}, {c})")

    def _do_popc(self, m: list[str], o: list[str]) -> str:
        return self._write(o[0], "u32", f"(u32)__builtin_popcountll({self._read(o[1], 'u' + m[-1][1:])})")

    def _do_clz(self, m: list[str], o: list[str]) -> str:
        bits = m[-1][1:]
        value = self._read(o[1], f"u{bits}")
        return self._write(o[0], "u32", f"(u32)({value} ? __builtin_clzll({value}) - (64 - {bits}) : {bits})")

    def _do_selp(self, m: list[str], o: list[str]) -> str:
        kind = m[-1]
        return self._write(
            o[0], kind, f"({self._read(o[3], 'pred')} ? {self._read(o[1], kind)} : {self._read(o[2], kind)})"
        )

    def _do_setp(self, m: list[str], o: list[str]) -> str:
        comparison, *joined, kind = (x for x in m if x != "ftz")
        value = _compared(comparison, kind, self._read(o[1], kind), self._read(o[2], kind))
        if joined:
            value = f"({value} {_OPERATORS[joined[0]]} {self._read(o[3], 'pred')})"
        first, _, second = o[0].partition("|")
        lines = [self._write(first, "pred", value)]
        return " ".join([*lines, *([self._write(second, "pred", f"!({value})")] if second else [])])

    def _do_set(self, m: list[str], o: list[str]) -> str:
        comparison, to, kind = (x for x in m if x != "ftz")
        value = _compared(comparison, kind, self._read(o[1], kind), self._read(o[2], kind))
        return self._write(
            o[0], to, f"({value} ? 1.0f : 0.0f)" if to[0] == "f" else f"(({_C_TYPES[to]})-{value})"
        )

    def _do_cvt(self, m: list[str], o: list[str]) -> str:
        to, kind = m[-2:]
        x = self._read(o[1], kind)
        rounding = next((r for r in m if r in _ROUNDINGS), "")
        if to[0] == "f" and kind[0] == "f":
            if rounding.endswith("i"):
                x = f"round_{rounding}_{kind}({x})"
            elif _size(to) < _size(kind) and rounding != "rn":
                x = f"round_{rounding}({x})"
            value = f"({_C_TYPES[to]}){x}"
            value = f"saturated({value})" if "sat" in m else value
        elif kind[0] == "f":
            value = f"to_{to}(round_{rounding}_f64((double){x}))"
        elif to[0] == "f":
            if rounding not in ("rn",):
                raise ValueError(m)
            value = f"({_C_TYPES[to]}){x}"
        elif "sat" in m:
            raise ValueError(m)
        else:
            value = f"({_C_TYPES[to]}){x}"
        return self._write(o[0], to, _widened(value, to, self._register(o[0])[1]))

    # ---- memory ------------------------------------------------------------------------------------------------------

    def _access(self, m: list[str], operand: str, several: int, kind: str, what: str) -> str:
        """A pointer to `several` elements of memory, checked by the machine."""
        space = next((s for s in _SPACES if s in m), "generic")
        if space == "param":
            return f"(({_C_TYPES[kind]} *){self._parameter(operand)})"
        if space == "local":
            return f"(({_C_TYPES[kind]} *)(uintptr_t)({self._address(operand)}))"
        what = f"{what} | VOLATILE" if "volatile" in m or "relaxed" in m else what
        return f"(({_C_TYPES[kind]} *)memory(t, {self._address(operand)}, {several * _size(kind)}, {what}))"

    def _do_ld(self, m: list[str], o: list[str]) -> str:
        kind, several = m[-1], int(next((x[1:] for x in m if x in ("v2", "v4")), 1))
        pointer = self._access(m, o[1], several, kind, "READS")
        if several == 1:
            return self._write(o[0], kind, _widened(f"*{pointer}", kind, self._register(o[0])[1]))
        names = [x.strip() for x in o[0].strip("{}").split(",")]
        lines = [
            self._write(n, kind, _widened(f"p[{i}]", kind, self._register(n)[1])) for i, n in enumerate(names)
        ]
        return f"{{ {_C_TYPES[kind]} *p = {pointer}; {' '.join(lines)} }}"

    def _do_ldu(self, m: list[str], o: list[str]) -> str:
        return self._do_ld(m, o)

    def _do_st(self, m: list[str], o: list[str]) -> str:
        kind, several = m[-1], int(next((x[1:] for x in m if x in ("v2", "v4")), 1))
        pointer = self._access(m, o[0], several, kind, "WRITES")
        if several == 1:
            return f"*{pointer} = {self._narrow(o[1], kind)};"
        names = [x.strip() for x in o[1].strip("{}").split(",")]
        lines = [f"p[{i}] = {self._narrow(n, kind)};" for i, n in enumerate(names)]
        return f"{{ {_C_TYPES[kind]} *p = {pointer}; {' '.join(lines)} }}"

    def _narrow(self, operand: str, kind: str) -> str:
        """What a store takes of a register that may be wider."""
        if operand.startswith("%") and operand not in _SPECIAL:
            name, its = self._register(operand)
            if kind[0] != "f" and its[0] != "f":
                return f"({_C_TYPES[kind]}){name}"
        return self._read(operand, kind)

    def _do_atom(self, m: list[str], o: list[str]) -> str:
        operation = next(x for x in m if x in ("add", "cas", "min", "max", "exch", "and", "or", "xor"))
        kind = m[-1]
        pointer = self._access([x for x in m if x not in ("relaxed",)], o[1], 1, kind, "ATOMIC")
        values = [self._read(x, kind) for x in o[2:]]
        new = {
            "add": f"({_C_TYPES[kind]})(*p + {values[0]})",
            "min": f"(*p < {values[0]} ? *p : {values[0]})",
            "max": f"(*p > {values[0]} ? *p : {values[0]})",
            "exch": values[0],
            "and": f"*p & {values[0]}" if kind[0] != "f" else "",
            "or": f"*p | {values[0]}" if kind[0] != "f" else "",
            "xor": f"*p ^ {values[0]}" if kind[0] != "f" else "",
            "cas": f"(*p == {values[0]} ? {values[-1]} : *p)",
        }[operation]
        was = self._write(o[0], kind, "was")
        return f"{{ {_C_TYPES[kind]} *p = {pointer}, was = *p; *p = {new}; {was} }}"

    def _do_red(self, m: list[str], o: list[str]) -> str:
        return self._do_atom(m, ["_", *o])

    # ---- branches, and what threads do together ----------------------------------------------------------------------

    def _do_bra(self, m: list[str], o: list[str]) -> str:
        return f"goto {_c_name(o[0])};"

    def _do_ret(self, m: list[str], o: list[str]) -> str:
        return "return;"

    _do_exit = _do_ret

    def _do_trap(self, m: list[str], o: list[str]) -> str:
        return "trap(t);"

    def _do_bar(self, m: list[str], o: list[str]) -> str:
        if m[:1] == ["warp"]:
            self._meets = True
            return "shuffled(t, 0, 0, 0);"
        if m != ["sync"] or o != ["0"]:
            raise ValueError(m)
        self._meets = True
        return "barrier(t);"

    def _do_membar(self, m: list[str], o: list[str]) -> str:
        return ";"

    _do_fence = _do_membar

    def _do_shfl(self, m: list[str], o: list[str]) -> str:
        if m[:2] != ["sync", "bfly"]:
            raise ValueError(m)
        self._meets = True
        target, _, inside = o[0].partition("|")
        value, distance, clamp, mask = (self._read(x, "u32") for x in o[1:5])
        lines = [self._write(target, "u32", f"shuffled(t, {value}, {distance}, {mask})")]
        return " ".join([*lines, *([self._write(inside, "pred", f"({clamp}, 1)")] if inside else [])])

    def _do_call(self, m: list[str], o: list[str]) -> str:
        result = o.pop(0).strip("() ") if o[0].startswith("(") else ""
        name = o.pop(0)
        given = [x.strip() for x in o[0].strip("()").split(",") if x.strip()] if o else []
        arguments = ", ".join(
            ["t", self._symbols[result] if result else "0", *(self._symbols[g] for g in given)]
        )
        return f"{_c_name(name)}({arguments});"


def _cast(value: str, kind: str, to: str) -> str:
    """A C expression of one type as another: bits are kept between floats and integers of a size."""
    if kind == to:
        return value
    if (kind[0] == "f") != (to[0] == "f"):
        if "pred" in (kind, to) or _size(kind) != _size(to):
            raise ValueError(f"{value}: {kind} as {to}")
        return f"{'float' if to[0] == 'f' else 'bits'}{8 * _size(to)}({value})"
    if kind[0] == "f" and to[0] == "f":
        raise ValueError(f"{value}: {kind} as {to}")
    return f"(({_C_TYPES[to]}){value})"


def _widened(value: str, kind: str, to: str) -> str:
    """A narrow value in a wider register: by its own sign, which the cast to the register's type then keeps."""
    return value if kind[0] == "f" or to[0] == "f" or _size(to) == _size(kind) else f"({value})"


def _flushed(modifiers: Sequence[str], value: str) -> str:
    return f"flushed({value})" if "ftz" in modifiers and modifiers[-1] == "f32" else value


def _compared(comparison: str, kind: str, a: str, b: str) -> str:
    if comparison in ("num", "nan"):
        return f"(isnan({a}) || isnan({b})) == {int(comparison == 'nan')}"
    if kind[0] == "f" and comparison[:-1] in _COMPARISONS and comparison.endswith("u"):
        return f"(isnan({a}) || isnan({b}) || {a} {_COMPARISONS[comparison[:-1]]} {b})"
    if kind[0] == "f" and comparison == "ne":
        return f"(!isnan({a}) && !isnan({b}) && {a} != {b})"
    return f"({a} {(_COMPARISONS | _UNSIGNED_NAMES)[comparison]} {b})"


_DIVISION: Final = {8: 70, 4: 20, 2: 20}


def _cost(operation: str, modifiers: Sequence[str]) -> int:
    """About how many issue slots of a warp an instruction takes on an SM of Ampere or Hopper, in 32 lanes' units."""
    kind = modifiers[-1] if modifiers else ""
    wide = kind[1:] == "64"
    if operation in ("div", "rem"):
        return 12 if kind == "f32" else 25 if kind == "f64" else _DIVISION[_size(kind)]
    if operation in ("ex2", "lg2", "rcp", "rsqrt", "sin", "cos", "tanh", "sqrt"):
        return 4 if "approx" in modifiers else 12
    if operation == "mul" and wide and kind[0] != "f":
        return 4
    if operation in ("mov", "cvta", "bar", "membar"):
        return 0
    if operation == "cvt":
        return 2 if "f" in kind + modifiers[-2] else 0 if wide else 1
    return (
        2
        if wide and kind[0] != "f" and operation in ("add", "sub", "setp", "min", "max", "shl", "shr")
        else 1
    )

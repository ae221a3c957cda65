"""Moves, accesses to memory, branches and calls, and what threads do together."""

from __future__ import annotations

from typing import Final

from tests.emulated_gpu.translation.instruction import Instruction, Scope, Translator, result
from tests.emulated_gpu.translation.types import C_TYPES, c_name, size_of, unsigned


def _parts(operand: str) -> list[str]:
    """The registers of `{a, b}`."""
    return [part.strip() for part in operand.strip("{}").split(",")]


def _moved(scope: Scope, i: Instruction) -> str:
    """mov: a value, or the halves of one from or to two registers."""
    target, source = i.operands
    whole, half = unsigned(i.kind), f"b{4 * size_of(i.kind)}"
    if target.startswith("{"):
        low, high = _parts(target)
        value = scope.read(source, whole)
        kept = [(low, f"({C_TYPES[half]})({value})"), (high, f"({C_TYPES[half]})({value} >> {half[1:]})")]
        return " ".join(scope.write(name, half, part) for name, part in kept if name != "_")
    if source.startswith("{"):
        low, high = (scope.read(part, half) for part in _parts(source))
        return result(scope, i, f"(({whole}){high} << {half[1:]} | {low})", whole)
    return result(scope, i, scope.read(source, i.kind))


def _same_address(scope: Scope, i: Instruction) -> str:
    """cvta: all spaces share one range of addresses here."""
    i.without_effect("to", *_SPACES)
    return result(scope, i, scope.read(i.operands[1], "u64"), "u64")


# ---- memory ----------------------------------------------------------------------------------------------------------

_SPACES: Final = ("global", "shared", "local", "param", "const")
_MANY: Final = {"v2": 2, "v4": 4}


def _place(operand: str) -> tuple[str, int]:
    """`[base+offset]`."""
    base, _, offset = operand.strip("[] ").partition("+")
    return base.strip(), int(offset or 0)


def _pointer(scope: Scope, i: Instruction, operand: str, what: str, several: int = 1) -> str:
    """A C pointer to elements of memory, which the machine checks."""
    base, offset = _place(operand)
    space = i.one_of(_SPACES)
    pointer = f"({C_TYPES[i.kind]} *)"
    if space == "param":
        return f"({pointer}({scope.symbol(base)} + {offset}))"
    address = f"{scope.read(base, 'u64')} + {offset}"
    if space == "local":
        return f"({pointer}(uintptr_t)({address}))"
    return f"({pointer}memory(t, {address}, {several * size_of(i.kind)}, {what}))"


def _ordered(i: Instruction, what: str) -> str:
    """An access, and whether other threads may make it at the same time."""
    i.without_effect("weak", "gpu", "sys", "cta", "nc")
    either = [i.has("volatile"), i.has("relaxed")]
    return f"{what} | VOLATILE" if any(either) else what


def _loaded(scope: Scope, i: Instruction) -> str:
    several = _MANY.get(i.one_of(tuple(_MANY)), 1)
    pointer = _pointer(scope, i, i.operands[1], _ordered(i, "READS"), several)
    if several == 1:
        return result(scope, i, f"*{pointer}")
    lines = [scope.write(part, i.kind, f"p[{n}]") for n, part in enumerate(_parts(i.operands[0]))]
    return f"{{ {C_TYPES[i.kind]} *p = {pointer}; {' '.join(lines)} }}"


def _stored(scope: Scope, i: Instruction) -> str:
    several = _MANY.get(i.one_of(tuple(_MANY)), 1)
    pointer = _pointer(scope, i, i.operands[0], _ordered(i, "WRITES"), several)
    if several == 1:
        return f"*{pointer} = {scope.read(i.operands[1], i.kind)};"
    lines = [f"p[{n}] = {scope.read(part, i.kind)};" for n, part in enumerate(_parts(i.operands[1]))]
    return f"{{ {C_TYPES[i.kind]} *p = {pointer}; {' '.join(lines)} }}"


_ATOMIC: Final = {
    "add": "(T)(*p + A)",
    "min": "(*p < A ? *p : A)",
    "max": "(*p > A ? *p : A)",
    "exch": "A",
    "and": "(*p & A)",
    "or": "(*p | A)",
    "xor": "(*p ^ A)",
    "cas": "(*p == A ? B : *p)",
}


def _atomic(scope: Scope, i: Instruction) -> str:
    """atom: its result is what was there before."""
    i.without_effect("relaxed", "gpu", "sys", "cta")
    operation = i.one_of(tuple(_ATOMIC))
    kind = C_TYPES[i.kind]
    pointer = _pointer(scope, i, i.operands[1], "ATOMIC")
    values = dict(zip("AB", (f"({scope.read(operand, i.kind)})" for operand in i.operands[2:])))
    new = "".join({**values, "T": kind}.get(letter, letter) for letter in _ATOMIC[operation])
    return f"{{ {kind} *p = {pointer}, was = *p; *p = {new}; {result(scope, i, 'was')} }}"


def _reduced(scope: Scope, i: Instruction) -> str:
    """red: atom without a result."""
    i.operands.insert(0, "_")
    return _atomic(scope, i)


def _no_fence(scope: Scope, i: Instruction) -> str:
    """membar, fence: threads run one after the other, so that each sees what others wrote."""
    i.without_effect(*i.modifiers)
    return ";"


# ---- branches and calls ----------------------------------------------------------------------------------------------


def _branch(scope: Scope, i: Instruction) -> str:
    i.without_effect("uni")
    return f"goto {c_name(i.operands[0])};"


def _return(scope: Scope, i: Instruction) -> str:
    i.without_effect("uni")
    return "return;"


def _trap(scope: Scope, i: Instruction) -> str:
    return "trap(t);"


def _call(scope: Scope, i: Instruction) -> str:
    """call (result), name, (arguments): each is an address in the space of parameters."""
    i.without_effect("uni")
    target = i.operands.pop(0).strip("() ") if i.operands[0].startswith("(") else ""
    name, *given = i.operands
    names = [part.strip() for part in given[0].strip("()").split(",") if part.strip()] if given else []
    arguments = [scope.symbol(target) if target else "0", *(scope.symbol(name) for name in names)]
    return f"{c_name(name)}({', '.join(['t', *arguments])});"


# ---- what threads do together ----------------------------------------------------------------------------------------


def _barrier(scope: Scope, i: Instruction) -> str:
    if i.operands != ["0"]:
        raise ValueError("another barrier than the first, or one of some threads")
    i.without_effect("sync")
    scope.meets = True
    return "barrier(t);"


def _shuffled(scope: Scope, i: Instruction) -> str:
    """shfl.sync.bfly: the value of the lane whose number differs in the bits of a distance."""
    if i.modifiers[:2] != ["sync", "bfly"]:
        raise ValueError("another shuffle than bfly")
    i.without_effect("sync", "bfly")
    scope.meets = True
    target, _, inside = i.operands[0].partition("|")
    arguments = ", ".join(scope.read(operand, "u32") for operand in i.operands[1:5])
    line = scope.write(target, "u32", f"shuffled(t, {arguments})")
    return f"{line} {scope.write(inside, 'pred', '1')}" if inside else line


INSTRUCTIONS: Final[dict[str, Translator]] = {
    "mov": _moved,
    "cvta": _same_address,
    "ld": _loaded,
    "ldu": _loaded,
    "st": _stored,
    "atom": _atomic,
    "red": _reduced,
    "membar": _no_fence,
    "fence": _no_fence,
    "bra": _branch,
    "ret": _return,
    "exit": _return,
    "trap": _trap,
    "call": _call,
    "bar": _barrier,
    "shfl": _shuffled,
}

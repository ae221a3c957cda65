"""The scalar machine's instruction set and the source of its interpreter.

An instruction is one word: operation, target, first and second operand, 16 bits each, the operands being registers;
some are followed by a word of their own (a jump's target, the index of an address). A register is a word that holds
the bits of a float32, float64, int32 (sign-extended), int64 or bool.
LLVM turns the chain of comparisons into a jump table.
"""

from __future__ import annotations

from graphflow._core.codegen.cpu.programs.machine_source import RESUME, STATUS_AGAIN
from graphflow._core.codegen.cpu.regions.scalar_text import (
    COMPARISONS,
    DIVISIONS,
    FLOAT_FUNCTIONS,
    FLOATS,
    ROUNDINGS,
)

# Argument words; the addresses that loads and stores name follow.
ARG_STATUS, ARG_CODE, ARG_LENGTH, ARG_REGISTERS, ARG_POSITION, ARG_BUDGET, ARG_ADDRESSES = range(7)

DTYPES = ("float32", "float64", "int32", "int64", "bool")
MEMORY = {"float32": "32", "int32": "32", "float64": "64", "int64": "64", "bool": "8"}
_DIVISION_BY_ZERO = 1

_READ = {"float32": "bits_float32({})", "float64": "bits_float64({})", "int32": "to_int32({})", "int64": "{}"}
_READ["bool"] = "({} != 0)"
_WRITE = {"float32": "word_float32({})", "float64": "word_float64({})", "int32": "int64({})", "int64": "{}"}
_WRITE["bool"] = "int64({})"
_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
_BINARY |= {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_INTEGER_DIVISION = {
    "floordiv": "integer_floor_divide",
    "floormod": "integer_floor_modulo",
    "truncatediv": "integer_truncate_divide",
    "truncatemod": "integer_truncate_modulo",
}


def _expressions() -> dict[tuple[str, ...], str]:
    """What each operation computes, by (operation, dtype of the operands) or (cast, from, to), as a word."""
    table: dict[tuple[str, ...], str] = {}
    for dtype in DTYPES:
        a, b = _READ[dtype].format("a"), _READ[dtype].format("b")
        operations: dict[str, str] = {}
        if dtype != "bool":
            operations |= {op: f"{a} {_BINARY[op]} {b}" for op in ("add", "sub", "mul")}
            operations |= {
                "neg": f"-{a}",
                "square": f"{a} * {a}",
                "min": f"minimum({a}, {b})",
                "max": f"maximum({a}, {b})",
            }
        else:
            operations["not"] = f"not {a}"
        if dtype in FLOATS:
            operations["div"] = f"{a} / {b}"
            operations |= {op: f"f_{op}({a})" for op in (*FLOAT_FUNCTIONS, *ROUNDINGS, "abs", "sign")}
            operations |= {op: f"f_{op}({a}, {b})" for op in ("pow", "atan2")}
            operations |= {"floordiv": f"f_floor({a} / {b})", "truncatediv": f"f_trunc({a} / {b})"}
            operations |= {"floormod": f"f_floor_modulo({a}, {b})", "truncatemod": f"f_fmod({a}, {b})"}
        else:
            operations |= {op: f"{a} {_BINARY[op]} {b}" for op in ("and", "or", "xor")}
        if dtype in ("int32", "int64"):
            operations |= {op: f"{_INTEGER_DIVISION[op]}({a}, {b})" for op in DIVISIONS}
            operations["abs"] = f"select({a} < {dtype}(0), to_{dtype}(-{a}), {a})"
            operations["sign"] = f"int64({a} > 0) - int64({a} < 0)"
            operations["invert"] = f"~{a}"
        for op, expression in operations.items():
            code = f"to_int32({expression})" if dtype == "int32" else expression
            table[op, dtype] = _WRITE[dtype].format(code)
        for op in COMPARISONS:
            table[op, dtype] = f"int64({a} {_BINARY[op]} {b})"
        for target in DTYPES:
            if target != dtype:
                zero = "False" if dtype == "bool" else f"{dtype}(0)"
                converted = f"{a} != {zero}" if target == "bool" else f"to_{target}({a})"
                table["cast", dtype, target] = _WRITE[target].format(converted)
    return table


EXPRESSIONS = _expressions()


def _is_common(key: tuple[str, ...]) -> bool:
    """Whether it is one of those of which counters, schedules, optimizers' powers and their like are made."""
    op, kinds = key[0], set(key[1:])
    if "float64" in kinds or op in ("invert", "truncatediv", "truncatemod"):
        return False
    if kinds & {"int32", "int64"} and op in ("and", "or", "xor"):
        return False
    return "f_" not in EXPRESSIONS[key] or op in ("sqrt", "pow", "abs", "floor")


COMMON: frozenset[tuple[str, ...]] = frozenset(key for key in EXPRESSIONS if _is_common(key))
CONTROL = (
    "move",
    "move_if",
    "jump",
    "jump_if",
    "jump_unless",
    *(f"{m}{w}" for m in ("load", "store") for w in (8, 32, 64)),
)
OPCODES: dict[tuple[str, ...], int] = {
    key: number for number, key in enumerate([*EXPRESSIONS, *((c,) for c in CONTROL)])
}


_JUMP = f"""target = code[pc]
if CONDITION:
    if target <= pc:
        budget -= 1
        if budget <= 0:
            args[{ARG_POSITION}] = target
            status[0] = {STATUS_AGAIN}
            return
    pc = target
else:
    pc += 1"""


def _control_lines() -> dict[str, list[str]]:
    lines = {
        "move": ["registers[d] = a"],
        "move_if": ["if b != 0:", "    registers[d] = a"],
        "jump": _JUMP.replace("CONDITION", "True").splitlines(),
        "jump_if": _JUMP.replace("CONDITION", "a != 0").splitlines(),
        "jump_unless": _JUMP.replace("CONDITION", "a == 0").splitlines(),
    }
    for width, kind in (("8", "uint8"), ("32", "int32"), ("64", "int64")):
        memory = f"pointer_{kind}(args[{ARG_ADDRESSES} + code[pc]])"
        lines[f"load{width}"] = [f"registers[d] = int64({memory}[0])", "pc += 1"]
        lines[f"store{width}"] = [f"{memory}[0] = to_{kind}(a)", "pc += 1"]
    return lines


def interpreter_source(common: bool = False) -> str:
    """Source of the interpreter, a kernel whose only unit is the whole program.

    common: for programs of COMMON operations alone. It takes the compiler a third of the time, and a small model with
    an empty cache has little else that is as dear.
    """
    out = f"""@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[{ARG_STATUS}])
    code = pointer_int64(args[{ARG_CODE}])
    length = args[{ARG_LENGTH}]
    registers = pointer_int64(args[{ARG_REGISTERS}])
    budget = args[{ARG_BUDGET}]
    pc = args[{ARG_POSITION}] if begin == {RESUME} else 0
    while pc < length:
        word = code[pc]
        pc += 1
        operation = word & 0xFFFF
        d = (word >> 16) & 0xFFFF
        a = registers[(word >> 32) & 0xFFFF]
        b = registers[(word >> 48) & 0xFFFF]
""".splitlines()
    blocks: list[tuple[int, list[str]]] = []
    for key, expression in EXPRESSIONS.items():
        if common and key not in COMMON:
            continue
        lines = [f"registers[d] = {expression}"]
        if key[0] in DIVISIONS and key[1] in ("int32", "int64"):
            lines = ["if b == 0:", f"    status[0] = {_DIVISION_BY_ZERO}", "    return", *lines]
        blocks.append((OPCODES[key], lines))
    blocks += [(OPCODES[(name,)], lines) for name, lines in _control_lines().items()]
    for number, (opcode, lines) in enumerate(blocks):
        out.append(f"        {'if' if number == 0 else 'elif'} operation == {opcode}:")
        out += [f"            {line}" for line in lines]
    return "\n".join(out) + "\n"

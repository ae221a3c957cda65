"""The array machine's operations: families of block kernels, each compiled once a machine and never for a plan.

An operation takes blocks of elements that lie side by side: `kernel(table, operands, operation << 32 | count)`, where
`operands` are four indices of 16 bits into the table of addresses (result, then up to three operands). Operations on
the same dtypes share a kernel, since what a kernel costs the compiler is mostly its frame. Their code is printed by the
same printer as a fused kernel's, so that both give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from graphflow._core.codegen.cpu.regions.region_source import ERROR_DIVISION_BY_ZERO, LANES
from graphflow._core.codegen.cpu.regions.scalar_source import Printer
from graphflow._core.codegen.cpu.regions.scalar_text import (
    COMPARISONS,
    DIVISIONS,
    DTYPES,
    FLOAT_FUNCTIONS,
    FLOATS,
    INTEGERS,
    ROUNDINGS,
    Node,
    ScalarTextError,
)
from graphflow._core.common.records import dataclass

Key = tuple[str, ...]
"""An operation: its name and the dtype of its operands; of a cast also that of the result."""

_POLYNOMIALS = ("exp", "expm1", "log", "log1p", "tanh", "erf", "sigmoid", "softplus")
_PLAIN_FUNCTIONS = ("sqrt", "rsqrt")
_OPERANDS = ("a", "b", "c")
_STATUS_SCOPE = 23


@dataclass(frozen=True)
class Block:
    """Where an operation is: the source of its family's kernel, and its number in it."""

    source: str
    number: int


def memory_type(dtype: str) -> str:
    """What an element of a dtype is in memory."""
    return "uint8" if dtype == "bool" else dtype


def _names(dtypes: tuple[str, ...]) -> tuple[Node, ...]:
    return tuple(Node("name", dtype, name=name) for name, dtype in zip(_OPERANDS, dtypes, strict=False))


def _elementwise(op: str, result: str, operands: tuple[str, ...]) -> list[str]:
    """The loop of an operation of the scalar language; an integer division's third operand says where it counts."""
    division = op in DIVISIONS and result in INTEGERS
    printer = Printer("e")
    if division:
        printer.condition = "v_c"
    value = printer.value(Node(op, result, _names(operands)))
    read = (*operands, "bool") if division else operands
    lines = [_pointer("d", result), *(_pointer(n, t) for n, t in zip(_OPERANDS, read, strict=False))]
    body = []
    for name, dtype in zip(_OPERANDS, read, strict=False):
        element = f"load({name}OP, j, 0)"
        body.append(f"v_{name} = {f'({element} != uint8(0))' if dtype == 'bool' else element}")
    stored = f"to_uint8({value})" if result == "bool" else value
    body += [*printer.lines, f"store(dOP, j, {stored}, 1)"]
    if division:
        lines.append("bad = int64(0)")
    lines += ["for j in range(n):", *(f"    {line}" for line in body)]
    if division:
        lines += [
            "if bad != 0:",
            f"    store(pointer_int64(args[0]), 0, {ERROR_DIVISION_BY_ZERO}, {_STATUS_SCOPE})",
        ]
    return lines


def _pointer(name: str, dtype: str) -> str:
    return f"{name}OP = pointer_{memory_type(dtype)}({name}_word)"


def _loop(result: str, operands: tuple[str, ...], value: str, target: str = "j") -> list[str]:
    lines = [_pointer("d", result), *(_pointer(n, t) for n, t in zip(_OPERANDS, operands, strict=False))]
    return [*lines, "for j in range(n):", f"    store(dOP, {target}, {value}, 1)"]


def _arithmetic(dtype: str) -> Iterator[tuple[Key, list[str]]]:
    for op in ("add", "sub", "mul", "min", "max", *(("div",) if dtype in FLOATS else ())):
        yield (op, dtype), _elementwise(op, dtype, (dtype, dtype))
    for op in ("neg", "square"):
        yield (op, dtype), _elementwise(op, dtype, (dtype,))


def _further(dtype: str) -> Iterator[tuple[Key, list[str]]]:
    for op in ("abs", "sign", *((*ROUNDINGS, *_PLAIN_FUNCTIONS) if dtype in FLOATS else ("invert",))):
        yield (op, dtype), _elementwise(op, dtype, (dtype,))
    for op in () if dtype in FLOATS else ("and", "or", "xor", "lshift", "rshift"):
        yield (op, dtype), _elementwise(op, dtype, (dtype, dtype))


def _comparisons(dtype: str) -> Iterator[tuple[Key, list[str]]]:
    for op in COMPARISONS:
        yield (op, dtype), _elementwise(op, "bool", (dtype, dtype))


def _logic(dtype: str) -> Iterator[tuple[Key, list[str]]]:
    for op in ("and", "or", "xor"):
        yield (op, dtype), _elementwise(op, dtype, (dtype, dtype))
    yield ("not", dtype), _elementwise("not", dtype, (dtype,))
    for op in ("eq", "ne"):
        yield (op, dtype), _elementwise(op, "bool", (dtype, dtype))


def _divisions(dtype: str) -> Iterator[tuple[Key, list[str]]]:
    for op in DIVISIONS:
        yield (op, dtype), _elementwise(op, dtype, (dtype, dtype))
    if dtype in FLOATS:
        for op in ("pow", "atan2"):
            yield (op, dtype), _elementwise(op, dtype, (dtype, dtype))


def _functions(dtype: str) -> Iterator[tuple[Key, list[str]]]:
    for op in _POLYNOMIALS:
        yield (op, dtype), _elementwise(op, dtype, (dtype,))


def _library(dtype: str) -> Iterator[tuple[Key, list[str]]]:
    for op in FLOAT_FUNCTIONS:
        if op not in (*_POLYNOMIALS, *_PLAIN_FUNCTIONS):
            yield (op, dtype), _elementwise(op, dtype, (dtype,))


def _casts(dtype: str) -> Iterator[tuple[Key, list[str]]]:
    for target in DTYPES:
        if target != dtype:
            yield ("cast", dtype, target), _elementwise("cast", target, (dtype,))


def _reductions(dtype: str) -> Iterator[tuple[Key, list[str]]]:
    """What reductions need: `along` takes a block into the state of a run, `fold` adds a run's result to a line;
    `into` combines block with block. A state of numbers whose order counts is that of the reduction intrinsics.
    """
    kind = memory_type(dtype)
    for op in ("sum", "prod"):
        symbol = "+" if op == "sum" else "*"
        if dtype in FLOATS:
            yield (f"{op} into", dtype), _loop(dtype, (dtype,), f"load(dOP, j, 1) {symbol} load(aOP, j, 0)")
            pointers = [_pointer("d", dtype), _pointer("a", dtype)]
            yield (f"{op} along", dtype), [*pointers, f"lanes_{op}(dOP, aOP, n)"]
            folded = f"fold_{op}(aOP, aOP[{LANES}])"
            yield (f"{op} fold", dtype), [*pointers, f"dOP[0] = dOP[0] {symbol} {folded}"]
            yield (f"{op} start", dtype), [*pointers, "lanes_start(dOP, aOP[0])", f"dOP[{LANES}] = aOP[0]"]
        else:
            yield from _unordered(op, kind, dtype)
    for op in ("max", "min"):
        yield from _unordered(op, kind, dtype)
    if dtype in FLOATS:
        yield ("mean", dtype), _loop(dtype, (dtype,), "load(dOP, j, 1) / load(aOP, 0, 0)")


def _unordered(op: str, kind: str, dtype: str) -> Iterator[tuple[Key, list[str]]]:
    yield (f"{op} into", dtype), _loop(dtype, (dtype,), f"accumulate_{op}(load(dOP, j, 1), load(aOP, j, 0))")
    lines = [_pointer("d", dtype), _pointer("a", dtype), "partOP = dOP[0]", "for j in range(n):"]
    yield (
        (f"{op} along", dtype),
        [*lines, f"    partOP = accumulate_{op}(partOP, load(aOP, j, 0))", "dOP[0] = partOP"],
    )


def _movements(width: str) -> Iterator[tuple[Key, list[str]]]:
    """Copies of elements of `width` bits, whatever they are; `gather` and `scatter` have a stride in elements."""
    kind = f"int{width}"
    yield ("copy", width), _loop(kind, (kind,), "load(aOP, j, 0)")
    yield ("splat", width), [f"eOP = pointer_{kind}(a_word)[0]", *_loop(kind, (), "eOP")]
    yield ("gather", width), _loop(kind, (kind,), "load(aOP, j * b_word, 0)")
    yield ("scatter", width), _loop(kind, (kind,), "load(aOP, j, 0)", "j * b_word")
    choice = "select(load(aOP, j, 0) != uint8(0), load(bOP, j, 0), load(cOP, j, 0))"
    yield ("select", width), _loop(kind, ("uint8", kind, kind), choice)
    if width == "64":
        yield ("count", width), ["eOP = pointer_int64(a_word)[0]", *_loop(kind, (), "eOP + j")]


def _families() -> Iterator[tuple[str, list[tuple[Key, list[str]]]]]:
    for dtype in DTYPES:
        if dtype == "bool":
            yield "logic", list(_logic(dtype))
        else:
            yield f"arithmetic {dtype}", list(_arithmetic(dtype))
            yield f"further {dtype}", list(_further(dtype))
            yield f"comparisons {dtype}", list(_comparisons(dtype))
            yield f"divisions {dtype}", list(_divisions(dtype))
        if dtype in FLOATS:
            yield f"functions {dtype}", list(_functions(dtype))
            yield f"library {dtype}", list(_library(dtype))
        yield f"casts {dtype}", list(_casts(dtype))
        yield f"reductions {dtype}", list(_reductions(dtype))
    for width in ("8", "16", "32", "64"):
        yield f"movements {width}", list(_movements(width))


def _family_source(operations: list[tuple[Key, list[str]]]) -> str:
    lines = [
        "@kernel_function",
        "def kernel(args, begin, end):",
        "    n = end & 0xFFFFFFFF",
        "    operation = end >> 32",
    ]
    for shift, name in zip(range(0, 64, 16), ("d", *_OPERANDS), strict=True):
        lines.append(f"    {name}_word = args[(begin >> {shift}) & 0xFFFF]")
    for number, (_, body) in enumerate(operations):
        lines.append(f"    {'if' if number == 0 else 'elif'} operation == {number}:")
        lines += [f"        {line}".replace("OP", str(number)) for line in body]
    return "\n".join(lines) + "\n"


@cache
def _blocks() -> dict[Key, Block]:
    found: dict[Key, Block] = {}
    for _, operations in _families():
        source = _family_source(operations)
        for number, (key, _) in enumerate(operations):
            found[key] = Block(source, number)
    return found


def block(*key: str) -> Block:
    """Where an operation is; ScalarTextError if the machine has none such."""
    found = _blocks().get(key)
    if found is None:
        raise ScalarTextError(f"the array machine has no {' '.join(key)}")
    return found


def all_keys() -> tuple[Key, ...]:
    """Every operation."""
    return tuple(_blocks())

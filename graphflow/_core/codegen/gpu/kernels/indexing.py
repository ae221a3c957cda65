"""Kernels of rows by index: gather, scatter, sparse updates, unsorted segments, argmax.

Sums, largest and smallest go through atomic operations, whose order is not defined: two runs may differ in the last
bits of a float's sum. What is replaced, multiplied or divided goes in the order of the
indices, a thread a column: the last of equal ones wins.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from graphflow._core.codegen.cpu.regions.scalar_source import variable
from graphflow._core.codegen.gpu.scalar_source import translate
from graphflow._core.codegen.gpu.status import wrong_index

_WALK: Final = "    i = cuda.grid(1)\n    step = cuda.gridsize(1)\n    while i < count:\n"


@cache
def gather_source(inner: bool) -> str:
    """Rows by index along an axis; status 2 for an index that there is not.

    kernel(status, number, count, x, indices, y, size, taken, columns): y[a, k, b] = x[a, indices[k], b], where x has
    `size` rows, y `taken`, and `columns` elements each; `inner` is whether columns is more than one.
    """
    place = f"b = {'remainder(i, rest, columns)' if inner else '0'}"
    rest = "quotient(i, columns)" if inner else "i"
    return (
        "def kernel(status, number, count, x, indices, y, size, taken, columns):\n"
        + _WALK
        + f"""        rest = {rest}
        {place}
        outer = quotient(rest, taken)
        index = int64(indices[remainder(rest, outer, taken)])
        if index < 0 or index >= size:
            {wrong_index("index", "size", 12)}
        else:
            y[i] = x[(outer * size + index) * columns + b]
        i += step
"""
    )


@cache
def scatter_atomic_source(dtype: str, operation: str, dropping: bool = False) -> str | None:
    """x[indices[k]] op= y[k] if the order does not matter: add, sub, max and min; None for other operations.

    kernel(status, number, count, x, indices, y, rows, columns). Wrong indices are left out, others are not: a variable
    is changed after INDEX_CHECK_SOURCE. With `dropping` those below zero are not wrong, but left out. A NaN becomes the
    largest and the smallest: atomic comparisons leave it where it is, but do not put it there.
    """
    if operation not in ("add", "sub", "max", "min"):
        return None
    value = f"{dtype}({'-' if operation == 'sub' else ''}y[i])"
    change = f"cuda.atomic.{'add' if operation in ('add', 'sub') else operation}(x, place, value)"
    lines = ["place = index * columns + remainder(i, k, columns)", f"value = {value}"]
    if operation in ("max", "min") and dtype.startswith("float"):
        lines += ["if value != value:", "    cuda.atomic.add(x, place, value)", "else:", f"    {change}"]
    else:
        lines.append(change)
    body = "\n            ".join(lines)
    return (
        "def kernel(status, number, count, x, indices, y, rows, columns):\n"
        "    if status[0] != 0:\n        return\n"
        + _WALK
        + f"""        k = quotient(i, columns)
        index = int64(indices[k])
        if {_WRONG[dropping]}:
            {wrong_index("index", "rows", 12)}
        elif index >= 0:
            {body}
        i += step
"""
    )


INDEX_CHECK_SOURCE: Final = f"""
def kernel(status, number, count, indices, rows):
{_WALK}        index = int64(indices[i])
        if index < 0 or index >= rows:
            {wrong_index("index", "rows", 12)}
        i += step
"""
"""Status 2 for an index that there is not, so that a kernel that comes after it changes nothing.

kernel(status, number, count, indices, rows).
"""
_WRONG: Final = {False: "index < 0 or index >= rows", True: "index >= rows"}
_IN_ORDER: Final = {
    "update": "y[k * columns + i]",
    "mul": "x[place] * y[k * columns + i]",
    "div": "x[place] / y[k * columns + i]",
}


@cache
def scatter_source(dtype: str, operation: str, dropping: bool = False) -> str:
    """x[indices[k]] op= y[k] in the order of k, a thread a column; wrong indices are left out.

    kernel(status, number, count, x, indices, y, rows, taken): `count` columns, `taken` indices. `dropping` leaves out
    indices below zero.
    """
    return f"""
def kernel(status, number, count, x, indices, y, rows, taken):
    if status[0] != 0:
        return
    columns = count
{_WALK}        for k in range(taken):
            index = int64(indices[k])
            if {_WRONG[dropping]}:
                {wrong_index("index", "rows", 16)}
            elif index >= 0:
                place = index * columns + i
                x[place] = {dtype}({_IN_ORDER[operation]})
        i += step
"""


@cache
def first_of_equal_sources(dtype: str, positions: str) -> tuple[str, str, str]:
    """Three kernels, one after the other, that find the first of equal indices; status 2 for one that is out of range.

    kernel(status, number, count, indices, table, firsts, places, rows): firsts[k] is indices[k] if it is the first,
    else -1; places[k] is where the first is. table: int32[rows], of which only what is named is touched.
    """
    steps = (
        ["cuda.atomic.exch(table, index, int32(count))"],
        ["cuda.atomic.min(table, index, int32(i))"],
        [
            "first = table[index]",
            f"places[i] = {positions}(first)",
            f"firsts[i] = {dtype}(index) if first == i else {dtype}(-1)",
        ],
    )
    head = "def kernel(status, number, count, indices, table, firsts, places, rows):\n"
    return tuple(  # type: ignore[return-value]
        head
        + _WALK
        + f"""        index = int64(indices[i])
        if index < 0 or index >= rows:
            {wrong_index("index", "rows", 12)}
        else:
"""
        + "".join(f"            {line}\n" for line in lines)
        + "        i += step\n"
        for lines in steps
    )


@cache
def row_update_source(
    slots: tuple[str, ...],
    numbers: tuple[str, ...],
    text: tuple[str, ...],
    dtype: str,
    dropping: bool = False,
) -> str:
    """A sparse update of an optimizer, in the order of the indices, a thread a column; ScalarTextError as in translate.

    kernel(status, number, count, rows, taken, indices, *slots, *numbers, grad): `count` columns, `taken` indices.
    `text` is the rule's: {name} is a value before the update, a bare name one computed earlier. `dropping` leaves out
    indices below zero; then no other is there twice, and each element has a thread: `count` elements, `taken` in a row.
    """
    given = (*slots, *numbers, "grad")
    names = {f"old_{name}": dtype for name in given}
    lines: list[str] = []
    for k, line in enumerate(text):
        target, _, expression = line.partition(" = ")
        translation = translate(re.sub(r"\{(\w+)\}", r"old_\1", expression), dtype, names, f"e{k}_")
        lines += [*translation.lines, f"{variable(target)} = {translation.value}"]
        names[target] = dtype
    walk, place, source = "range(taken)", "index * count + i", "k * count + i"
    if dropping:
        walk, place, source = "range(own, own + 1)", "index * taken + remainder(i, own, taken)", "i"
    body = [
        f"def kernel(status, number, count, rows, taken, indices, {', '.join(f'p_{name}' for name in given)}):",
        "    if status[0] != 0:",
        "        return",
        "    i = cuda.grid(1)",
        "    step = cuda.gridsize(1)",
        *(f"    {variable(f'old_{name}')} = p_{name}[0]" for name in numbers),
        "    while i < count:",
        *(["        own = quotient(i, taken)"] if dropping else []),
        f"        for k in {walk}:",
        "            index = int64(indices[k])",
        f"            if {_WRONG[dropping]}:",
        f"                {wrong_index('index', 'rows', 16)}",
        "            elif index >= 0:",
        f"                place = {place}",
        *(f"                {variable(f'old_{slot}')} = p_{slot}[place]" for slot in slots),
        f"                {variable('old_grad')} = p_grad[{source}]",
        *(f"                {line}" for line in lines),
        *(f"                p_{slot}[place] = {variable(slot)}" for slot in slots if slot in names),
        "        i += step",
    ]
    return "\n".join(body) + "\n"


@cache
def argument_source(dtype: str, output: str, largest: bool) -> str:
    """argmax or argmin along an axis, the first of equals, a NaN first of all: kernel(count, x, y, along, inner)."""
    better = "value > best" if largest else "value < best"
    nan = " or (value != value and best == best)" if dtype.startswith("float") else ""
    return (
        "def kernel(count, x, y, along, inner):\n"
        + _WALK
        + f"""        outer = quotient(i, inner)
        first = outer * along * inner + remainder(i, outer, inner)
        best = x[first]
        place = 0
        for j in range(1, along):
            value = x[first + j * inner]
            if {better}{nan}:
                best = value
                place = j
        y[i] = {output}(place)
        i += step
"""
    )

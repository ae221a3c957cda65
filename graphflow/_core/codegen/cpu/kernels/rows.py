"""Kernels that change rows by index, find equal indices, and choose the largest of each row.

Each source takes all sizes as argument words, so that there is one of it for all of them. A row that is named twice is
changed twice, in the order of the indices: updates are cut by columns. Indices are checked before anything changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from graphflow._core.codegen.cpu.kernels.nnkernels import ERROR_INDEX
from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.codegen.cpu.regions.scalar_source import translate, variable

LEFT_OUT: Final = -(1 << 31)
"""Stands in rows for an index that is equal to one before it: updates leave it out."""
_LEAVES_OUT: Final = {"": "False", "negative": "index < 0", "marked": f"index == {LEFT_OUT}"}
_GRAIN_ELEMENTS: Final = 16384
_CHANGES: Final = {
    "add": "old + value",
    "sub": "old - value",
    "mul": "old * value",
    "div": "old / value",
    "min": "minimum(old, value)",
    "max": "maximum(old, value)",
    "update": "value",
}


def _checked(leaving: str) -> str:
    return f"""
    for unit in range(count):
        index = int64(load(indices, unit, 0))
        if (index < 0 or index >= rows) and not ({_LEAVES_OUT[leaving]}):
            store(status, 0, {ERROR_INDEX}, 2)
            return"""


def _column_steps(kernel: int, words: Sequence[int], columns: int, count: int) -> list[Step]:
    if not (columns and count):
        return []
    grain = -(-max(16, 2 * _GRAIN_ELEMENTS // count) // 16) * 16
    return [Step(kernel, words, 0, columns, grain)]


# ---- changing rows --------------------------------------------------------------------------------------------------


def change_source(dtype: str, index_dtype: str, operation: str, leaving: str = "") -> str:
    """Source of target[indices[i]] op= values[i], in the order of the indices; unit: a column.

    leaving: which indices are left out: none (""), those below zero ("negative"), or LEFT_OUT ("marked").
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    target = pointer_{dtype}(args[1])
    indices = pointer_{index_dtype}(args[2])
    values = pointer_{dtype}(args[3])
    columns = args[4]
    rows = args[5]
    count = args[6]{_checked(leaving)}
    for unit in range(count):
        index = int64(load(indices, unit, 0))
        if {_LEAVES_OUT[leaving]}:
            continue
        row = index * columns
        for j in range(begin, end):
            value = load(values, unit * columns + j, 0)
            old = load(target, row + j, 1)
            store(target, row + j, to_{dtype}({_CHANGES[operation]}), 1)
"""


def change_steps(
    kernel: int, status: int, target: int, rows: int, columns: int, indices: int, count: int, values: int
) -> list[Step]:
    """Steps for contiguous rows of `columns` elements; ERROR_INDEX, and no change, if an index is wrong.

    `values` must not overlap `target`.
    """
    return _column_steps(kernel, [status, target, indices, values, columns, rows, count], columns, count)


def update_source(
    slots: tuple[str, ...],
    numbers: tuple[str, ...],
    text: tuple[str, ...],
    dtype: str,
    index_dtype: str,
    leaving: str = "",
) -> str:
    """Source of a sparse update of an optimizer; unit: a column. ScalarTextError if the text is no scalar text.

    text: the rule's assignments: {name} is a value before the update, a bare name one computed earlier in it.
    """
    names = {f"old_{name}": dtype for name in (*slots, *numbers, "grad")}
    lines: list[str] = []
    for k, line in enumerate(text):
        target, _, expression = line.partition(" = ")
        translation = translate(re.sub(r"\{(\w+)\}", r"old_\1", expression), dtype, names, f"e{k}_")
        lines += [*translation.lines, f"{variable(target)} = {translation.value}"]
        names[target] = dtype
    first = 6
    head = [f"p_{name} = pointer_{dtype}(args[{first + k}])" for k, name in enumerate(slots)]
    first += len(slots)
    head += [
        f"{variable(f'old_{name}')} = load(pointer_{dtype}(args[{first + k}]), 0, 0)"
        for k, name in enumerate(numbers)
    ]
    body = [
        *(f"{variable(f'old_{slot}')} = load(p_{slot}, row + j, {k + 3})" for k, slot in enumerate(slots)),
        f"{variable('old_grad')} = load(values, unit * columns + j, 0)",
        *lines,
        *(
            f"store(p_{slot}, row + j, {variable(slot)}, {k + 3})"
            for k, slot in enumerate(slots)
            if slot in names
        ),
    ]
    beginning, inside = (
        "".join(f"\n{' ' * n}{line}" for line in part) for n, part in ((4, head), (12, body))
    )
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    indices = pointer_{index_dtype}(args[1])
    values = pointer_{dtype}(args[2])
    columns = args[3]
    rows = args[4]
    count = args[5]{beginning}{_checked(leaving)}
    for unit in range(count):
        index = int64(load(indices, unit, 0))
        if {_LEAVES_OUT[leaving]}:
            continue
        row = index * columns
        for j in range(begin, end):{inside}
"""


def update_steps(
    kernel: int,
    status: int,
    slots: Sequence[int],
    numbers: Sequence[int],
    rows: int,
    columns: int,
    indices: int,
    count: int,
    gradient: int,
) -> list[Step]:
    """Steps of an update of contiguous rows; slots and numbers are addresses, in the rule's order."""
    words = [status, indices, gradient, columns, rows, count, *slots, *numbers]
    return _column_steps(kernel, words, columns, count)


# ---- equal indices --------------------------------------------------------------------------------------------------


def first_of_equal_source(index_dtype: str, position_dtype: str) -> str:
    """Source of finding, for each index, the place of the first that is equal to it; one unit.

    The index itself, or LEFT_OUT if it is not the first, is in `firsts`; one that is out of range is a first, for
    what takes it to report. table: int32[rows], of which only what is named is touched.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    indices = pointer_{index_dtype}(args[0])
    table = pointer_int32(args[1])
    firsts = pointer_{index_dtype}(args[2])
    places = pointer_{position_dtype}(args[3])
    count = args[4]
    rows = args[5]
    for unit in range(count):
        index = int64(load(indices, unit, 0))
        if index >= 0 and index < rows:
            store(table, index, to_int32(-1), 1)
    for unit in range(count):
        index = int64(load(indices, unit, 0))
        first = unit
        if index >= 0 and index < rows:
            before = int64(load(table, index, 1))
            if before < 0:
                store(table, index, to_int32(unit), 1)
            else:
                first = before
                index = {LEFT_OUT}
        store(firsts, unit, to_{index_dtype}(index), 2)
        store(places, unit, to_{position_dtype}(first), 3)
"""


def first_of_equal_steps(
    kernel: int, indices: int, table: int, firsts: int, places: int, count: int, rows: int
) -> list[Step]:
    """The step that finds equal indices."""
    return [Step(kernel, [indices, table, firsts, places, count, rows], 0, 1)]


# ---- the largest of rows --------------------------------------------------------------------------------------------


def top_k_source(dtype: str) -> str:
    """Source of the k largest of each row, the largest first, of equals the one with the lower index; unit: a row.

    A NaN is larger than any number, as in NumPy's order. What is kept is in order, so that few elements move.
    """
    if dtype in ("float32", "float64"):
        larger = "value > low or (value != value and low == low)"
        above = "value > other or (value != value and other == other)"
    else:
        larger, above = "value > low", "value > other"
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    values = pointer_{dtype}(args[1])
    places = pointer_int32(args[2])
    columns = args[3]
    count = args[4]
    for unit in range(begin, end):
        row = unit * columns
        kept = unit * count
        held = int64(0)
        low = load(x, row, 0)
        for j in range(columns):
            value = load(x, row + j, 0)
            if held < count or {larger}:
                at = held
                if held == count:
                    at = count - 1
                else:
                    held += 1
                while at > 0:
                    other = load(values, kept + at - 1, 1)
                    if not ({above}):
                        break
                    store(values, kept + at, other, 1)
                    store(places, kept + at, load(places, kept + at - 1, 2), 2)
                    at -= 1
                store(values, kept + at, value, 1)
                store(places, kept + at, to_int32(j), 2)
                low = load(values, kept + held - 1, 1)
"""


def top_k_steps(
    kernel: int, x: int, values: int, places: int, rows: int, columns: int, count: int
) -> list[Step]:
    """Steps over contiguous (rows, columns) x for (rows, count) results; 0 < count <= columns."""
    grain = max(1, _GRAIN_ELEMENTS // columns)
    return [Step(kernel, [x, values, places, columns, count], 0, rows, grain)]


def sorted_source(dtype: str) -> str:
    """Source of the k largest of each row in the order of `top_k_source`, where k is not small; unit: a row.

    Method: a radix sort by bytes, the last one first, of whole numbers in whose order the elements are. It keeps equal
    ones as they are, and no branch depends on the elements.
    """
    size = np.dtype(dtype).itemsize
    bits, key = dtype if dtype[0] == "u" else f"int{8 * size}", sorted_key(dtype)
    turned = (1 << 8 * size) - 1 if dtype[0] == "u" else (1 << 8 * size - 1) - 1
    number = f"value ^ {turned}"
    if dtype[0] == "f":
        infinity = int(np.array(np.inf, dtype).view(bits))
        number = f"(value if value < 0 else value ^ {turned}) if value & {turned} else int64({turned})"
        number = f"int64(0) if (value & {turned}) > {infinity} else ({number})"
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    words = pointer_{bits}(args[0])
    values = pointer_{dtype}(args[1])
    places = pointer_int32(args[2])
    columns = args[3]
    count = args[4]
    ends = pointer_int32(args[9])
    for unit in range(begin, end):
        row = unit * columns
        bucket = unit * 256
        one = pointer_{key}(args[5])
        other = pointer_{key}(args[6])
        here = pointer_int32(args[7])
        there = pointer_int32(args[8])
        for j in range(columns):
            value = int64(load(words, row + j, 0))
            store(one, row + j, to_{key}({number}), 1)
            store(here, row + j, to_int32(j), 2)
        for byte in range({size}):
            shift = 8 * byte
            for j in range(256):
                store(ends, bucket + j, to_int32(0), 5)
            for j in range(columns):
                digit = bucket + ((int64(load(one, row + j, 1)) >> shift) & 255)
                store(ends, digit, to_int32(load(ends, digit, 5) + 1), 5)
            total = int64(0)
            for j in range(256):
                held = int64(load(ends, bucket + j, 5))
                store(ends, bucket + j, to_int32(total), 5)
                total += held
            for j in range(columns):
                key = load(one, row + j, 1)
                digit = bucket + ((int64(key) >> shift) & 255)
                at = int64(load(ends, digit, 5))
                store(ends, digit, to_int32(at + 1), 5)
                store(other, row + at, key, 1)
                store(there, row + at, load(here, row + j, 2), 2)
            one, other = other, one
            here, there = there, here
        for j in range(count):
            at = int64(load(here, row + j, 2))
            store(values, unit * count + j, load(x, row + at, 0), 3)
            store(places, unit * count + j, to_int32(at), 4)
"""


def sorted_steps(
    kernel: int, x: int, results: Sequence[int], scratch: Sequence[int], rows: int, columns: int, count: int
) -> list[Step]:
    """Steps over contiguous (rows, columns) x for (rows, count) results; 0 < count <= columns.

    results: the values and their places. scratch: two arrays of `sorted_key` and two of int32, as large as x, and one
    of 256 int32s for each row.
    """
    grain = max(1, _GRAIN_ELEMENTS // columns)
    return [Step(kernel, [x, *results, columns, count, *scratch], 0, rows, grain)]


def sorted_key(dtype: str) -> str:
    """The dtype of the numbers that stand for elements while they are sorted."""
    return "int64" if np.dtype(dtype).itemsize == 8 else "int32"


# ---- running along an axis ------------------------------------------------------------------------------------------


def scan_source(dtype: str, operation: str) -> str:
    """Source of a running sum or product ("sum", "prod") along an axis; unit: a line.

    Arguments: x, target, length, inner, first step along the line (1, or -1 for one from the end), exclusive.
    """
    neutral, combined = ("0", "total + value") if operation == "sum" else ("1", "total * value")
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    target = pointer_{dtype}(args[1])
    length = args[2]
    inner = args[3]
    backwards = args[4]
    exclusive = args[5]
    for unit in range(begin, end):
        place = unit // inner * length * inner + unit % inner
        step = inner
        if backwards != 0:
            place += (length - 1) * inner
            step = -inner
        total = to_{dtype}({neutral})
        for k in range(length):
            value = load(x, place, 0)
            if exclusive != 0:
                store(target, place, total, 1)
                total = to_{dtype}({combined})
            else:
                total = to_{dtype}({combined})
                store(target, place, total, 1)
            place += step
"""


def scan_steps(
    kernel: int, x: int, target: int, lines: int, length: int, inner: int, backwards: bool, exclusive: bool
) -> list[Step]:
    """Steps over contiguous blocks, the axis of `length` places between the lines and `inner` elements."""
    words = [x, target, length, inner, int(backwards), int(exclusive)]
    return [Step(kernel, words, 0, lines, max(1, _GRAIN_ELEMENTS // length))]

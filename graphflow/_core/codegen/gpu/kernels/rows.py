"""Kernels that give a block to a row: softmax, its losses with their gradients in one pass, top_k, argmax.

The threads of a block walk a row side by side and combine what they found (warps.py). A block takes one row after the
other, so that the grid has any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from graphflow._core.codegen.gpu.status import wrong_index
from graphflow._core.codegen.gpu.toolkit import BLOCK, Launch
from graphflow._core.codegen.gpu.warps import Found, combined

_MOST_BLOCKS: Final = 4096
_FEWEST: Final = 8
"""Elements of a thread."""


def rows_launch(source: str, rows: int, columns: int, arguments: Sequence[Any]) -> Launch:
    """A launch of a kernel of this module: as many threads a row as it has work for, a power of two.

    Each has several elements, since the threads of a row take longer to combine what they found than to find it.
    """
    threads = min(BLOCK, 32)
    while threads < min(BLOCK, columns // _FEWEST):
        threads *= 2
    return Launch(source, max(1, min(rows, _MOST_BLOCKS)), threads, tuple(arguments))


def _over_row(*body: str) -> list[str]:
    return ["j = thread", "while j < columns:", *(f"    {line}" for line in body), "    j += threads"]


_LARGER: Final = "top = other if other > top or other != other else top"


def _whole_row(mine: str, combination: str, dtype: str) -> list[str]:
    """Lines that leave in `mine` of every thread what it is for the row; `other` is another thread's."""
    return combined(_found(dtype, mine), [combination], "threads")


def _top(dtype: str) -> list[str]:
    """Lines that find the largest of a row: subtracted before exp, so that nothing overflows."""
    return [
        f"top = {dtype}(-1e999)",
        *_over_row("value = x[start + j]", "if value > top or value != value:", "    top = value"),
        *_whole_row("top", _LARGER, dtype),
        # A row of infinities would give inf - inf everywhere.
        f"if top == {dtype}(-1e999):",
        f"    top = {dtype}(0)",
    ]


def _total(dtype: str, *before: str) -> list[str]:
    return [
        f"total = {dtype}(0)",
        *_over_row(*before, f"total += exp_{dtype}(x[start + j] - top)"),
        *_whole_row("total", "total = total + other", dtype),
    ]


def _found(dtype: str, *names: str) -> list[Found]:
    return [Found(name, "other", dtype) for name in names]


def _kernel(parameters: str, found: Sequence[Found], body: Sequence[str]) -> str:
    return "\n".join(
        [
            f"def kernel({parameters}):",
            *(f"    {f.shared}" for f in found),
            "    thread = cuda.threadIdx.x",
            "    threads = cuda.blockDim.x",
            "    row = cuda.blockIdx.x",
            "    while row < rows:",
            "        start = row * columns",
            *(f"        {line}" for line in body),
            "        row += cuda.gridDim.x",
            "",
        ]
    )


def _part(dtype: str) -> str:
    """A line: a product takes a tenth of the instructions of a quotient."""
    return f"part = {dtype}(1) / total"


@cache
def softmax_source(dtype: str, logarithm: bool) -> str:
    """softmax or log_softmax of rows: kernel(rows, columns, x, y)."""
    value = (
        f"x[start + j] - top - log_{dtype}(total)" if logarithm else f"exp_{dtype}(x[start + j] - top) * part"
    )
    return _kernel(
        "rows, columns, x, y",
        _found(dtype, "top", "total"),
        [*_top(dtype), *_total(dtype), _part(dtype), *_over_row(f"y[start + j] = {value}")],
    )


@cache
def cross_entropy_source(dtype: str) -> str:
    """The loss of each row and its gradient: kernel(rows, columns, x, labels, loss, gradient)."""
    cost = f"cost += label * (log_{dtype}(total) - (x[start + j] - top))"
    gradient = f"gradient[start + j] = exp_{dtype}(x[start + j] - top) * part - label"
    return _kernel(
        "rows, columns, x, labels, loss, gradient",
        _found(dtype, "top", "total", "cost"),
        [
            *_top(dtype),
            *_total(dtype),
            _part(dtype),
            f"cost = {dtype}(0)",
            *_over_row("label = labels[start + j]", cost, gradient),
            *_whole_row("cost", "cost = cost + other", dtype),
            "if thread == 0:",
            "    loss[row] = cost",
        ],
    )


@cache
def sparse_cross_entropy_source(dtype: str) -> str:
    """The same with a class for each row; status 2 for one that there is not.

    kernel(status, number, rows, columns, x, labels, loss, gradient)
    """
    value = f"exp_{dtype}(x[start + j] - top) * part"
    return _kernel(
        "status, number, rows, columns, x, labels, loss, gradient",
        _found(dtype, "top", "total"),
        [
            *_top(dtype),
            *_total(dtype),
            _part(dtype),
            "label = labels[row]",
            *_over_row(
                f"one = {dtype}(1) if j == label else {dtype}(0)", f"gradient[start + j] = {value} - one"
            ),
            "if thread == 0:",
            "    if label < 0 or label >= columns:",
            *(f"        {line}" for line in wrong_index("int64(label)", "columns", 0).split("\n")),
            "    else:",
            f"        loss[row] = log_{dtype}(total) - (x[start + label] - top)",
        ],
    )


@cache
def top_k_source(dtype: str) -> str:
    """The k largest of each row in order, the first of equals first: kernel(rows, columns, count, x, values, places).

    Round after round the largest that comes after the last one found; for the few that are asked for.
    """
    nan = dtype.startswith("float")
    later = "(value < last or (value == last and j > last_place))"
    better = "value > best or (value == best and j < place)"
    found = [Found("best", "value", dtype), Found("place", "j", "int64")]
    combine = [
        *combined(
            found, [f"if j >= 0 and (place < 0 or {better}):", "    best = value", "    place = j"], "threads"
        ),
        "last = best",
        "last_place = place",
    ]
    read = "value = x[start + j]"
    body = [
        "last = x[start]",
        "last_place = int64(-1)",
        "for found in range(count):",
        "    best = x[start]",
        "    place = int64(-1)",
        *(
            f"    {line}"
            for line in _over_row(
                read,
                *(["if value != value:", f"    value = {dtype}(1e999)"] if nan else []),
                f"if (found == 0 or {later}) and (place < 0 or {better}):",
                "    best = value",
                "    place = int64(j)",
            )
        ),
        *(f"    {line}" for line in combine),
        "    if thread == 0:",
        "        values[row * count + found] = x[start + last_place]",
        "        places[row * count + found] = last_place",
    ]
    return _kernel("rows, columns, count, x, values, places", found, body)


@cache
def argument_source(dtype: str, output: str, largest: bool) -> str:
    """argmax or argmin of rows, the first of equals, a NaN first of all: kernel(rows, columns, x, y)."""
    sign = ">" if largest else "<"
    nan = dtype.startswith("float")
    better = f"value {sign} best" + (" or (value != value and best == best)" if nan else "")
    same = "value == best" + (" or (value != value and best != best)" if nan else "")
    found = [Found("best", "value", dtype), Found("place", "j", "int64")]
    chosen = ["    best = value", "    place = int64(j)"]
    before = f"if j >= 0 and (place < 0 or {better} or (({same}) and j < place)):"
    body = [
        "best = x[start]",
        "place = int64(-1)",
        *_over_row("value = x[start + j]", f"if place < 0 or {better}:", *chosen),
        *combined(found, [before, *chosen], "threads"),
        "if thread == 0:",
        f"    y[row] = {output}(place)",
    ]
    return _kernel("rows, columns, x, y", found, body)

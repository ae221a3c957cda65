"""Kernels that give a block to a row: softmax, its losses with their gradients in one pass, top_k.

The threads of a block walk a row side by side and combine what they found in a fixed tree in shared memory. A block
takes one row after the other, so that the grid has any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from graphflow.kernels.cuda.toolkit import BLOCK, Launch

_SHARED: Final = 256
_MOST_BLOCKS: Final = 4096


def rows_launch(source: str, rows: int, columns: int, arguments: Sequence[Any]) -> Launch:
    """A launch of a kernel of this module: as many threads a row as it has work for, a power of two."""
    threads = min(BLOCK, 32)
    while threads < min(BLOCK, columns):
        threads *= 2
    return Launch(source, max(1, min(rows, _MOST_BLOCKS)), threads, tuple(arguments))


def _combined(combination: str, local: str) -> list[str]:
    """Lines that leave in `local` of every thread the combination of all threads' `mine` and `other`."""
    return [
        f"shared[thread] = {local}",
        "cuda.syncthreads()",
        "half = threads // 2",
        "while half > 0:",
        "    if thread < half:",
        "        mine = shared[thread]",
        "        other = shared[thread + half]",
        f"        shared[thread] = {combination}",
        "    cuda.syncthreads()",
        "    half = half // 2",
        f"{local} = shared[0]",
        "cuda.syncthreads()",
    ]


def _over_row(*body: str) -> list[str]:
    return ["j = thread", "while j < columns:", *(f"    {line}" for line in body), "    j += threads"]


_LARGER: Final = "other if other > mine or other != other else mine"


def _top(dtype: str) -> list[str]:
    """Lines that find the largest of a row: subtracted before exp, so that nothing overflows."""
    return [
        f"top = {dtype}(-1e999)",
        *_over_row("value = x[start + j]", "if value > top or value != value:", "    top = value"),
        *_combined(_LARGER, "top"),
        # A row of infinities would give inf - inf everywhere.
        f"if top == {dtype}(-1e999):",
        f"    top = {dtype}(0)",
    ]


def _total(dtype: str, *before: str) -> list[str]:
    return [
        f"total = {dtype}(0)",
        *_over_row(*before, f"total += exp_{dtype}(x[start + j] - top)"),
        *_combined("mine + other", "total"),
    ]


def _kernel(parameters: str, dtype: str, body: Sequence[str]) -> str:
    return "\n".join(
        [
            f"def kernel({parameters}):",
            f"    shared = cuda.shared.array({_SHARED}, {dtype})",
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


@cache
def softmax_source(dtype: str, logarithm: bool) -> str:
    """softmax or log_softmax of rows: kernel(rows, columns, x, y)."""
    value = (
        f"x[start + j] - top - log_{dtype}(total)"
        if logarithm
        else f"exp_{dtype}(x[start + j] - top) / total"
    )
    return _kernel(
        "rows, columns, x, y", dtype, [*_top(dtype), *_total(dtype), *_over_row(f"y[start + j] = {value}")]
    )


@cache
def cross_entropy_source(dtype: str) -> str:
    """The loss of each row and its gradient: kernel(rows, columns, x, labels, loss, gradient)."""
    cost = f"cost += label * (log_{dtype}(total) - (x[start + j] - top))"
    gradient = f"gradient[start + j] = exp_{dtype}(x[start + j] - top) / total - label"
    return _kernel(
        "rows, columns, x, labels, loss, gradient",
        dtype,
        [
            *_top(dtype),
            *_total(dtype),
            f"cost = {dtype}(0)",
            *_over_row("label = labels[start + j]", cost, gradient),
            *_combined("mine + other", "cost"),
            "if thread == 0:",
            "    loss[row] = cost",
        ],
    )


@cache
def sparse_cross_entropy_source(dtype: str) -> str:
    """The same with a class for each row; status 2 for one that there is not.

    kernel(status, number, rows, columns, x, labels, loss, gradient)
    """
    value = f"exp_{dtype}(x[start + j] - top) / total"
    return _kernel(
        "status, number, rows, columns, x, labels, loss, gradient",
        dtype,
        [
            *_top(dtype),
            *_total(dtype),
            "label = labels[row]",
            *_over_row(
                f"one = {dtype}(1) if j == label else {dtype}(0)", f"gradient[start + j] = {value} - one"
            ),
            "if thread == 0:",
            "    if label < 0 or label >= columns:",
            "        status[0] = 2",
            "        status[1] = number",
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
    shared = f"places_shared = cuda.shared.array({_SHARED}, int64)"
    combine = [
        "shared[thread] = best",
        "places_shared[thread] = place",
        "cuda.syncthreads()",
        "half = threads // 2",
        "while half > 0:",
        "    if thread < half:",
        "        value = shared[thread + half]",
        "        j = places_shared[thread + half]",
        f"        if j >= 0 and (place < 0 or {better}):",
        "            best = value",
        "            place = j",
        "        shared[thread] = best",
        "        places_shared[thread] = place",
        "    cuda.syncthreads()",
        "    half = half // 2",
        "last = shared[0]",
        "last_place = places_shared[0]",
        "cuda.syncthreads()",
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
    text = _kernel("rows, columns, count, x, values, places", dtype, body)
    return text.replace("    thread = cuda.threadIdx.x", f"    {shared}\n    thread = cuda.threadIdx.x", 1)

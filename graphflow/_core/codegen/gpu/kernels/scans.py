"""Kernels of running sums, products and log-sum-exps along an axis.

If the axis is the last one a block takes a row, piece by piece: its threads combine what lies 1, 2, 4, ... places
before, and what came before the piece is carried along. Along another axis neighbouring threads take neighbouring
lines, each from one end to the other. Both orders are fixed, so that the bits are the same every time.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from graphflow._core.codegen.gpu.toolkit import BLOCK

_NEUTRAL: Final = {"sum": "0", "prod": "1", "logsumexp": "-1e999"}


def _combined(operation: str, dtype: str, target: str, first: str, second: str) -> list[str]:
    """Lines for target = first combined with second, as they follow each other."""
    if operation != "logsumexp":
        return [f"{target} = {dtype}({first} {'+' if operation == 'sum' else '*'} {second})"]
    # If both are the same, they may be infinite; if the difference is no number, neither is the result.
    return [
        f"apart = {first} - {second}",
        f"top = {first} if apart > {dtype}(0) else {second}",
        f"rest = log1p_{dtype}(exp_{dtype}({dtype}(-abs(apart))))",
        f"{target} = {first} + log1p_{dtype}({dtype}(1)) if {first} == {second} else top + rest",
        "if apart != apart and not " + f"({first} == {second}):",
        f"    {target} = apart",
    ]


def _indented(lines: list[str], depth: int) -> list[str]:
    return ["    " * depth + line for line in lines]


@cache
def lines_source(dtype: str, operation: str, exclusive: bool, reverse: bool) -> str:
    """A thread a line: kernel(count, x, y, length, inner), `inner` elements between those of a line."""
    add = _combined(operation, dtype, "total", "total", "value")
    store = ["y[place] = total"]
    body = [*store, *add] if exclusive else [*add, *store]
    return "\n".join(
        [
            "def kernel(count, x, y, length, inner):",
            "    i = cuda.grid(1)",
            "    step = cuda.gridsize(1)",
            "    while i < count:",
            "        outer = quotient(i, inner)",
            "        first = outer * length * inner + remainder(i, outer, inner)",
            f"        total = {dtype}({_NEUTRAL[operation]})",
            "        for k in range(length):",
            f"            place = first + {'(length - 1 - k)' if reverse else 'k'} * inner",
            "            value = x[place]",
            *_indented(body, 3),
            "        i += step",
            "",
        ]
    )


@cache
def rows_source(dtype: str, operation: str, exclusive: bool, reverse: bool) -> str:
    """A block a row: kernel(rows, columns, x, y)."""
    neutral = f"{dtype}({_NEUTRAL[operation]})"
    at = "columns - 1 - k" if reverse else "k"
    result = (
        ["result = carry", "if thread > 0:", "    value = shared[thread - 1]"]
        + _indented(_combined(operation, dtype, "result", "carry", "value"), 1)
        if exclusive
        else ["value = shared[thread]", *_combined(operation, dtype, "result", "carry", "value")]
    )
    return "\n".join(
        [
            "def kernel(rows, columns, x, y):",
            f"    shared = cuda.shared.array({max(BLOCK, 256)}, {dtype})",
            "    thread = cuda.threadIdx.x",
            "    threads = cuda.blockDim.x",
            "    row = cuda.blockIdx.x",
            "    while row < rows:",
            f"        carry = {neutral}",
            "        begin = 0",
            "        while begin < columns:",
            "            k = begin + thread",
            f"            mine = {neutral}",
            "            if k < columns:",
            f"                mine = x[row * columns + {at}]",
            "            shared[thread] = mine",
            "            cuda.syncthreads()",
            "            distance = 1",
            "            while distance < threads:",
            "                if thread >= distance:",
            "                    other = shared[thread - distance]",
            *_indented(_combined(operation, dtype, "mine", "other", "mine"), 5),
            "                cuda.syncthreads()",
            "                shared[thread] = mine",
            "                cuda.syncthreads()",
            "                distance *= 2",
            "            if k < columns:",
            *_indented(result, 4),
            f"                y[row * columns + {at}] = result",
            "            value = shared[threads - 1]",
            *_indented(_combined(operation, dtype, "carry", "carry", "value"), 3),
            "            cuda.syncthreads()",
            "            begin += threads",
            "        row += cuda.gridDim.x",
            "",
        ]
    )

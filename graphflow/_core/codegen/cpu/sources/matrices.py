"""Kernels of decompositions and solutions of small matrices, many at once; unit: a matrix, or some columns beside one.

LAPACK is made for large matrices, and called through Python: of a matrix of 32 rows the call costs as much as the work.
What is no number goes on as NaN. What cannot be decomposed writes ERROR_INDEX to the status word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.codegen.cpu.kernels.nnkernels import ERROR_INDEX
from graphflow._core.codegen.cpu.programs.machine import Step

_COLUMNS_TOGETHER: Final = 64
_GRAIN_WORK: Final = 32768
_FAILED: Final = f"store(status, 0, {ERROR_INDEX}, 7)"


def cholesky_source(dtype: str) -> str:
    """Source of lower triangular factors by rows, of the lower triangle alone; arguments: status, x, result, rows."""
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    x = pointer_{dtype}(args[1])
    out = pointer_{dtype}(args[2])
    n = args[3]
    for unit in range(begin, end):
        base = unit * n * n
        for i in range(n):
            row = base + i * n
            for j in range(i):
                other = base + j * n
                total = {dtype}(0)
                for k in range(j):
                    total = accumulate_sum(total, load(out, row + k, 1) * load(out, other + k, 1))
                store(out, row + j, (load(x, row + j, 0) - total) / load(out, other + j, 1), 1)
            total = {dtype}(0)
            for k in range(i):
                total = accumulate_sum(total, load(out, row + k, 1) * load(out, row + k, 1))
            pivot = load(x, row + i, 0) - total
            if not pivot > {dtype}(0):
                {_FAILED}
                return
            store(out, row + i, f_sqrt(pivot), 1)
            for j in range(i + 1, n):
                store(out, row + j, {dtype}(0), 1)
"""


def _system(dtype: str) -> str:
    """How kernels of solutions begin: status, matrices, right sides, solutions."""
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    a = pointer_{dtype}(args[1])
    b = pointer_{dtype}(args[2])
    x = pointer_{dtype}(args[3])"""


def _less(indent: int, array: str, row: str, other: str, places: str, scope: int) -> str:
    """A row of an array becomes itself less `factor` times another row, at some places of both."""
    lines = (
        f"for j in range({places}):",
        f"    old = load({array}, {row} + j, {scope})",
        f"    store({array}, {row} + j, old - factor * load({array}, {other} + j, {scope}), {scope})",
    )
    return "".join(f"\n{' ' * indent}{line}" for line in lines)


def triangular_source(dtype: str) -> str:
    """Source of the solutions of triangular systems by substitution; unit: a matrix and some columns of its right side.

    Arguments: status, matrices, right sides, solutions, rows, columns of a right side, the steps from one row and one
    column of what is solved to the next, whether the first row comes first (1) or the last (0).
    """
    return f"""{_system(dtype)}
    n = args[4]
    columns = args[5]
    row_step = args[6]
    column_step = args[7]
    forward = args[8]
    blocks = (columns + {_COLUMNS_TOGETHER - 1}) // {_COLUMNS_TOGETHER}
    for unit in range(begin, end):
        matrix = unit // blocks * n * n
        first = unit % blocks * {_COLUMNS_TOGETHER}
        width = min({_COLUMNS_TOGETHER}, columns - first)
        base = unit // blocks * n * columns + first
        for turn in range(n):
            i = turn
            if forward == 0:
                i = n - 1 - turn
            row = base + i * columns
            for j in range(width):
                store(x, row + j, load(b, row + j, 1), 2)
            for before in range(turn):
                k = before
                if forward == 0:
                    k = n - 1 - before
                factor = load(a, matrix + i * row_step + k * column_step, 0)
                other = base + k * columns
                for j in range(width):
                    store(x, row + j, load(x, row + j, 2) - factor * load(x, other + j, 2), 2)
            pivot = load(a, matrix + i * (row_step + column_step), 0)
            if pivot == {dtype}(0):
                {_FAILED}
                return
            for j in range(width):
                store(x, row + j, load(x, row + j, 2) / pivot, 2)
"""


def triangular_steps(
    kernel: int,
    places: Sequence[int],
    count: int,
    size: int,
    columns: int,
    turned: bool,
    forward: bool,
) -> list[Step]:
    """Steps for `count` matrices; `places`: status, matrices, right sides, solutions. turned: the matrices are."""
    steps = (1, size) if turned else (size, 1)
    units = count * -(-columns // _COLUMNS_TOGETHER)
    work = size * size * min(columns, _COLUMNS_TOGETHER) // 2 + 1
    words = [*places, size, columns, *steps, int(forward)]
    return [Step(kernel, words, 0, units, max(1, _GRAIN_WORK // work))]


def _pivoted() -> str:
    """The row with the largest pivot of column k becomes row k of `left`, a matrix that begins at `base`."""
    return """
            chosen = k
            best = f_abs(load(left, base + k * n + k, 3))
            for i in range(k + 1, n):
                value = f_abs(load(left, base + i * n + k, 3))
                if value > best or (value != value and best == best):
                    best = value
                    chosen = i"""


def determinant_source(dtype: str, logarithm: bool) -> str:
    """Source of determinants by Gauss's elimination: signs and logarithms of absolute values, or the numbers of these.

    Arguments: matrices, signs or determinants, logarithms, space for the matrices, rows.
    """
    less = _less(16, "left", "base + i * n", "base + k * n", "k + 1, n", 3)
    number = f"{dtype}(0) if total == -infinity else sign * f_exp(total)"
    stored = "store(y, unit, sign, 1)\n        store(logarithms, unit, total, 2)"
    return f"""
@kernel_function
def kernel(args, begin, end):
    a = pointer_{dtype}(args[0])
    y = pointer_{dtype}(args[1])
    logarithms = pointer_{dtype}(args[2])
    left = pointer_{dtype}(args[3])
    n = args[4]
    infinity = {dtype}(1) / {dtype}(0)
    for unit in range(begin, end):
        base = unit * n * n
        for k in range(n * n):
            store(left, base + k, load(a, base + k, 0), 3)
        sign = {dtype}(1)
        total = {dtype}(0)
        for k in range(n):{_pivoted()}
            if best == {dtype}(0):
                sign = {dtype}(0)
                total = -infinity
                break
            if chosen != k:
                sign = -sign
                for j in range(k, n):
                    held = load(left, base + k * n + j, 3)
                    store(left, base + k * n + j, load(left, base + chosen * n + j, 3), 3)
                    store(left, base + chosen * n + j, held, 3)
            pivot = load(left, base + k * n + k, 3)
            if pivot < {dtype}(0):
                sign = -sign
            total = total + f_log(f_abs(pivot))
            for i in range(k + 1, n):
                factor = load(left, base + i * n + k, 3) / pivot{less}
        {stored if logarithm else f"store(y, unit, {number}, 1)"}
"""


def determinant_steps(kernel: int, places: Sequence[int], count: int, size: int) -> list[Step]:
    """Steps for `count` matrices; `places`: matrices, signs or determinants, logarithms, space."""
    work = size * size * size // 3 + 1
    return [Step(kernel, [*places, size], 0, count, max(1, _GRAIN_WORK // work))]


def solve_source(dtype: str, inverse: bool) -> str:
    """Source of solutions by Gauss's elimination with the largest pivot of each column; an inverse's right side is 1.

    Arguments: status, matrices, right sides, solutions, space for the matrices, rows, columns of a right side, the
    steps from one row and one column of what is solved to the next.
    """
    right = f"to_{dtype}(int64(i == j))" if inverse else "load(b, side + i * columns + j, 1)"
    left = _less(16, "left", "base + i * n", "base + k * n", "k + 1, n", 3)
    solution = _less(16, "x", "side + i * columns", "side + k * columns", "columns", 2)
    return f"""{_system(dtype)}
    left = pointer_{dtype}(args[4])
    n = args[5]
    columns = args[6]
    row_step = args[7]
    column_step = args[8]
    for unit in range(begin, end):
        base = unit * n * n
        side = unit * n * columns
        for i in range(n):
            for j in range(n):
                store(left, base + i * n + j, load(a, base + i * row_step + j * column_step, 0), 3)
            for j in range(columns):
                store(x, side + i * columns + j, {right}, 2)
        for k in range(n):{_pivoted()}
            if best == {dtype}(0):
                {_FAILED}
                return
            if chosen != k:
                for j in range(k, n):
                    held = load(left, base + k * n + j, 3)
                    store(left, base + k * n + j, load(left, base + chosen * n + j, 3), 3)
                    store(left, base + chosen * n + j, held, 3)
                for j in range(columns):
                    held = load(x, side + k * columns + j, 2)
                    store(x, side + k * columns + j, load(x, side + chosen * columns + j, 2), 2)
                    store(x, side + chosen * columns + j, held, 2)
            pivot = load(left, base + k * n + k, 3)
            for i in range(k + 1, n):
                factor = load(left, base + i * n + k, 3) / pivot{left}{solution}
        for turn in range(n):
            i = n - 1 - turn
            for k in range(i + 1, n):
                factor = load(left, base + i * n + k, 3){solution}
            pivot = load(left, base + i * n + i, 3)
            for j in range(columns):
                store(x, side + i * columns + j, load(x, side + i * columns + j, 2) / pivot, 2)
"""


def solve_steps(
    kernel: int, places: Sequence[int], count: int, size: int, columns: int, turned: bool
) -> list[Step]:
    """Steps for `count` matrices; `places`: status, matrices, right sides, solutions, space."""
    steps = (1, size) if turned else (size, 1)
    work = size * size * (size // 3 + columns) + 1
    return [Step(kernel, [*places, size, columns, *steps], 0, count, max(1, _GRAIN_WORK // work))]


def cholesky_steps(kernel: int, places: Sequence[int], count: int, size: int) -> list[Step]:
    """Steps for `count` matrices; `places`: status, matrices, factors."""
    work = size * size * size // 3 + 1
    return [Step(kernel, [*places, size], 0, count, max(1, _GRAIN_WORK // work))]

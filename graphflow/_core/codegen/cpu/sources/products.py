"""Kernels of many products of matrices so small that a call of BLAS for each costs more than what it does."""

from __future__ import annotations

from typing import Final

from graphflow._core.codegen.cpu.programs.machine import Step

MOST_SIDE: Final = 8
MOST_PRODUCTS: Final = 256
_GRAIN: Final = 256


Sizes = tuple[int | None, int | None, int | None]
"""Rows, columns, depth; None for one that is an argument of the kernel."""


def small_products_source(dtype: str, sizes: Sizes, turned: tuple[bool, bool], fused: bool) -> str:
    """Source of c[n] = a[n] @ b[n]; unit: a matrix.

    sizes: what the kernel is made for, which makes it several times as fast. turned: whether the operands are stored
    transposed. fused: whether each product is added without being rounded, as BLAS does on processors that can.

    Arguments: a, b, c, elements from row to row of a and b as stored, elements from matrix to matrix of a and b, rows,
    columns, depth.
    """
    rows, columns, depth = [size or f"args[{k}]" for k, size in enumerate(sizes, 7)]
    at_a = "p * a_step + i" if turned[0] else "i * a_step + p"
    at_b = "j * b_step + p" if turned[1] else "p * b_step + j"
    first, second = f"load(a, from_a + {at_a}, 0)", f"load(b, from_b + {at_b}, 1)"
    total = f"fused_multiply_add({first}, {second}, total)" if fused else f"total + {first} * {second}"
    return f"""
@kernel_function
def kernel(args, begin, end):
    a = pointer_{dtype}(args[0])
    b = pointer_{dtype}(args[1])
    c = pointer_{dtype}(args[2])
    a_step = args[3]
    b_step = args[4]
    rows = {rows}
    columns = {columns}
    depth = {depth}
    for unit in range(begin, end):
        from_a = unit * args[5]
        from_b = unit * args[6]
        for i in range(rows):
            for j in range(columns):
                total = {dtype}(0)
                for p in range(depth):
                    total = {total}
                store(c, (unit * rows + i) * columns + j, total, 2)
"""


def small_products_steps(kernel: int, words: list[int], count: int) -> list[Step]:
    """Steps for so many matrices; `words` are the arguments."""
    return [Step(kernel, words, 0, count, _GRAIN)]

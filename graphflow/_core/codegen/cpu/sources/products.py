"""Kernels of many products of matrices so small that a call of BLAS for each costs more than what it does."""

from __future__ import annotations

from typing import Final

from graphflow._core.codegen.cpu.programs.machine import Step

MOST_SIDE: Final = 8
MOST_PRODUCTS: Final = 256
_GRAIN_PRODUCTS: Final = 1 << 15


def small_products_source(
    dtype: str, sizes: tuple[int, int, int], turned: tuple[bool, bool], fused: bool
) -> str:
    """Source of c[n] = a[n] @ b[n]; unit: a matrix.

    sizes: rows, columns, depth, which the kernel is made for. turned: whether the operands are stored transposed.
    fused: whether each product is added without being rounded, as BLAS does on processors that can.

    Arguments: a, b, c, elements from row to row of a and b as stored, elements from matrix to matrix of a and b.
    """
    rows, columns, depth = sizes
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
    for unit in range(begin, end):
        from_a = unit * args[5]
        from_b = unit * args[6]
        for i in range({rows}):
            for j in range({columns}):
                total = {dtype}(0)
                for p in range({depth}):
                    total = {total}
                store(c, (unit * {rows} + i) * {columns} + j, total, 2)
"""


def small_products_steps(kernel: int, words: list[int], count: int, products: int) -> list[Step]:
    """Steps for so many matrices of so many products each; `words` are the arguments."""
    return [Step(kernel, words, 0, count, max(1, _GRAIN_PRODUCTS // products))]

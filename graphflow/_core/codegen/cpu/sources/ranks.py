"""Kernels that say of each row where one of its elements stands among the others, or draw one of them."""

from __future__ import annotations

from typing import Final

from graphflow._core.codegen.cpu.programs.machine import Step

_GRAIN_ELEMENTS: Final = 16384


def in_top_k_source(dtype: str, index_dtype: str) -> str:
    """Source of whether fewer than k elements of a row are above the one that is named; unit: a row.

    A row that has an element that is not finite, or names none of its elements, is False. TensorFlow: InTopKV2.

    Arguments: elements, for each row the element that it names, the number k, the result, elements of a row.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    targets = pointer_{index_dtype}(args[1])
    most = int64(load(pointer_{index_dtype}(args[2]), 0, 1))
    y = pointer_uint8(args[3])
    columns = args[4]
    for unit in range(begin, end):
        target = int64(load(targets, unit, 1))
        row = unit * columns
        found = False
        if target >= 0 and target < columns:
            chosen = load(x, row + target, 0)
            above = int32(0)
            odd = int32(0)
            for j in range(columns):
                value = load(x, row + j, 0)
                above += int32(value > chosen)
                odd += int32(value - value != {dtype}(0))
            found = odd == int32(0) and int64(above) < most
        store(y, unit, to_uint8(found), 2)
"""


def in_top_k_steps(
    kernel: int, x: int, targets: int, most: int, target: int, rows: int, columns: int
) -> list[Step]:
    """Steps for contiguous rows."""
    words = [x, targets, most, target, columns]
    return [Step(kernel, words, 0, rows, max(1, _GRAIN_ELEMENTS // columns))]

"""Kernels that look at numbers before others go on with them: assertions, shapes and places of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.codegen.cpu.kernels.nnkernels import ERROR_INDEX
from graphflow._core.codegen.cpu.programs.machine import Step

_GRAIN_ELEMENTS: Final = 16384
_GRAIN_ROWS: Final = 1024


def assert_source() -> str:
    """Source of an assertion; unit: an element of the condition. Arguments: status, condition."""
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    condition = pointer_uint8(args[1])
    for unit in range(begin, end):
        if load(condition, unit, 0) == 0:
            store(status, 0, {ERROR_INDEX}, 1)
"""


def element_steps(kernel: int, addresses: Sequence[int], size: int) -> list[Step]:
    """Steps of an assertion, or of a look whether numbers are finite; `addresses` are the arguments of the source."""
    return [Step(kernel, addresses, 0, size, _GRAIN_ELEMENTS)]


def finite_source(dtype: str) -> str:
    """Source of whether all numbers are finite; unit: a number. Arguments: status, numbers."""
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    x = pointer_{dtype}(args[1])
    odd = int64(0)
    for unit in range(begin, end):
        value = load(x, unit, 0)
        odd += int64(value - value != {dtype}(0))
    if odd != 0:
        store(status, 0, {ERROR_INDEX}, 1)
"""


def sparse_reshape_source() -> str:
    """Source of the coordinates of the same elements in another shape, and of that shape; unit: an element.

    Arguments: status, coordinates, shape, the shape that is wanted, with at most one -1, the results, both ranks.
    ERROR_INDEX if the shapes do not fit each other, or there is no such place. TensorFlow's SparseReshape.
    """
    failed = f"store(status, 0, {ERROR_INDEX}, 3)"
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    indices = pointer_int64(args[1])
    shape = pointer_int64(args[2])
    wanted = pointer_int64(args[3])
    places = pointer_int64(args[4])
    found = pointer_int64(args[5])
    rank = args[6]
    new_rank = args[7]
    size = int64(1)
    for k in range(rank):
        size *= load(shape, k, 0)
    rest = int64(1)
    open_axes = int64(0)
    wrong = int64(0)
    changes = int64(rank != new_rank)
    for k in range(new_rank):
        n = load(wanted, k, 0)
        if n == -1:
            open_axes += 1
        else:
            rest *= n
        if n < -1 or open_axes > 1:
            wrong = int64(1)
        if k < rank:
            changes |= int64(n != load(shape, k, 0))
    missing = int64(0)
    if changes != 0:
        if open_axes == 0:
            wrong |= int64(rest != size)
        elif rest == 0 or integer_truncate_modulo(size, rest) != 0:
            wrong = int64(1)
        else:
            missing = integer_truncate_divide(size, rest)
    if wrong != 0:
        {failed}
        return
    if begin == 0:
        for k in range(new_rank):
            n = load(wanted, k, 0)
            store(found, k, missing if n == -1 else n, 2)
    for unit in range(begin, end):
        number = int64(0)
        for k in range(rank):
            place = load(indices, unit * rank + k, 0)
            n = load(shape, k, 0)
            if changes == 0:
                store(places, unit * rank + k, place, 1)
            elif place < 0 or place >= n:
                {failed}
                return
            number = number * n + place
        if changes != 0:
            for turn in range(new_rank):
                k = new_rank - 1 - turn
                n = load(wanted, k, 0)
                if n == -1:
                    n = missing
                store(places, unit * new_rank + k, integer_truncate_modulo(number, n), 1)
                number = integer_truncate_divide(number, n)
"""


def sparse_reshape_steps(
    kernel: int, addresses: Sequence[int], elements: int, rank: int, new_rank: int
) -> list[Step]:
    """Steps for so many elements; `addresses` are the first arguments of the source."""
    return [Step(kernel, [*addresses, rank, new_rank], 0, elements, _GRAIN_ROWS)]

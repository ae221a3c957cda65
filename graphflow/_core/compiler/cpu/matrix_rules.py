"""Rules of decompositions and solutions of small matrices. Large ones are LAPACK's, which NumPy calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS
from graphflow._core.codegen.cpu.sources import matrices
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.math import decompositions
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")
_MOST_ROWS: Final = 128
_MOST_ROWS_OF_TRIANGLES: Final = 256


def _matrices(lowering: Lowering, i: Instruction, most: int) -> list[Value] | None:
    """The inputs, side by side: square matrices that are small enough, and right sides that fit them."""
    values = [v for v in map(lowering.value, i.inputs) if v is not None]
    if len(values) != len(i.inputs) or any(v.dtype not in _FLOATS or len(v.shape) < 2 for v in values):
        return None
    shape = values[0].shape
    if shape[-1] != shape[-2] or shape[-1] > most or any(v.shape[:-1] != shape[:-1] for v in values):
        return None
    return [lowering.compact(i, v) for v in values]


def _add(
    lowering: Lowering,
    i: Instruction,
    reads: list[Value],
    made: list[Value],
    source: str,
    steps: Any,
    message: str,
) -> bool:
    """Adds a kernel that says `message` if it fails; `steps` are given the kernel and the address of a value."""

    def check() -> None:
        raise invalid(message)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return steps(kernels[0], address)  # type: ignore[no-any-return]

    lowering.add(
        KernelNode(
            i, reads, [v.root for v in made], sources=[source], emit=emit,
            check=check, fallible=True,
        )
    )  # fmt: skip
    return True


def _cholesky(lowering: Lowering, i: Instruction) -> bool:
    found = _matrices(lowering, i, _MOST_ROWS)
    if found is None:
        return False
    (x,), target = found, lowering.result(i)
    size, count = x.shape[-1], math.prod(x.shape[:-2])

    def steps(kernel: int, address: Address) -> Sequence[Any]:
        return matrices.cholesky_steps(kernel, [PROGRAM_STATUS, address(x), address(target)], count, size)

    source = matrices.cholesky_source(x.dtype)
    return _add(lowering, i, [x], [target], source, steps, decompositions.NOT_POSITIVE)


def _triangular_solve(lowering: Lowering, i: Instruction) -> bool:
    found = _matrices(lowering, i, _MOST_ROWS_OF_TRIANGLES)
    if found is None:
        return False
    (a, b), target = found, lowering.result(i)
    size, columns, count = a.shape[-1], b.shape[-1], math.prod(a.shape[:-2])
    lower, turned = bool(i.attrs["lower"]), bool(i.attrs["adjoint"])

    def steps(kernel: int, address: Address) -> Sequence[Any]:
        places = [PROGRAM_STATUS, address(a), address(b), address(target)]
        return matrices.triangular_steps(kernel, places, count, size, columns, turned, lower != turned)

    source = matrices.triangular_source(a.dtype)
    return _add(lowering, i, [a, b], [target], source, steps, decompositions.ZERO_ON_DIAGONAL)


def _solve(inverse: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        found = _matrices(lowering, i, _MOST_ROWS)
        if found is None:
            return False
        a, b, target = found[0], found[-1], lowering.result(i)
        size, columns, count = a.shape[-1], b.shape[-1], math.prod(a.shape[:-2])
        room = lowering.temporary(i.name, a.dtype, a.shape)
        turned = bool(i.attrs["adjoint"])

        def steps(kernel: int, address: Address) -> Sequence[Any]:
            places = [PROGRAM_STATUS, *(address(v) for v in (a, b, target, room))]
            return matrices.solve_steps(kernel, places, count, size, columns, turned)

        source = matrices.solve_source(a.dtype, inverse)
        message = decompositions.NO_INVERSE if inverse else decompositions.NO_SOLUTION
        return _add(lowering, i, found, [target, room], source, steps, message)

    return rule


def _determinant(logarithm: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        found = _matrices(lowering, i, _MOST_ROWS)
        if found is None:
            return False
        (a,), target = found, lowering.result(i)
        other = lowering.result(i, 1) if logarithm else target
        size, count = a.shape[-1], math.prod(a.shape[:-2])
        room = lowering.temporary(i.name, a.dtype, a.shape)

        def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
            places = [address(v) for v in (a, target, other, room)]
            return matrices.determinant_steps(kernels[0], places, count, size)

        source = matrices.determinant_source(a.dtype, logarithm)
        makes = list(dict.fromkeys([target.root, other.root, room.root]))
        lowering.add(KernelNode(i, found, makes, sources=[source], emit=emit))
        return True

    return rule


MATRIX_RULES: Final[dict[str, Rule]] = {
    "Cholesky": _cholesky,
    "LogMatrixDeterminant": _determinant(True),
    "MatrixDeterminant": _determinant(False),
    "MatrixInverse": _solve(True),
    "MatrixSolve": _solve(False),
    "MatrixTriangularSolve": _triangular_solve,
}

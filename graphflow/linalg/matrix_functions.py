"""Exponentials, ranks and pseudoinverses of matrices in the last two axes (tf.linalg.expm and its kin).

The exponential is by scaling and squaring with a rational approximation, after Higham, "The Scaling and Squaring Method
for the Matrix Exponential Revisited", 2005.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import (
    concat,
    expand_dims,
    eye,
    identity,
    reshape,
    shape,
    stop_gradient,
    where_v2,
)
from graphflow._core.ops.control_flow.checking import check_numerics
from graphflow._core.ops.control_flow.control_flow import while_loop
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.arithmetic import maximum
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import greater
from graphflow._core.ops.math.decompositions import matrix_solve, svd
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.norms import norm
from graphflow._core.ops.math.numeric import abs_
from graphflow._core.ops.math.reductions import reduce_max, reduce_sum
from graphflow._core.ops.math.transcendental import ceil, log

_SINGLE: Final = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_DOUBLE: Final = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
"""Coefficients of the approximation's numerator, from the constant on; every other one counts negatively below."""
_SINGLE_NORM: Final = 3.925724783138660
_DOUBLE_NORM: Final = 5.371920351148152
"""The norms up to which the approximations are exact to rounding."""


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """The exponentials of square matrices (tf.linalg.expm).

    Args:
        input: Matrices in the last two axes, real or complex.
        name: A name for the operation.

    Returns:
        A tensor of the same shape.

    Raises:
        ValueError: For what is no square matrix, or is of integers.
    """
    with op_scope(name, "matrix_exponential", [input]):
        matrix = convert_to_tensor(input)
        if not (matrix.dtype.is_floating or matrix.dtype.is_complex):
            raise ValueError(f"tf.linalg.expm does not support matrices of type {matrix.dtype!r}.")
        dims = matrix.shape.with_rank_at_least(2)
        if dims.ndims is not None:
            side = dims[-1:].merge_with(dims[-2:-1])
            dims = dims[:-2].concatenate(side).concatenate(side)
            if 0 in dims.as_list():
                return identity(matrix)
        sizes = shape(matrix)
        matrix = reshape(matrix, concat([[-1], sizes[-2:]], 0))
        double = matrix.dtype in (dtypes.float64, dtypes.complex128)
        limit, coefficients = (_DOUBLE_NORM, _DOUBLE) if double else (_SINGLE_NORM, _SINGLE)
        norm = stop_gradient(reduce_max(reduce_sum(abs_(matrix), -2), -1))
        squarings = maximum(ceil(log(norm / limit) / math.log(2.0)), 0.0)
        scale = cast(2.0 ** expand_dims(expand_dims(squarings, -1), -1), matrix.dtype)
        found = reshape(_squared(_rational(matrix / scale, coefficients), squarings), sizes)
        found.set_shape(dims)
        return found


def _rational(matrix: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """The approximation of a small matrix's exponential, (even + odd) / (even - odd)."""
    square = matmul(matrix, matrix)
    side = matrix.shape[-1].value if matrix.shape.ndims is not None else None
    power: Tensor = eye(shape(matrix)[-1] if side is None else side, dtype=matrix.dtype)
    even, odd = power * coefficients[0], power * coefficients[1]
    for place in range(2, len(coefficients), 2):
        power = square if place == 2 else matmul(power, square)
        even, odd = even + power * coefficients[place], odd + power * coefficients[place + 1]
    odd = matmul(matrix, odd)
    return matrix_solve(even - odd, even + odd)


def _squared(matrix: Tensor, squarings: Tensor) -> Tensor:
    """Each matrix multiplied with itself as often as is said."""
    most = reduce_max(squarings)

    def again(i: Any, x: Tensor) -> tuple[Any, Tensor]:
        more = expand_dims(expand_dims(greater(squarings, i), -1), -1)
        return i + 1.0, where_v2(more, matmul(x, x), x)

    start = cast(0.0, squarings.dtype)
    found: Tensor = while_loop(lambda i, _: i < most, again, [start, matrix])[1]
    return found


def _require_matrix(a: TensorLike, check: bool) -> Tensor:
    matrix = convert_to_tensor(a, name="a")
    if not matrix.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {matrix.dtype.name}).")
    if matrix.shape.ndims is not None and matrix.shape.ndims < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {matrix.shape.ndims}).")
    return check_numerics(matrix, "Input `a` must be finite.") if check else matrix


def _longer_side(matrix: Tensor) -> Any:
    """The number of rows or of columns, whichever is larger, as a float."""
    known = [side for side in (matrix.dims or ())[-2:] if side is not None]
    if len(known) == 2:
        return float(max(known))
    return cast(reduce_max(shape(matrix)[-2:]), matrix.dtype)


def _epsilon(matrix: Tensor) -> float:
    return float(np.finfo(matrix.dtype.as_numpy_dtype).eps)


def matrix_rank(
    a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """How many singular values of each matrix are not zero (tf.linalg.matrix_rank).

    Args:
        a: Matrices in the last two axes.
        tol: Up to where a singular value is zero; by default as many times the dtype's precision and the largest
            one as the longer side is long.
        validate_args: Whether it is an error at run time if an element is not finite.
        name: A name for the operation.

    Returns:
        An int32 tensor without the last two axes.

    Raises:
        ValueError: For what is no matrix.
        TypeError: For another dtype than floats.
    """
    with op_scope(name, "matrix_rank", [a]):
        matrix = _require_matrix(a, validate_args)
        values = svd(matrix, compute_uv=False)
        if tol is None:
            tol = reduce_max(values, -1, True) * (_epsilon(matrix) * _longer_side(matrix))
        return reduce_sum(cast(greater(values, tol), dtypes.int32), -1)


def pinv(
    a: TensorLike, rcond: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The pseudoinverses of matrices, by their singular values (tf.linalg.pinv).

    Args:
        a: Matrices in the last two axes.
        rcond: Which part of the largest singular value another one is left out below, one for each matrix; by
            default ten times the dtype's precision and the longer side.
        validate_args: Whether it is an error at run time if an element is not finite.
        name: A name for the operation.

    Returns:
        A tensor [..., columns, rows].

    Raises:
        ValueError: For what is no matrix.
        TypeError: For another dtype than floats.
    """
    with op_scope(name, "pinv", [a]):
        matrix = _require_matrix(a, validate_args)
        if rcond is None:
            rcond = 10.0 * _epsilon(matrix) * _longer_side(matrix)
        values, left, right = svd(matrix)
        cutoff = convert_to_tensor(rcond, dtype=matrix.dtype, name="rcond") * reduce_max(values, -1)
        kept = where_v2(greater(values, expand_dims(cutoff, -1)), values, np.inf)
        found = matmul(right / expand_dims(kept, -2), left, adjoint_b=True)
        dims = matrix.shape
        if dims.ndims is not None:
            found.set_shape(dims[:-2].concatenate(dims[-1:]).concatenate(dims[-2:-1]))
        return found


def normalize(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: int | Sequence[int] | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """A tensor along axes divided by its norm there (tf.linalg.normalize).

    Args:
        tensor: A tensor of floats or complex numbers.
        ord: The norm's kind, as of gf.norm.
        axis: The axis, or two for the norm of matrices; None for the norm of all.
        name: A name for the scope of the operations.

    Returns:
        (the quotient, the norm), where the norm keeps the axes, with a length of 1.

    Raises:
        ValueError: For a kind of norm that is not there.
    """
    with op_scope(name, "normalize", [tensor]):
        value = convert_to_tensor(tensor)
        length = cast(norm(value, ord, axis, keepdims=True), value.dtype)
        return value / length, length

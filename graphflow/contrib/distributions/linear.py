"""Products of matrices with batches of vectors, and what these were before."""

from __future__ import annotations

from collections.abc import Callable

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import (
    broadcast_to,
    concat,
    expand_dims,
    reshape,
    shape,
    squeeze,
    transpose,
)
from graphflow._core.ops.array.layout import broadcast_dynamic_shape
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.reductions import reduce_sum


def _of_one_matrix(matrix: Tensor, vectors: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """What a function of columns, [size, n], makes of vectors, [..., size]."""
    flat = reshape(vectors, [-1, shape(vectors)[-1]])
    found = reshape(transpose(function(transpose(flat))), shape(vectors))
    found.set_shape(vectors.shape)
    return found


def products(matrix: Tensor, vectors: Tensor) -> Tensor:
    """matrix @ vector, for batches that broadcast: [..., size, size] and [..., size]."""
    if matrix.dims is not None and len(matrix.dims) == 2:
        return _of_one_matrix(matrix, vectors, lambda columns: matmul(matrix, columns))
    return reduce_sum(matrix * expand_dims(vectors, -2), -1)


def spread(matrix: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Two batches of matrices, each as large as both broadcast: the solvers want one matrix for each right side."""
    batch = broadcast_dynamic_shape(shape(matrix)[:-2], shape(other)[:-2])
    first, second = (broadcast_to(each, concat([batch, shape(each)[-2:]], 0)) for each in (matrix, other))
    return first, second


def solutions(matrix: Tensor, vectors: Tensor, solve: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The vectors whose products with the matrices these are, by a solver of matrices and right sides."""
    if matrix.dims is not None and len(matrix.dims) == 2:
        return _of_one_matrix(matrix, vectors, lambda columns: solve(matrix, columns))
    return squeeze(solve(*spread(matrix, expand_dims(vectors, -1))), [-1])

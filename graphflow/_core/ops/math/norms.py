"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntsLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, numeric, reductions, transcendental
from graphflow._core.ops.math.decompositions import spectral_norm
from graphflow._core.ops.rules import deprecated


def norm(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: IntsLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors (one axis, or all elements) or matrices (two axes) (tf.norm).

    Args:
        tensor: A tensor of floats or complex numbers.
        ord: "euclidean", a positive number or inf; of matrices "fro", "euclidean", 1, 2 or inf.
        axis: An int for vectors, a pair for matrices, None for one vector of all elements.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.
        name: A name for the operation.
        keep_dims: The old name of `keepdims`.

    Returns:
        The norms, without those axes.

    Raises:
        ValueError: For another `ord`.
    """
    keep = bool(deprecated(keepdims, keep_dims, "keepdims", "keep_dims"))
    is_matrix = False
    if isinstance(axis, list | tuple) and len(axis) == 2:
        is_matrix = True
        if axis[0] == axis[1] or not all(isinstance(a, int | np.integer) for a in axis):
            raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
        _check_order(ord, ("euclidean", "fro", 1, 2, np.inf), "matrix")
    else:
        if isinstance(axis, list | tuple):
            if len(axis) != 1:
                raise ValueError(
                    f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
                )
            axis = axis[0]
        if isinstance(ord, str) or not ord > 0:
            _check_order(ord, ("euclidean",), "vector")
    with op_scope(name, "norm", (tensor,)):
        x = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean", 2) and not (is_matrix and ord == 2):
            axes: Any = axis if axis is None or is_matrix else [axis]
            squares = arithmetic.multiply(x, numeric.conj(x), "mul")
            result = transcendental.sqrt(reductions.reduce_sum(squares, axes, True))
        elif is_matrix:
            result = _matrix_norm(x, ord, axis)
        else:
            result = _vector_norm(numeric.abs_(x), ord, axis)
        return result if keep else array.squeeze(result, axis=axis)


def _check_order(order: Any, supported: tuple[Any, ...], kind: str) -> None:
    if order not in supported:
        raise ValueError(f"'ord' must be a supported {kind} norm in {list(supported)}, got {order}")


def _vector_norm(size: Tensor, order: Any, axis: Any) -> Tensor:
    if order == 1:
        return reductions.reduce_sum(size, axis, True)
    if order == np.inf:
        return reductions.reduce_max(size, axis, True)
    total = reductions.reduce_sum(arithmetic.pow_(size, order), axis if axis is None else [axis], True)
    return arithmetic.pow_(total, 1.0 / order)


def _matrix_norm(x: Tensor, order: Any, axis: Any) -> Tensor:
    if order == 2:
        return spectral_norm(x, axis)
    first, second = (axis[0], axis[1]) if order == 1 else (axis[1], axis[0])
    sums = reductions.reduce_sum(numeric.abs_(x), first, True)
    return reductions.reduce_max(sums, second, True)

"""Polyharmonic splines: smooth functions of places that have given values at some."""

from __future__ import annotations

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops import core
from graphflow._core.ops.array.array import concat, ones_like, shape, transpose, zeros
from graphflow._core.ops.array.compositions import eye
from graphflow._core.ops.math.arithmetic import maximum
from graphflow._core.ops.math.decompositions import matrix_solve
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.math import log, pow_, sqrt, square
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.state.scopes import name_scope

_SMALLEST = 1e-10
"""Of a squared distance, where roots and logarithms of it have no gradient."""


def _distances(first: Tensor, second: Tensor) -> Tensor:
    """The squared distance of each of some points from each of others: [batch, first, second]."""
    norms, others = reduce_sum(square(first), 2), reduce_sum(square(second), 2)
    return norms[:, :, None] - 2 * matmul(first, second, adjoint_b=True) + others[:, None, :]


def _bend(distances: Tensor, order: int) -> Tensor:
    """What a spline of an order adds for a point, by the squared distance from it."""
    kept = maximum(distances, _SMALLEST)
    if order == 1:
        return sqrt(kept)
    if order % 2:
        return pow_(kept, 0.5 * order)
    if order == 2:
        return 0.5 * distances * log(kept)
    return 0.5 * pow_(distances, 0.5 * order) * log(kept)


def interpolate_spline(
    train_points: TensorLike,
    train_values: TensorLike,
    query_points: TensorLike,
    order: int,
    regularization_weight: float = 0.0,
    name: str | None = "interpolate_spline",
) -> Tensor:
    """Values at places, by a polyharmonic spline through others (tf.contrib.image.interpolate_spline).

    The spline is a sum of a term for each point that depends on the distance alone, and of a linear function: with
    order 2 the thin plate.

    Args:
        train_points: Points [batch, points, axes] of floats.
        train_values: Their values [batch, points, values].
        query_points: The places [batch, places, axes].
        order: The order of the spline, 1 or more.
        regularization_weight: How much smoother it is than the values ask for; 0 goes through all of them.
        name: A name for the operations.

    Returns:
        A tensor [batch, places, values].
    """
    with name_scope(name, "interpolate_spline"):
        points = core.convert_to_tensor(train_points, name="train_points")
        values = core.convert_to_tensor(train_values, name="train_values")
        places = core.convert_to_tensor(query_points, name="query_points")
        bends = _bend(_distances(points, points), order)
        if regularization_weight > 0:
            size = shape(points)[1]
            bends += regularization_weight * eye(size, dtype=points.dtype)[None]
        linear = concat([points, ones_like(points[:, :, :1])], 2)
        sizes = shape(linear)
        corner = zeros([sizes[0], sizes[2], sizes[2]], points.dtype)
        system = concat(
            [concat([bends, linear], 2), concat([transpose(linear, [0, 2, 1]), corner], 2)],
            1,
        )
        known = concat([values, zeros([sizes[0], sizes[2], shape(values)[2]], values.dtype)], 1)
        found = matrix_solve(system, known)
        weights, slopes = found[:, : sizes[1]], found[:, sizes[1] :]
        wanted = concat([places, ones_like(places[:, :, :1])], 2)
        result = matmul(_bend(_distances(places, points), order), weights) + matmul(wanted, slopes)
        result.set_shape([places.shape[0], places.shape[1], values.shape[2]])
        return result


__all__ = ["interpolate_spline"]

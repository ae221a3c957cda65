"""Nearest centers, and the choice of those that k-means begins with."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import require_rank, scalar_of


def _neighbors_infer(op: Operation) -> Signature:
    points, centers, _ = op.inputs
    require_rank(points.dims, 2, "points")
    require_rank(centers.dims, 2, "centers")
    rows = None if points.dims is None else points.dims[0]
    return [(dtypes.int64, (rows, None)), (dtypes.float32, (rows, None))]


def _plus_plus_infer(op: Operation) -> Signature:
    dims = require_rank(op.inputs[0].dims, 2, "points")
    return [(dtypes.float32, (None, None if dims is None else dims[1]))]


NEAREST_NEIGHBORS = op_def(
    "NearestNeighbors", ("points: float32", "centers: float32", "k: int64"), infer=_neighbors_infer,
    gradient=NOT_DIFFERENTIABLE, dynamic_shape=True, outputs=("nearest_center_indices", "nearest_center_distances"),
)  # fmt: skip
PLUS_PLUS = op_def(
    "KmeansPlusPlusInitialization",
    ("points: float32", "num_to_sample: int64", "seed: int64", "num_retries_per_sample: int64"),
    infer=_plus_plus_infer, gradient=NOT_DIFFERENTIABLE, dynamic_shape=True, outputs=("samples",),
)  # fmt: skip
CHAIN = op_def(
    "KMC2ChainInitialization", ("distances: float32", "seed: int64"), infer=scalar_of(dtypes.int64),
    gradient=NOT_DIFFERENTIABLE, outputs=("index",),
)  # fmt: skip


def nearest_neighbors(
    points: TensorLike, centers: TensorLike, k: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The nearest centers of each point (tf.contrib.factorization.nearest_neighbors).

    Args:
        points: [points, dimensions], float32.
        centers: [centers, dimensions], float32.
        k: How many of the centers.
        name: A name for the operation.

    Returns:
        Their numbers, int64 [points, k], the nearest first, and the squares of their distances.
    """
    found, distances = apply(NEAREST_NEIGHBORS, (points, centers, k), name=name).outputs
    return found, distances


def kmeans_plus_plus_initialization(
    points: TensorLike,
    num_to_sample: TensorLike,
    seed: TensorLike,
    num_retries_per_sample: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Points drawn one after another, the likelier the farther they are from those before (k-means++).

    Source: Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding", 2007.

    Args:
        points: [points, dimensions], float32.
        num_to_sample: How many are drawn.
        seed: Of what is drawn.
        num_retries_per_sample: How many are drawn besides for each, of which the best is taken; -1 for the logarithm
            of their number.
        name: A name for the operation.

    Returns:
        [num_to_sample, dimensions].
    """
    return apply(PLUS_PLUS, (points, num_to_sample, seed, num_retries_per_sample), name=name).outputs[0]


def kmc2_chain_initialization(distances: TensorLike, seed: TensorLike, name: str | None = None) -> Tensor:
    """A point drawn by a Markov chain, the likelier the farther it is from the centers that there are (k-MC2).

    Source: Bachem et al., "Approximate k-means++ in sublinear time", 2016.

    Args:
        distances: Of the points, in the order in which the chain takes them, float32.
        seed: Of what is drawn.
        name: A name for the operation.

    Returns:
        The number of the point, an int64 scalar.
    """
    return apply(CHAIN, (distances, seed), name=name).outputs[0]

"""Mixtures of normal distributions, fitted by expectation and maximization (tf.contrib.factorization.gmm)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import (
    expand_dims,
    identity,
    placeholder_with_default,
    shape,
    squeeze,
    tile,
    transpose,
)
from graphflow._core.ops.array.compositions import eye
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.flow_basics import group, no_op
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.decompositions import cholesky, matrix_triangular_solve
from graphflow._core.ops.math.linalg import matmul, matrix_diag_part
from graphflow._core.ops.math.reductions import reduce_logsumexp, reduce_mean, reduce_sum
from graphflow._core.ops.math.scans import argmax
from graphflow._core.ops.math.transcendental import exp, log, square
from graphflow._core.ops.random import random_uniform
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow._core.ops.state.state import assign
from graphflow._core.ops.state.variable import Variable

WEIGHTS: Final = "alphas"
MEANS: Final = "clusters"
COVARIANCES: Final = "clusters_covs"
"""The variables of a mixture."""
_LEAST_VARIANCE: Final = 1e-3
_EPSILON: Final = float(np.finfo(float).eps)


class Mixture(NamedTuple):
    """The operations of a mixture.

    loss: The logarithm of the sum of the likelihoods. scores: The logarithms of the likelihoods [examples, 1].
    assignments: The likeliest part of each example. step: Fits. begin: Chooses what it begins with, unless that is
    done. is_initialized: Whether it is.
    """

    loss: Tensor
    scores: Tensor
    assignments: Tensor
    step: Operation
    begin: Operation
    is_initialized: Variable


def mixture(
    points: TensorLike,
    initial_clusters: Any,
    num_clusters: int,
    random_seed: int,
    covariance_type: str = "full",
    params: str = "wmc",
) -> Mixture:
    """The operations of a mixture of so many normal distributions.

    Args:
        points: [examples, dimensions].
        initial_clusters: The first means [num_clusters, dimensions], or "random" for some of the examples.
        num_clusters: How many distributions there are.
        random_seed: Of what is drawn.
        covariance_type: "full" or "diag".
        params: Which of weights, means and covariances are fitted: letters of "wmc".

    Raises:
        ValueError: If the covariance is neither.
    """
    if covariance_type not in ("full", "diag"):
        raise ValueError(f"Invalid covariance type: {covariance_type!r}, take 'full' or 'diag'.")
    is_full = covariance_type == "full"
    data = convert_to_tensor(points, dtype=dtypes.float32)
    empty = placeholder_with_default(convert_to_tensor([], dtypes.float32), None)
    means = Variable(empty, name=MEANS, validate_shape=False)
    covariances = Variable(empty, name=COVARIANCES, validate_shape=False)
    weights = Variable([1.0 / num_clusters] * num_clusters, name=WEIGHTS)
    is_initialized = Variable(False, name="initialized")
    begin = _beginning(data, initial_clusters, num_clusters, random_seed, is_full)
    ready = cond(
        is_initialized,
        no_op,
        lambda: _assigned([(means, begin[0]), (covariances, begin[1]), (is_initialized, True)]),
    )
    logs = _log_densities(data, means, covariances, is_full) + log(weights)
    likelihoods = reduce_logsumexp(logs, axis=1, keepdims=True)
    shares = exp(logs - likelihoods)
    step = _step(data, shares, (weights, means, covariances), params, is_full)
    scores = reduce_logsumexp(likelihoods + log(shares), axis=1, keepdims=True)
    return Mixture(reduce_logsumexp(likelihoods), scores, argmax(shares, 1), step, ready, is_initialized)


def _assigned(pairs: Sequence[tuple[Variable, Any]]) -> Operation:
    return group(*[assign(variable, value, validate_shape=False) for variable, value in pairs])


def _beginning(data: Tensor, chosen: Any, count: int, seed: int, is_full: bool) -> tuple[Tensor, Tensor]:
    """The first means [parts, 1, dimensions], and as covariances those of all examples."""
    rows = shape(data)[0]
    if isinstance(chosen, str):
        most = cast(rows, dtypes.int64)
        chosen = gather(data, random_uniform([count], 0, most, dtypes.int64, seed=seed))
    centered = data - reduce_mean(data, 0, keepdims=True)
    least = eye(shape(data)[1]) * _LEAST_VARIANCE
    free = cast(rows, dtypes.float32) - 1.0
    if is_full:
        whole = matmul(centered, centered, transpose_a=True) / free + least
        covariances = tile(expand_dims(whole, 0), [count, 1, 1])
    else:
        own = matrix_diag_part(reduce_sum(square(centered), 0, keepdims=True) / free + least)
        covariances = tile(expand_dims(own, 0), [count, 1])
    return expand_dims(convert_to_tensor(chosen, dtype=dtypes.float32), 1), covariances


def _log_densities(data: Tensor, means: Variable, covariances: Variable, is_full: bool) -> Tensor:
    """The logarithm of each part's density at each example [examples, parts]."""
    away = expand_dims(data, 0) - means
    size = cast(shape(data)[1], dtypes.float32)
    if is_full:
        root = cholesky(covariances + eye(shape(data)[1]) * _LEAST_VARIANCE)
        determinants = 2.0 * reduce_sum(log(matrix_diag_part(root)), 1)
        solved = matrix_triangular_solve(root, transpose(away, [0, 2, 1]), lower=True)
        distances = transpose(reduce_sum(square(solved), 1))
    else:
        variances = covariances + _LEAST_VARIANCE
        determinants = reduce_sum(log(variances), 1)
        distances = transpose(squeeze(matmul(square(away), expand_dims(1.0 / variances, 2)), [2]))
    return -0.5 * (distances + size * math.log(2 * math.pi) + determinants)


def _step(
    data: Tensor, shares: Tensor, variables: Sequence[Variable], params: str, is_full: bool
) -> Operation:
    """Fits weights, means and covariances to the shares that the parts have of the examples."""
    weights, means, covariances = variables
    counts = reduce_sum(shares, 0)
    wide = expand_dims(expand_dims(counts, 1), 2) + _EPSILON
    done: list[Any] = []
    if "w" in params:
        done.append(assign(weights, counts / (reduce_sum(counts) + _EPSILON)))
    moved = expand_dims(matmul(shares, data, transpose_a=True), 1) / wide
    of_data = expand_dims(transpose(data), 0) * expand_dims(transpose(shares), 1)
    squares = matmul(of_data, tile(expand_dims(data, 0), [shape(of_data)[0], 1, 1])) / wide
    kept = [assign(means, moved).op] if "m" in params else []
    with control_dependencies(kept):
        center = identity(moved) if kept else means.read_value()
        least = eye(shape(data)[1]) * _LEAST_VARIANCE
        fitted = squares - matmul(center, center, transpose_a=True) + least
        if "c" in params:
            done.append(
                assign(covariances, fitted if is_full else matrix_diag_part(fitted), validate_shape=False)
            )
    return group(*done, *kept)

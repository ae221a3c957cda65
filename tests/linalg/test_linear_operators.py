"""Protects linear operators: each structure gives what the matrix that it stands for gives, in both tiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf

L = gf.linalg
RNG = np.random.RandomState(3)
SQUARE = RNG.randn(2, 4, 4) + 4 * np.eye(4)
DIAGONAL = RNG.rand(2, 4) + 0.5
MADE: dict[str, tuple[Callable[[], Any], Any]] = {
    "full": (lambda: L.LinearOperatorFullMatrix(SQUARE), SQUARE),
    "triangular": (lambda: L.LinearOperatorLowerTriangular(SQUARE), np.tril(SQUARE)),
    "diagonal": (lambda: L.LinearOperatorDiag(DIAGONAL), DIAGONAL[..., None] * np.eye(4)),
    "identity": (
        lambda: L.LinearOperatorIdentity(4, [2], gf.float64),
        np.broadcast_to(np.eye(4), [2, 4, 4]),
    ),
    "scaled": (
        lambda: L.LinearOperatorScaledIdentity(4, DIAGONAL[:, 0]),
        DIAGONAL[:, :1, None] * np.eye(4),
    ),
}


@pytest.mark.parametrize("tier", ["never", "always"])
@pytest.mark.parametrize("kind", MADE)
def test_what_is_computed_is_that_of_the_matrix(kind: str, tier: str) -> None:
    make, matrix = MADE[kind]
    x, v = RNG.randn(2, 4, 3), RNG.randn(2, 4)
    turned = np.swapaxes(matrix, -1, -2)
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        one = make()
        pairs = [
            (one.to_dense(), matrix),
            (one.matmul(x), matrix @ x),
            (one.matmul(x, adjoint=True), turned @ x),
            (one.matmul(np.swapaxes(x, -1, -2), adjoint_arg=True), matrix @ x),
            (one.matvec(v), (matrix @ v[..., None])[..., 0]),
            (one.matvec(v, adjoint=True), (turned @ v[..., None])[..., 0]),
            (one.solve(x), np.linalg.solve(matrix, x)),
            (one.solve(x, adjoint=True), np.linalg.solve(turned, x)),
            (one.solve(np.swapaxes(x, -1, -2), adjoint_arg=True), np.linalg.solve(matrix, x)),
            (one.solvevec(v), np.linalg.solve(matrix, v[..., None])[..., 0]),
            (one.determinant(), np.linalg.det(matrix)),
            (one.log_abs_determinant(), np.log(np.abs(np.linalg.det(matrix)))),
            (one.diag_part(), np.diagonal(matrix, axis1=-2, axis2=-1)),
            (one.trace(), np.trace(matrix, axis1=-2, axis2=-1)),
            (one.add_to_tensor(x @ np.swapaxes(x, -1, -2)), matrix + x @ np.swapaxes(x, -1, -2)),
            (one.adjoint().to_dense(), turned),
            (one.H.matmul(x), turned @ x),
            (one.inverse().to_dense(), np.linalg.inv(matrix)),
            (one.matmul(make()), matrix @ matrix),
            (one.shape_tensor(), [2, 4, 4]),
            (one.batch_shape_tensor(), [2]),
        ]
        found = session.run([tensor for tensor, _ in pairs])
        assert one.shape.as_list() == [2, 4, 4] and one.batch_shape.as_list() == [2] and one.is_square
        assert (one.tensor_rank, one.domain_dimension, one.range_dimension) == (3, 4, 4)
    for k, (mine, (_, theirs)) in enumerate(zip(found, pairs, strict=True)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=str(k))


def test_a_sum_over_earlier_places_as_a_lower_triangle_gives_it() -> None:
    """As public programs mask what comes later: a triangle of ones, for a batch of any size, with its gradient."""
    x = gf.placeholder(gf.float32, [None, 3, 3])
    masks = L.LinearOperatorLowerTriangular(gf.ones_like(x[0])).to_dense()
    masked = x * gf.expand_dims(masks, 0)
    gradient = gf.gradients(gf.reduce_sum(masked * masked), x)[0]
    rows = RNG.randn(2, 3, 3).astype("f")
    with gf.Session() as session:
        found = session.run([masked, gradient], {x: rows})
    np.testing.assert_allclose(found[0], np.tril(rows), rtol=1e-6)
    np.testing.assert_allclose(found[1], 2 * np.tril(rows), rtol=1e-6)


def test_factors_of_a_positive_definite_matrix() -> None:
    matrix = SQUARE @ np.swapaxes(SQUARE, -1, -2)
    one = L.LinearOperatorFullMatrix(matrix, is_self_adjoint=True, is_positive_definite=True)
    assert one.is_non_singular and one.adjoint() is one
    with gf.Session() as session:
        np.testing.assert_allclose(session.run(one.cholesky().to_dense()), np.linalg.cholesky(matrix))


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: L.LinearOperatorFullMatrix(np.ones(3)), "at least two axes"),
        (
            lambda: L.LinearOperatorFullMatrix(np.ones([2, 3]), is_square=True),
            "is_square=True, but the shape",
        ),
        (lambda: L.LinearOperatorFullMatrix(np.ones([2, 3]), is_non_singular=True), "only a square matrix"),
        (lambda: L.LinearOperatorFullMatrix(np.ones([2, 3])).solve(np.ones([2, 1])), "square matrices alone"),
        (lambda: L.LinearOperatorFullMatrix(np.ones([2, 3])).determinant(), "square matrices alone"),
        (lambda: L.LinearOperatorFullMatrix(SQUARE, False).solve(SQUARE), "said to be singular"),
        (lambda: L.LinearOperatorFullMatrix(SQUARE, False, None, True), "always non-singular"),
        (lambda: L.LinearOperatorFullMatrix(SQUARE).cholesky(), "needs is_self_adjoint"),
        (lambda: L.LinearOperatorIdentity(3, is_self_adjoint=False), "always all that the hints say"),
    ],
)
def test_mistakes_are_named(act: Callable[[], Any], text: str) -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match=text):
        act()

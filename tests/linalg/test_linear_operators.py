"""Protects linear operators: each structure gives what the matrix that it stands for gives, in both tiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf

L = gf.linalg


def _circle(kernel: Any) -> Any:
    """The circulant matrices of first columns."""
    return np.stack([np.roll(kernel, k, -1) for k in range(kernel.shape[-1])], -1)


def _toeplitz(col: Any, row: Any) -> Any:
    places = np.subtract.outer(range(4), range(4))
    return np.where(places >= 0, col[:, np.abs(places)], row[:, np.abs(places)])


def _blocks() -> Any:
    whole = np.zeros([2, 4, 4])
    whole[:, :2, :2], whole[:, 2:, 2:] = SMALL, TALL
    return whole


RNG = np.random.RandomState(3)
SQUARE = RNG.randn(2, 4, 4) + 4 * np.eye(4)
DIAGONAL = RNG.rand(2, 4) + 0.5
SMALL = RNG.randn(2, 2) + 2 * np.eye(2)
TALL = RNG.randn(2, 2, 2) + 2 * np.eye(2)
KERNEL = RNG.randn(2, 4) + [4, 0, 0, 0]
ROW = np.concatenate([KERNEL[:, :1], RNG.randn(2, 3)], -1)
AXIS = RNG.randn(2, 4)
UNIT = (AXIS / np.linalg.norm(AXIS, axis=-1, keepdims=True))[..., None]
U, V = RNG.randn(2, 4, 2), RNG.randn(2, 4, 2)
IMAGES = np.stack([np.outer(a, a) for a in KERNEL[:, :2] + [3, 0]])
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
    "composition": (
        lambda: L.LinearOperatorComposition(
            [L.LinearOperatorFullMatrix(SQUARE), L.LinearOperatorDiag(DIAGONAL)]
        ),
        SQUARE * DIAGONAL[:, None],
    ),
    "adjoint": (
        lambda: L.LinearOperatorAdjoint(L.LinearOperatorFullMatrix(SQUARE)),
        np.swapaxes(SQUARE, -1, -2),
    ),
    "inversion": (
        lambda: L.LinearOperatorInversion(L.LinearOperatorFullMatrix(SQUARE)),
        np.linalg.inv(SQUARE),
    ),
    "update": (
        lambda: L.LinearOperatorLowRankUpdate(L.LinearOperatorFullMatrix(SQUARE), U, DIAGONAL[:, :2], V),
        SQUARE + (U * DIAGONAL[:, None, :2]) @ np.swapaxes(V, -1, -2),
    ),
    "positive update": (
        lambda: L.LinearOperatorLowRankUpdate(
            L.LinearOperatorDiag(DIAGONAL, is_positive_definite=True), U, is_diag_update_positive=True
        ),
        DIAGONAL[..., None] * np.eye(4) + U @ np.swapaxes(U, -1, -2),
    ),
    "kronecker": (
        lambda: L.LinearOperatorKronecker(
            [L.LinearOperatorFullMatrix(SMALL), L.LinearOperatorFullMatrix(TALL)]
        ),
        np.stack([np.kron(SMALL, each) for each in TALL]),
    ),
    "blocks": (
        lambda: L.LinearOperatorBlockDiag(
            [L.LinearOperatorFullMatrix(SMALL), L.LinearOperatorFullMatrix(TALL)]
        ),
        _blocks(),
    ),
    "reflection": (
        lambda: L.LinearOperatorHouseholder(AXIS),
        np.eye(4) - 2 * UNIT @ np.swapaxes(UNIT, -1, -2),
    ),
    "toeplitz": (lambda: L.LinearOperatorToeplitz(KERNEL, ROW), _toeplitz(KERNEL, ROW)),
    "circulant": (lambda: L.LinearOperatorCirculant(np.fft.fft(KERNEL), gf.float64), _circle(KERNEL)),
    "circulant of images": (
        lambda: L.LinearOperatorCirculant2D(np.fft.fft2(IMAGES), gf.float64),
        np.stack([np.kron(_circle(a), _circle(a)) for a in KERNEL[:, :2] + [3, 0]]),
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
            (one.matmul(make()).to_dense(), matrix @ matrix),
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


@pytest.mark.parametrize("kind", ["full", "blocks", "toeplitz", "kronecker", "composition"])
def test_gradients_are_those_of_the_matrix(kind: str) -> None:
    make, matrix = MADE[kind]
    x = gf.constant(RNG.randn(2, 4, 3))
    with gf.Session() as session:
        found = session.run(gf.gradients(gf.reduce_sum(gf.square(make().solve(x))), x)[0])
        values = session.run(x)
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(found, 2 * np.swapaxes(inverse, -1, -2) @ inverse @ values, rtol=1e-8)


def test_a_users_operator_needs_a_shape_and_a_product_alone() -> None:
    class Swap(L.LinearOperator):
        """Two rows that change places."""

        def _shape(self) -> gf.TensorShape:
            return gf.TensorShape([2, 2])

        def _matmul(self, x: gf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> gf.Tensor:
            return gf.reverse(gf.linalg.adjoint(x) if adjoint_arg else x, [-2])

    one, matrix = Swap(gf.float64, is_non_singular=True), np.eye(2)[::-1]
    pairs = [
        (one.to_dense(), matrix),
        (one.matvec([1.0, 2.0]), [2, 1]),
        (one.solve([[1.0], [2.0]]), [[2], [1]]),
        (one.determinant(), -1),
        (one.inverse().to_dense(), matrix),
        (one.H.to_dense(), matrix),
        (one.matmul(one).to_dense(), np.eye(2)),
        (one.add_to_tensor(np.eye(2)), np.ones([2, 2])),
    ]
    assert one.is_square and one.name == "Swap"
    with gf.Session() as session:
        for mine, theirs in zip(session.run([mine for mine, _ in pairs]), pairs, strict=True):
            np.testing.assert_allclose(mine, theirs[1], atol=1e-12)
        session.run([one.assert_non_singular(), one.assert_self_adjoint()])
    with pytest.raises(TypeError, match="abstract"):
        L.LinearOperator(gf.float32)


def test_what_operators_are_combined_to() -> None:
    diag, full = L.LinearOperatorDiag(DIAGONAL), L.LinearOperatorFullMatrix(SQUARE)
    identity, zeros = (
        L.LinearOperatorIdentity(4, dtype=gf.float64),
        L.LinearOperatorZeros(4, dtype=gf.float64),
    )
    lower = L.LinearOperatorLowerTriangular(SQUARE)
    assert type(diag.matmul(diag)) is L.LinearOperatorDiag
    assert type(diag.matmul(lower)) is type(lower.matmul(diag)) is L.LinearOperatorLowerTriangular
    assert identity.matmul(full) is full.matmul(identity) is full and full.matmul(zeros) is zeros
    assert full.H.H is full and full.inverse().inverse() is full
    assert full.matmul(diag).name == "LinearOperatorFullMatrix_o_LinearOperatorDiag"
    assert (full.H.name, full.inverse().name) == (
        "LinearOperatorFullMatrix_adjoint",
        "LinearOperatorFullMatrix_inv",
    )


def test_zeros_and_products_that_are_not_square() -> None:
    zeros = L.LinearOperatorZeros(2, 3, [2], gf.float64, is_self_adjoint=False, is_square=False)
    rows = RNG.randn(2, 3, 2)
    wide, small = L.LinearOperatorFullMatrix(rows[0].T), L.LinearOperatorFullMatrix(SMALL)
    product = L.LinearOperatorKronecker([wide, small])
    square = L.LinearOperatorComposition([wide, wide.H])
    x = RNG.randn(6, 2)
    pairs = [
        (zeros.matmul(rows), np.zeros([2, 2, 2])),
        (zeros.to_dense(), np.zeros([2, 2, 3])),
        (zeros.add_to_tensor(np.ones([2, 2, 3])), np.ones([2, 2, 3])),
        (product.matmul(x), np.kron(rows[0].T, SMALL) @ x),
        (product.matmul(x[:4], adjoint=True), np.kron(rows[0].T, SMALL).T @ x[:4]),
        (square.determinant(), np.linalg.det(rows[0].T @ rows[0])),
    ]
    assert product.shape.as_list() == [4, 6] and product.is_square is False
    with gf.Session() as session:
        for mine, theirs in zip(session.run([mine for mine, _ in pairs]), pairs, strict=True):
            np.testing.assert_allclose(mine, theirs[1], rtol=1e-9, atol=1e-12)


def test_shapes_that_are_fed() -> None:
    small = gf.placeholder(gf.float64, [None, None])
    one = L.LinearOperatorFullMatrix(small, is_square=True)
    made = [
        (L.LinearOperatorKronecker([one, one]), np.kron(SMALL, SMALL)),
        (L.LinearOperatorBlockDiag([one, one]), np.kron(np.eye(2), SMALL)),
        (L.LinearOperatorComposition([one, one]), SMALL @ SMALL),
        (L.LinearOperatorToeplitz(small, small), np.stack([_circle(each) for each in SMALL])),
        (L.LinearOperatorHouseholder(small[0]), None),
    ]
    with gf.Session() as session:
        for operator, matrix in made:
            dense, sizes = session.run([operator.to_dense(), operator.shape_tensor()], {small: SMALL})
            assert list(sizes) == list(dense.shape)
            if matrix is not None:
                np.testing.assert_allclose(dense, matrix, rtol=1e-9, atol=1e-12)


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
        (lambda: L.LinearOperatorHouseholder(AXIS, is_positive_definite=True), "never positive definite"),
        (lambda: L.LinearOperatorCirculant([1.0, 2.0], is_self_adjoint=False), "a real spectrum"),
        (lambda: L.LinearOperatorToeplitz([1.0, 2.0], [1.0]), "has 2 elements, the first row 1"),
        (lambda: L.LinearOperatorBlockDiag([L.LinearOperatorFullMatrix(U)]), "need to be square"),
        (lambda: L.LinearOperatorZeros(2, is_non_singular=True), "always singular"),
        (lambda: L.LinearOperatorComposition([]), "at least one operator"),
        (
            lambda: L.LinearOperatorFullMatrix(U).matmul(L.LinearOperatorIdentity(4, dtype=gf.float64)),
            "incompatible",
        ),
        (lambda: L.LinearOperatorDiag(DIAGONAL).matmul(np.ones([3, 2])), "do not go with"),
        (lambda: L.LinearOperatorInversion(L.LinearOperatorFullMatrix(SQUARE, False)), "said to be singular"),
    ],
)
def test_mistakes_are_named(act: Callable[[], Any], text: str) -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match=text):
        act()

"""Functions of matrices beside their definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import graphflow as gf


def _series(matrix: list[list[int]], terms: int) -> np.ndarray:
    """The exponential by its series, in fractions."""
    side = range(len(matrix))
    term = [[Fraction(i == j) for j in side] for i in side]
    total = term
    for n in range(1, terms):
        term = [[sum(term[i][k] * matrix[k][j] for k in side) / n for j in side] for i in side]
        total = [[total[i][j] + term[i][j] for j in side] for i in side]
    return np.array([[float(x) for x in row] for row in total])


def test_the_exponential_of_a_large_matrix_is_exact_to_rounding() -> None:
    matrix = [[20, 3], [1, -7]]
    with gf.Graph().as_default(), gf.Session() as session:
        found = session.run(gf.linalg.expm(gf.constant(matrix, gf.float64)))
    np.testing.assert_allclose(found, _series(matrix, 120), rtol=1e-12)


LOGARITHMS = [
    # As TensorFlow 1.15.5 gives them.
    (
        [[4, 1 + 1j], [0.5, 3]],
        [
            [1.36747584 - 0.0196307j, 0.28747086 + 0.29584985j],
            [0.14583018 + 0.00209475j, 1.07581549 - 0.02382019j],
        ],
    ),
    ([[-1, 0], [0, 2]], [[3.14159265j, 0], [0, 0.69314718]]),
    ([[1, 1], [0, 1]], [[0, 1], [0, 0]]),
    ([[-1, 1], [0, -1]], [[3.14159265j, -1], [0, 3.14159265j]]),
    ([[0, 1], [0, 0]], np.full([2, 2], np.nan + 1j * np.nan)),
]


def test_logarithms_are_those_of_tensorflow() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        found = session.run(gf.linalg.logm(np.array([each for each, _ in LOGARITHMS], np.complex128)))
        assert session.run(gf.linalg.logm(np.zeros([2, 0, 0], np.complex64))).shape == (2, 0, 0)
    np.testing.assert_allclose(found, [each for _, each in LOGARITHMS], atol=1e-8)


@pytest.mark.parametrize("size", [1, 3, 8, 20])
def test_exponentials_of_logarithms_are_the_matrices(size: int) -> None:
    random = np.random.RandomState(size)
    matrices = np.stack(
        [
            random.randn(size, size) + 1j * random.randn(size, size),
            np.roll(np.eye(size), 1, 0),
            1e-3 * (np.eye(size) + np.triu(random.randn(size, size))) + 1e-3j * np.eye(size),
        ]
    )
    with gf.Graph().as_default(), gf.Session() as session:
        logarithms = gf.linalg.logm(matrices.astype(np.complex128))
        found, values = session.run([gf.linalg.expm(logarithms), logarithms])
    np.testing.assert_allclose(found, matrices, atol=1e-10)
    assert np.abs(np.linalg.eigvals(values).imag).max() <= np.pi + 1e-9


def test_gradients_of_logarithms_are_quotients_of_differences() -> None:
    random = np.random.RandomState(3)
    value = random.randn(3, 3) + 1j * random.randn(3, 3) + 3 * np.eye(3)
    weights, direction = random.randn(2, 3, 3) + 1j * random.randn(2, 3, 3)
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.complex128, [3, 3])
        loss = gf.reduce_sum(gf.real(gf.linalg.logm(x) * weights))
        gradient = session.run(gf.gradients(loss, x)[0], {x: value})
        ends = [session.run(loss, {x: value + step * direction}) for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(
        (ends[0] - ends[1]) / 2e-6, np.sum((gradient.conj() * direction).real), rtol=1e-6
    )


def test_logarithms_are_of_square_complex_matrices() -> None:
    with gf.Graph().as_default():
        with pytest.raises(TypeError, match="float64"):
            gf.linalg.logm(np.eye(2))
        with pytest.raises(ValueError, match="MatrixLogarithm"):
            gf.linalg.logm(np.zeros([2, 3], np.complex64))

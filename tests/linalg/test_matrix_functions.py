"""Functions of matrices beside their definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

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

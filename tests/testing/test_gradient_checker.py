"""Protects the gradient checker: that it finds what is wrong, and has the forms of tf.test.compute_gradient."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def session() -> Iterator[gf.Session]:
    with gf.Graph().as_default(), gf.Session() as session:
        yield session


def test_jacobians_have_a_row_for_each_input_and_a_column_for_each_output() -> None:
    x = gf.placeholder(gf.float64, [2])
    y = gf.stack([x[0] * x[1], 3.0 * x[1], x[0]])
    theoretical, numeric = gf.test.compute_gradient(x, [2], y, [3], np.array([2.0, 5.0]))
    np.testing.assert_allclose(theoretical, [[5, 0, 1], [2, 3, 0]])
    np.testing.assert_allclose(numeric, theoretical, atol=1e-9)


def test_a_wrong_gradient_is_found() -> None:
    gf.RegisterGradient("HalfOfSquare")(lambda op, g: g * op.inputs[0])
    x = gf.placeholder(gf.float64, [3])
    with gf.get_default_graph().gradient_override_map({"Square": "HalfOfSquare"}):
        y = gf.square(x)
    value = np.array([1.0, 2.0, 3.0])
    assert gf.test.compute_gradient_error(x, [3], y, [3], value) == pytest.approx(3, abs=1e-6)
    assert gf.test.compute_gradient_error(x, [3], gf.square(gf.identity(x)), [3], value) < 1e-6


def test_lists_of_inputs_complex_numbers_and_rows_looked_up() -> None:
    x, z = gf.placeholder(gf.float64, [2, 2]), gf.placeholder(gf.complex128, [2])
    found = gf.test.compute_gradient([x], [[2, 2]], gf.gather(x, [1, 1]), [2, 2])
    assert len(found) == 1 and found[0][0].shape == (4, 4)
    y = gf.reduce_sum(gf.gather(x, [1, 1, 0])) * gf.real(gf.reduce_sum(gf.exp(z)))
    assert gf.test.compute_gradient_error([x, z], [[2, 2], [2]], y, [], delta=1e-4) < 1e-5
    theoretical, numeric = gf.test.compute_gradient(z, [2], z * z, [2], np.array([1 + 2j, 3j]), delta=1e-4)
    np.testing.assert_allclose(theoretical[:2, :2], [[2, 4], [-4, 2]])
    np.testing.assert_allclose(numeric, theoretical, atol=1e-6)


def test_empty_inputs_and_what_has_no_influence() -> None:
    x, other = gf.placeholder(gf.float64, [0, 3]), gf.placeholder(gf.float64, [2])
    assert gf.test.compute_gradient_error(x, [0, 3], gf.exp(x), [0, 3]) == 0
    theoretical, numeric = gf.test.compute_gradient(other, [2], gf.constant([1.0, 2.0]) * 1.0, [2])
    assert not theoretical.any() and not numeric.any()


def test_initialisers_run_first() -> None:
    v = gf.Variable(np.array([2.0, 3.0]))
    x = gf.placeholder(gf.float64, [2])
    error = gf.test.compute_gradient_error(x, [2], v * x, [2], delta=1e-4, init_targets=[v.initializer])
    assert error < 1e-8


def test_bad_arguments_are_refused() -> None:
    x, n = gf.placeholder(gf.float64, [2]), gf.placeholder(gf.int32, [2])
    with pytest.raises(ValueError, match="said to have the shape"):
        gf.test.compute_gradient(x, [2], gf.exp(x), [2], np.zeros(3))
    with pytest.raises(ValueError, match="said to have the shape"):
        gf.test.compute_gradient(x, [2], gf.reduce_sum(x), [2])
    with pytest.raises(TypeError, match="only floats and complex"):
        gf.test.compute_gradient(n, [2], n + 1, [2])
    with pytest.raises(ValueError, match="as many shapes"):
        gf.test.compute_gradient([x], [[2], [2]], gf.exp(x), [2])


def test_a_default_session_is_needed() -> None:
    x = gf.placeholder(gf.float64, [1])
    y, told = gf.exp(x), []

    def check() -> None:  # A new thread has no default session.
        with pytest.raises(ValueError, match="default session"):
            gf.test.compute_gradient(x, [1], y, [1])
        told.append(True)

    thread = threading.Thread(target=check)
    thread.start()
    thread.join()
    assert told

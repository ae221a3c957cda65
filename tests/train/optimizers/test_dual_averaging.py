"""Protects AdagradDAOptimizer; the values are those of TensorFlow 1.15.5."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize(
    ("l1", "l2", "dense", "sparse"),
    [
        (0.0, 0.0, [-2.496151, -3.8376129], [-2.496151, 2.0, -4.438772]),
        (0.001, 0.0, [-2.4711895, -3.8184247], [-2.4711895, 2.0, -4.4239764]),
        (0.001, 0.01, [-1.9775605, -3.2036974], [-1.9775606, 2.0, -3.8537755]),
    ],
)
def test_three_steps(l1: float, l2: float, dense: list[float], sparse: list[float]) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        v, w, step = (
            gf.Variable([0.0, 0.0]),
            gf.Variable([[1.0], [2.0], [3.0]]),
            gf.Variable(0, dtype=gf.int64),
        )
        optimizer = gf.train.AdagradDAOptimizer(
            3.0, step, l1_regularization_strength=l1, l2_regularization_strength=l2
        )
        rows = gf.IndexedSlices(gf.constant([[0.1], [0.3]]), gf.constant([0, 2]), gf.constant([3, 1]))
        train = optimizer.apply_gradients([(gf.constant([0.1, 0.2]), v), (rows, w)], global_step=step)
        session.run(gf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        np.testing.assert_allclose(session.run(v), dense, rtol=1e-6)
        np.testing.assert_allclose(session.run(w)[:, 0], sparse, rtol=1e-6)
        assert optimizer.get_slot_names() == ["gradient_accumulator", "gradient_squared_accumulator"]


def test_sums_of_squares_begin_above_zero() -> None:
    with pytest.raises(ValueError, match="must be positive: 0"):
        gf.train.AdagradDAOptimizer(0.1, 0, initial_gradient_squared_accumulator_value=0.0)


@pytest.mark.parametrize("optimizer", [gf.train.AdagradOptimizer, gf.train.AdamOptimizer])
def test_a_variable_whose_shape_is_not_known_has_slots(optimizer: type) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        size = gf.placeholder_with_default([2], [None])
        v = gf.get_variable("v", initializer=gf.fill(size, 1.0), validate_shape=False)
        train = optimizer(0.1).minimize(gf.reduce_sum(v * v))
        session.run(gf.global_variables_initializer())
        session.run(train)
        assert (session.run(v) < 1.0).all()

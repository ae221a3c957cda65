"""The decay of weights beside a step. TensorFlow's reads its variables before or after the decay, as it happens.

So there are no recordings: the numbers are those of the paper's formula, where the gradient is that of the weights
before the decay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf

START = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)


def after(optimizer: Any, sparse: bool = False, **arguments: Any) -> list[Any]:
    """The table and the bias after a step of the sum of squares of each, of the first row alone if sparse."""
    table, bias = gf.Variable(START, name="table"), gf.Variable([1.0, -2.0], name="bias")
    used = gf.gather(table, [0, 0]) if sparse else table
    step = optimizer.minimize(gf.reduce_sum(used * used) + gf.reduce_sum(bias * bias), **arguments)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(step)
        return session.run([table, bias])


def test_each_step_takes_a_share_of_the_weights() -> None:
    optimizer = gf.contrib.opt.MomentumWOptimizer(0.25, 0.125, 0.9)
    table, bias = after(optimizer)
    np.testing.assert_allclose(table, START - 0.25 * START - 0.125 * 2 * START, rtol=1e-6)
    np.testing.assert_allclose(bias, [0.5, -1.0], rtol=1e-6)


def test_adam_decays_beside_its_step() -> None:
    table, _ = after(gf.contrib.opt.AdamWOptimizer(weight_decay=0.25, learning_rate=0.125))
    np.testing.assert_allclose(table, 0.75 * START - 0.125 * np.sign(START), rtol=1e-5)


def test_of_a_sparse_gradient_only_its_rows_decay() -> None:
    extended = gf.contrib.opt.extend_with_decoupled_weight_decay(gf.train.MomentumOptimizer)
    table, bias = after(extended(0.25, learning_rate=0.125, momentum=0.5), sparse=True)
    np.testing.assert_allclose(table, [0.25 * START[0], START[1]], rtol=1e-6)
    np.testing.assert_allclose(bias, [0.5, -1.0], rtol=1e-6)


@pytest.mark.parametrize("where", ["minimize", "apply_gradients"])
def test_only_the_variables_listed_decay(where: str) -> None:
    table, bias = gf.Variable(START, name="table"), gf.Variable([1.0, -2.0], name="bias")
    optimizer: Any = gf.contrib.opt.MomentumWOptimizer(gf.constant(0.25), 0.125, 0.0)
    loss = gf.reduce_sum(table * table) + gf.reduce_sum(bias * bias)
    if where == "minimize":
        step = optimizer.minimize(loss, decay_var_list=[table])
    else:
        step = optimizer.apply_gradients(optimizer.compute_gradients(loss), decay_var_list=[table])
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(table), 0.5 * START, rtol=1e-6)
        np.testing.assert_allclose(session.run(bias), [0.75, -1.5], rtol=1e-6)


def test_what_saves_the_averages_says_what_is_missing() -> None:
    v = gf.Variable(1.0, name="v")
    optimizer = gf.contrib.opt.MovingAverageOptimizer(gf.train.GradientDescentOptimizer(0.25), 0.5)
    with pytest.raises(RuntimeError, match="swapping_saver"):
        optimizer.swapping_saver()
    optimizer.minimize(v * v)
    with pytest.raises(ValueError, match="ExponentialMovingAverage"):
        optimizer.swapping_saver([v])

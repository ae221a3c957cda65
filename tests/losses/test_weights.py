"""Protects the weights of losses: what is known costs no op, what is not known is checked when it runs."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf


def test_a_plain_loss_builds_few_ops() -> None:
    with gf.Graph().as_default() as graph:
        x, y = (gf.placeholder(gf.float32, [4, 3]) for _ in range(2))
        before = len(graph.get_operations())
        gf.losses.mean_squared_error(y, x)
        assert len(graph.get_operations()) - before <= 6


@pytest.mark.parametrize("shape", [(3,), (2, 2), (1, 2, 3)])
def test_weights_that_do_not_fit_are_refused_when_they_come(shape: tuple[int, ...]) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        losses = gf.placeholder(gf.float32, [None, 3])
        weights = gf.placeholder(gf.float32, None)
        total = gf.losses.compute_weighted_loss(losses, weights)
        with pytest.raises(gf.errors.InvalidArgumentError, match="can not be broadcast"):
            session.run(total, {losses: np.ones((2, 3)), weights: np.ones(shape)})


@pytest.mark.parametrize("shape", [(), (1, 1), (2, 1), (1, 3), (2, 3)])
@pytest.mark.parametrize("reduction", gf.losses.Reduction.all())
def test_weights_of_unknown_shape_weigh_as_known_ones(shape: tuple[int, ...], reduction: str) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    factors = (
        (np.arange(np.prod(shape, dtype=int)) % 2 * 2.0 + shape.count(1)).astype(np.float32).reshape(shape)
    )
    with gf.Graph().as_default(), gf.Session() as session:
        losses, weights = gf.placeholder(gf.float32, None), gf.placeholder(gf.float32, None)
        unknown = gf.losses.compute_weighted_loss(losses, weights, reduction=reduction)
        known = gf.losses.compute_weighted_loss(values, factors, reduction=reduction)
        got, expected = session.run([unknown, known], {losses: values, weights: factors})
        np.testing.assert_allclose(got, expected, rtol=1e-6)

"""Protects weights whose rank the run alone knows: a last axis of 1 more, or less, is taken for what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize("shape", [None, [None, None], [None, 1]])
@pytest.mark.parametrize("fed", [[[1.2], [3.4], [5.6]], [1.2, 3.4, 5.6], 2.0])
def test_losses_of_sparse_labels(shape: Any, fed: Any) -> None:
    if np.ndim(fed) != 2 and shape is not None:
        return
    weights = gf.placeholder(gf.float32, shape)
    logits = gf.constant(np.eye(3, dtype="f") * 10.0)
    loss = gf.losses.sparse_softmax_cross_entropy([[2], [0], [1]], logits, weights)
    with gf.Session() as session:
        found = session.run(loss, {weights: fed})
    expected = 20.0 if np.ndim(fed) == 0 else (1.2 + 3.4 + 5.6) * 10.0 / 3.0
    assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("fed", [[[100.0], [1.0], [1.0]], [100.0, 1.0, 1.0]])
@pytest.mark.parametrize("values", [[1, 1, 1], [[1], [1], [1]]])
def test_metrics(fed: Any, values: Any) -> None:
    weights = gf.placeholder(gf.float32)
    accuracy, update = gf.metrics.accuracy([[1], [0], [0]], gf.constant(values), weights)
    numbers = np.array([1.0, 2.0, 3.0], "f").reshape(np.shape(values))
    mean, more = gf.metrics.mean(gf.constant(numbers), weights)
    with gf.Session() as session:
        session.run(gf.local_variables_initializer())
        session.run([update, more], {weights: fed})
        assert session.run(accuracy) == pytest.approx(100 / 102)
        assert session.run(mean) == pytest.approx(105 / 102)


def test_weights_that_do_not_fit_are_refused() -> None:
    weights = gf.placeholder(gf.float32)
    mean, update = gf.metrics.mean(gf.constant([1.0, 2.0, 3.0]), weights)
    with gf.Session() as session:
        session.run(gf.local_variables_initializer())
        for fed in ([[1.0, 2.0, 3.0]], [1.0, 2.0]):
            with pytest.raises(gf.errors.InvalidArgumentError):
                session.run(update, {weights: fed})
        session.run(update, {weights: 2.0})
        assert session.run(mean) == 2.0

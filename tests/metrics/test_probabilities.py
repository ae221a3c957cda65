"""Protects what TensorFlow leaves unchecked: predictions that are no probabilities are an error, not a wrong area."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize(
    "measure",
    [
        gf.metrics.auc,
        lambda y, p: gf.metrics.precision_at_thresholds(y, p, [0.5]),
        lambda y, p: gf.metrics.sensitivity_at_specificity(y, p, 0.5),
    ],
)
@pytest.mark.parametrize("wrong", [-0.1, 1.5])
def test_predictions_outside_the_unit_interval_raise(measure: Callable[..., Any], wrong: float) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        predictions = gf.placeholder(gf.float32, [None])
        _, update = measure(gf.constant([True, False]), predictions)
        session.run(gf.local_variables_initializer())
        session.run(update, {predictions: np.array([0.0, 1.0], np.float32)})
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            session.run(update, {predictions: np.array([0.5, wrong], np.float32)})

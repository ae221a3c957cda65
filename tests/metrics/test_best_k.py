"""Protects the measures of the best k: that labels may be sparse, as rows with other numbers of labels are."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf


def test_labels_may_be_sparse() -> None:
    """What a row has no more of is no class, and is not missed."""
    scores = gf.constant([[0.1, 0.4, 0.3, 0.2], [0.4, 0.1, 0.2, 0.3]])
    value = gf.SparseTensorValue(np.array([[0, 0], [0, 1], [1, 0]]), np.array([1, 3, -5]), np.array([2, 2]))
    measures = [
        metric(labels=given, predictions=scores, k=2)
        for metric in (gf.metrics.precision_at_k, gf.metrics.recall_at_k)
        for given in (gf.SparseTensor.from_value(value), value)
    ]
    with gf.Session() as session:
        session.run(gf.local_variables_initializer())
        found = session.run([update for _, update in measures])
    assert found == pytest.approx([1 / 4, 1 / 4, 1 / 3, 1 / 3])

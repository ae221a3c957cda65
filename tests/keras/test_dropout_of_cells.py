"""Protects dropout of recurrent layers: inputs or states of every cell, anew in each run and alike in each step."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import graphflow as gf

layers = gf.keras.layers


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("kind", [layers.SimpleRNN, layers.GRU, layers.LSTM])
@pytest.mark.parametrize("which", ["dropout", "recurrent_dropout"])
def test_what_is_dropped(kind: Any, which: str, unroll: bool) -> None:
    layer = kind(4, kernel_initializer="ones", return_sequences=True, unroll=unroll, **{which: 0.5})
    x = gf.constant(np.full([6, 3, 5], 0.1, "f"))
    trained, plain = layer(x, training=True), layer(x, training=False)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        runs = [session.run([trained, plain]) for _ in range(3)]
    for (one, _), (other, _) in pairwise(runs):
        assert not np.allclose(one, other, atol=1e-4)
    for found, without in runs:
        assert not np.allclose(found, without, atol=1e-4)
        np.testing.assert_array_equal(without, runs[0][1])
        if which == "recurrent_dropout":  # The first step has no state that could be dropped.
            np.testing.assert_allclose(found[:, 0], without[:, 0], rtol=1e-5)


def test_inputs_are_dropped_alike_in_each_step() -> None:
    layer = layers.SimpleRNN(
        3, dropout=0.5, kernel_initializer="ones", recurrent_initializer="zeros", return_sequences=True
    )
    out = layer(gf.ones([200, 2, 5]), training=True)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        found = session.run(out)
    np.testing.assert_array_equal(found[:, 0], found[:, 1])
    # Of five ones each that is kept counts twice.
    sums = np.tanh(np.arange(0.0, 12.0, 2.0))
    assert np.abs(found[..., None] - sums).min(axis=-1).max() < 1e-6
    assert len(np.unique(found)) == 6

"""Protects that a checkpoint may be loaded into a model that has no weights yet: they take its values when made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphflow import keras

X = np.random.RandomState(0).randn(20, 4).astype("f")


class Twice(keras.Model):
    """A model of its own call."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = keras.layers.Dense(3), keras.layers.Dense(1)

    def call(self, inputs: Any) -> Any:
        return self.second(self.first(inputs))


def in_order() -> Any:
    return keras.Sequential([keras.layers.Dense(3), keras.layers.Dense(1)])


@pytest.mark.parametrize("make", [Twice, in_order])
def test_weights_that_are_not_there_yet_are_loaded_when_they_are_made(make: Any, tmp_path: Path) -> None:
    trained = make()
    trained.compile("sgd", "mse")
    trained.fit(X, X[:, :1], verbose=0)
    trained.save_weights(str(tmp_path / "weights"))
    model = make()
    model.compile("sgd", "mse")
    model.load_weights(str(tmp_path / "weights"))
    assert np.array_equal(model.predict(X), trained.predict(X))
    # Once: what is learnt since stays.
    model.fit(X, X[:, :1], verbose=0)
    assert not np.array_equal(model.predict(X), trained.predict(X))

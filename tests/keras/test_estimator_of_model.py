"""Protects models as estimators: they begin with the model's weights, train, evaluate and predict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

K = gf.keras


def made(rate: float, folder: Path) -> tuple[Any, Any, Any, Any]:
    """A model, its estimator, and the arrays that its input function gives."""
    model = K.Sequential([K.layers.Dense(4, activation="relu", input_shape=(3,)), K.layers.Dense(1)])
    model.compile(K.optimizers.SGD(rate), "mse", metrics=["mae"])
    random = np.random.RandomState(0)
    x, y = random.rand(32, 3).astype("f"), random.rand(32).astype("f")

    def inputs() -> gf.data.Dataset:
        return gf.data.Dataset.from_tensor_slices(({model.input_names[0]: x}, y)).batch(8).repeat()

    return model, K.estimator.model_to_estimator(model, model_dir=str(folder)), inputs, (x, y)


def test_an_estimator_begins_with_the_models_weights(tmp_path: Path) -> None:
    K.backend.clear_session()
    model, estimator, inputs, (x, y) = made(0.0, tmp_path)
    loss, error = model.evaluate(x, y, verbose=0)
    estimator.train(inputs, steps=1)
    found = estimator.evaluate(inputs, steps=4)
    np.testing.assert_allclose([found["loss"], found["mean_absolute_error"]], [loss, error], rtol=1e-4)
    given = next(iter(estimator.predict(inputs)))
    np.testing.assert_allclose(given[model.output_names[0]], model.predict(x)[0], rtol=1e-4)
    K.backend.clear_session()


def test_an_estimator_of_a_model_trains(tmp_path: Path) -> None:
    K.backend.clear_session()
    _, estimator, inputs, _ = made(0.05, tmp_path)
    estimator.train(inputs, steps=1)
    first = estimator.evaluate(inputs, steps=4)
    estimator.train(inputs, steps=20)
    last = estimator.evaluate(inputs, steps=4)
    assert last["loss"] < first["loss"] and last["global_step"] == 21
    K.backend.clear_session()


class Own(K.Model):
    """A class of a program, with layers in attributes and in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.first = K.layers.Dense(4, activation="relu")
        self.rest = [K.layers.Dropout(0.0), K.layers.Dense(1)]

    def call(self, inputs: Any) -> Any:
        found = self.first(inputs)
        for layer in self.rest:
            found = layer(found)
        return found


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("of_keras", [True, False])
def test_a_model_of_a_class_of_ones_own_trains_as_an_estimator_and_by_itself(
    tmp_path: Path, fitted: bool, of_keras: bool
) -> None:
    K.backend.clear_session()
    random = np.random.RandomState(0)
    x, y = random.rand(32, 3).astype("f"), random.rand(32, 1).astype("f")
    model = Own()
    model.compile(K.optimizers.SGD(0.0) if of_keras else gf.train.GradientDescentOptimizer(0.0), "mse")
    if fitted:
        model.fit(x, y, verbose=0)
    estimator = K.estimator.model_to_estimator(model, model_dir=str(tmp_path))

    def inputs() -> gf.data.Dataset:
        return gf.data.Dataset.from_tensor_slices((x, y)).batch(8).repeat()

    estimator.train(inputs, steps=1)
    found = estimator.evaluate(inputs, steps=4)["loss"]
    model.fit(x, y, verbose=0)
    own = model.evaluate(x, y, verbose=0)
    assert bool(abs(found - own) < 1e-4) is fitted
    K.backend.clear_session()


def test_names_that_are_not_those_of_the_model_are_told(tmp_path: Path) -> None:
    K.backend.clear_session()
    _, estimator, _, (x, y) = made(0.0, tmp_path)
    for given in (({"other": x}, y), (x, {"other": y})):
        with pytest.raises(KeyError, match=r"Difference: .*other"):
            estimator.train(lambda given=given: gf.data.Dataset.from_tensors(given), steps=1)  # type: ignore[misc]
    with pytest.raises(ValueError, match="Either keras_model or keras_model_path"):
        K.estimator.model_to_estimator()
    K.backend.clear_session()

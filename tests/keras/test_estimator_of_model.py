"""Protects models as estimators: they begin with the model's weights, train, evaluate and predict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

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

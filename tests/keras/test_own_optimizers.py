"""Protects optimizers of a program's own, which say how variables change by the methods that TensorFlow 1.15 calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import keras


class Halved(keras.optimizers.Optimizer):
    """Half of a gradient's step, with a slot that counts."""

    def __init__(self, learning_rate: float = 0.1, name: str = "Halved", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)

    def _create_slots(self, var_list: Any) -> None:
        for variable in var_list:
            self.add_slot(variable, "count")

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        rate = self._decayed_lr(var.dtype.base_dtype)
        count = self.get_slot(var, "count").assign_add(gf.ones_like(var), use_locking=self._use_locking)
        return gf.group(var.assign_sub(rate * grad / 2), count)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._resource_scatter_add(var, indices, -self._decayed_lr(var.dtype.base_dtype) * grad / 2)

    def get_config(self) -> Any:
        return {**super().get_config(), "learning_rate": self._serialize_hyperparameter("learning_rate")}


class Twice(keras.optimizers.SGD):
    """SGD that takes each step twice as far."""

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return super()._resource_apply_dense(2 * grad, var)


def stepped(optimizer: Any, sparse: bool = False) -> list[float]:
    with gf.Graph().as_default(), gf.Session() as session, session.as_default():
        variable = gf.Variable([1.0, 2.0, 3.0])
        taken = gf.gather(variable, [1, 1]) if sparse else variable
        step = optimizer.minimize(gf.reduce_sum(taken), [variable])
        session.run(gf.global_variables_initializer())
        session.run(step)
        found: list[float] = session.run(variable).tolist()
        return found


@pytest.mark.parametrize(
    ("optimizer", "sparse", "expected"),
    [
        (lambda: Halved(0.2), False, [0.9, 1.9, 2.9]),
        (lambda: Halved(0.2, decay=1.0), False, [0.9, 1.9, 2.9]),
        (lambda: Halved(0.2), True, [1.0, 1.8, 3.0]),
        (lambda: Twice(0.1), False, [0.8, 1.8, 2.8]),
        (lambda: Twice(0.1), True, [1.0, 1.8, 3.0]),
    ],
)
def test_their_own_changes_are_made(optimizer: Any, sparse: bool, expected: list[float]) -> None:
    assert np.allclose(stepped(optimizer(), sparse), expected)


def test_a_model_trains_and_is_configured_by_one() -> None:
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    model.compile(Halved(lr=0.1), "mse")
    losses = model.fit(np.eye(2), np.ones(2), epochs=3, verbose=0).history["loss"]
    assert losses[2] < losses[0]
    assert model.optimizer.get_config() == {"name": "Halved", "learning_rate": pytest.approx(0.1)}

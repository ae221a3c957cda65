"""Protects cells whose states have several axes: they say a shape as their size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf

keras = gf.keras


class Plane(keras.layers.Layer):
    """Adds what comes to a state of two axes."""

    def __init__(self, rows: int, columns: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.state_size = self.output_size = gf.TensorShape([rows, columns])

    def call(self, inputs: Any, states: Any) -> Any:
        """The sum so far."""
        total = states[0] + gf.reduce_sum(inputs, axis=[1, 2], keepdims=True)
        return total, [total]


def test_states_begin_with_zeros_of_their_shape() -> None:
    x = keras.Input([3, 2, 2])
    layer = keras.layers.RNN(Plane(2, 3), return_state=True)
    (begin,) = layer.get_initial_state(x)
    assert begin.shape.as_list() == [None, 2, 3]
    output, last = layer(x)
    assert layer.compute_output_shape((5, 3, 2, 2))[1].as_list() == [5, 2, 3]
    found = keras.Model(x, [output, last]).predict(np.ones([5, 3, 2, 2]))
    assert all(one.shape == (5, 2, 3) and (one == 12.0).all() for one in found)


def test_cells_on_one_another_and_stateful_ones() -> None:
    layer = keras.layers.RNN([Plane(2, 3), Plane(1, 1)], stateful=True, return_sequences=True)
    model = keras.Sequential([layer])
    model.build((4, 2, 1, 1))
    assert [one.shape.as_list() for one in layer.states] == [[4, 2, 3], [4, 1, 1]]
    once, again = (model.predict(np.ones([4, 2, 1, 1]), batch_size=4) for _ in range(2))
    assert once[0].ravel().tolist() == [6.0, 18.0] and again.shape == (4, 2, 1, 1)


def test_states_to_begin_with_have_the_cells_shape() -> None:
    x, begin, other = keras.Input([3, 2, 2]), keras.Input([2, 3]), keras.Input([4, 3])
    layer = keras.layers.RNN(Plane(2, 3))
    model = keras.Model([x, begin], layer(x, initial_state=begin))
    assert (model.predict([np.ones([1, 3, 2, 2]), np.ones([1, 2, 3])]) == 13.0).all()
    for wrong in (other, [begin, begin]):
        with pytest.raises(ValueError, match=r"however `cell\.state_size` is"):
            keras.layers.RNN(Plane(2, 3))(x, initial_state=wrong)

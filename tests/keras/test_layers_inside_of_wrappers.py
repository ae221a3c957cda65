"""Protects what wrappers do with the layers that they hold: their losses count, and they can be asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf

keras = gf.keras


@pytest.mark.parametrize("merge_mode", ["concat", None])
@pytest.mark.parametrize("return_state", [False, True])
def test_both_directions_are_regularized(merge_mode: str | None, return_state: bool) -> None:
    x = keras.Input([3, 2])
    inner = keras.layers.SimpleRNN(
        3,
        kernel_regularizer="l1",
        bias_regularizer="l1",
        recurrent_regularizer="l2",
        activity_regularizer=keras.regularizers.l1(1.0),
        return_state=return_state,
    )
    layer = keras.layers.Bidirectional(inner, merge_mode=merge_mode)
    outputs = gf.nest.flatten(layer(x))
    # Three of weights and one of each output in each direction; merged or not, outputs are regularized before.
    activities = 4 if return_state else 2
    assert len(layer.losses) == 6 + activities
    assert len(layer.get_losses_for(None)) == 6 and len(layer.get_losses_for(x)) == activities
    assert layer.layer is inner and len(layer.weights) == 6
    if merge_mode is None and not return_state:
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            fed = {x: np.ones([1, 3, 2])}
            found, losses = session.run([outputs, layer.get_losses_for(x)], fed)
        np.testing.assert_allclose(sorted(losses), sorted(np.abs(one).sum() for one in found), rtol=1e-5)


def test_columns_may_have_tables_in_parts() -> None:
    column = gf.feature_column.embedding_column(gf.feature_column.categorical_column_with_identity("i", 6), 2)
    with gf.variable_scope("s", partitioner=gf.fixed_size_partitioner(2)):
        layer = keras.layers.DenseFeatures([column])
        rows = layer({"i": gf.constant([[1], [5]])})
    assert [w.shape.as_list() for w in layer.trainable_weights] == [[3, 2], [3, 2]]
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        found, parts = session.run([rows, layer.weights])
    np.testing.assert_array_equal(found, np.concatenate(parts)[[1, 5]])


class Asked(keras.layers.Layer):
    """A layer that keeps the masks it was given."""

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """The inputs."""
        return inputs * 1.0

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None; what it was asked for is kept."""
        self.masks = [*getattr(self, "masks", []), mask]


def test_a_mask_may_be_given_by_position() -> None:
    x, mask, layer = gf.ones([1, 1]), gf.constant([[True]]), Asked()
    layer(x, False, mask)
    layer(x, mask=mask)
    layer(x, False)
    layer(x)
    assert layer.masks == [mask, mask, None, None]

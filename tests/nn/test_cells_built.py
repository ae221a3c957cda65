"""Protects cells apart from their steps: variables of build alone, configurations, weights, dtypes, checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

cells = gf.nn.rnn_cell
contrib = gf.contrib.rnn
OTHERS = [
    contrib.IndRNNCell,
    contrib.IndyGRUCell,
    contrib.IndyLSTMCell,
    contrib.SRUCell,
    contrib.MinimalRNNCell,
]
KINDS = [cells.BasicRNNCell, cells.GRUCell, cells.BasicLSTMCell, cells.LSTMCell, *OTHERS]


@pytest.mark.parametrize("kind", KINDS)
def test_build_makes_the_variables_in_the_cells_own_scope_and_once(kind: Any) -> None:
    first, second = kind(3, dtype=gf.float64), kind(3, dtype=gf.float64)
    for cell in (first, second):
        cell.build(gf.TensorShape([5, 7]))
        names = [v.op.name for v in cell.variables]
        output, _ = cell(gf.zeros([5, 7], gf.float64), cell.get_initial_state(None, 5, gf.float64))
        assert output.shape.as_list() == [5, 3]
        assert [v.op.name for v in cell.variables] == names
        assert all(v.dtype.base_dtype is gf.float64 for v in cell.variables)
    assert {v.op.name.split("/")[0] for v in first.variables} == {first.name}
    assert {v.op.name.split("/")[0] for v in second.variables} == {second.name + "_1"}


def test_variables_of_a_cell_are_its_scopes_whatever_scope_asks() -> None:
    class Scoped(cells.RNNCell):
        state_size = output_size = 2

        def call(self, inputs, state):  # type: ignore[no-untyped-def]
            with gf.variable_scope("deep"):
                kernel = self.add_variable("kernel", [2, 2])
            return gf.matmul(inputs, kernel), state

    cell = Scoped()
    cell(gf.ones([1, 2]), gf.ones([1, 2]))
    assert [v.op.name for v in cell.variables] == ["scoped/kernel"]


def test_configurations_make_cells_like_them() -> None:
    cell = cells.LSTMCell(4, use_peepholes=True, num_proj=2, activation=gf.nn.relu, dtype=gf.float64)
    config = cell.get_config()
    assert (config["activation"], config["num_proj"], config["dtype"]) == ("relu", 2, "float64")
    assert cells.BasicRNNCell(3).get_config()["activation"] == "tanh"
    again = cells.LSTMCell.from_config(config)
    assert again.get_config() == config
    stack = cells.MultiRNNCell([cells.DropoutWrapper(cell, 0.5), cells.DeviceWrapper(again, "/cpu:0")])
    made = cells.MultiRNNCell.from_config(stack.get_config())
    assert made.get_config() == stack.get_config()
    assert made.state_size == stack.state_size
    wrapper = cells.ResidualWrapper(cell, residual_fn=lambda i, o: i * 3 + o)
    config = {**wrapper.get_config(), "cell": again}
    assert cells.ResidualWrapper.from_config(config).wrapped_cell is again
    with pytest.raises(ValueError, match="'Strange' in the configuration is no cell"):
        cells.ResidualWrapper.from_config({"cell": {"class_name": "Strange", "config": {}}})


def test_activations_have_names() -> None:
    by_name, plain = cells.GRUCell(3, activation="relu", name="a"), cells.GRUCell(3, gf.nn.relu, name="b")
    with gf.variable_scope("one", initializer=gf.constant_initializer(0.3)):
        x = gf.constant([[1.0, -2.0]])
        got, want = (cell(x, gf.ones([1, 3]))[0] for cell in (by_name, plain))
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        np.testing.assert_array_equal(*session.run([got, want]))


def test_weights_are_read_and_set_in_the_default_session() -> None:
    cell = cells.BasicRNNCell(2)
    cell.build((None, 1))
    values = [np.arange(6.0).reshape(3, 2), [7.0, 8.0]]
    with gf.Session():
        cell.set_weights(values)
        for got, want in zip(cell.get_weights(), values, strict=True):
            np.testing.assert_array_equal(got, want)
        with pytest.raises(ValueError, match="has 2 weights, but set_weights\\(\\) was given 1"):
            cell.set_weights(values[:1])
        with pytest.raises(ValueError, match="has shape \\(3, 2\\), but the value has shape \\(2,\\)"):
            cell.set_weights(values[::-1])


@pytest.mark.parametrize("kind", KINDS[:4])
def test_integers_are_refused(kind: Any) -> None:
    message = "RNN cell only supports floating point inputs, but saw dtype: int32"
    with pytest.raises(ValueError, match=message):
        kind(2, dtype=gf.int32)
    with pytest.raises(ValueError, match=message):
        gf.nn.dynamic_rnn(kind(2), gf.placeholder(gf.int32, [3, 4, 5]), dtype=gf.int32)


def test_a_first_state_that_contradicts_the_inputs_is_refused() -> None:
    cell, inputs = cells.BasicRNNCell(5), gf.placeholder(gf.float32, [None, 4])
    for size in (50, gf.constant(50)):
        with pytest.raises(ValueError, match="batch size from input tensor is different"):
            cell.get_initial_state(inputs, size)
    with pytest.raises(ValueError, match="dtype from input tensor is different"):
        cell.get_initial_state(inputs, None, gf.int16)
    assert cell.get_initial_state(inputs).shape.as_list() == [None, 5]
    assert cell.get_initial_state(gf.ones([3, 4]), 3).shape.as_list() == [3, 5]


@pytest.mark.parametrize(
    "wrap", [cells.DropoutWrapper, cells.ResidualWrapper, lambda c: cells.MultiRNNCell([c])]
)
def test_checkpoints_by_objects_hold_cells(wrap: Any, tmp_path: Path) -> None:
    cell = cells.BasicRNNCell(1)
    wrapper = wrap(cell)
    wrapper(gf.ones([1, 1]), wrapper.zero_state(1, gf.float32))
    bias = cell.variables[1]
    checkpoint = gf.train.Checkpoint(wrapper=wrapper)
    with gf.Session() as session:
        session.run([v.initializer for v in cell.variables])
        bias.load([40.0])
        path = checkpoint.save(str(tmp_path / "model"))
        bias.load([0.0])
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        assert session.run(bias).tolist() == [40]
    inner = "wrapper/cell-0" if isinstance(wrapper, cells.MultiRNNCell) else "wrapper/cell"
    names = {name for name, _ in gf.train.list_variables(path)}
    assert f"{inner}/bias/.ATTRIBUTES/VARIABLE_VALUE" in names


def test_a_model_of_keras_has_the_variables_of_a_cell_in_it() -> None:
    for cell in (cells.LSTMCell(4, use_peepholes=True), contrib.NASCell(4), contrib.SRUCell(4)):
        x = gf.keras.Input((None, 5))
        layer = gf.keras.layers.RNN(cell)
        model = gf.keras.Model(x, layer(x))
        assert layer.trainable_weights == cell.trainable_variables
        data = np.random.RandomState(0).rand(6, 5, 5)
        before = model.predict(data)
        assert before.shape == (6, 4)
        weights = model.get_weights()
        assert len(weights) == len(cell.variables)
        model.set_weights([w * 0 for w in weights])
        assert not np.allclose(model.predict(data), before)

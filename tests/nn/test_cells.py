"""Protects recurrent cells: numbers against plain NumPy, names of variables, weights shared between steps and cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf

CELLS = gf.nn.rnn_cell


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _run(cell: Any, inputs: np.ndarray, dtype: Any = gf.float64) -> tuple[list[np.ndarray], list[Any]]:
    """The cell stepped over [time, batch, depth] inputs: outputs a step, and its variables with their values."""
    state = cell.zero_state(inputs.shape[1], dtype)
    outputs = []
    for x in inputs:
        output, state = cell(gf.constant(x), state)
        outputs.append(output)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        generator = np.random.default_rng(5)
        for variable in gf.global_variables():
            session.run(variable.assign(generator.normal(size=variable.shape.as_list())))
        return session.run(outputs), session.run(gf.global_variables())


def test_lstm_equals_its_formula() -> None:
    inputs = np.random.default_rng(1).normal(size=(3, 2, 4))
    with gf.Graph().as_default():
        outputs, (kernel, bias) = _run(CELLS.BasicLSTMCell(5, forget_bias=0.5), inputs)
        assert [v.name for v in gf.global_variables()] == [
            "basic_lstm_cell/kernel:0",
            "basic_lstm_cell/bias:0",
        ]
    h = c = np.zeros((2, 5))
    for x, got in zip(inputs, outputs, strict=True):
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, axis=1)
        c = c * _sigmoid(f + 0.5) + _sigmoid(i) * np.tanh(j)
        h = np.tanh(c) * _sigmoid(o)
        np.testing.assert_allclose(got, h, rtol=1e-9)


def test_gru_equals_its_formula() -> None:
    inputs = np.random.default_rng(2).normal(size=(3, 2, 4))
    with gf.Graph().as_default():
        outputs, (gates, gate_bias, candidate, bias) = _run(CELLS.GRUCell(5), inputs)
    h = np.zeros((2, 5))
    for x, got in zip(inputs, outputs, strict=True):
        r, u = np.split(_sigmoid(np.concatenate([x, h], 1) @ gates + gate_bias), 2, axis=1)
        h = u * h + (1 - u) * np.tanh(np.concatenate([x, r * h], 1) @ candidate + bias)
        np.testing.assert_allclose(got, h, rtol=1e-9)


def test_a_cell_owns_its_variables_and_another_makes_its_own() -> None:
    with gf.Graph().as_default():
        x, state = gf.zeros([2, 3]), gf.zeros([2, 4])
        cell = CELLS.BasicRNNCell(4)
        cell(x, state)
        cell(x, state)
        assert len(gf.global_variables()) == 2 == len(cell.variables)
        CELLS.BasicRNNCell(4)(x, state)
        assert gf.global_variables()[2].name == "basic_rnn_cell_1/kernel:0"
        with gf.variable_scope("shared"):
            CELLS.BasicRNNCell(4)(x, state)
        with gf.variable_scope("shared", reuse=True):
            CELLS.BasicRNNCell(4)(x, state)
        assert [v.name for v in gf.global_variables()[4:]] == [
            "shared/basic_rnn_cell/kernel:0",
            "shared/basic_rnn_cell/bias:0",
        ]


def test_dropout_around_a_stack_keeps_the_memory_whole() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        stack = CELLS.MultiRNNCell([CELLS.BasicLSTMCell(50), CELLS.GRUCell(50)])
        cell = CELLS.DropoutWrapper(stack, output_keep_prob=0.5, state_keep_prob=0.5, seed=3)
        output, (lstm, gru) = cell(gf.ones([1, 3]), cell.zero_state(1, gf.float32))
        session.run(gf.global_variables_initializer())
        values = session.run([output, lstm.c, lstm.h, gru])
        assert [(v == 0).any() for v in values] == [True, False, True, True]


@pytest.mark.parametrize("keep", [0.0, 1.5])
def test_a_probability_outside_its_range_is_an_error(keep: float) -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match="between 0 and 1"):
        CELLS.DropoutWrapper(CELLS.GRUCell(2), input_keep_prob=keep)


def test_a_cell_runs_on_a_device() -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        cell = gf.contrib.rnn.DeviceWrapper(CELLS.GRUCell(2), "/cpu:1")
        output, _ = cell(gf.ones([1, 3]), cell.zero_state(1, gf.float32))
        assert output.device == gf.trainable_variables()[0].device == "/device:CPU:1"
        assert (cell.state_size, cell.output_size) == (2, 2)
        session.run(gf.global_variables_initializer())
        assert session.run(output).shape == (1, 2)


@pytest.mark.parametrize("kind", [gf.keras.layers.Dense, gf.layers.Dense, gf.nn.rnn_cell.GRUCell])
def test_a_layers_dtype_is_a_name(kind: Any) -> None:
    """As in TensorFlow, so that NumPy takes it: OpenNMT-tf casts pretrained embeddings to a layer's dtype."""
    assert kind(2).dtype is None or kind is gf.layers.Dense
    layer = kind(2, dtype=gf.float64)
    assert type(layer.dtype) is str and np.zeros(2, np.int32).astype(layer.dtype).dtype == np.float64
    built = gf.keras.layers.Dense(2)
    built(gf.zeros([1, 3]))
    alone = gf.layers.Dense(2)
    alone.build([None, 3])
    assert alone.kernel.dtype == gf.float32
    assert built.dtype == "float32" == gf.keras.Sequential([built]).layers[0].dtype

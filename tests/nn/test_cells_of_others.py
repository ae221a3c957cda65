"""Cells of Keras and states of other kinds in recurrent networks, and what cells say of their variables."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf


def ones(*shape):
    return gf.ones(shape)


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "SimpleRNNCell"])
def test_keras_cells_run_in_loops_and_step_by_step_as_in_their_layer(kind):
    x = np.random.RandomState(0).rand(2, 5, 3).astype("f")
    cell = getattr(gf.keras.layers, kind)(4)
    outputs, state = gf.nn.dynamic_rnn(cell, x, dtype=gf.float32)
    steps, last = gf.nn.static_rnn(cell, gf.unstack(gf.constant(x), axis=1), dtype=gf.float32)
    layer = gf.keras.layers.RNN(cell, return_sequences=True)(gf.constant(x))
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        found = session.run([outputs, gf.stack(steps, 1), layer])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[0], found[2], rtol=1e-5, atol=1e-6)
        for one, other in zip(gf.nest.flatten(state), gf.nest.flatten(last), strict=True):
            np.testing.assert_allclose(*session.run([one, other]), rtol=1e-5, atol=1e-6)


def test_a_cell_that_makes_no_first_state_is_refused():
    class Bare:
        state_size = output_size = 3

        def __call__(self, inputs, state):
            return inputs, state

    with pytest.raises(TypeError, match="is not an RNNCell: it lacks zero_state"):
        gf.nn.dynamic_rnn(Bare(), ones(2, 5, 3), dtype=gf.float32)


def test_a_state_may_hold_a_tensor_array():
    class Writes(gf.nn.rnn_cell.RNNCell):
        state_size = (gf.TensorShape([]), ())
        output_size = 1

        def zero_state(self, batch_size, dtype):
            return gf.constant(0), gf.TensorArray(gf.int32, 0, dynamic_size=True)

        def call(self, inputs, state):
            time, array = state
            return inputs, (time + 1, array.write(time, time * 2))

    _, (_, array) = gf.nn.dynamic_rnn(Writes(), ones(1, 4, 1), dtype=gf.float32)
    assert gf.Session().run(array.stack()).tolist() == [0, 2, 4, 6]


def test_variables_of_cells_in_others_are_theirs():
    inner = [gf.nn.rnn_cell.GRUCell(4), gf.nn.rnn_cell.BasicLSTMCell(4)]
    stack = gf.nn.rnn_cell.MultiRNNCell(inner)
    wrapped = gf.nn.rnn_cell.DropoutWrapper(stack, 0.5)
    wrapped(ones(2, 3), wrapped.zero_state(2, gf.float32))
    for cell in (stack, wrapped):
        for names in ("variables", "weights", "trainable_variables", "trainable_weights"):
            assert len(getattr(cell, names)) == 6
        assert cell.non_trainable_variables == cell.non_trainable_weights == []


def test_variables_that_are_not_trained_are_named_so():
    def getter(getter, *args, **kwargs):
        return getter(*args, **{**kwargs, "trainable": False})

    with gf.variable_scope("root", custom_getter=getter):
        cell = gf.nn.rnn_cell.BasicRNNCell(2)
        cell(ones(1, 2), ones(1, 2))
    assert not cell.trainable_variables
    names = [v.name for v in cell.non_trainable_variables]
    assert names == ["root/basic_rnn_cell/kernel:0", "root/basic_rnn_cell/bias:0"]


def test_a_cell_that_is_built_by_hand_has_float32():
    cell = gf.nn.rnn_cell.LSTMCell(4)
    cell.build(gf.TensorShape([2, 3]))
    assert {v.dtype.base_dtype for v in cell.variables} == {gf.float32}


def test_a_probability_of_keeping_may_be_a_variable():
    keep = gf.Variable(1.0)
    cell = gf.nn.rnn_cell.DropoutWrapper(gf.nn.rnn_cell.BasicRNNCell(4), output_keep_prob=keep)
    output, _ = cell(ones(2, 3), cell.zero_state(2, gf.float32))
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        assert np.all(session.run(output) != 0)
        session.run(keep.assign(0.001))
        assert np.mean(session.run(output) == 0) > 0.5


class _Pair(gf.nn.rnn_cell.RNNCell):
    """Adds ones to both parts of its state, and gives both inputs."""

    state_size = output_size = (2, 3)

    def call(self, inputs, state):
        return inputs, gf.nest.map_structure(lambda part: part + 1.0, state)


def test_both_directions_take_pairs_step_by_step():
    steps = [(gf.fill([2, 2], float(n)), gf.fill([2, 3], float(n))) for n in range(3)]
    outputs, _, _ = gf.nn.static_bidirectional_rnn(
        _Pair(), _Pair(), steps, dtype=gf.float32, sequence_length=[2, 3]
    )
    with gf.Session() as session:
        found = session.run(outputs)
    assert [part.shape for part in found[0]] == [(2, 4), (2, 6)]
    assert found[2][0][:, 0].tolist() == found[2][0][:, 2].tolist() == [0.0, 2.0]


class _Saver:
    """Keeps states in variables."""

    def __init__(self, **sizes):
        self.kept = {name: gf.Variable(gf.zeros([2, size]), name=name) for name, size in sizes.items()}

    def state(self, name):
        return self.kept[name]

    def save_state(self, name, value):
        return self.kept[name].assign(value)


def test_states_are_kept_from_piece_to_piece():
    """Two pieces of two steps give what four steps give."""
    x = np.random.RandomState(0).rand(2, 4, 3).astype("f")
    piece = gf.placeholder(gf.float32, [2, 2, 3])
    cell = gf.nn.rnn_cell.BasicLSTMCell(4)
    outputs, _ = gf.nn.static_state_saving_rnn(cell, gf.unstack(piece, axis=1), _Saver(c=4, h=4), ("c", "h"))
    whole, _ = gf.nn.static_rnn(cell, gf.unstack(gf.constant(x), axis=1), dtype=gf.float32, scope="rnn_1")
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(outputs[-1], {piece: x[:, :2]})
        found, expected = session.run([outputs[-1], whole[-1]], {piece: x[:, 2:]})
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_names_of_kept_states_must_be_as_many():
    cell = gf.nn.rnn_cell.BasicLSTMCell(4)
    steps = [ones(2, 3)]
    with pytest.raises(ValueError, match="should be the same type"):
        gf.nn.static_state_saving_rnn(cell, steps, _Saver(c=4), "c")
    with pytest.raises(ValueError, match=r"1 vs\. 2"):
        gf.nn.static_state_saving_rnn(cell, steps, _Saver(c=4), ("c",))


def test_layers_of_both_directions_step_by_step_are_those_of_the_loop():
    x = np.random.RandomState(0).rand(2, 5, 3).astype("f")

    def cells():
        return [gf.nn.rnn_cell.GRUCell(4, kernel_initializer=gf.constant_initializer(0.1)) for _ in range(2)]

    steps, states, _ = gf.contrib.rnn.stack_bidirectional_rnn(
        cells(), cells(), gf.unstack(gf.constant(x), axis=1), dtype=gf.float32, scope="one"
    )
    outputs, others, _ = gf.contrib.rnn.stack_bidirectional_dynamic_rnn(
        cells(), cells(), gf.constant(x), dtype=gf.float32, scope="other"
    )
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        found = session.run([gf.stack(steps, 1), outputs, states[1], others[1]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[2], found[3], rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="must be a list"):
        gf.contrib.rnn.stack_bidirectional_rnn(cells(), cells()[:1], steps, dtype=gf.float32)

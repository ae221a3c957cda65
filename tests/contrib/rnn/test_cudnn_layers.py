"""Protects the recurrent layers of cuDNN: what they compute is what cells of their checkpoints' weights do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.contrib import cudnn_rnn

TIME, BATCH, SIZE, UNITS = 5, 3, 4, 2
KINDS = {
    "lstm": (cudnn_rnn.CudnnLSTM, cudnn_rnn.CudnnCompatibleLSTMCell),
    "gru": (cudnn_rnn.CudnnGRU, cudnn_rnn.CudnnCompatibleGRUCell),
    "tanh": (cudnn_rnn.CudnnRNNTanh, gf.nn.rnn_cell.BasicRNNCell),
    "relu": (cudnn_rnn.CudnnRNNRelu, lambda units: gf.nn.rnn_cell.BasicRNNCell(units, gf.nn.relu)),
}
GIVEN = np.random.default_rng(3).standard_normal([TIME, BATCH, SIZE]).astype(np.float32)
LENGTHS = np.array([5, 2, 0], np.int32)


def of_cells(make: Any, layers: int, both_ways: bool, lengths: Any) -> tuple[Any, Any]:
    """The same network of cells, with the names of variables that a checkpoint of the layer has."""
    x = gf.constant(GIVEN)
    if both_ways:
        fw, bw = ([make(UNITS) for _ in range(layers)] for _ in range(2))
        outputs, first, second = gf.contrib.rnn.stack_bidirectional_dynamic_rnn(
            fw, bw, x, dtype=gf.float32, sequence_length=lengths, time_major=True
        )
        return outputs, [state for pair in zip(first, second, strict=True) for state in pair]
    cell = gf.nn.rnn_cell.MultiRNNCell([make(UNITS) for _ in range(layers)])
    outputs, states = gf.nn.dynamic_rnn(cell, x, lengths, dtype=gf.float32, time_major=True)
    return outputs, list(states)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_cells_take_a_layers_weights_from_its_checkpoint(
    kind: str, both_ways: bool, lengths: Any, tmp_path: Path
) -> None:
    make_layer, make_cell = KINDS[kind]
    draw = gf.random_uniform_initializer(-1.0, 1.0)
    with gf.Graph().as_default(), gf.Session() as session:
        gf.set_random_seed(4)
        layer = make_layer(
            2,
            UNITS,
            direction="bidirectional" if both_ways else "unidirectional",
            kernel_initializer=draw,
            bias_initializer=draw,
        )
        outputs, states = layer(gf.constant(GIVEN), sequence_lengths=lengths)
        assert [v.op.name for v in gf.trainable_variables()] == [f"{layer.scope_name}/opaque_kernel"]
        assert outputs.shape.as_list() == [TIME, BATCH, UNITS * (1 + both_ways)]
        assert states[0].shape.as_list() == [2 * (1 + both_ways), BATCH, UNITS]
        session.run(gf.global_variables_initializer())
        expected = session.run([outputs, states])
        path = gf.train.Saver().save(session, str(tmp_path / "model"))
        session.run(layer.kernel.assign(gf.zeros_like(layer.kernel)))
        gf.train.Saver().restore(session, path)
        again = session.run([outputs, states])
    with gf.Graph().as_default(), gf.Session() as session:
        outputs, parts = of_cells(make_cell, 2, both_ways, lengths)
        gf.train.Saver().restore(session, path)
        found, lasts = session.run([outputs, parts])
    np.testing.assert_allclose(found, expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(again[0], expected[0], rtol=1e-5, atol=1e-6)
    memories = [[last.h for last in lasts], [last.c for last in lasts]] if kind == "lstm" else [lasts]
    np.testing.assert_allclose(memories, expected[1], rtol=1e-5, atol=1e-6)


def test_a_state_goes_on_and_time_may_be_the_second_axis() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        gf.set_random_seed(4)
        layer = cudnn_rnn.CudnnLSTM(2, UNITS, direction="bidirectional")
        whole, _ = layer(gf.constant(GIVEN))
        turned, states = layer(gf.constant(GIVEN.swapaxes(0, 1)), time_major=False)
        one = cudnn_rnn.CudnnGRU(2, UNITS, name="one")
        complete, last = one(gf.constant(GIVEN))
        begun, state = one(gf.constant(GIVEN[:2]))
        rest, end = one(gf.constant(GIVEN[2:]), initial_state=state)
        session.run(gf.global_variables_initializer())
        a, b = session.run([whole, turned])
        np.testing.assert_allclose(b.swapaxes(0, 1), a, rtol=1e-5, atol=1e-6)
        assert states[0].shape.as_list() == [BATCH, 4, UNITS]
        parts, finals = session.run([[complete, begun, rest], [last, end]])
        np.testing.assert_allclose(np.concatenate(parts[1:]), parts[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(finals[1], finals[0], rtol=1e-5, atol=1e-6)


def test_a_layer_learns_and_drops_between_layers_in_training_alone() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        gf.set_random_seed(4)
        layer = cudnn_rnn.CudnnLSTM(2, 8, dropout=0.5)
        training = gf.placeholder_with_default(True, [])
        outputs, _ = layer(gf.constant(GIVEN), training=training)
        loss = gf.reduce_mean(gf.square(gf.reduce_sum(outputs, 2) - GIVEN[:, :, 0]))
        step = gf.train.AdamOptimizer(0.05).minimize(loss)
        session.run(gf.global_variables_initializer())
        assert session.run(loss) != session.run(loss)
        before = session.run(loss, {training: False})
        assert before == session.run(loss, {training: False})
        for _ in range(60):
            session.run(step)
        assert session.run(loss, {training: False}) < 0.5 * before


@pytest.mark.parametrize(
    "arguments",
    [{"direction": "both"}, {"input_mode": "none"}, {"dtype": gf.int32}, {"input_mode": "skip_input"}],
)
def test_what_a_layer_cannot_be_is_refused(arguments: dict[str, Any]) -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError):
        cudnn_rnn.CudnnLSTM(1, SIZE, **arguments)(gf.constant(GIVEN))
    with gf.Graph().as_default(), pytest.raises(ValueError, match="has not been built"):
        print(cudnn_rnn.CudnnGRU(1, SIZE).input_size)

"""Protects cells that take a whole sequence: they compute what the cell in a loop does, also backwards and of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf

DATA = np.random.RandomState(0).randn(5, 3, 4).astype(np.float32)
LENGTHS = [5, 2, 0]
BACKWARDS = np.stack([np.concatenate([DATA[:n, r][::-1], DATA[n:, r]]) for r, n in enumerate(LENGTHS)], 1)


def values(*fetches: Any) -> Any:
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        return session.run(fetches)


def test_a_fused_lstm_is_that_of_a_loop_with_the_names_of_tensorflow() -> None:
    with gf.Graph().as_default(), gf.variable_scope("model", initializer=gf.constant_initializer(0.1)):
        fused = gf.contrib.rnn.LSTMBlockFusedCell(6)
        outputs, state = fused(gf.constant(DATA), dtype=gf.float32, sequence_length=LENGTHS)
        listed, _ = gf.contrib.rnn.LSTMBlockFusedCell(6)(gf.unstack(DATA), dtype=gf.float32)
        again, _ = fused(gf.constant(DATA), initial_state=state)
        expected = gf.nn.dynamic_rnn(
            gf.nn.rnn_cell.LSTMCell(6), DATA, LENGTHS, dtype=gf.float32, time_major=True
        )
        whole, _ = gf.nn.dynamic_rnn(
            gf.nn.rnn_cell.LSTMCell(6, name="whole"), DATA, dtype=gf.float32, time_major=True
        )
        assert [v.op.name for v in fused.variables] == [
            "model/lstm_fused_cell/kernel",
            "model/lstm_fused_cell/bias",
        ]
        assert isinstance(listed, list) and fused.num_units == 6
        got, want, stacked, full, more = values((outputs, state), expected, gf.stack(listed), whole, again)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-6)
    np.testing.assert_allclose(stacked, full, rtol=1e-6)
    assert not np.allclose(more[:, 0], full[:, 0]) and np.allclose(more[:, 2], full[:, 2])


@pytest.mark.parametrize("loop", [False, True])
def test_a_reversed_one_runs_each_row_from_its_end(loop: bool) -> None:
    with gf.Graph().as_default(), gf.variable_scope("a", initializer=gf.constant_initializer(0.1)):
        adapted = gf.contrib.rnn.FusedRNNCellAdaptor(gf.nn.rnn_cell.GRUCell(2), use_dynamic_rnn=loop)
        turned = gf.contrib.rnn.TimeReversedFusedRNN(adapted)
        outputs, state = turned(gf.constant(DATA), dtype=gf.float32, sequence_length=LENGTHS)
        whole, _ = turned(gf.unstack(DATA), dtype=gf.float32, scope="whole")
        want, last = gf.nn.dynamic_rnn(
            gf.nn.rnn_cell.GRUCell(2), BACKWARDS, LENGTHS, dtype=gf.float32, time_major=True, scope="b"
        )
        got, kept, expected, end, listed = values(outputs, state, want, last, gf.stack(whole))
    for row, length in enumerate(LENGTHS):
        np.testing.assert_allclose(got[:length, row], expected[:length, row][::-1], rtol=1e-6)
    np.testing.assert_allclose(kept, end, rtol=1e-6)
    assert listed.shape == (5, 3, 2)


def test_a_fused_cell_must_say_what_it_does() -> None:
    with pytest.raises(NotImplementedError, match="FusedRNNCell must define"):
        gf.contrib.rnn.FusedRNNCell()(DATA)

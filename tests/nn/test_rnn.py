"""Protects sequences: the loop gives what the unrolled graph gives, values and gradients, with rows of any length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf

CELLS = gf.nn.rnn_cell


def _stack() -> Any:
    return CELLS.MultiRNNCell([CELLS.LSTMCell(4, num_proj=2, use_peepholes=True), CELLS.GRUCell(3)])


@pytest.mark.parametrize("lengths", [None, [3, 0], [1, 2]])
@pytest.mark.parametrize("time_major", [False, True])
def test_the_loop_equals_the_unrolled_graph(lengths: list[int] | None, time_major: bool) -> None:
    inputs = np.random.default_rng(4).normal(size=(2, 3, 5))
    with gf.Graph().as_default(), gf.Session() as session:
        gf.set_random_seed(8)
        x = gf.placeholder(gf.float64, [2, None, 5])
        given = gf.transpose(x, [1, 0, 2]) if time_major else x
        cell = _stack()
        looped, last = gf.nn.dynamic_rnn(cell, given, lengths, dtype=gf.float64, time_major=time_major)
        looped = gf.transpose(looped, [1, 0, 2]) if time_major else looped
        assert looped.shape.as_list() == [2, None, 3]
        steps = gf.unstack(x, 3, axis=1)
        unrolled, final = gf.nn.static_rnn(
            cell, steps, dtype=gf.float64, sequence_length=lengths, scope="again"
        )
        pairs = [
            (looped, gf.stack(unrolled, axis=1)),
            (last[0].c, final[0].c),
            (last[0].h, final[0].h),
            (last[1], final[1]),
        ]
        assert len(gf.global_variables()) == len(cell.variables)
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        first += gf.gradients(
            gf.reduce_sum(first[0]) + gf.reduce_sum(first[3] ** 3), [x, *gf.global_variables()]
        )
        second += gf.gradients(
            gf.reduce_sum(second[0]) + gf.reduce_sum(second[3] ** 3), [x, *gf.global_variables()]
        )
        session.run(gf.global_variables_initializer())
        for got, expected in zip(*session.run([first, second], {x: inputs}), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_both_directions_see_the_whole_sequence() -> None:
    inputs = np.random.default_rng(6).normal(size=(2, 3, 2)).astype(np.float32)
    with gf.Graph().as_default(), gf.Session() as session:
        gf.set_random_seed(2)
        cells = CELLS.GRUCell(3), CELLS.GRUCell(3)
        (forward, backward), _ = gf.nn.bidirectional_dynamic_rnn(
            *cells, gf.constant(inputs), sequence_length=[2, 3], dtype=gf.float32
        )
        assert [v.name for v in gf.global_variables()[:4]] == [
            f"bidirectional_rnn/fw/gru_cell/{part}:0"
            for part in ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
        ]
        session.run(gf.global_variables_initializer())
        values = session.run([forward, backward])
        assert (values[0][0, 2] == 0).all() and (values[1][0, 2] == 0).all()
        assert (values[1][:, 0] != 0).all()


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda x: gf.nn.dynamic_rnn(CELLS.GRUCell(2), x), ValueError),
        (lambda x: gf.nn.dynamic_rnn("cell", x, dtype=gf.float32), TypeError),
        (lambda x: gf.nn.dynamic_rnn(CELLS.GRUCell(2), x, [[1]], dtype=gf.float32), ValueError),
        (lambda x: gf.nn.static_rnn(CELLS.GRUCell(2), x, dtype=gf.float32), TypeError),
        (lambda x: gf.nn.static_rnn(CELLS.GRUCell(2), [], dtype=gf.float32), ValueError),
    ],
)
def test_what_cannot_be_run_is_an_error(build: Any, error: type[Exception]) -> None:
    with gf.Graph().as_default(), pytest.raises(error):
        build(gf.zeros([2, 3, 4]))

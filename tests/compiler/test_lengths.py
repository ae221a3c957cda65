"""Protects loops and branches that use what is fed under another name, as recurrent networks use the lengths.

Such a plan must be compiled, not only agree: a body that named a value which nobody brought to it once kept every
recurrent network with lengths on NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check

RNG = np.random.RandomState
CELLS: dict[str, Callable[[], Any]] = {
    "lstm": lambda: gf.nn.rnn_cell.LSTMCell(4),
    "gru": lambda: gf.nn.rnn_cell.GRUCell(4),
    "stacked": lambda: gf.nn.rnn_cell.MultiRNNCell([gf.nn.rnn_cell.BasicRNNCell(4) for _ in range(2)]),
}


def _sequences() -> tuple[Any, Any, dict[Any, Any]]:
    x, lengths = gf.placeholder(gf.float32, [None, None, 3]), gf.placeholder(gf.int32, [None])
    return x, lengths, {x: RNG(0).randn(3, 5, 3).astype("f"), lengths: np.array([5, 0, 3], "i")}


def _trained(outputs: Any) -> list[Any]:
    gf.set_random_seed(1)
    loss = gf.reduce_sum(gf.square(outputs))
    return [loss, gf.train.GradientDescentOptimizer(0.1).minimize(loss)]


@pytest.mark.parametrize("cell", CELLS)
def test_a_recurrent_network_with_lengths(cell: str) -> None:
    def model() -> Any:
        gf.set_random_seed(1)
        x, lengths, feeds = _sequences()
        outputs, _ = gf.nn.dynamic_rnn(CELLS[cell](), x, sequence_length=lengths, dtype=gf.float32)
        return _trained(outputs), feeds

    check(model)


def test_a_bidirectional_network_with_lengths() -> None:
    def model() -> Any:
        gf.set_random_seed(1)
        x, lengths, feeds = _sequences()
        cells = CELLS["gru"](), CELLS["gru"]()
        outputs, _ = gf.nn.bidirectional_dynamic_rnn(*cells, x, lengths, dtype=gf.float32)
        return _trained(gf.concat(outputs, 2)), feeds

    check(model)


def test_a_static_network_with_lengths() -> None:
    def model() -> Any:
        gf.set_random_seed(1)
        x, lengths, feeds = gf.placeholder(gf.float32, [3, 25, 3]), gf.placeholder(gf.int32, [3]), {}
        feeds = {x: RNG(0).randn(3, 25, 3).astype("f"), lengths: np.array([25, 0, 7], "i")}
        outputs, _ = gf.nn.static_rnn(
            CELLS["lstm"](), gf.unstack(x, axis=1), sequence_length=lengths, dtype=gf.float32
        )
        return _trained(gf.stack(outputs)), feeds

    check(model)


@pytest.mark.parametrize("hidden", ["loop", "branch", "loop in a loop", "branch in a loop"])
def test_what_is_fed_under_another_name_in_a_body(hidden: str) -> None:
    def model() -> Any:
        x, steps = gf.placeholder(gf.float32, [2, 3]), gf.placeholder(gf.int32, [])
        same, count = gf.identity(x), gf.identity(steps)

        def loop(v: Any, turn: Callable[[Any], Any]) -> Any:
            return gf.while_loop(lambda i, _: i < count, lambda i, v: (i + 1, turn(v)), [0, v])[1]

        def branch(v: Any) -> Any:
            return gf.cond(count > 2, lambda: v * same, lambda: v - same)

        turns: dict[str, Callable[[Any], Any]] = {
            "loop": lambda v: loop(v, lambda u: gf.tanh(u + same)),
            "branch": branch,
            "loop in a loop": lambda v: loop(v, lambda u: loop(u, lambda t: gf.tanh(t + same))),
            "branch in a loop": lambda v: loop(v, branch),
        }
        result = turns[hidden](gf.tanh(x) + 1.0)
        return [result, gf.gradients(result, x)[0]], {x: RNG(1).randn(2, 3).astype("f"), steps: 3}

    check(model)

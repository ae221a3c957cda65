"""Protects random numbers in loops that run natively: those of NumPy, turn for turn and run for run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.test_native_loops import run

DRAWS: dict[str, Callable[[], Any]] = {
    "uniform": lambda: gf.random_uniform([3, 4], seed=3),
    "doubles": lambda: gf.cast(gf.random_uniform([5], dtype=gf.float64, seed=3), gf.float32),
    "normal": lambda: gf.random_normal([7], seed=3),
    "truncated": lambda: gf.truncated_normal([600], seed=4),
    "integers": lambda: gf.cast(gf.random_uniform([9], 0, 70, gf.int32, seed=5), gf.float32),
    "shuffle": lambda: gf.random_shuffle(gf.range(6.0), seed=6),
    "classes": lambda: gf.cast(gf.multinomial(gf.zeros([2, 5]), 3, seed=7), gf.float32),
    "of no seed of its own": lambda: gf.random_uniform([2]),
    "two": lambda: gf.random_uniform([2], seed=1) - gf.random_normal([2], seed=2),
}


def _drawn_by_turns(draw: Callable[[], Any]) -> Any:
    turns = gf.placeholder(gf.int32, [])
    rows = gf.TensorArray(gf.float32, turns, element_shape=draw().shape)
    rows = gf.while_loop(lambda i, a: i < turns, lambda i, a: (i + 1, a.write(i, draw())), [0, rows])[1]
    return rows.stack(), turns


@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_are_those_of_numpy_in_every_turn_and_run(name: str) -> None:
    """Runs of other numbers of turns, on the one tier, the other, and the one again, are one sequence."""
    found = []
    for tier in ("never", "always"):
        with gf.Graph().as_default():
            gf.set_random_seed(11)
            rows, turns = _drawn_by_turns(DRAWS[name])
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                found.append([session.run(rows, {turns: n}) for n in (3, 3, 3, 5, 1, 3, 9, 3)])
                drawn = [x.tobytes() for array in found[-1] for x in array]
    assert name == "shuffle" or len(set(drawn)) == len(drawn), "none comes twice"
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def _dropped() -> Any:
    x, keep = gf.placeholder(gf.float32, [4, None, 3]), gf.placeholder(gf.float32, [])
    cells = [
        gf.nn.rnn_cell.DropoutWrapper(gf.nn.rnn_cell.LSTMCell(5), output_keep_prob=keep, seed=2) for _ in "ab"
    ]
    outputs, _ = gf.nn.dynamic_rnn(gf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=gf.float32)
    loss = gf.reduce_mean(gf.square(outputs - 0.3))
    train = gf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return [loss, train], {x: np.random.RandomState(1).randn(4, 6, 3), keep: 0.6}


def test_recurrent_networks_with_dropout_run_natively() -> None:
    expected, _ = run(_dropped, "never", 6)
    found, slow = run(_dropped, "always", 6)
    assert not slow
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_threads_draw_each_number_once() -> None:
    with gf.Graph().as_default():
        gf.set_random_seed(12)
        rows, turns = _drawn_by_turns(lambda: gf.random_uniform([], seed=1) + gf.random_uniform([], seed=2))
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            for _ in range(3):
                session.run(rows, {turns: 40})
            found: list[Any] = []

            def draw() -> None:
                for _ in range(25):
                    found.extend(session.run(rows, {turns: 40}))

            threads = [threading.Thread(target=draw) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
    assert len(found) == 4 * 25 * 40 and len(np.unique(found)) > 0.999 * len(found)


def test_a_loop_that_fails_has_drawn_what_it_has_drawn() -> None:
    def model() -> tuple[Any, Any]:
        bad = gf.placeholder(gf.int32, [])
        rows = gf.TensorArray(gf.float32, 6, element_shape=[2])

        def turn(i: Any, a: Any) -> Any:
            return i + 1, a.write(gf.where(gf.equal(i, bad), 77, i), gf.random_uniform([2], seed=9))

        rows = gf.while_loop(lambda i, a: i < 6, turn, [0, rows])[1]
        return rows.stack(), bad

    found = []
    for tier in ("never", "always"):
        with gf.Graph().as_default():
            gf.set_random_seed(13)
            rows, bad = model()
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                results = [session.run(rows, {bad: -1}) for _ in range(3)]
                with pytest.raises(gf.errors.OpError):
                    session.run(rows, {bad: 3})
                found.append([*results, session.run(rows, {bad: -1})])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)

"""Protects what follows a loop: it is compiled if the shapes that loops and lists give follow, and only then.

A shape that is taken for fixed and is not would give wrong numbers, so most of these loops do what a proof must not
miss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, flat, left_to_numpy

RNG = np.random.RandomState
Program = Callable[[], tuple[Any, Callable[[int], dict[Any, Any]]]]
LISTS = {
    "TensorArrayV3",
    "TensorArrayScatterV3",
    "TensorArrayGatherV3",
    "TensorArraySizeV3",
    "TensorArrayGradV3",
    "Range",
    "While",
}


def _sequence(n: int, turns: int = 5) -> Any:
    return RNG(n + turns).randn(n, turns, 6).astype("f")


def _trained(loss: Any) -> list[Any]:
    return [loss, gf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)]


def _recurrent(cell: Any, backwards: bool = False, **arguments: Any) -> Any:
    """Training of a network whose batch the graph does not know, with a layer behind its cells."""
    x = gf.placeholder(gf.float32, [None, None, 6])
    if backwards:
        outputs, _ = gf.nn.bidirectional_dynamic_rnn(cell, cell, x, dtype=gf.float32, **arguments)
        whole = gf.concat(outputs, 2)
    else:
        whole, _ = gf.nn.dynamic_rnn(cell, x, dtype=gf.float32, **arguments)
    hidden = gf.layers.dense(gf.tanh(whole), 7, activation=gf.nn.relu, kernel_initializer=_weights)
    loss = gf.reduce_mean(gf.square(gf.nn.softmax(hidden) - 0.2)) + gf.reduce_mean(gf.square(whole[:, -1]))
    return _trained(loss), {x: _sequence(4)}


def _weights(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    return gf.constant(RNG(3).randn(*map(int, shape)) * 0.3, dtype or gf.float32)


CELLS: dict[str, Callable[[], Any]] = {
    "BasicLSTMCell": lambda: gf.nn.rnn_cell.BasicLSTMCell(5),
    "LSTMCell with a projection": lambda: gf.nn.rnn_cell.LSTMCell(5, num_proj=3, use_peepholes=True),
    "GRUCell": lambda: gf.nn.rnn_cell.GRUCell(5),
    "two layers": lambda: gf.nn.rnn_cell.MultiRNNCell(
        [gf.nn.rnn_cell.GRUCell(5), gf.nn.rnn_cell.BasicRNNCell(4)]
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_what_follows_a_recurrent_network_of_any_batch_is_compiled(name: str) -> None:
    def model() -> Any:
        with gf.variable_scope("", initializer=_weights):
            return _recurrent(CELLS[name]())

    assert set(left_to_numpy(model)) <= LISTS
    check(model, tolerance=2e-4)


def test_so_is_what_follows_one_in_both_directions() -> None:
    def model() -> Any:
        with gf.variable_scope("", initializer=_weights):
            return _recurrent(gf.nn.rnn_cell.GRUCell(5), backwards=True)

    assert set(left_to_numpy(model)) <= LISTS
    check(model, tolerance=2e-4)


def test_so_are_the_gradients_of_what_the_loop_takes() -> None:
    """Rows of a list of gradients have the shape of the rows of the list."""

    def model() -> Any:
        ids = gf.placeholder(gf.int32, [None, None])
        table = gf.get_variable("table", [9, 6], initializer=_weights)
        with gf.variable_scope("", initializer=_weights):
            whole, _ = gf.nn.dynamic_rnn(
                gf.nn.rnn_cell.GRUCell(5), gf.gather(table, ids) * 2.0, dtype=gf.float32
            )
        return _trained(gf.reduce_mean(gf.square(gf.tanh(whole)))), {ids: RNG(1).randint(0, 9, (4, 5))}

    assert set(left_to_numpy(model)) <= LISTS
    check(model, tolerance=2e-4)


# ---- what a proof must not miss -------------------------------------------------------------------------------------


def _in_both_tiers(program: Program, runs: int = 12) -> None:
    """What each run gives, and leaves in variables, in both tiers."""
    found: dict[str, list[Any]] = {}
    for tier in ("never", "always"):
        with gf.Graph().as_default():
            fetches, feeds = program()
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                session.run(gf.global_variables_initializer())
                found[tier] = [session.run(fetches, feeds(k)) for k in range(runs)]
                found[tier].append(session.run(gf.global_variables()))
    for one, other in zip(flat(found["always"]), flat(found["never"]), strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def _behind(x: Any) -> Any:
    """So much that it would pay to compile it."""
    for k in range(10):
        x = gf.tanh(x * (1.0 + 0.1 * k)) + 0.5
    return x


def growing() -> Any:
    """A variable that is longer in each turn."""
    x, turns = gf.placeholder(gf.float32, [None, 3]), gf.placeholder(gf.int32, [])
    _, grown = gf.while_loop(
        lambda k, v: k < turns,
        lambda k, v: (k + 1, gf.concat([v, v[:1]], 0)),
        [0, x],
        [gf.TensorShape([]), gf.TensorShape([None, 3])],
    )
    return _behind(grown), lambda k: {x: np.ones((2, 3)), turns: k % 3}


def growing_without_a_word() -> Any:
    """The same, where the graph says no more of the shape at the beginning either."""
    x, turns = gf.placeholder(gf.float32, [None, None]), gf.placeholder(gf.int32, [])
    _, grown = gf.while_loop(lambda k, v: k < turns, lambda k, v: (k + 1, gf.concat([v, v], 1)), [0, x])
    return _behind(grown), lambda k: {x: np.ones((2, 3)), turns: (1, 0, 2)[k % 3]}


def broadcast_by_its_first_turn() -> Any:
    """One row before the first turn, and several after it."""
    x, turns = gf.placeholder(gf.float32, [None, 3]), gf.placeholder(gf.int32, [])
    start = gf.placeholder_with_default(np.zeros((1, 3), "f"), [None, 3])
    _, total = gf.while_loop(lambda k, v: k < turns, lambda k, v: (k + 1, v + x), [0, start])
    return _behind(total), lambda k: {x: np.ones((4, 3)), turns: (2, 1, 0)[k % 3]}


def swapping() -> Any:
    """Two variables that change places, of the same rank and other sizes."""
    x, y = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.float32, [None])
    turns = gf.placeholder(gf.int32, [])
    _, first, second = gf.while_loop(lambda k, a, b: k < turns, lambda k, a, b: (k + 1, b, a), [0, x, y])
    return [_behind(first), _behind(second)], lambda k: {
        x: np.ones(3),
        y: np.ones(5),
        turns: (2, 1, 3)[k % 3],
    }


def sized_by_its_counter() -> Any:
    """Rows that are as long as the turn says, of which the last is kept."""
    x, turns = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.int32, [])
    _, kept = gf.while_loop(
        lambda k, v: k < turns,
        lambda k, v: (k + 1, x[: k + 1]),
        [0, x],
        [gf.TensorShape([]), gf.TensorShape([None])],
    )
    return _behind(kept), lambda k: {x: np.arange(6.0), turns: (6, 3, 1)[k % 3]}


def rows_of_several_lengths() -> Any:
    """A list whose rows have other shapes in each turn, joined."""
    x, turns = gf.placeholder(gf.float32, [None, 2]), gf.placeholder(gf.int32, [])
    array = gf.TensorArray(gf.float32, turns, infer_shape=False)
    _, array = gf.while_loop(
        lambda k, a: k < turns, lambda k, a: (k + 1, a.write(k, x[: k + 1] * 2.0)), [0, array]
    )
    return _behind(array.concat()), lambda k: {x: np.ones((4, 2)), turns: (4, 2, 3)[k % 3]}


def rows_of_one_length_in_a_run() -> Any:
    """A list whose rows have one shape in each run, which a value says."""
    x, rows = gf.placeholder(gf.float32, [None, 2]), gf.placeholder(gf.int64, [None])
    length = gf.reduce_max(rows)
    array = gf.TensorArray(gf.float32, 3, infer_shape=False)
    _, array = gf.while_loop(
        lambda k, a: k < 3, lambda k, a: (k + 1, a.write(k, x[:length] * 2.0)), [0, array]
    )
    return _behind(array.stack()), lambda k: {x: np.ones((4, 2)), rows: [1, (4, 2, 3)[k % 3]]}


def a_list_that_grows() -> Any:
    """As many rows as there are turns, which a value says."""
    x, turns = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.int32, [])
    array = gf.TensorArray(gf.float32, 0, dynamic_size=True)
    _, array = gf.while_loop(lambda k, a: k < turns, lambda k, a: (k + 1, a.write(k, x + 1.0)), [0, array])
    stacked = array.stack()
    loss = gf.reduce_sum(_behind(stacked))
    return [loss, gf.gradients(loss, x)[0]], lambda k: {x: np.ones(3), turns: (4, 2, 3)[k % 3]}


def kept_rows() -> Any:
    """What a mask keeps in each turn, of the shape of what it starts with in the first run."""
    x, least = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.float32, [])
    _, kept = gf.while_loop(
        lambda k, v: k < 2,
        lambda k, v: (k + 1, gf.boolean_mask(v, v >= least)),
        [0, x],
        [gf.TensorShape([]), gf.TensorShape([None])],
    )
    return _behind(kept), lambda k: {x: np.arange(5.0), least: (0.0, 2.0, 9.0)[k % 3]}


def decided_in_each_turn() -> Any:
    """A branch inside of the loop, one side of which gives another shape."""
    x, early = gf.placeholder(gf.float32, [None, 2]), gf.placeholder(gf.int32, [None])
    limit = gf.reduce_sum(early)
    _, found = gf.while_loop(
        lambda k, v: k < 3,
        lambda k, v: (k + 1, gf.cond(k < limit, lambda: v * 2.0, lambda: gf.concat([v, x], 0))),
        [0, x],
        [gf.TensorShape([]), gf.TensorShape([None, 2])],
    )
    return _behind(found), lambda k: {x: np.ones((2, 2)), early: [(9, 1, 2)[k % 3]]}


def one_loop_in_another() -> Any:
    """Training through two loops, of which the inner one has as many turns as the outer one is at."""
    x, turns = gf.placeholder(gf.float32, [None, 3]), gf.placeholder(gf.int32, [])
    w = gf.get_variable("w", initializer=RNG(1).randn(3, 3).astype("f") * 0.3)

    def turn(k: Any, v: Any) -> Any:
        inner = gf.while_loop(lambda j, u: j < k, lambda j, u: (j + 1, gf.tanh(u @ w)), [0, v])
        return k + 1, inner[1] + x

    _, found = gf.while_loop(lambda k, v: k < turns, turn, [0, x])
    return _trained(gf.reduce_mean(_behind(found))), lambda k: {
        x: RNG(k).randn(2, 3),
        turns: (3, 0, 2)[k % 3],
    }


def lengths() -> Any:
    """A recurrent network whose sequences end early, all of them in some runs."""
    x, ends = gf.placeholder(gf.float32, [None, None, 6]), gf.placeholder(gf.int32, [None])
    with gf.variable_scope("", initializer=_weights):
        whole, state = gf.nn.dynamic_rnn(gf.nn.rnn_cell.GRUCell(5), x, ends, dtype=gf.float32)
    loss = gf.reduce_mean(_behind(whole)) + gf.reduce_mean(state)
    return _trained(loss), lambda k: {x: _sequence(3, 2 + k % 2), ends: RNG(k).randint(0, 3, 3) * (k % 4 > 0)}


PROGRAMS = [
    growing,
    growing_without_a_word,
    broadcast_by_its_first_turn,
    swapping,
    sized_by_its_counter,
    rows_of_several_lengths,
    rows_of_one_length_in_a_run,
    a_list_that_grows,
    kept_rows,
    decided_in_each_turn,
    one_loop_in_another,
    lengths,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_shapes_that_do_not_follow_are_those_of_the_run(program: Program) -> None:
    _in_both_tiers(program)

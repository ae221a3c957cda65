"""Protects what follows a list that grows: it is compiled if there are as many rows in every run, and only then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.compiler.shapes.test_loops import LISTS, Program, _behind, _in_both_tiers
from tests.runtime.compiled.tiers import check, left_to_numpy


def _list() -> Any:
    return gf.TensorArray(gf.float32, 0, dynamic_size=True)


def _grown(x: Any, turns: Any, first: Any = 0, array: Any = None, step: int = 1) -> Any:
    """A list with a row for each turn."""
    body = lambda k, a: (k + step, a.write(k, gf.tanh(x) + gf.cast(k, gf.float32)))  # noqa: E731
    return gf.while_loop(lambda k, a: k < turns, body, [first, array or _list()])[1]


def _nested(x: Any) -> Any:
    def turn(k: Any, a: Any) -> Any:
        inner = gf.while_loop(lambda j, _: j < 2, lambda j, b: (j + 1, b.write(2 * k + j, x * 2.0)), [0, a])
        return k + 1, inner[1]

    return gf.while_loop(lambda k, _: k < 3, turn, [0, _list()])[1]


def _until_either(x: Any) -> Any:
    return gf.while_loop(
        lambda k, left, a: gf.logical_and(k < 9, left > 0),
        lambda k, left, a: (k + 1, left - 2, a.write(k, x)),
        [0, gf.shape(x)[0], _list()],
    )[2]


FOLLOWS = {
    "constant": lambda x: _grown(x, 4),
    "size of what is fed": lambda x: _grown(x, gf.shape(x)[0]),
    "every second row": lambda x: _grown(x, 6, 1, _list().write(0, x).write(2, x).write(4, x), 2),
    "two loops": lambda x: _grown(x, 5, 3, _grown(x, 3)),
    "one loop in another": _nested,
    "until either counter has come to its end": _until_either,
}


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_follows_as_many_rows_in_every_run_is_compiled(name: str) -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [None, 3])
        stacked = FOLLOWS[name](x).stack()
        return [gf.reduce_sum(_behind(stacked)), gf.gradients(_behind(stacked), x)[0]], {x: np.ones((4, 3))}

    assert set(left_to_numpy(model)) <= LISTS | {"TensorArrayReadV3", "TensorArrayWriteV3"}
    check(model, tolerance=1e-4)


def _joined(x: Any) -> Any:
    """Two rows in each turn, one behind the other."""
    array = gf.TensorArray(gf.float32, 0, dynamic_size=True, infer_shape=False)

    def turn(k, a):
        return (k + 1, a.write(a.size(), x[:2] + gf.cast(k, gf.float32)))

    return gf.while_loop(lambda k, a: k < 4, turn, [0, array])[1].concat()


def test_what_follows_joined_rows_of_one_shape_is_compiled() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [None, 3])
        joined = _behind(_joined(x))
        return [joined, gf.gradients(gf.square(joined), x)[0]], {x: np.ones((4, 3))}

    also = {"TensorArrayReadV3", "TensorArrayWriteV3", "TensorArrayConcatV3", "TensorArraySplitV3"}
    assert set(left_to_numpy(model)) <= LISTS | also
    check(model, tolerance=1e-4)


def joined_rows_of_other_lengths() -> Any:
    x, length = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.int32, [None])
    array = gf.TensorArray(gf.float32, 0, dynamic_size=True, infer_shape=False)
    _, array = gf.while_loop(
        lambda k, a: k < 3, lambda k, a: (k + 1, a.write(a.size(), x[: length[0]] * 2.0)), [0, array]
    )
    joined = _behind(array.concat())
    return [joined, gf.gradients(joined, x)[0]], lambda k: {x: np.ones(4), length: [(2, 4, 1)[k % 3]]}


def ends_by_a_value() -> Any:
    """As many turns as a sum needs to come to what is fed."""
    x, most = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.float32, [None])
    _, _, array = gf.while_loop(
        lambda k, s, a: gf.logical_and(k < 9, s < most[0]),
        lambda k, s, a: (k + 1, s + 1.0, a.write(k, x + s)),
        [0, 0.0, _list()],
    )
    return _behind(array.stack()), lambda k: {x: np.ones(3), most: [(2.5, 4.0, 8.5)[k % 3]]}


def written_at_a_fed_place() -> Any:
    """One row in each turn, at an index that a value says."""
    x, places = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.int32, [None])
    _, array = gf.while_loop(
        lambda k, a: k < 2, lambda k, a: (k + 1, a.write(places[k], x)), [0, gf.TensorArray(
            gf.float32, 0, dynamic_size=True, element_shape=[3]
        )]
    )  # fmt: skip
    return _behind(array.stack()), lambda k: {x: np.ones(3), places: [(0, 1), (2, 0), (4, 3)][k % 3]}


def written_in_a_branch() -> Any:
    """A row in some of the turns: as many turns in every run, and other rows."""
    x, chosen = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.bool, [None])

    def turn(k: Any, flow: Any) -> Any:
        array = gf.TensorArray(gf.float32, handle=made.handle, flow=flow)
        return k + 1, gf.cond(chosen[k], lambda: array.write(k, x).flow, lambda: flow)

    made = gf.TensorArray(gf.float32, 0, dynamic_size=True, element_shape=[3])
    _, flow = gf.while_loop(lambda k, f: k < 4, turn, [0, made.flow])
    array = gf.TensorArray(gf.float32, handle=made.handle, flow=flow)
    stacked = array.gather(gf.range(array.size()))
    return _behind(stacked), lambda k: {x: np.ones(3), chosen: np.arange(4) < (4, 2, 3)[k % 3]}


def one_more_loop() -> Any:
    """A list that is stacked between two loops, of which the second takes as many turns as a value says."""
    x, more = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.float32, [None])
    array = gf.TensorArray(gf.float32, 0, dynamic_size=True, clear_after_read=False)
    array = _grown(x, 3, 0, array)
    before = array.stack()
    until = gf.cast(gf.reduce_sum(more), gf.int32)
    with gf.control_dependencies([before]):
        array = _grown(x, until, gf.identity(3), array)
    return [_behind(before), _behind(array.stack())], lambda k: {
        x: np.ones(2),
        more: [(4.0, 3.0, 6.0)[k % 3]],
    }


def a_counter_that_a_value_moves() -> Any:
    """Steps of the counter that are fed."""
    x, step = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.int32, [None])
    _, n, array = gf.while_loop(
        lambda k, n, a: k < 6, lambda k, n, a: (k + step[0], n + 1, a.write(n, x)), [0, 0, _list()]
    )
    return [n, _behind(array.stack())], lambda k: {x: np.ones(3), step: [(2, 1, 3)[k % 3]]}


def sized_in_each_turn() -> Any:
    """What a branch makes of the size that the list has in the turn in which it is taken."""
    x, at = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.int32, [None])

    def turn(k: Any, s: Any, a: Any) -> Any:
        a = a.write(k, x)
        filled = gf.cond(
            gf.equal(k, at[0]), lambda: gf.reduce_sum(_behind(gf.fill([a.size()], 1.0))), lambda: 0.0
        )
        return k + 1, s + filled, a

    _, summed, array = gf.while_loop(lambda k, *_: k < 5, turn, [0, 0.0, _list()])
    return [summed, _behind(array.stack())], lambda k: {x: np.ones(3), at: [(0, 3, 1, 4)[k % 4]]}


def sized_between_two_loops() -> Any:
    """A list of its own in each turn, of as many rows as the turn says, of which the last is kept."""
    x = gf.placeholder(gf.float32, [None])
    at = gf.placeholder(gf.int32, [None])

    def turn(k: Any, s: Any) -> Any:
        grown = _grown(x, k + 1)
        return k + 1, gf.cond(gf.equal(k, at[0]), lambda: gf.reduce_sum(_behind(grown.stack())), lambda: s)

    _, summed = gf.while_loop(lambda k, _: k < 4, turn, [0, 0.0])
    return summed, lambda k: {x: np.ones(3), at: [(0, 3, 1)[k % 3]]}


PROGRAMS = [
    joined_rows_of_other_lengths,
    sized_in_each_turn,
    sized_between_two_loops,
    ends_by_a_value,
    written_at_a_fed_place,
    written_in_a_branch,
    one_more_loop,
    a_counter_that_a_value_moves,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_other_rows_in_other_runs_are_those_of_the_run(program: Program) -> None:
    _in_both_tiers(program)

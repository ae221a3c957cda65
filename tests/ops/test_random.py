"""Protects the state of random ops: one for each op and session, which goes on from run to run and can be put back.

The numbers themselves are compared with TensorFlow's by tests/oracle (family random) and tests/common/test_philox.py.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import errors
from graphflow._core.graph import dtypes
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import registry
from graphflow._core.graph.random_seed import set_random_seed
from graphflow._core.ops import random
from graphflow._core.ops.array.array import placeholder
from graphflow._core.session import Session


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as fresh:
        yield fresh


OPS = {
    "random_normal": lambda: random.random_normal([3], seed=1),
    "truncated_normal": lambda: random.truncated_normal([3], seed=1),
    "random_uniform": lambda: random.random_uniform([3], seed=1),
    "random_uniform_int": lambda: random.random_uniform([3], maxval=1000, dtype=dtypes.int64, seed=1),
    "random_shuffle": lambda: random.random_shuffle(list(range(50)), seed=1),
    "multinomial": lambda: random.multinomial([[0.1] * 50], 5, seed=1),
    "categorical": lambda: random.categorical([[0.1] * 50], 5, dtypes.int32, seed=1),
    "random_gamma": lambda: random.random_gamma([3], [2.0, 3.0], [1.0, 2.0], seed=1),
    "random_poisson": lambda: random.random_poisson([100.0, 1e4], [3], seed=1),
    "random_crop": lambda: random.random_crop(np.arange(900).reshape(30, 30), [2, 2], seed=1),
}


@pytest.mark.parametrize("name", OPS)
def test_a_seeded_op_goes_on_and_begins_again_in_a_new_session(name: str) -> None:
    drawn = OPS[name]()
    with Session() as session:
        first, second = session.run(drawn), session.run(drawn)
    with Session() as session:
        assert np.array_equal(session.run(drawn), first) and np.array_equal(session.run(drawn), second)
    assert not np.array_equal(first, second)
    assert first.shape == tuple(drawn.shape.as_list()) and first.dtype == drawn.dtype.as_numpy_dtype


@pytest.mark.parametrize("name", OPS)
def test_a_state_taken_from_the_store_can_be_put_back(name: str) -> None:
    drawn = OPS[name]()
    with Session() as session:
        session.run(drawn)
        states = session.store.get_state()
        expected = session.run(drawn)
        assert len([owner for owner in states if owner.startswith("random/")]) == 1
        session.store.set_state(states)
        assert np.array_equal(session.run(drawn), expected)
    with Session() as another:  # here it is not made yet
        another.store.set_state(states)
        assert another.store.get_state().keys() == states.keys()
        assert np.array_equal(another.run(drawn), expected)


@pytest.mark.parametrize("alpha", [0.3, 2.0, 50.0, 1e5])
def test_gamma_draws_move_with_alpha_as_their_moments_do(alpha: float) -> None:
    parameter = gf.constant(alpha, dtype=dtypes.float64)
    drawn = random.random_gamma([20_000], parameter, dtype=dtypes.float64, seed=4)
    moments = gf.reduce_mean(drawn), gf.reduce_mean(drawn * drawn)
    slopes = [gf.gradients(moment, parameter)[0] for moment in moments]
    with Session() as session:
        mean, square = session.run(slopes)
    np.testing.assert_allclose(mean, 1.0, rtol=0.05)  # The mean is alpha,
    np.testing.assert_allclose(square, 1.0 + 2.0 * alpha, rtol=0.1)  # that of squares alpha + alpha ** 2.


def test_no_random_op_is_folded_or_merged() -> None:
    drawn = [build() for build in OPS.values()]
    types = {op.type for t in drawn for op in t.graph.get_operations() if "seed2" in op.attrs}
    assert len(types) == 8 and all(registry()[name].stateful for name in types)
    with Session() as session:
        twins = [random.random_uniform([3], seed=1), random.random_uniform([3], seed=1)]
        session.run(twins)
        keys = session.store.others()
    assert {f"random/{t.op.inputs[0].op.inputs[0].op.name}" for t in twins} <= set(keys)


def test_two_ops_draw_different_numbers_under_a_graph_seed() -> None:
    set_random_seed(7)
    pair = [random.random_normal([4]), random.random_normal([4])]
    with Session() as session:
        first, second = session.run(pair)
    assert not np.array_equal(first, second)


def test_threads_take_turns_in_one_stream() -> None:
    drawn = random.random_uniform([1000], seed=3)
    with Session() as session:
        expected = [session.run(drawn) for _ in range(16)]
    found: list[Any] = []
    with Session() as session:
        run = session.make_callable(drawn)
        threads = [threading.Thread(target=lambda: found.extend(run() for _ in range(4))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(map(bytes, found)) == sorted(map(bytes, expected))


def test_a_shape_known_only_at_the_run() -> None:
    shape = placeholder(dtypes.int32, [2])
    drawn = random.random_normal(shape, seed=1)
    assert drawn.shape.as_list() == [None, None]
    with Session() as session:
        assert session.run(drawn, {shape: [2, 0]}).shape == (2, 0)
        with pytest.raises(errors.InvalidArgumentError, match="must be >= 0"):
            session.run(drawn, {shape: [2, -1]})


def test_bad_parameters_are_errors_at_the_run() -> None:
    low, logits = placeholder(dtypes.int32, []), placeholder(dtypes.float32, [None, None])
    with Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match="minval < maxval"):
            session.run(random.random_uniform([2], low, 5, dtypes.int32), {low: 5})
        with pytest.raises(errors.InvalidArgumentError, match="num_classes should be positive"):
            session.run(random.multinomial(logits, 2), {logits: np.zeros((1, 0))})
        with pytest.raises(errors.InvalidArgumentError, match="rate must be between"):
            session.run(random.random_poisson([-1.0], [2]))
        with pytest.raises(errors.InvalidArgumentError, match=r"Need value\.shape >= size"):
            session.run(random.random_crop([1, 2], [3]))

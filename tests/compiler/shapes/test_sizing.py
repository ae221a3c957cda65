"""Protects plans whose sizes are fed as values: what follows is compiled, for each value, and right for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.compiler.shapes.sizing import sizing_feeds
from graphflow._core.session import executable_for
from tests.runtime.compiled.tiers import check, compiled_plans, flat, left_to_numpy

RNG = np.random.RandomState
Program = Callable[[], tuple[Any, Callable[[int], dict[Any, Any]]]]


def _chain(x: Any) -> Any:
    for k in range(6):
        x = gf.tanh(x * (1.0 + 0.1 * k)) + gf.reduce_mean(gf.square(x))
    return x


def _trained(loss: Any) -> list[Any]:
    return [loss, gf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)]


def a_batch() -> Any:
    """The number of examples, as programs feed it for a first state."""
    x, count = gf.placeholder(gf.float32, [None, 4]), gf.placeholder(gf.int32, [])
    w = gf.get_variable("w", initializer=RNG(1).randn(4, 3).astype("f"))
    state = gf.zeros([count, 3]) + 0.1
    loss = gf.reduce_mean(gf.reshape(_chain(x @ w + state), [count, 3]))
    return _trained(loss), lambda n: {x: RNG(n).randn(n, 4), count: n}


def a_shape() -> Any:
    """A whole shape, by which something is reshaped, and what is made of it."""
    x, shape = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.int64, [2])
    turned = gf.transpose(gf.reshape(x, shape))
    padded = gf.concat([turned, gf.ones([shape[1], 2 * gf.to_int32(shape)[0]])], 1)
    return [_chain(padded), gf.reduce_sum(padded, 0)], lambda n: {x: RNG(n).randn(3 * n), shape: [n, 3]}


def a_sparse_tensor() -> Any:
    """A SparseTensor, whose dense shape is a value."""
    support = gf.sparse_placeholder(gf.float32)
    w = gf.get_variable("w", initializer=RNG(1).randn(5, 3).astype("f"))
    loss = gf.reduce_mean(gf.square(_chain(gf.sparse_tensor_dense_matmul(support, w)) - 0.5))

    def feeds(n: int) -> dict[Any, Any]:
        where = np.argwhere(RNG(n).rand(n, 5) < 0.4)
        return {support: (where, RNG(n).rand(len(where)), [n, 5])}

    return _trained(loss), feeds


def a_range_and_a_noise() -> Any:
    """Positions, and as much noise as is asked for."""
    count, high = gf.placeholder(gf.int32, []), gf.placeholder(gf.float32, [])
    noise = gf.random_uniform([count, 2], seed=3)
    return _chain(noise * high + gf.to_float(gf.range(count))[:, None]), lambda n: {count: n, high: 2.0}


PROGRAMS = [a_batch, a_shape, a_sparse_tensor, a_range_and_a_noise]
NAMES = [program.__name__ for program in PROGRAMS]


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_what_is_as_large_as_a_value_says_is_compiled(program: Program) -> None:
    def model() -> Any:
        fetches, feeds = program()
        return fetches, feeds(5)

    assert set(left_to_numpy(model)) <= {"RandomUniform", "SparseTensorDenseMatMul"}
    check(model, tolerance=2e-4)


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_other_values_give_what_numpy_gives(program: Program) -> None:
    sizes = [5, 7, 5, 3, 1, 2, 0, 8, 40, 7, 9, 1, 0, 17, 64]
    found = {}
    for tier in ("never", "always"):
        with gf.Graph().as_default():
            fetches, feeds = program()
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                session.run(gf.global_variables_initializer())
                found[tier] = [session.run(fetches, feeds(n)) for n in sizes]
                found[tier].append(session.run(gf.global_variables()))
    for one, other in zip(flat(found["always"]), flat(found["never"]), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-5)


def test_a_template_fills_in_values_that_nobody_has_seen() -> None:
    with gf.Graph().as_default():
        fetches, feeds = a_batch()
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            session.run(gf.global_variables_initializer())
            for n in (5, 5, 5, 7, 7, 9):
                session.run(fetches, feeds(n))
            for n in range(20, 60):
                session.run(fetches, feeds(n))
            plans = compiled_plans(session)
            assert len(plans) >= 40
            assert sum(type(plan).__name__ == "FilledPlan" for plan in plans) > 30


def test_a_value_that_is_none_of_a_shape_is_an_error_as_on_numpy() -> None:
    with gf.Graph().as_default():
        x, shape = gf.placeholder(gf.float32, [None]), gf.placeholder(gf.int32, [None])
        y = _chain(gf.reshape(x, shape, name="the_place"))
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            for wrong in ([5, 5], [-1, -1], [-3, 4], [2**30, 2**30]):
                for _ in range(3):
                    assert session.run(y, {x: np.ones(12), shape: [3, 4]}).shape == (3, 4)
                    with pytest.raises(gf.errors.OpError, match="the_place"):
                        session.run(y, {x: np.ones(12), shape: wrong})
            assert session.run(y, {x: np.ones(12), shape: [2, -1]}).shape == (2, 6)
            assert session.run(y, {x: np.ones(12), shape: [2, -1]}).shape == (2, 6)
            assert session.run(y, {x: np.ones(12), shape: [1] * 9 + [12]}).shape == (1,) * 9 + (12,)


def test_a_value_in_every_form_that_can_be_fed_is_the_same() -> None:
    with gf.Graph().as_default():
        count = gf.placeholder(gf.int32, [])
        y = _chain(gf.fill([count, 2], 0.5) * gf.get_variable("w", initializer=2.0))
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            session.run(gf.global_variables_initializer())
            for value in (3, np.int32(3), np.array(3), np.array(3, np.int64), np.array([3, 4])[0]) * 2:
                assert session.run(y, {count: value}).shape == (3, 2)
            assert len(executable_for(session, y, [count]).compiled()) == 1


# ---- values that turn out to be data ---------------------------------------------------------------------------------


def _a_moment(steps: int) -> tuple[Any, Callable[[int], dict[Any, Any]]]:
    """Training on what lies before a fed moment, which is another one in each run."""
    gf.set_random_seed(2)
    x, moment = gf.placeholder(gf.float32, [None, steps]), gf.placeholder(gf.int32, [])
    w = gf.get_variable("w", initializer=RNG(1).randn(steps).astype("f"))
    loss = gf.reduce_mean(_chain(x * w)) + gf.reduce_mean(gf.square(x[:, :moment]))
    return _trained(loss), lambda k: {x: RNG(k).randn(4, steps), moment: 1 + (k * 7) % steps}


def _sizing(session: gf.Session, fetches: Any, feeds: Any) -> tuple[int, ...]:
    executable = executable_for(session, fetches, list(feeds))
    return getattr(executable, "whole", executable).values.sizing


@pytest.mark.parametrize("tier", ["auto", "always"])
def test_values_that_are_others_in_every_run_are_given_up(tier: str) -> None:
    steps = 60
    with gf.Graph().as_default():
        fetches, feeds = _a_moment(steps)
        with gf.Session(config=gf.ConfigProto(compiled="never")) as session:
            session.run(gf.global_variables_initializer())
            expected = [session.run(fetches, feeds(k))[0] for k in range(steps)]
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            session.run(gf.global_variables_initializer())
            found = []
            for k in range(steps):
                found.append(session.run(fetches, feeds(k))[0])
                if k == 8:
                    assert _sizing(session, fetches, feeds(0))
            assert not _sizing(session, fetches, feeds(0))
            assert "compiled for (4, 60), ()\n" in session.explain(fetches, feeds(0), compiled=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("stop", [2, 6, 8, 12, 16, 17, 18, 24, 40])
def test_that_happens_at_the_same_run_if_it_goes_on_from_saved_state(stop: int) -> None:
    steps = 44

    def values(session: gf.Session) -> dict[str, Any]:
        return {cell.name: cell.value.copy() for cell in session.store.variables()}

    with gf.Graph().as_default():
        fetches, feeds = _a_moment(50)
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for step in range(steps):
                if step == stop:
                    saved, state = values(session), session.store.get_state()
                session.run(fetches, feeds(step))
            expected = values(session)
            assert not _sizing(session, fetches, feeds(0))
    with gf.Graph().as_default():
        fetches, feeds = _a_moment(50)
        with gf.Session() as session:
            for variable in gf.global_variables():
                variable.load(saved[variable.op.name], session)
            session.store.set_state(state)
            for step in range(stop, steps):
                session.run(fetches, feeds(step))
            found = values(session)
    for name, value in expected.items():
        assert found[name].tobytes() == value.tobytes(), name


@pytest.mark.parametrize(
    ("what", "sizing"),
    [
        (lambda x, n: gf.gather(x, n), False),
        (lambda x, n: x + gf.to_float(n), False),
        (lambda x, n: gf.one_hot(n, 3), False),
        (lambda x, n: gf.cond(n > 2, lambda: x, lambda: x * 2.0), False),
        (lambda x, n: gf.sequence_mask(gf.stack([n, 2])), False),
        (lambda x, n: gf.reshape(x, [n, -1]), True),
        (lambda x, n: gf.tile(x, [n, 1]), True),
        (lambda x, n: gf.while_loop(lambda k: k < n, lambda k: k + 1, [0]), False),
        (lambda x, n: gf.while_loop(lambda v: gf.shape(v)[0] < n, lambda v: v + gf.zeros([n, 3]), [x]), True),
    ],
)
def test_which_feeds_are_sizes(what: Callable[[Any, Any], Any], sizing: bool) -> None:
    with gf.Graph().as_default():
        x, n = gf.placeholder(gf.float32, [None, 3]), gf.placeholder(gf.int32, [])
        with gf.Session() as session:
            plan = session.plan(what(x, n), [x, n])[0]
    assert bool(sizing_feeds(plan)) == sizing

"""Protects plans in which sizes follow from values: what follows is compiled, cut off where that is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime.cutting import CutExecutable
from graphflow._core.session import executable_for
from tests.runtime.compiled.tiers import check, compiled_plans, left_to_numpy

Feeds = Callable[[int], dict[Any, Any]]


def _chain(x: Any) -> Any:
    for k in range(12):
        x = gf.tanh(x * (1.0 + 0.1 * k)) + gf.reduce_mean(gf.square(x))
    return x


def _of_kept(filter: Callable[[Any, Any], Any]) -> tuple[Any, Any, Feeds]:
    """Training of a layer on the rows that a fed value keeps, of which there are others in each run."""
    x = gf.placeholder(gf.float32, [20, 6])
    kept = gf.placeholder(gf.bool, [20])
    w = gf.get_variable("w", initializer=np.random.RandomState(3).randn(6, 4).astype("f"))
    hidden = _chain(gf.matmul(filter(x, kept), w))
    loss = gf.reduce_mean(gf.square(hidden - 0.5)) + gf.reduce_mean(_chain(x))
    train = gf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)

    def feeds(step: int) -> dict[Any, Any]:
        random = np.random.RandomState(step)
        return {x: random.randn(20, 6), kept: np.arange(20) < 3 + step % 4}

    return [loss, train], kept, feeds


@pytest.fixture
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


FILTERS: dict[str, Callable[[Any, Any], Any]] = {
    "boolean_mask": gf.boolean_mask,
    "where and gather_nd": lambda x, kept: gf.gather_nd(x, gf.where(kept)),
    "dynamic_partition": lambda x, kept: gf.dynamic_partition(x, gf.to_int32(kept), 2)[1],
    "two of them": lambda x, kept: gf.boolean_mask(
        _chain(gf.boolean_mask(x, kept)), gf.boolean_mask(kept, kept)
    ),
    "a sum of segments": lambda x, kept: gf.segment_sum(x, gf.cumsum(gf.to_int32(kept), exclusive=True)),
}


@pytest.mark.parametrize("name", FILTERS)
def test_what_follows_is_compiled_and_agrees(name: str) -> None:
    def trained(tier: str) -> tuple[list[Any], list[str]]:
        with gf.Graph().as_default():
            fetches, _, feeds = _of_kept(FILTERS[name])
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                session.run(gf.global_variables_initializer())
                losses = [session.run(fetches, feeds(step))[0] for step in range(9)]
                plans = compiled_plans(session)
                executable = executable_for(session, fetches, list(feeds(0)))
                if tier == "always":
                    assert isinstance(executable, CutExecutable) and executable.now is not executable.whole
                    assert len(plans) >= 2 and "compiled for" in session.explain(
                        fetches, feeds(0), compiled=True
                    )
                return [losses, session.run(gf.global_variables())], plans

    (losses, values), _ = trained("never")
    (got, found), _ = trained("always")
    np.testing.assert_allclose(got, losses, rtol=2e-5)
    for one, other in zip(found, values, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-6)


def test_a_plan_of_which_little_follows_stays_whole(graph: None) -> None:
    x = gf.placeholder(gf.float32, [20])
    fetches = [gf.reduce_sum(gf.boolean_mask(x, x > 0) * 2.0), _chain(x)]
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        for _ in range(3):
            session.run(fetches, {x: np.arange(20) - 9.5})
        executable = executable_for(session, fetches, [x])
        assert isinstance(executable, CutExecutable) and executable.now is executable.whole
        assert compiled_plans(session)


@pytest.mark.parametrize("stop", [2, 3, 4, 5, 6, 9, 12, 14])
def test_it_goes_on_from_saved_state_with_the_same_bits(stop: int) -> None:
    steps = 24

    def begun() -> tuple[Any, Feeds]:
        gf.set_random_seed(3)
        fetches, _, feeds = _of_kept(gf.boolean_mask)
        return fetches, feeds

    def values(session: gf.Session) -> dict[str, Any]:
        return {cell.name: cell.value.copy() for cell in session.store.variables()}

    with gf.Graph().as_default():
        fetches, feeds = begun()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for step in range(steps):
                if step == stop:
                    saved, state = values(session), session.store.get_state()
                session.run(fetches, feeds(step))
            expected = values(session)
            assert len(compiled_plans(session)) >= 2
            for variable in gf.global_variables():
                variable.load(saved[variable.op.name], session)
            session.store.set_state(state)
            for step in range(stop, steps):
                session.run(fetches, feeds(step))
            set_back = values(session)
    with gf.Graph().as_default():
        fetches, feeds = begun()
        with gf.Session() as session:
            for variable in gf.global_variables():
                variable.load(saved[variable.op.name], session)
            session.store.set_state(state)
            for step in range(stop, steps):
                session.run(fetches, feeds(step))
            found = values(session)
    for name, value in expected.items():
        assert found[name].tobytes() == set_back[name].tobytes() == value.tobytes(), name


def test_an_error_after_the_cut_names_its_operation_and_changes_nothing(graph: None) -> None:
    x, limit = gf.placeholder(gf.float32, [20]), gf.placeholder(gf.int32, [])
    w = gf.get_variable("w", initializer=np.ones(4, "f"))
    v = gf.get_variable("v", initializer=np.float32(1.0))
    hidden = gf.tanh(_chain(gf.boolean_mask(x, x > 0))) * gf.gather(w, limit, name="the_place")
    loss = gf.reduce_mean(hidden) + gf.square(v)
    train = gf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        session.run(gf.global_variables_initializer())
        for _ in range(5):
            session.run(train, {x: np.arange(20) - 9.5, limit: 1})
        before = session.run([v, w])
        with pytest.raises(gf.errors.InvalidArgumentError, match="the_place"):
            session.run(train, {x: np.arange(20) - 9.5, limit: 7})
        for value, old in zip(session.run([v, w]), before, strict=True):
            np.testing.assert_array_equal(value, old)
        session.run(train, {x: np.arange(20) - 9.5, limit: 1})
        for value, old in zip(session.run([v, w]), before, strict=True):
            assert np.all(np.isfinite(value)) and not np.array_equal(value, old)


def test_a_traced_run_shows_the_stages(graph: None) -> None:
    fetches, _, feeds = _of_kept(gf.boolean_mask)
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        session.run(gf.global_variables_initializer())
        for step in range(5):
            session.run(fetches, feeds(step))
        options, seen = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE), gf.RunMetadata()
        session.run(fetches, feeds(5), options=options, run_metadata=seen)
        names = [node.node_name for device in seen.step_stats.dev_stats for node in device.node_stats]
        assert len(names) >= 3
        assert "NumPy computes" in str(gf.profile(session, fetches, feeds(6)))


def test_random_numbers_go_on_where_they_were() -> None:
    def drawn(tier: str) -> list[Any]:
        with gf.Graph().as_default():
            x = gf.placeholder(gf.float32, [20])
            noise = gf.random_uniform([20], seed=5)
            fetches = [noise, _chain(gf.boolean_mask(x + noise, x > 0))]
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                return [session.run(fetches, {x: np.arange(20) - 9.5})[0] for _ in range(8)]

    found = drawn("always")
    np.testing.assert_array_equal(found, drawn("never"))
    assert len({value.tobytes() for value in found}) == 8


def test_joined_ids_are_of_a_size_that_shapes_say() -> None:
    """Lists of integers may be sizes where one input is meant, and never are where a list of values is."""

    def model() -> Any:
        ids = gf.placeholder(gf.int32, [None, 5])
        begin = gf.fill([gf.shape(ids)[0], 1], 1)
        table = gf.get_variable("table", initializer=np.random.RandomState(2).randn(9, 4).astype("f"))
        taken = gf.gather(table, gf.concat([begin, ids[:, :-1]], axis=1))
        flat = gf.reshape(taken, [-1, 4]) @ gf.constant(np.random.RandomState(1).randn(4, 3).astype("f"))
        return [
            gf.reshape(flat, gf.shape(taken)[:2] + [0, 3][:0] if False else [gf.shape(taken)[0], 5, 3])
        ], {ids: np.arange(15).reshape(3, 5) % 9}

    check(model)
    assert left_to_numpy(model) == []

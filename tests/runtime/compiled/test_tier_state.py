"""Protects that a program goes on from saved state in the tier that each plan had reached, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime.compiled.tier_state import TierState

_STEPS = 14


def _model() -> tuple[Any, Any, Any]:
    gf.set_random_seed(7)
    x = gf.placeholder(gf.float32, [None, 6])
    w = gf.get_variable("w", [6, 5])
    hidden = gf.nn.dropout(gf.tanh(gf.matmul(x, w)), 0.8)
    loss = gf.reduce_mean(gf.exp(hidden) * gf.sigmoid(hidden))
    return x, w, gf.train.AdamOptimizer(0.01).minimize(loss)


def _feeds() -> list[np.ndarray]:
    return [np.random.RandomState(i).rand(4, 6).astype(np.float32) for i in range(_STEPS)]


def _values(session: gf.Session) -> dict[str, np.ndarray]:
    return {cell.name: cell.value.copy() for cell in session.store.variables()}


@pytest.mark.parametrize("stop", [2, 5, 8, 11])
def test_a_run_that_goes_on_from_saved_state_gives_the_same_bits(stop: int) -> None:
    with gf.Graph().as_default():
        x, _, train = _model()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for step, feed in enumerate(_feeds()):
                if step == stop:
                    values, state = _values(session), session.store.get_state()
                session.run(train, {x: feed})
            expected = _values(session)
    with gf.Graph().as_default():
        x, _, train = _model()
        with gf.Session() as session:
            for variable in gf.global_variables():
                variable.load(values[variable.op.name], session)
            session.store.set_state(state)
            for number, feed in enumerate(_feeds()[stop:]):
                session.run(train, {x: feed})
                if number == 0:
                    assert ("compiled for" in session.explain(train, {x: None})) == (stop >= 8 - 1)
            found = _values(session)
    assert {name: value.tobytes() for name, value in found.items()} == {
        name: value.tobytes() for name, value in expected.items()
    }


def test_a_session_that_is_set_back_goes_on_in_the_tier_of_that_time() -> None:
    with gf.Graph().as_default():
        x, _, train = _model()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            values, state = _values(session), session.store.get_state()
            results = []
            for _ in range(2):
                for variable in gf.global_variables():
                    variable.load(values[variable.op.name], session)
                session.store.set_state(state)
                for feed in _feeds():
                    session.run(train, {x: feed})
                results.append(_values(session))
    assert all(np.array_equal(results[0][name], results[1][name]) for name in results[0])


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"records": np.array([1.5])},
        {"records": np.frombuffer(b"not JSON", np.uint8)},
        {"records": np.frombuffer(b"[]", np.uint8)},
        {"records": np.frombuffer(b'{"p": {"()": [1, {"x": [[1], "no dtype"]}]}}', np.uint8)},
        {"records": np.frombuffer(b"[" * 100_000, np.uint8)},
    ],
)
def test_other_values_are_not_taken_for_a_record(state: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="no record of the tiers"):
        TierState().set_state(state)


def _cut_model() -> tuple[Any, Any]:
    """A model that is cut where it is known how many rows there are, in which tiers differ by their rounding."""
    x = gf.placeholder(gf.float32, [8, 6])
    kept = gf.boolean_mask(x, x[:, 0] > 0.3)
    hidden = gf.matmul(
        kept, gf.get_variable("w", initializer=np.linspace(-1, 1, 30, dtype="f").reshape(6, 5))
    )
    for _ in range(12):
        hidden = gf.tanh(hidden) * 1.1 + gf.sigmoid(gf.reduce_mean(gf.exp(hidden)))
    return x, gf.train.AdamOptimizer(0.01).minimize(gf.reduce_mean(gf.exp(hidden)))


@pytest.mark.parametrize("anew", [True, False], ids=["in a new session", "set back"])
@pytest.mark.parametrize("stop", [2, 5, 8, 11, 15, 19])
def test_a_plan_that_is_cut_goes_on_with_the_same_bits(
    stop: int, anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphflow._core.runtime.compiled.family.due_run", lambda *_: 14)
    feeds = [np.random.RandomState(i % 2).rand(8, 6).astype(np.float32) for i in range(26)]

    def set_back(session: gf.Session) -> None:
        for variable in gf.global_variables():
            variable.load(values[variable.op.name], session)
        session.store.set_state(state)

    with gf.Graph().as_default():
        x, train = _cut_model()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for step, feed in enumerate(feeds):
                if step == stop:
                    values, state = _values(session), session.store.get_state()
                session.run(train, {x: feed})
            expected = _values(session)
            assert "compiled for" in session.explain(train, {x: None})
            if not anew:
                set_back(session)
                for feed in feeds[stop:]:
                    session.run(train, {x: feed})
                found = _values(session)
    if anew:
        with gf.Graph().as_default():
            x, train = _cut_model()
            with gf.Session() as session:
                set_back(session)
                for feed in feeds[stop:]:
                    session.run(train, {x: feed})
                found = _values(session)
    assert {name: value.tobytes() for name, value in found.items()} == {
        name: value.tobytes() for name, value in expected.items()
    }

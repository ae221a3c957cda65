"""Protects large results: they are computed where whoever fetches them keeps them, in memory of their own each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime.compiled.filling import Filling
from tests.runtime.compiled.tiers import compiled_plans

ROWS = (400, 400, 300, 401, 1, 2, 400, 3, 500, 400)
"""Of 100 columns; the first is the model of those that are filled in."""


def _numbers(rows: int) -> Any:
    return np.random.RandomState(rows).randn(rows, 100).astype("f")


def _fetches(x: Any) -> tuple[list[Any], Any]:
    """Fetches of one block in several shapes, of parts of it, of a view of it, of joined ones, and of a total."""
    y = gf.tanh(x) * 2.0
    joined = gf.concat([x, x + 1.0], 0)
    fetches = [
        y[:3],
        y,
        gf.reshape(y, [-1]),
        gf.expand_dims(y, 0),
        joined,
        gf.transpose(y),
        gf.reduce_sum(y),
    ]

    def expected(given: Any) -> list[Any]:
        made = np.tanh(given) * np.float32(2.0)
        both = np.concatenate([given, given + np.float32(1.0)])
        return [made[:3], made, made.reshape(-1), made[np.newaxis], both, made.T, made.sum()]

    return fetches, expected


@pytest.mark.parametrize("compiled", ["never", "always", "auto"])
def test_each_run_gives_results_that_nobody_else_has(compiled: str) -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None, 100])
        fetches, expected = _fetches(x)
        kept = []
        with gf.Session(config=gf.ConfigProto(compiled=compiled)) as session:
            for turn in range(30):
                given = _numbers(ROWS[turn % len(ROWS)])
                found = session.run(fetches, {x: given})
                kept.append((found, given))
                for one, other in zip(found, expected(given), strict=True):
                    np.testing.assert_allclose(one, other, 1e-4, 1e-3)
    arrays = [value for found, _ in kept for value in found if np.ndim(value)]
    assert all(value.flags.owndata and value.flags.writeable for value in arrays)
    for found, given in kept:  # Later runs have left them alone, and whoever has one may change it.
        for number, (one, other) in enumerate(zip(found, expected(given), strict=True)):
            np.testing.assert_allclose(one, other, 1e-4, 1e-3)
            if number < 6:
                one.fill(7.0)


def test_a_large_result_is_not_copied() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None, 100])
        y = gf.tanh(x) * 2.0
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            for rows in (40, 4000):
                for _ in range(2):
                    session.run([y], {x: _numbers(rows)})
            sizes = sorted(plan.arena_bytes for plan in compiled_plans(session))
    assert len(sizes) == 2
    assert sizes[0] < 1000 < 40 * 100 * 4 <= sizes[1] < 20000  # The small one is copied.


def test_what_fails_gives_nothing_and_the_next_run_is_right() -> None:
    with gf.Graph().as_default():
        x, ids = gf.placeholder(gf.float32, [None, 100]), gf.placeholder(gf.int32, [None])
        taken = gf.gather(x * 2.0, ids)
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            given, places = _numbers(400), np.arange(400)[::-1]
            for _ in range(3):
                np.testing.assert_array_equal(
                    session.run(taken, {x: given, ids: places}), given[places] * np.float32(2.0)
                )
                with pytest.raises(gf.errors.InvalidArgumentError, match="400"):
                    session.run(taken, {x: given, ids: places + 1})


def test_plans_that_hand_out_are_filled_in_for_other_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[bool] = []
    give = Filling.template

    def noted(self: Filling, shapes: Any) -> Any:
        template = give(self, shapes)
        if template is not None:
            given.append(template.is_right(shapes))
        return template

    monkeypatch.setattr(Filling, "template", noted)
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None, 100])
        fetches, expected = _fetches(x)
        for rows in (400, 3000):  # Waits for the kernels, of which many rows need others.
            with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
                session.run(fetches, {x: _numbers(rows)})
        given.clear()
        with gf.Session(config=gf.ConfigProto(compiled="auto")) as session:
            for rows in (*[400] * 30, 401, 2, 3000, 402):
                values = _numbers(rows)
                for one, other in zip(session.run(fetches, {x: values}), expected(values), strict=True):
                    np.testing.assert_allclose(one, other, 1e-4, 1e-3)
    assert given and all(given), given

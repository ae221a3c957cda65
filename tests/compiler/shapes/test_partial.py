"""Protects shapes that follow from a part of what an operation takes: what comes after them is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy

DATA = np.random.RandomState(7).randn(12, 4).astype("f")
ROWS = np.array([0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 4, 4], np.int32)
BESIDE = np.random.RandomState(8).randn(5, 3).astype("f")
UNKNOWN = {"SegmentSum"}
"""What has rows as values say, and stays on NumPy."""


def _sums() -> tuple[Any, Any, dict[Any, Any]]:
    """Sums of segments, of which nobody knows how many there are; rows beside them; and the feeds."""
    x, rows = gf.placeholder(gf.float32, [None, 4]), gf.placeholder(gf.int32, [None])
    beside = gf.placeholder(gf.float32, [None, 3])
    return gf.segment_sum(x, rows), beside, {x: DATA, rows: ROWS, beside: BESIDE}


def _trained(y: Any) -> list[Any]:
    hidden = gf.layers.dense(y, 6, gf.tanh, kernel_initializer=gf.constant_initializer(0.1))
    loss = gf.reduce_mean(
        gf.square(gf.layers.dense(hidden, 2, kernel_initializer=gf.ones_initializer()) - 1.0)
    )
    return [loss, gf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)]


def joined_by_columns() -> Any:
    sums, beside, feeds = _sums()
    return _trained(gf.concat([sums, beside], 1)), feeds


def added() -> Any:
    sums, beside, feeds = _sums()
    return _trained(sums + gf.reduce_sum(beside, 1, keepdims=True)), feeds


def reshaped() -> Any:
    sums, beside, feeds = _sums()
    return _trained(gf.reshape(sums, [gf.shape(beside)[0], 2, 2])[:, 0]), feeds


def reshaped_as_its_twin_in_two_steps() -> Any:
    """The second shape is known when the first has become a constant."""
    sums, beside, feeds = _sums()
    first = gf.reshape(sums, [gf.shape(beside)[0], 4])
    return _trained(gf.reshape(gf.segment_sum(2.0 * first, list(range(5))) + sums, gf.shape(first))), feeds


@pytest.mark.parametrize("model", [joined_by_columns, added, reshaped, reshaped_as_its_twin_in_two_steps])
def test_what_follows_is_compiled(model: Any) -> None:
    check(model)
    kinds = left_to_numpy(model)
    assert set(kinds) >= UNKNOWN and "Tanh" not in kinds and len(kinds) <= 7, kinds


def test_rows_that_do_not_fit_are_an_error_as_on_numpy() -> None:
    """The shape was taken for what it must be; if it is not, the operation says so, and nothing is written."""
    found = []
    for tier in ("never", "always"):
        with gf.Graph().as_default():
            (loss, train), feeds = joined_by_columns()
            rows = list(feeds)[1]
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                session.run(gf.global_variables_initializer())
                for _ in range(3):
                    session.run([loss, train], feeds)
                before = session.run(gf.global_variables())
                with pytest.raises(gf.errors.InvalidArgumentError) as told:
                    session.run([loss, train], {**feeds, rows: np.minimum(ROWS, 3)})
                found.append(str(told.value))
                for value, old in zip(session.run(gf.global_variables()), before, strict=True):
                    np.testing.assert_array_equal(value, old)
                session.run([loss, train], feeds)
    assert found[0] == found[1] and "concat" in found[0]


def test_one_row_is_spread_and_another_number_of_rows_is_not_taken_for_it() -> None:
    """What is added to five rows has five, and may itself have one: its own shape stays open."""
    for tier in ("never", "always"):
        with gf.Graph().as_default():
            (loss, train), feeds = added()
            rows = list(feeds)[1]
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                session.run(gf.global_variables_initializer())
                for _ in range(3):
                    session.run([loss, train], feeds)
                spread = session.run(loss, {**feeds, rows: ROWS * 0})
                assert np.isfinite(spread)
                with pytest.raises(gf.errors.InvalidArgumentError):
                    session.run(loss, {**feeds, rows: np.minimum(ROWS, 2)})


def test_sizes_that_a_shape_says_are_known_after_a_cut() -> None:
    """They reach the stage behind it as values."""

    def model() -> Any:
        x, kept = gf.placeholder(gf.float32, [None, 4]), gf.placeholder(gf.bool, [None])
        count = gf.shape(x)[0]
        hidden = gf.boolean_mask(x, kept)
        for k in range(12):
            hidden = gf.tanh(hidden * (1.0 + 0.1 * k))
        rows = gf.boolean_mask(gf.range(count), kept)
        whole = gf.unsorted_segment_sum(hidden, rows, count)
        return _trained(whole), {x: DATA, kept: ROWS != 1}

    check(model, runs=5)
    kinds = left_to_numpy(model, runs=5)
    assert "UnsortedSegmentSum" not in kinds and "Tanh" not in kinds, kinds

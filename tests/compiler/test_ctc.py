"""Protects the loss of connectionist temporal classification in both tiers: all that it may be told, and its errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy

BLANK = 4
ROWS: dict[str, list[list[int]]] = {
    "few": [[0, 1], [2], [3, 3, 1]],
    "repeated": [[1, 1, 1], [2, 2, 0, 0, 2], [3]],
    "null labels at the end": [[0, BLANK, 5], [BLANK], [2, 2, BLANK]],
    "one": [[0], [0], [0]],
    "many": [[0, 1, 2, 3, 0, 1, 2, 3], [1] * 4, [3, 2, 1, 0, 0, 3]],
}
TOLD: dict[str, dict[str, bool]] = {
    "": {},
    "collapsed": {"preprocess_collapse_repeated": True},
    "said as often": {"ctc_merge_repeated": False},
    "both": {"preprocess_collapse_repeated": True, "ctc_merge_repeated": False},
}


def sparse(rows: list[list[int]]) -> tuple[Any, Any]:
    """Rows of labels as indices and values."""
    indices = [[row, place] for row, labels in enumerate(rows) for place in range(len(labels))]
    return np.array(indices, np.int64), np.array([label for labels in rows for label in labels], np.int32)


def model(
    rows: list[list[int]],
    lengths: list[int],
    dtype: Any = gf.float32,
    order: Any = None,
    scale: float = 1.0,
    frames: int = 9,
    **told: bool,
) -> Callable[[], Any]:
    """Losses of scores that something makes, weighted, and their gradient; order: that of the labels."""

    def build() -> Any:
        scores = gf.placeholder(dtype, [None, None, BLANK + 1])
        indices, values = gf.placeholder(gf.int64, [None, 2]), gf.placeholder(gf.int32, [None])
        counts = gf.placeholder(gf.int32, [None])
        labels = gf.SparseTensor(indices, values, np.array([len(rows), 9], np.int64))
        losses = gf.nn.ctc_loss(labels, scores * scale, counts, **told)
        weights = gf.constant(np.cos(np.arange(len(rows))), dtype)
        slopes = gf.gradients(losses * weights, scores)[0]
        places, said = sparse(rows)
        chosen = np.arange(len(said)) if order is None else np.asarray(order)
        given = np.random.RandomState(3).randn(frames, len(rows), BLANK + 1).astype(dtype.as_numpy_dtype)
        fed = {scores: given, indices: places[chosen], values: said[chosen], counts: lengths}
        return [gf.minimum(losses, 1e4) + 0.5, gf.is_inf(losses), slopes * 2.0], fed

    return build


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("rows", ROWS)
def test_losses_and_gradients(rows: str, told: str) -> None:
    built = model(ROWS[rows], [9, 9, 8], **TOLD[told])
    check(built, runs=2)
    assert "CTCLoss" not in left_to_numpy(built)
    check(model(ROWS[rows], [8, 9, 9], gf.float64, **TOLD[told]), runs=2, tolerance=1e-10)


def test_the_order_of_the_labels_is_that_within_their_sequence() -> None:
    rows = ROWS["many"]
    mixed = [12, 0, 8, 13, 1, 14, 2, 9, 3, 4, 15, 16, 5, 6, 10, 7, 17, 11]
    check(model(rows, [9, 9, 9], gf.float64, mixed), runs=2, tolerance=1e-10)


def test_sequences_of_no_frames_and_with_more_labels_than_frames() -> None:
    told = {"ignore_longer_outputs_than_inputs": True}
    check(model(ROWS["many"], [7, 0, 9], gf.float64, **told), runs=2, tolerance=1e-10)
    check(model(ROWS["null labels at the end"], [1, 0, 2], gf.float64, **told), runs=2, tolerance=1e-10)
    check(model([[BLANK]], [0], frames=1), runs=2)


def test_what_no_path_says() -> None:
    """Repeats that leave too few frames: an infinite loss; scores that are no numbers, or almost certain."""
    check(model([[1, 1, 1], [0], [2, 2]], [4, 9, 2], gf.float64), runs=2, tolerance=1e-10)
    check(model(ROWS["few"], [9, 9, 9], gf.float64, scale=500.0), runs=2, tolerance=1e-10)
    check(model(ROWS["few"], [9, 9, 9], gf.float32, scale=float("nan")), runs=2)


def test_many_sequences_of_other_sizes_are_one_plan() -> None:
    random = np.random.RandomState(7)

    def losses(tier: str) -> list[Any]:
        found = []
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            scores = gf.placeholder(gf.float32, [None, None, 30])
            labels = gf.sparse_placeholder(gf.int32)
            counts = gf.placeholder(gf.int32, [None])
            loss = gf.nn.ctc_loss(labels, gf.tanh(scores), counts)
            step = [gf.reduce_mean(loss), gf.gradients(loss, scores)[0]]
            random.seed(7)
            for batch, frames in ((3, 20), (5, 20), (8, 31), (40, 60), (1, 7)):
                rows = [list(random.randint(0, 29, random.randint(1, 4))) for _ in range(batch)]
                indices, values = sparse(rows)
                lengths = random.randint(6, frames + 1, batch)
                fed = gf.SparseTensorValue(indices, values, [batch, 4])
                given = random.randn(frames, batch, 30).astype(np.float32)
                found += session.run(step, {scores: given, labels: fed, counts: lengths})
        return found

    for mine, theirs in zip(losses("always"), losses("never"), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)


def _set(key: str, at: int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(fed: dict[str, Any]) -> None:
        fed[key][at] = value

    return change


WRONG: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "more frames than there are": (r"sequence_length\(1\) is 10", _set("lengths", 1, 10)),
    "frames below zero": (r"sequence_length\(2\) is -1", _set("lengths", 2, -1)),
    "too few frames": ("Not enough time for target transition sequence", _set("lengths", 2, 2)),
    "a label of no sequence": ("there are 3 sequences", _set("indices", 3, [3, 0])),
    "a label of a sequence below zero": ("there are 3 sequences", _set("indices", 0, [-1, 0])),
    "a sequence without labels": ("Labels length is zero in batch 1", _set("indices", 2, [0, 2])),
    "a label below zero": ("All labels must be nonnegative integers, batch: 2", _set("values", 3, -2)),
    "a label after a null label": ("Saw a non-null label", _set("values", 3, BLANK)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_the_same_error(name: str) -> None:
    """It lies in three inputs; what it names is of another one than where it was found."""
    expected, change = WRONG[name]
    indices, values = sparse(ROWS["few"])

    def message(tier: str) -> str:
        fed = {"indices": indices.copy(), "values": values.copy(), "lengths": np.array([9, 9, 9], np.int32)}
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            places = {
                "indices": gf.placeholder(gf.int64, [None, 2]),
                "values": gf.placeholder(gf.int32, [None]),
                "lengths": gf.placeholder(gf.int32, [None]),
            }
            scores = gf.constant(np.random.RandomState(1).randn(9, 3, 5), gf.float32)
            labels = gf.SparseTensor(places["indices"], places["values"], np.array([3, 3], np.int64))
            total = gf.get_variable("total", initializer=0.0)
            loss = gf.reduce_sum(gf.nn.ctc_loss(labels, scores * 2.0, places["lengths"]))
            step = total.assign_add(loss, name="step")
            session.run(gf.global_variables_initializer())
            for _ in range(2):
                session.run(step, {places[key]: value for key, value in fed.items()})
            before = session.run(total)
            change(fed)
            with pytest.raises(gf.errors.InvalidArgumentError, match=expected) as raised:
                session.run(step, {places[key]: value for key, value in fed.items()})
            assert session.run(total) == before
            return str(raised.value)

    assert message("always") == message("never")

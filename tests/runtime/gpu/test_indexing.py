"""Protects ops that take and change rows by index on a GPU: what repeats, is left out, is no number, does not exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both, session

pytestmark = pytest.mark.device
ROWS = np.random.default_rng(5).normal(size=(7, 3)).astype("f")
NAN = np.array([[1, np.nan, 3], [2, 5, np.inf], [7, 1, 0], [0, -np.inf, 4]], "f")


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def fed(value: Any) -> Any:
    """What a program feeds, of fixed shape."""
    array = np.asarray(value)
    return gf.placeholder(gf.as_dtype(array.dtype), array.shape)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gather_nd of rows": (gf.gather_nd, (ROWS, np.array([[6], [0], [6]], np.int32))),
    "gather_nd of elements": (gf.gather_nd, (ROWS, np.array([[[6, 2]], [[0, 0]]], np.int64))),
    "gather_nd of one": (gf.gather_nd, (ROWS, np.array([2, 1], np.int32))),
    "scatter_nd adds what repeats": (
        lambda i, u: gf.scatter_nd(i, u, [5, 3]),
        (np.array([[1], [4], [1]], np.int32), ROWS[:3]),
    ),
    "the last update wins": (
        lambda t, i, u: gf.tensor_scatter_update(t, i, u),
        (ROWS, np.array([[1, 1], [2, 0], [1, 1]], np.int32), np.array([9, 8, 7], "f")),
    ),
    "segments with numbers that are none": (
        lambda x, s: [
            gf.unsorted_segment_max(x, s, 5),
            gf.unsorted_segment_min(x, s, 5),
            gf.unsorted_segment_prod(x, s, 5),
        ],
        (NAN, np.array([3, 0, -1, 3], np.int32)),
    ),
    "in_top_k": (
        lambda p, t: [gf.nn.in_top_k(p, t, k) for k in (1, 2)],
        (np.concatenate([NAN, ROWS]), np.array([0, 1, 0, 2, 1, 2, 0, 5, -1, 1, 2], np.int32)),
    ),
    "sequences by batch": (
        lambda x, n: gf.reverse_sequence(x, n, seq_axis=1, batch_axis=0),
        (np.arange(30, dtype="f").reshape(2, 5, 3), np.array([3, 0], np.int64)),
    ),
    "sequences by time": (
        lambda x, n: gf.reverse_sequence(x, n, seq_axis=0, batch_axis=2),
        (np.arange(30, dtype="f").reshape(2, 5, 3), np.array([2, 1, 0], np.int32)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_gpu_agrees_with_the_cpu(name: str) -> None:
    function, values = CASES[name]

    def build() -> tuple[Any, dict[Any, Any]]:
        inputs = [fed(v) for v in values]
        found = function(*inputs)
        return found if isinstance(found, list) else [found], dict(zip(inputs, values, strict=True))

    cpu, gpu = on_both(build, 1)
    for got, wanted in zip(gpu[0], cpu[0], strict=True):
        np.testing.assert_allclose(got, wanted, 1e-6, 1e-6)


@pytest.mark.parametrize(
    ("function", "values", "told"),
    [
        (gf.gather_nd, (ROWS, np.array([[6, 3]], np.int32)), "do not index into shape [7, 3]"),
        (gf.gather_nd, (ROWS, np.array([[-1]], np.int32)), "do not index into shape [7, 3]"),
        (
            lambda i, u: gf.scatter_nd(i, u, [5, 3]),
            (np.array([[5]], np.int32), ROWS[:1]),
            "do not index into shape [5, 3]",
        ),
        (gf.gather, (ROWS, np.array([2, 1 << 40])), f"the index {1 << 40} is not in [0, 7)"),
        (gf.gather, (ROWS, np.array([-3, 1])), "the index -3 is not in [0, 7)"),
        (
            lambda x, i: gf.gather(x, i, axis=1, batch_dims=1),
            (ROWS[:2], np.array([[1], [3]])),
            "an index is not in [0, 3)",
        ),
        (
            lambda x, n: gf.reverse_sequence(x, n, seq_axis=1, batch_axis=0),
            (np.ones([2, 5, 3], "f"), np.array([3, 6], np.int64)),
            "a length is not in [0, 5]",
        ),
        (
            lambda x, s: gf.unsorted_segment_max(x, s, 2),
            (ROWS[:1], np.array([2], np.int32)),
            "the index 2 is not in [0, 2)",
        ),
    ],
    ids=["last axis", "negative", "scatter_nd", "far", "below", "batch", "length", "segment"],
)
def test_what_is_out_of_range_is_an_error(
    function: Callable[..., Any], values: tuple[Any, ...], told: str
) -> None:
    with gf.device("/gpu:0"):
        inputs = [fed(v) for v in values]
        result = function(*inputs)
    with session() as one, pytest.raises(gf.errors.InvalidArgumentError, match=re.escape(told)):
        one.run(result, dict(zip(inputs, values, strict=True)))


def test_rows_of_a_variable_are_changed_by_those_that_it_had() -> None:
    with gf.device("/gpu:0"):
        variable = gf.Variable([[1.0], [2.0], [3.0]])
        moved = gf.scatter_update(variable, [1, 2, 0], variable)
        added = gf.scatter_nd_add(variable, [[0], [0], [1]], variable)
    with session() as one:
        one.run(gf.global_variables_initializer())
        one.run(moved.op)
        assert one.run(variable).ravel().tolist() == [3.0, 1.0, 2.0]
        assert one.run(added).ravel().tolist() == [7.0, 3.0, 2.0]


def test_a_variable_keeps_its_value_where_an_index_is_wrong() -> None:
    with gf.device("/gpu:0"):
        variable = gf.Variable(ROWS)
        indices = gf.placeholder(gf.int32, [2, 2])
        update = gf.scatter_nd_add(variable, indices, [1.0, 2.0])
    with session() as one:
        one.run(gf.global_variables_initializer())
        changed = one.run(update, {indices: [[6, 2], [6, 2]]})
        assert changed[6, 2] == pytest.approx(ROWS[6, 2] + 3)
        with pytest.raises(gf.errors.InvalidArgumentError):
            one.run(update, {indices: [[7, 0], [7, 1]]})
        np.testing.assert_array_equal(one.run(variable), changed)

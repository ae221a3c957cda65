"""Protects functions that run for many elements at once: the same bits as element by element, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphflow as gf
from graphflow._core.runtime.functions import FunctionRunner
from tests.data.pipelines import D, assert_same, drain

FLOATS = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3e-39, 0.1, 7.0, -7.25, 1e30, 100.0, 255.0])


def of_one(dtype: Any, shape: tuple[int, ...], count: int = 11) -> Any:
    random = np.random.default_rng(len(shape))
    if np.dtype(dtype).kind == "f":
        return random.choice(FLOATS, (count, *shape)).astype(dtype)
    return random.integers(0, 7, (count, *shape)).astype(dtype)


def both_ways(build: Callable[[Any], Any], column: Any) -> tuple[Any, Any]:
    """The elements of a batch, made at once and one by one."""
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        data = D.from_tensor_slices(column).map(build)
        at_once = data.batch(len(column)).make_one_shot_iterator().get_next()
        singly = data.make_one_shot_iterator().get_next()
        rows = drain(session, singly)
        return session.run(at_once), rows


STEPS: dict[str, Callable[[Any], Any]] = {
    "cast": lambda x: gf.cast(x, gf.float32) / 255.0,
    "to_integer": lambda x: gf.cast(gf.cast(x, gf.float64) * 1e10, gf.uint8),
    "arithmetic": lambda x: x * 3 - x + 1,
    "against_a_row": lambda x: gf.cast(x, gf.float32) + np.arange(3, dtype=np.float32),
    "against_a_matrix": lambda x: gf.cast(x, gf.float32) * np.ones([4, 1], np.float32),
    "comparison": lambda x: gf.where(gf.less(x, 2), x, -x),
    "scalar_condition": lambda x: gf.where(gf.less(gf.reduce_max(gf.cast(x, gf.int32)), 3), x, x + 1),
    "clip": lambda x: gf.clip_by_value(x, 1, 4),
    "reshape": lambda x: gf.reshape(x, [-1]),
    "expand": lambda x: gf.expand_dims(gf.expand_dims(x, 0), -1),
    "squeeze": lambda x: gf.squeeze(gf.expand_dims(x, -1)),
    "stack": lambda x: gf.stack([x, gf.ones_like(x), x * 2], axis=-1),
    "concat": lambda x: gf.concat([gf.reshape(x, [1, -1]), gf.reshape(x, [1, -1]) + 1], axis=0),
    "transpose": lambda x: gf.transpose(gf.expand_dims(x, 0)),
    "reverse": lambda x: gf.reverse(gf.expand_dims(x, 0), [0, -1][: 1 + (x.shape.ndims > 0)]),
    "exact_sums": lambda x: (gf.reduce_sum(gf.cast(x, gf.int32)), gf.reduce_max(x), gf.reduce_min(x)),
    "sums": lambda x: gf.reduce_mean(gf.cast(x, gf.float32) * 0.1),
    "transcendental": lambda x: gf.exp(gf.tanh(gf.cast(x, gf.float32))),
    "one_hot": lambda x: gf.one_hot(gf.cast(gf.clip_by_value(x, 0, 6), gf.int32), 5),
    "one_hot_first": lambda x: gf.one_hot(gf.cast(gf.clip_by_value(x, 0, 6), gf.int32), 5, axis=0),
    "gather": lambda x: gf.gather(
        np.arange(21.0).reshape(7, 3),
        gf.cast(gf.clip_by_value(gf.where(gf.equal(x, x), x, gf.zeros_like(x)), 0, 6), gf.int32),
    ),
    "pad": lambda x: gf.pad(gf.reshape(x, [1, -1]), [[1, 0], [0, 2]]),
    "shape": lambda x: gf.fill(gf.shape(x), gf.size(x) + gf.rank(x)),
    "slice": lambda x: gf.slice(gf.reshape(x, [-1]), [0], [1]),
    "strided": lambda x: gf.reshape(x, [-1])[::-1],
    "unstack": lambda x: gf.unstack(gf.stack([x, x + 1])),
    "nothing": lambda x: (x, gf.constant([1, 2])),
    "product": lambda x: gf.matmul(
        gf.reshape(gf.cast(x, gf.float32), [1, -1]), gf.reshape(gf.cast(x, gf.float32), [-1, 1])
    ),
    "strings": lambda x: gf.as_string(
        gf.cast(gf.clip_by_value(gf.where(gf.equal(x, x), x, gf.zeros_like(x)), 0, 6), gf.int32)
    ),
    "random": lambda x: (
        gf.cast(x, gf.float32) + gf.random_uniform(gf.shape(x), seed=1) * gf.random_normal([], seed=2)
    ),
    "random_integers": lambda x: gf.random_uniform([2], 0, 100, gf.int32, seed=1),
    "condition": lambda x: gf.cond(gf.reduce_max(gf.cast(x, gf.int32)) > 3, lambda: x * 2, lambda: x),
}


@pytest.mark.parametrize("name", STEPS)
def test_each_operation(name: str) -> None:
    for dtype in (np.float32, np.int32, np.int64, np.float64):
        for shape in ((), (3,), (4, 3)):
            together, rows = both_ways(STEPS[name], of_one(dtype, shape))
            if not isinstance(together, tuple | list):
                together, rows = (together,), [(row,) for row in rows]
            for component, column in enumerate(zip(*rows, strict=True)):
                got, expected = together[component], np.stack(column)
                assert got.shape == expected.shape
                if got.dtype == object:
                    assert got.tolist() == [np.asarray(value, object).tolist() for value in column]
                else:
                    assert got.dtype == expected.dtype
                    assert got.tobytes() == expected.tobytes() or _same_bits(got, expected)


def _same_bits(got: Any, expected: Any) -> bool:
    """Equal to the bit but for which NaN it is."""
    real = ~np.isnan(expected)
    return bool((np.isnan(got) == ~real).all() and got[real].tobytes() == expected[real].tobytes())


@given(
    st.lists(
        st.sampled_from(sorted(set(STEPS) - {"unstack", "strings", "exact_sums", "nothing"})),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 2),
)
def test_chains_of_operations(steps: list[str], rank: int) -> None:
    def build(x: Any) -> Any:
        for step in steps:
            x = STEPS[step](x)
        return x

    data = of_one(np.float32, (4, 3)[2 - rank :] if rank else ())
    try:
        together, rows = both_ways(build, data)
    except (ValueError, TypeError):
        return  # These steps do not go together.
    expected = np.stack(rows)
    assert together.shape == expected.shape
    assert _same_bits(together, expected) if expected.dtype.kind == "f" else (together == expected).all()


def test_the_usual_function_runs_for_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(FunctionRunner, "rows", _counted(calls, FunctionRunner.rows))
    with gf.Graph().as_default(), gf.Session() as session:
        images = np.arange(20 * 4, dtype=np.uint8).reshape(20, 2, 2)
        data = D.from_tensor_slices((images, np.arange(20, dtype=np.int32))).shuffle(8, seed=1)
        data = data.map(lambda x, y: (gf.cast(x, gf.float32) / 255.0, gf.one_hot(y, 20)))
        x, y = data.batch(20).make_one_shot_iterator().get_next()
        features, labels = session.run([x, y])
    order = labels.argmax(1)
    np.testing.assert_array_equal(features, images[order] / np.float32(255.0))
    assert calls == [20]


def _counted(calls: list[Any], function: Any) -> Any:
    def counted(self: Any, columns: Any, captured: Any, count: int) -> Any:
        calls.append(count)
        return function(self, columns, captured, count)

    return counted


def test_an_element_that_fails_fails_alone() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        data = D.range(10).map(lambda n: 12 // (n - 5)).batch(4)
        following = data.make_one_shot_iterator().get_next()
        assert session.run(following).tolist() == [-3, -3, -4, -6]
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"(?s)FloorDiv.*test_rows.py.*MapDataset"):
            session.run(following)
        assert session.run(following).tolist() == [12, 6, 4, 3]


def test_a_failure_takes_no_random_number() -> None:
    def build(n: Any) -> Any:
        return gf.check_numerics(gf.random_uniform([], seed=4) / gf.cast(n - 5, gf.float32), "bad")

    with gf.Graph().as_default(), gf.Session() as session:
        singly = D.range(10).map(build).make_one_shot_iterator().get_next()
        batched = D.range(10).map(build).batch(1).prefetch(0).make_one_shot_iterator().get_next()
        by_six = D.range(12).map(build).batch(6).make_one_shot_iterator().get_next()
        with pytest.raises(gf.errors.InvalidArgumentError):
            session.run(by_six)
        one, many = [], []
        for _ in range(10):
            for found, tensor in ((one, singly), (many, batched)):
                try:
                    found.append(np.ravel(session.run(tensor))[0])
                except gf.errors.InvalidArgumentError:
                    found.append("failed")
        assert one[5] == "failed"
        assert_same(one, many)
        np.testing.assert_array_equal(session.run(by_six)[:4], one[6:])


def test_rows_of_elements_are_elements() -> None:
    """Dataset.unbatch, of a structure as of a tensor; it says what options it has."""
    data = gf.data.Dataset.from_tensors({"a": [1, 2], "b": [[3], [4]]}).unbatch()
    after = data.make_one_shot_iterator().get_next()
    with gf.Session() as session:
        found = [session.run(after) for _ in range(2)]
    assert [(int(one["a"]), one["b"].tolist()) for one in found] == [(1, [3]), (2, [4])]
    assert isinstance(data.options(), gf.data.Options)

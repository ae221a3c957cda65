"""Protects segments in order on a GPU: numbers of them that change, empty ones, gradients, ids that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.session import executables
from tests.runtime.gpu.both_devices import plans, session

pytestmark = pytest.mark.device
RANDOM = np.random.default_rng(8)
IDS = ([0, 0, 2, 2, 2, 5, 5], [0] * 7, list(range(7)), [1, 1, 1, 1, 1, 1, 3], [0, 0, 2, 2, 2, 5, 5])
KINDS = {kind: getattr(gf, f"segment_{kind}") for kind in ("sum", "mean", "prod", "max", "min")}
SPARSE = {kind: getattr(gf, f"sparse_segment_{kind}") for kind in ("sum", "mean", "sqrt_n")}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def compare(build: Callable[..., Any], runs: list[list[Any]], exact: bool = True) -> None:
    """Runs a graph of placeholders with unknown rows on both devices."""
    results = []
    for device in ("/cpu:0", "/gpu:0"):
        with gf.Graph().as_default(), gf.device(device):
            inputs = [gf.placeholder(gf.as_dtype(v.dtype), [None, *v.shape[1:]]) for v in runs[0]]
            fetches = build(*inputs)
            with session(compiled="never") as one:
                results.append([one.run(fetches, dict(zip(inputs, r, strict=True))) for r in runs])
                if device == "/gpu:0":
                    assert plans(one)
                    assert not any(plan.on_host for plan in plans(one))
    for wanted, got in zip(*results, strict=True):
        for a, b in zip(wanted, got, strict=True):
            np.testing.assert_allclose(b, a, *((0, 0) if exact else (1e-5, 1e-5)))


@pytest.mark.parametrize("dtype", ["f", "d", "i4", "u1"])
@pytest.mark.parametrize("columns", [(), (1,), (3, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_segments(kind: str, columns: tuple[int, ...], dtype: str) -> None:
    data = np.asarray(RANDOM.integers(1, 4, (7, *columns)), dtype)
    runs = [[data, np.array(ids, np.int32)] for ids in IDS]
    compare(lambda x, ids: [KINDS[kind](x, ids)], [*runs, *[[data[:1], np.array([0], np.int32)]] * 2])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_number(kind: str) -> None:
    data = np.array([[1, np.nan], [np.inf, 3], [-np.inf, 5], [np.inf, np.nan], [2, -np.inf]], "f")
    ids = np.array([0, 0, 1, 1, 1], np.int64)
    compare(lambda x, ids: [KINDS[kind](x, ids)], [[data, ids]] * 3)


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min"])
def test_gradients(kind: str) -> None:
    data = np.asarray(RANDOM.integers(-2, 3, (7, 3)), "f")

    def build(x: gf.Tensor, ids: gf.Tensor) -> Any:
        y = KINDS[kind](x * 1.0, ids)
        return [gf.gradients(gf.square(y) / 2, x)[0], gf.cast(gf.shape(y), gf.float32) + 1]

    compare(build, [[data, np.array(ids, np.int32)] for ids in IDS], exact=False)


@pytest.mark.parametrize("kind", SPARSE)
def test_segments_of_rows_by_index(kind: str) -> None:
    data = np.asarray(RANDOM.normal(size=(4, 3)), "f")
    places = RANDOM.integers(0, 4, 7).astype(np.int64)

    def build(x: gf.Tensor, places: gf.Tensor, ids: gf.Tensor) -> Any:
        found = [SPARSE[kind](x, places, ids), SPARSE[kind](x, places, ids, num_segments=9)]
        return [*found, *(gf.gradients(gf.square(y), x)[0] for y in found)]

    compare(build, [[data, places, np.array(ids, np.int32)] for ids in IDS], exact=False)


def test_constant_ids() -> None:
    data = np.asarray(RANDOM.integers(-9, 9, (7, 3)), "f")
    compare(lambda x: [gf.segment_sum(x, IDS[0]) * 2], [[data]] * 3)


@pytest.mark.parametrize(
    ("bad", "told"), [([0, 2, 1, 2], "not increasing"), ([-1, 0, 1, 2], "negative"), ([0, 0, 1, 1], None)]
)
def test_ids_that_may_not_be(bad: list[int], told: str | None) -> None:
    with gf.device("/gpu:0"):
        ids = gf.placeholder(gf.int32, [4])
        y = gf.segment_sum(np.arange(4, dtype="f"), ids, name="here")
    with session() as one:
        for _ in range(2):
            np.testing.assert_array_equal(one.run(y, {ids: [0, 1, 1, 2]}), [0, 3, 3])
        if told is None:
            assert one.run(y, {ids: bad}).shape == (2,)
        else:
            with pytest.raises(gf.errors.InvalidArgumentError, match=told) as error:
                one.run(y, {ids: bad})
            assert error.value.op is y.op


def test_an_index_or_a_segment_that_there_is_not() -> None:
    with gf.device("/gpu:0"):
        places, ids = (gf.placeholder(gf.int32, [3]) for _ in range(2))
        y = gf.sparse_segment_sum(np.ones([4, 2], "f"), places, ids, num_segments=3)
    with session() as one:
        assert one.run(y, {places: [0, 3, 3], ids: [0, 0, 1]}).sum() == 6
        for bad, segments, told in (
            ([0, 4, 1], [0, 1, 2], r"the index 4 is not in \[0, 4\)"),
            ([0, -1, 1], [0, 1, 2], r"the index -1 is not in \[0, 4\)"),
            ([0, 1, 2], [0, 1, 3], r"the index 3 is not in \[0, 3\)"),
        ):
            with pytest.raises(gf.errors.InvalidArgumentError, match=told):
                one.run(y, {places: bad, ids: segments})


def test_ids_that_the_gpu_makes_are_the_cpus() -> None:
    def build() -> tuple[Any, Any]:
        x = gf.placeholder(gf.float32, [7])
        y = gf.segment_sum(x, gf.cast(gf.sign(x) + 1, gf.int32), name="sums")
        return x, gf.exp(y) + 1

    values = np.array([-2, -1, 0, 0, 3, 4, 5], "f")
    with gf.device("/gpu:0"):
        x, z = build()
    with session() as one, pytest.raises(gf.errors.InvalidArgumentError, match="no kernel for SegmentSum"):
        one.run(z, {x: values})
    with session(allow_soft_placement=True) as one:
        for _ in range(3):
            np.testing.assert_allclose(one.run(z, {x: values}), np.exp([-3, 0, 12]) + 1, 1e-5)
        assert "           3 Exp Add" in one.explain(z, [x])


def test_rows_of_a_table_for_sparse_ids() -> None:
    places = np.array([[0, 0], [0, 1], [2, 0], [3, 0], [3, 4]], np.int64)
    results = []
    for device in ("/cpu:0", "/gpu:0"):
        with gf.Graph().as_default(), gf.device(device):
            ids = gf.sparse_placeholder(gf.int64, [4, 5])
            table = gf.Variable(np.arange(12, dtype="f").reshape(6, 2))
            y = gf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")
            train = gf.train.GradientDescentOptimizer(0.1).minimize(gf.reduce_sum(gf.square(y)))
            with session(allow_soft_placement=True) as one:
                one.run(gf.global_variables_initializer())
                for chosen in ([0, 1, 1, 5, 0], [3, 3, 2, 1, 0], [0, 1, 1, 5, 0]) * 2:
                    one.run(train, {ids: gf.SparseTensorValue(places, np.array(chosen), [4, 5])})
                results.append(one.run(table))
                if device == "/gpu:0":
                    told = "".join(executable.describe() for executable in executables(one))
                    assert "on the CPU" not in told
                    assert "SparseSegmentMean" in told
    np.testing.assert_allclose(results[1], results[0], 1e-5)

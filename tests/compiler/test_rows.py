"""Protects ops that take and change rows by index in compiled code, and the sparse updates of all optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy

TABLE = np.random.RandomState(2).randn(9, 3).astype("f")
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "Adadelta": lambda: gf.train.AdadeltaOptimizer(0.1),
    "Adagrad": lambda: gf.train.AdagradOptimizer(0.1),
    "Adam": lambda: gf.train.AdamOptimizer(0.1),
    "Ftrl": lambda: gf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "Ftrl of another power": lambda: gf.train.FtrlOptimizer(0.1, learning_rate_power=-0.7),
    "GradientDescent": lambda: gf.train.GradientDescentOptimizer(0.07),
    "Momentum": lambda: gf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda: gf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "ProximalAdagrad": lambda: gf.train.ProximalAdagradOptimizer(0.1),
    "RMSProp": lambda: gf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
}
IDS = {"some": [1, 5, 1, 8, 1, 5, 0], "one": [3], "alike": [2, 2, 2, 2, 2]}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_sparse_updates(name: str, ids: str) -> None:
    def model() -> Any:
        table = gf.get_variable("table", initializer=TABLE)
        indices = gf.placeholder(gf.int64 if ids == "one" else gf.int32, [None])
        taken = gf.nn.embedding_lookup(table, indices)
        step = OPTIMIZERS[name]().minimize(gf.reduce_sum(gf.square(taken - 0.5)))
        return [taken, step], {indices: IDS[ids]}

    check(model)
    if ids == "some":
        assert left_to_numpy(model) == []


def test_rows_of_unknown_number_stay_right() -> None:
    """Indices whose number depends on values: such updates are NumPy's."""

    def model() -> Any:
        table = gf.get_variable("table", initializer=TABLE)
        x = gf.placeholder(gf.int32, [6])
        taken = gf.nn.embedding_lookup(table, gf.boolean_mask(x, x > 1))
        step = gf.train.AdagradOptimizer(0.1).minimize(gf.reduce_sum(gf.square(gf.tanh(taken))))
        return [gf.reduce_sum(taken), step], {x: [1, 5, 0, 5, 7, 2]}

    check(model)


@pytest.mark.parametrize("name", ["Adagrad", "Adam", "GradientDescent"])
@pytest.mark.parametrize("wrong", [9, -1, 100])
def test_an_index_out_of_range_is_the_same_error_and_changes_nothing(name: str, wrong: int) -> None:
    def messages(tier: str) -> list[str]:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            table = gf.get_variable("table", initializer=TABLE)
            indices, values = gf.placeholder(gf.int32, [4]), gf.placeholder(gf.float32, [4, 3])
            step = OPTIMIZERS[name]().apply_gradients([(gf.IndexedSlices(values, indices), table)])
            session.run(gf.global_variables_initializer())
            for _ in range(2):
                session.run(step, {indices: [0, 1, 0, 2], values: np.ones([4, 3])})
            before = session.run(table)
            with pytest.raises(gf.errors.InvalidArgumentError) as raised:
                session.run(step, {indices: [0, 0, wrong, 4], values: np.ones([4, 3])})
            np.testing.assert_array_equal(session.run(table), before)
            return [line for line in str(raised.value).splitlines() if str(wrong) in line]

    assert messages("always") == messages("never") != []


Build = Callable[[Any], Any]
TAKEN: dict[str, tuple[tuple[int, ...], Build]] = {
    "rows": ((5, 4), lambda x: gf.gather(x, [3, 0, 3])),
    "elements": ((7,), lambda x: gf.gather(x, [[6, 1], [0, 6]])),
    "another axis": ((3, 5, 2), lambda x: gf.gather(x, [4, 0, 0, 2], axis=1)),
    "the last axis": ((4, 6), lambda x: gf.gather(x, np.array([[5], [1]], np.int64), axis=-1)),
    "batches": ((2, 4, 3), lambda x: gf.gather(x, [[1, 3], [0, 0]], batch_dims=1)),
    "index vectors": ((3, 4, 2), lambda x: gf.gather_nd(x, [[2, 3], [0, 1], [2, 3]])),
    "vectors of one": ((3, 4), lambda x: gf.gather_nd(x, [[[2]], [[0]]])),
    "single elements": ((2, 3), lambda x: gf.gather_nd(x, [[1, 2], [0, 0]])),
    "reversed sequences": ((3, 5, 2), lambda x: gf.reverse_sequence(x, [5, 1, 3], 1, 0)),
    "reversed in time": ((5, 3), lambda x: gf.reverse_sequence(x, np.array([2, 0, 4], np.int64), 0, 1)),
    "sums of segments": ((5, 3), lambda x: gf.unsorted_segment_sum(x, [2, 0, -1, 2, 3], 5)),
    "products of segments": ((4,), lambda x: gf.unsorted_segment_prod(x, [1, 1, 0, 2], 4)),
    "largest of segments": ((4, 2), lambda x: gf.unsorted_segment_max(x, [1, 1, 0, -2], 3)),
    "smallest of segments": ((2, 2, 3), lambda x: gf.unsorted_segment_min(x, [[1, 1], [0, 1]], 2)),
    "sums of runs": ((6, 2), lambda x: gf.reshape(gf.segment_sum(x, [0, 0, 1, 3, 3, 3]), [4, 2])),
    "largest of runs": ((4, 2), lambda x: gf.reshape(gf.segment_max(x, [0, 0, 1, 2]), [3, 2])),
    "smallest of runs": ((3, 2, 2), lambda x: gf.reshape(gf.segment_min(x, [0, 1, 1]), [2, 2, 2])),
    "stitched": (
        (4, 2),
        lambda x: gf.dynamic_stitch([[0, 5], [[2], [0]]], [x[:2], gf.reshape(x[2:], [2, 1, 2])]),
    ),
    "stitched whole": (
        (5, 3),
        lambda x: gf.dynamic_stitch([[4, 0], [[2], [1], [3]]], [x[:2], gf.reshape(x[2:], [3, 1, 3])]),
    ),
    "stitched elements": ((4,), lambda x: gf.dynamic_stitch([[2, 2], [0, 6]], [x[:2], x[2:]])),
    "stitched over all": ((4,), lambda x: gf.dynamic_stitch([[0, 1], [1, 0]], [x[:2], x[2:]])),
    "sums of long runs": (
        (14, 3),
        lambda x: gf.reshape(gf.segment_sum(x, [0] * 5 + [2] * 8 + [3]), [4, 3]),
    ),
    "sums of elements": ((7,), lambda x: gf.reshape(gf.segment_sum(x, [0, 0, 0, 2, 2, 2, 2]), [3])),
    "scattered": ((4, 2), lambda x: gf.scatter_nd([[1], [3], [1], [0]], x, [5, 2])),
    "scattered elements": ((3,), lambda x: gf.scatter_nd([[1, 0], [0, 2], [1, 0]], x, [2, 3])),
    "added": ((3, 2), lambda x: gf.tensor_scatter_add(x, [[1], [1]], x[:2] * 3)),
    "updated": ((3, 2), lambda x: gf.tensor_scatter_update(x, [[2], [0]], x[1:])),
    "the largest": ((4, 7), lambda x: gf.nn.top_k(x, 3)[0]),
    "all in order": ((2, 2, 5), lambda x: gf.nn.top_k(x, 5)[0]),
    "running sums": ((3, 4, 2), lambda x: gf.cumsum(x, 1)),
    "from the end": ((5, 3), lambda x: gf.cumsum(x, 0, exclusive=True, reverse=True)),
    "running products": ((3, 4), lambda x: gf.cumprod(x, -1, exclusive=True)),
}


def _model(shape: tuple[int, ...], build: Build, dtype: Any, strided: bool = False) -> Callable[[], Any]:
    def model() -> Any:
        values = np.random.RandomState(3).permutation(int(np.prod(shape))).reshape(shape) - 3.25
        fed = np.asarray(values.T if strided else values, dtype.as_numpy_dtype)
        x = gf.placeholder(dtype, fed.shape)
        found = build(gf.transpose(x * 2) if strided else x * 2)
        if not dtype.is_floating:
            return [found * 3], {x: fed}
        weights = np.cos(np.arange(found.shape.num_elements())).reshape(found.shape.as_list())
        loss = gf.reduce_sum(gf.tanh(found * 0.1) * gf.constant(weights, dtype))
        return [found * 0.5, gf.gradients(loss, x)[0]], {x: fed}

    return model


@pytest.mark.parametrize("name", TAKEN)
def test_rows_are_taken_and_changed_natively(name: str) -> None:
    model = _model(*TAKEN[name], gf.float32)
    check(model, runs=2)
    stays = left_to_numpy(model)
    assert stays == [] or name.startswith(("products", "running products")), stays
    check(_model(*TAKEN[name], gf.float32, strided=True), runs=2)


@pytest.mark.parametrize("dtype", [gf.float64, gf.int32, gf.int64])
def test_dtypes(dtype: Any) -> None:
    def model() -> Any:
        fetches, feeds = [], {}
        for shape, build in list(TAKEN.values())[:: 1 if dtype == gf.float64 else 2]:
            found, fed = _model(shape, build, dtype)()
            fetches += found
            feeds.update(fed)
        return fetches, feeds

    check(model, runs=2, tolerance=1e-12)


@pytest.mark.parametrize("count", [1, 4, 9])
def test_the_largest_of_equals_and_of_no_numbers(count: int) -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [3, 9])
        nan, inf = float("nan"), float("inf")
        rows = [
            [1, 2, 2, 0, -0.0, 2, 1, 1, 2],
            [nan, 1, inf, nan, -inf, 3, nan, 0, 5],
            [-inf] * 4 + [inf] * 5,
        ]
        values, places = gf.nn.top_k(x * 1.0, count)
        return [
            places + 0,
            gf.is_nan(values),
            gf.where(gf.is_finite(values), values, gf.zeros_like(values)),
        ], {x: rows}

    check(model, runs=2)
    assert "TopKV2" not in left_to_numpy(model)


@pytest.mark.parametrize(
    ("dtype", "columns", "count"),
    [("float32", 1000, 1000), ("float32", 65, 65), ("float64", 300, 299), ("int32", 1000, 300), ("int64", 100, 70),
     ("uint8", 100, 90), ("int8", 300, 300), ("int16", 300, 300), ("float32", 17, 17)],
)  # fmt: skip
def test_long_rows_in_order(columns: int, count: int, dtype: str) -> None:
    """With many equal numbers, of which the first come first, and values that are no numbers."""
    random = np.random.RandomState(columns + count)
    rows = random.randint(0, 50, (5, columns)).astype(dtype)
    rows[1] = (random.permutation(columns) % 200).astype(dtype)
    rows[0] -= np.asarray(20, dtype)
    rows[2] = (np.arange(columns) % 256).astype(dtype)
    rows[3] = rows[2][::-1]
    if dtype.startswith("float"):
        rows[4, ::7], rows[4, 3::11], rows[4, 5::13] = np.nan, np.inf, -np.inf
        rows[3, ::5], rows[3, 1::5], rows[4, 2::7] = 0.0, -0.0, -np.float64(np.nan)

    def model() -> Any:
        x = gf.placeholder(dtype, [None, columns])
        values, places = gf.nn.top_k(x + gf.constant(0, dtype), count)
        return [places + 0, gf.cast(values, gf.float64)], {x: rows}

    check(model, runs=2)
    assert "TopKV2" not in left_to_numpy(model)


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "another axis": lambda x, ids: gf.gather(x, ids, axis=1),
    "batches": lambda x, ids: gf.gather(x, gf.stack([ids, ids]), batch_dims=1),
    "vectors": lambda x, ids: gf.gather_nd(x, gf.expand_dims(ids, 0)),
    "sequences": lambda x, ids: gf.reverse_sequence(x, ids, 1, 0),
    "segments": lambda x, ids: gf.unsorted_segment_sum(x, ids, 3),
    "scattered": lambda x, ids: gf.scatter_nd(gf.expand_dims(ids, 1), x, [3, 3]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_index_is_the_same_error(name: str) -> None:
    def raised(tier: str) -> str:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            x, ids = gf.placeholder(gf.float32, [2, 3]), gf.placeholder(gf.int32, [2])
            found = WRONG[name](x * 2, ids + 0)
            for _ in range(3):
                session.run(found, {x: np.ones([2, 3]), ids: [1, 0]})
            with pytest.raises(gf.errors.InvalidArgumentError) as error:
                session.run(found, {x: np.ones([2, 3]), ids: [1, 77]})
            return str(error.value.message)

    assert raised("always") == raised("never")


def test_scattered_updates_give_what_they_leave_if_it_is_taken() -> None:
    def model() -> Any:
        table = gf.get_variable("table", initializer=TABLE)
        ids = gf.placeholder(gf.int32, [3])
        first = gf.scatter_mul(table, ids, gf.ones([3, 3]) * 2)
        with gf.control_dependencies([first]):
            second = gf.scatter_max(table, ids, gf.zeros([3, 3]))
        with gf.control_dependencies([second]):
            third = gf.scatter_nd_sub(table, gf.expand_dims(ids, 1), gf.ones([3, 3]))
        return [gf.reduce_sum(first, 1), gf.reduce_sum(second, 1), third.op], {ids: [4, 0, 4]}

    check(model)


def test_means_of_runs() -> None:
    """Of constant numbers natively; of others in NumPy. A run that has no rows is 0."""

    def model(fed: bool, kind: Any = gf.segment_mean, dtype: Any = gf.float32) -> Callable[[], Any]:
        def build() -> Any:
            x = gf.placeholder(dtype, [5, 3])
            numbers = np.array([0, 0, 1, 4, 4], np.int32)
            ids = gf.placeholder(gf.int32, [5]) if fed else gf.constant(numbers)
            y = kind(x * 2, ids)
            differentiable = dtype.is_floating and kind is not gf.segment_prod
            fetches = [y * 1, *(gf.gradients(gf.tanh(y * 0.1), x) if differentiable else [])]
            values = np.arange(15).reshape(5, 3) - 4
            return fetches, {x: values.astype(dtype.as_numpy_dtype), **({ids: numbers} if fed else {})}

        return build

    for dtype in (gf.float32, gf.float64):
        check(model(False, dtype=dtype))
    check(model(True))
    assert left_to_numpy(model(False)) == []
    assert "SegmentMean" in left_to_numpy(model(True))
    for kind, name in ((gf.segment_max, "SegmentMax"), (gf.segment_min, "SegmentMin")):
        check(model(False, kind))
        assert name in left_to_numpy(model(False, kind)), "a run has no rows"
    for dtype in (gf.int32, gf.int64, gf.float64):
        check(model(False, gf.segment_prod, dtype))
        assert left_to_numpy(model(False, gf.segment_prod, dtype)) == []
    check(model(False, gf.segment_mean, gf.int32))


@pytest.mark.parametrize(
    ("ids", "words"),
    [([1, 0, 2], "not increasing"), ([-1, 0, 1], "Segment id -1 out of range"), ([0, 0, -1], "must be >= 0")],
)
def test_numbers_that_fall_are_the_same_error(ids: list[int], words: str) -> None:
    def message(tier: str) -> str:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            x = gf.placeholder(gf.float32, [3])
            y = gf.segment_sum(x * 2, ids, name="sums")
            with pytest.raises(gf.errors.InvalidArgumentError, match=words) as raised:
                for _ in range(3):
                    session.run(y, {x: [1, 2, 3]})
            return str(raised.value)

    assert message("always") == message("never")


def test_stitches_of_what_is_no_number() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [4, 2])
        parts = [gf.cast(x > k, kind) for k, kind in ((0, gf.bool), (1, gf.uint8))]
        return [gf.dynamic_stitch([[3, 1], [2, 5]], [p[:2], p[2:]]) for p in parts], {
            x: np.arange(8).reshape(4, 2) - 3
        }

    check(model)
    assert left_to_numpy(model) == []


@pytest.mark.parametrize("kind", [gf.int32, gf.int64])
def test_targets_among_the_largest(kind: Any) -> None:
    """Equal ones count as within; what is not finite, or names nothing, is not."""

    def model() -> Any:
        values = np.random.RandomState(1).randint(0, 9, (40, 19)).astype("f")
        for row, odd in enumerate((np.nan, np.inf, -np.inf)):
            values[row, row] = odd
        targets = np.arange(40) % 21 - 1
        x, ids = gf.placeholder(gf.float32, [40, 19]), gf.placeholder(kind, [40])
        k = gf.placeholder(kind, [])
        found = [gf.nn.in_top_k(x * 1, ids + 0, n) for n in (np.asarray(4, kind.as_numpy_dtype), k * 2)]
        one = gf.nn.in_top_k(x[:, :1] * 1, ids * 0, np.asarray(1, kind.as_numpy_dtype))
        turned = gf.nn.in_top_k(gf.transpose(x * 2), ids[:19], np.asarray(7, kind.as_numpy_dtype))
        return [*found, one, turned], {x: values, ids: targets, k: 5}

    check(model)
    assert left_to_numpy(model) == []

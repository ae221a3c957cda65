"""Protects sparse tensors on a GPU: products, gradients, places that repeat or do not exist, varying sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both, plans, session

pytestmark = pytest.mark.device
RANDOM = np.random.default_rng(4)
PLACES = np.array([[4, 0], [0, 2], [4, 0], [2, 1], [0, 1], [1, 2], [4, 2]], np.int64)
ORDERED = np.array([[0, 1], [0, 2], [2, 1], [4, 0], [4, 2]], np.int64)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def numbers(dtype: str, *shape: int) -> Any:
    return np.asarray(RANDOM.integers(-4, 5, shape), dtype)


@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_a_product_and_its_gradients(adjoint: bool, turned: bool, count: int) -> None:
    inner = 5 if adjoint else 3
    given = PLACES[:count], numbers("f", count), numbers("f", *((6, inner) if turned else (inner, 6)))

    def build() -> tuple[Any, dict[Any, Any]]:
        sparse = gf.sparse_placeholder(gf.float32, [5, 3])
        b = gf.placeholder(gf.float32, given[2].shape)
        y = gf.sparse_tensor_dense_matmul(sparse, b, adjoint, turned)
        gradients = gf.gradients(gf.square(y) / 2, [sparse.values, b])
        return [y, *gradients], {sparse: gf.SparseTensorValue(*given[:2], [5, 3]), b: given[2]}

    with gf.device("/cpu:0"):
        fetches, feeds = build()
        with session(compiled="never") as one:
            wanted = one.run(fetches, feeds)
    with gf.Graph().as_default(), gf.device("/gpu:0"):
        fetches, feeds = build()
        with session() as one:
            for _ in range(3):
                for got, expected in zip(one.run(fetches, feeds), wanted, strict=True):
                    np.testing.assert_array_equal(got, expected)
            assert not count or not plans(one)[-1].on_host


@pytest.mark.parametrize("dtype", ["d", "i4", "i8"])
def test_a_product_of_other_numbers(dtype: str) -> None:
    values, matrix = numbers(dtype, 7), numbers(dtype, 3, 1)

    def build() -> tuple[Any, dict[Any, Any]]:
        b = gf.placeholder(gf.as_dtype(dtype), matrix.shape)
        x = gf.placeholder(gf.as_dtype(dtype), values.shape)
        places = gf.placeholder(gf.int64, PLACES.shape)
        y = gf.sparse_tensor_dense_matmul(gf.SparseTensor(places, x, [5, 3]), b)
        return y, {b: matrix, x: values, places: PLACES}

    cpu, gpu = on_both(build)
    np.testing.assert_array_equal(gpu, cpu)


def test_numbers_of_values_that_change() -> None:
    with gf.device("/gpu:0"):
        sparse = gf.sparse_placeholder(gf.float32, [5, 3])
        w = gf.Variable(numbers("f", 3, 4))
        loss = gf.reduce_sum(gf.square(gf.sparse_tensor_dense_matmul(sparse, w)))
        train = gf.train.GradientDescentOptimizer(0.001).minimize(loss)
    with session() as one:
        one.run(gf.global_variables_initializer())
        value = one.run(w).astype("d")
        for count in (7, 3, 7, 2, 3, 7):
            values = numbers("f", count)
            one.run(train, {sparse: gf.SparseTensorValue(PLACES[:count], values, [5, 3])})
            dense = np.zeros([5, 3])
            np.add.at(dense, tuple(PLACES[:count].T), values)
            value -= 0.001 * 2 * dense.T @ (dense @ value)
        np.testing.assert_allclose(one.run(w), value, 1e-4)


@pytest.mark.parametrize("dtype", ["f", "i8", "bool", "u1"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_dense_tensor(dtype: str, index: Any) -> None:
    values = numbers("i4", 5).astype(dtype)

    def build() -> tuple[Any, dict[Any, Any]]:
        places = gf.placeholder(gf.as_dtype(index), ORDERED.shape)
        x = gf.placeholder(gf.as_dtype(dtype), values.shape)
        default = gf.placeholder(gf.as_dtype(dtype), [])
        shape = np.array([5, 3], index)
        found = [gf.sparse_to_dense(places, shape, x, default), gf.sparse_to_dense(places, shape, x[0], x[1])]
        row = gf.sparse_to_dense(places[1:3, 0], shape[:1] + 3, x[:2], default)
        return [*found, row, gf.sparse_to_dense(places[2, 1], shape[:1], x[0], default)], {
            places: ORDERED.astype(index),
            x: values,
            default: np.asarray(3, dtype),
        }

    cpu, gpu = on_both(build, 2)
    for got, wanted in zip(gpu[-1], cpu[-1], strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_the_last_of_places_that_repeat_wins_where_that_is_allowed() -> None:
    values = numbers("f", 7)

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [7])
        y = gf.sparse_to_dense(PLACES, [5, 3], x, 2.5, validate_indices=False)
        return [y, gf.sparse_to_dense(PLACES, [5, 3], x[3], 2.5, validate_indices=False)], {x: values}

    cpu, gpu = on_both(build, 2)
    np.testing.assert_array_equal(gpu, cpu)


def test_the_gradient_of_a_dense_tensor() -> None:
    weights, values = numbers("f", 5, 3), numbers("f", 5)

    def build() -> tuple[Any, dict[Any, Any]]:
        x, default = gf.placeholder(gf.float32, [5]), gf.placeholder(gf.float32, [])
        y = gf.sparse_to_dense(ORDERED, [5, 3], x, default)
        return gf.gradients(gf.square(y) * weights, [x, default]), {x: values, default: 2.0}

    cpu, gpu = on_both(build, 2)
    for got, wanted in zip(gpu[-1], cpu[-1], strict=True):
        np.testing.assert_array_equal(got, wanted)


OUTSIDE = r"the indices do not index into shape \[5, 3\]"


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ([4, 3], OUTSIDE),
        ([-1, 2], OUTSIDE),
        ([4, 2], "repeated or"),
        ([0, 0], "repeated or"),
    ],
)
def test_a_place_that_may_not_be_is_an_error(bad: list[int], told: str) -> None:
    with gf.device("/gpu:0"):
        places = gf.placeholder(gf.int64, [6, 2])
        dense = gf.sparse_to_dense(places, [5, 3], np.ones(6, "f"), name="dense")
        product = gf.sparse_tensor_dense_matmul(
            gf.SparseTensor(places, np.ones(6, "f"), [5, 3]), np.ones([3, 2], "f")
        )
    fed = {places: np.concatenate([ORDERED, [bad]])}
    with session() as one:
        with pytest.raises(gf.errors.InvalidArgumentError, match=told) as error:
            one.run(dense, fed)
        assert error.value.op is dense.op
        if told == OUTSIDE:
            with pytest.raises(gf.errors.InvalidArgumentError, match=told):
                one.run(product, fed)
        else:
            assert one.run(product, fed).sum() == 12


def test_dense_shapes_that_are_fed() -> None:
    with gf.device("/gpu:0"):
        sparse = gf.sparse_placeholder(gf.float32)
        b = gf.placeholder(gf.float32, [3, 2])
        y = gf.reduce_sum(gf.sparse_tensor_dense_matmul(sparse, b), 1)
        dense = gf.sparse_to_dense(sparse.indices, sparse.dense_shape, sparse.values) * 2
    with session() as one:
        for height in (5, 7, 5, 7, 5):
            values, matrix = numbers("f", 5), numbers("f", 3, 2)
            fed = {sparse: gf.SparseTensorValue(ORDERED, values, [height, 3]), b: matrix}
            wanted = np.zeros([height, 3], "f")
            wanted[tuple(ORDERED.T)] = values
            found = one.run([y, dense], fed)
            np.testing.assert_array_equal(found[0], (wanted @ matrix).sum(1))
            np.testing.assert_array_equal(found[1], wanted * 2)
        assert len(plans(one)) == 2
        assert not any(plan.on_host for plan in plans(one))
        with pytest.raises(gf.errors.InvalidArgumentError):
            one.run(y, {sparse: gf.SparseTensorValue(ORDERED, values, [5, 4]), b: matrix})


def test_a_dense_shape_that_is_not_the_graphs() -> None:
    with gf.device("/gpu:0"):
        sparse = gf.sparse_placeholder(gf.float32, [5, 3])
        y = gf.sparse_tensor_dense_matmul(sparse, np.ones([3, 2], "f"))
    with session(allow_soft_placement=True) as one:
        for height in (5, 6, 6):
            fed = {sparse: gf.SparseTensorValue(ORDERED, np.ones(5, "f"), [height, 3])}
            assert one.run(y, fed).shape == (height, 2)

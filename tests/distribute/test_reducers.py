"""Protects reducers: the sum of NumPy on every device, one order of summation, buckets, sparse values gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.distribute.reducers.base import Reducer
from graphflow.distribute.values import PerDevice

SUM, MEAN = gf.VariableAggregation.SUM, gf.VariableAggregation.MEAN
MAKE: dict[str, Callable[[], Reducer]] = {
    "one device": gf.distribute.ReductionToOneDevice,
    "ring": gf.distribute.RingReducer,
    "halving": gf.distribute.HalvingDoublingReducer,
    "hierarchical": gf.distribute.HierarchicalReducer,
    "hierarchical, halving": lambda: gf.distribute.HierarchicalReducer(
        gf.distribute.HalvingDoublingReducer()
    ),
    "packing": lambda: gf.distribute.PackingReducer(gf.distribute.RingReducer(), 100),
    "all_reduce": lambda: gf.distribute.AllReduce(1),
}


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def devices(count: int) -> list[str]:
    return [f"/device:CPU:{n}" for n in range(count)]


def reducer_of(name: str, towers: int) -> Reducer:
    return gf.distribute.AllReduce(towers) if name == "all_reduce" else MAKE[name]()


def on_each(values: Any) -> PerDevice:
    tensors = []
    for device, value in zip(devices(len(values)), values, strict=True):
        with gf.device(device):
            tensors.append(value if not isinstance(value, np.ndarray | np.generic) else gf.constant(value))
    return PerDevice(tensors, devices(len(values)))


def session(count: int) -> gf.Session:
    return gf.Session(config=gf.ConfigProto(device_count={"CPU": count}))


@pytest.mark.parametrize("towers", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", MAKE)
def test_every_device_gets_the_same_bits_of_the_sum(name: str, towers: int) -> None:
    random = np.random.default_rng(towers)
    shapes = [(), (0,), (7,), (2, 0), (33, 31)]
    found = {}
    values = {}
    for shape in shapes:
        for dtype in ("float64",) if shape not in ((7,), (33, 31)) else ("float16", "float64", "int32"):
            values[shape, dtype] = [
                np.asarray(random.uniform(-9, 9, shape)).astype(dtype) for _ in range(towers)
            ]
            for kind in (SUM, MEAN):
                reducer = reducer_of(name, towers)
                result = reducer.reduce(kind, on_each(values[shape, dtype]), devices(towers))
                found[shape, dtype, kind] = list(getattr(result, "values", [result]))
    with session(towers) as s:
        first, second = s.run(found), s.run(found)
    for (shape, dtype, kind), copies in first.items():
        wanted = sum(v.astype(np.float64) for v in values[shape, dtype])
        wanted = wanted / towers if kind == MEAN else wanted
        assert len(copies) == towers
        for copy, again in zip(copies, second[shape, dtype, kind], strict=True):
            assert copy.shape == shape and copy.dtype == np.dtype(dtype)
            assert copy.tobytes() == copies[0].tobytes() == again.tobytes()
        tolerance = {"float16": 4e-2, "float64": 1e-12, "int32": 1.0 if kind == MEAN else 0.0}[dtype]
        np.testing.assert_allclose(copies[0].astype(np.float64), wanted, atol=tolerance)


@pytest.mark.parametrize("name", MAKE)
def test_shapes_that_are_not_known_while_the_graph_is_built(name: str) -> None:
    fed = []
    for device in devices(3):
        with gf.device(device):
            fed.append(gf.placeholder(gf.float32, [None, None]))
    result = reducer_of(name, 3).reduce(SUM, PerDevice(fed, devices(3)), devices(3))
    with session(3) as s:
        for shape in ((4, 5), (1, 1), (0, 3)):
            values = [np.full(shape, n + 1.0, np.float32) for n in range(3)]
            for copy in s.run(list(result.values), dict(zip(fed, values, strict=True))):
                np.testing.assert_array_equal(copy, np.full(shape, 6.0))


@pytest.mark.parametrize("name", MAKE)
def test_sparse_values_are_gathered_and_not_made_dense(name: str) -> None:
    towers = 3
    slices = []
    for n, device in enumerate(devices(towers)):
        with gf.device(device):
            rows = gf.constant(np.full((2, 4), n + 1.0), gf.float32)
            slices.append(gf.IndexedSlices(rows, gf.constant([n, 9]), gf.constant([1_000_000_000, 4])))
    result = reducer_of(name, towers).reduce(MEAN, PerDevice(slices, devices(towers)), devices(towers))
    with session(towers) as s:
        for copy in s.run([(v.values, v.indices) for v in result.values]):
            np.testing.assert_allclose(copy[0][:, 0], np.array([1, 1, 2, 2, 3, 3]) / 3, rtol=1e-6)
            assert copy[1].tolist() == [0, 9, 1, 9, 2, 9]


@pytest.mark.parametrize("name", MAKE)
def test_one_destination_gets_a_tensor(name: str) -> None:
    values = on_each([np.float64(1.0), np.float64(2.0)])
    result = reducer_of(name, 2).reduce(SUM, values, devices(2)[1])
    with session(2) as s:
        assert isinstance(result, gf.Tensor) and s.run(result) == 3.0


def test_values_are_packed_in_the_order_in_which_they_were_built_up_to_so_many_bytes() -> None:
    built: list[tuple[Any, ...]] = []

    class Counting(gf.distribute.RingReducer):
        def reduce(self, aggregation: int, value: PerDevice, destinations: Any) -> Any:
            built.append(value.values[0].shape.as_list())
            return super().reduce(aggregation, value, destinations)

    sizes = [(3,), (2, 2), (50,), (), (5,)]
    values = [on_each([np.full(size, n + 10.0 * t) for t in range(2)]) for n, size in enumerate(sizes)]
    pairs = [(value, devices(2)) for value in reversed(values)]
    results = gf.distribute.PackingReducer(Counting(), 80).batch_reduce(SUM, pairs)
    assert built == [[7], [50], [6]]
    with session(2) as s:
        for n, found in enumerate(reversed(s.run([list(r.values) for r in results]))):
            for copy in found:
                np.testing.assert_array_equal(copy, np.full(sizes[n], 2 * n + 10.0))
    with pytest.raises(ValueError, match="at least 1 byte"):
        gf.distribute.PackingReducer(Counting(), 0)


def test_a_bucket_goes_out_before_back_propagation_is_through() -> None:
    with gf.device("/cpu:0"):
        x = gf.placeholder(gf.float32, [8, 16])
        weights = [gf.Variable(gf.ones([16, 16])) for _ in range(4)]
        value = x
        for w in weights:
            value = gf.tanh(gf.matmul(value, w))
        grads = gf.gradients(gf.reduce_sum(value), weights)
    one = devices(1)
    reducer = gf.distribute.PackingReducer(gf.distribute.AllReduce(1), 2 * 16 * 16 * 4)
    results = reducer.batch_reduce(SUM, [(PerDevice([g], one), one) for g in grads])
    plan, _ = session(1).plan(results, [x])
    types = [i.type for i in plan.instructions]
    begins = [n for n, kind in enumerate(types) if kind == "CollectiveBegin"]
    products = [n for n, kind in enumerate(types) if kind == "MatMul"]
    assert len(begins) == 2 and sum(n > begins[0] for n in products) >= 3
    assert types.index("CollectiveEnd") > max(products)

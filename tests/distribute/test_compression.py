"""Protects reducers that compress: the same bits on every device, nothing lost by error feedback, fewer bytes sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.client.control import cluster_status
from graphflow._core.collectives.rounds import LARGE
from graphflow.distribute.collective import SHARING
from graphflow.distribute.reducers.compressing import CompressingReducer
from graphflow.distribute.values import PerDevice
from tests.cluster.serving import serve_all, spec_of

D = gf.distribute
SUM, MEAN = gf.VariableAggregation.SUM, gf.VariableAggregation.MEAN
MAKE: dict[str, Callable[[], CompressingReducer]] = {
    "float16": D.Float16Reducer,
    "bfloat16": D.BFloat16Reducer,
    "8 bits": D.EightBitReducer,
    "top k": lambda: D.TopKReducer(0.2, least=1),
}
ERROR = {"float16": 4e-3, "bfloat16": 6e-2, "8 bits": 0.2, "top k": 9.0}
"""How far a sum of five values of some units may be off, step by step."""


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def session(count: int) -> gf.Session:
    return gf.Session(config=gf.ConfigProto(device_count={"CPU": count}))


def fed_on(devices: list[str], shape: list[int], dtype: Any = gf.float32) -> list[gf.Tensor]:
    fed = []
    for device in devices:
        with gf.device(device):
            fed.append(gf.placeholder(dtype, shape))
    return fed


def left_out() -> list[Any]:
    return [v for v in gf.global_variables() if v.op.name.endswith("/left_out")]


@pytest.mark.parametrize("towers", [2, 3])
@pytest.mark.parametrize("name", MAKE)
def test_all_devices_have_the_same_bits_and_what_is_left_out_comes_later(name: str, towers: int) -> None:
    strategy = D.MirroredStrategy(num_devices=towers, reducer=MAKE[name]())
    shapes = [[40, 60], [5], [1]]
    with strategy.scope():
        variables = [gf.get_variable(f"v{n}", shape) for n, shape in enumerate(shapes)]
        fed = [fed_on(strategy.worker_devices, shape) for shape in shapes]
        pairs = [(PerDevice(f, strategy.worker_devices), v) for f, v in zip(fed, variables, strict=True)]
        found = [strategy.unwrap(r) for r in strategy.batch_reduce(MEAN, pairs)]
        kept = left_out()
        begin = gf.global_variables_initializer()
    random = np.random.default_rng(towers)
    given = [np.zeros(shape) for shape in shapes]
    got = [np.zeros(shape) for shape in shapes]
    with session(towers) as s:
        s.run(begin)
        for _ in range(6):
            values = [[random.normal(size=shape).astype("f") for _ in range(towers)] for shape in shapes]
            feeds = {x: v for xs, vs in zip(fed, values, strict=True) for x, v in zip(xs, vs, strict=True)}
            for n, copies in enumerate(s.run(found, feeds)):
                assert all(copy.tobytes() == copies[0].tobytes() for copy in copies)
                given[n] += sum(np.asarray(v, np.float64) for v in values[n])
                got[n] += towers * copies[0].astype(np.float64)
                np.testing.assert_allclose(got[n], given[n], atol=ERROR[name] * towers)
        assert [v.op.name for v in kept] == (
            [f"v{n}/left_out" for n in range(3)] if name in ("8 bits", "top k") else []
        )
        for n, rest in enumerate(s.run(kept)):
            np.testing.assert_allclose(got[n] + rest, given[n], atol=1e-4)


def test_bfloat16_rounds_to_the_nearest_even_and_keeps_what_is_no_number() -> None:
    reducer = D.BFloat16Reducer()
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0xBF80FFFF, 0x7F7FFFFF, 0x80000000, 1], np.uint32)
    values = np.concatenate([bits.view(np.float32), np.array([np.inf, -np.inf, np.nan], np.float32)])
    nan = np.array([0x7FFFFFFF, 0xFFFFFFFF], np.uint32).view(np.float32)
    x = gf.constant(np.concatenate([values, nan])[None, :])
    with session(1) as s:
        small, back = s.run([reducer.encode(x), reducer.decode(reducer.encode(x))])
    assert small.dtype == np.uint16
    assert small[0, :7].tolist() == [0x3F80, 0x3F82, 0x3F81, 0xBF81, 0x7F80, 0x8000, 0]
    assert small[0, 7:9].tolist() == [0x7F80, 0xFF80] and np.isnan(back[0, 9:]).all()


@pytest.mark.parametrize("name", MAKE)
def test_what_is_not_compressed_is_exact(name: str) -> None:
    made = MAKE[name]()
    made._least = 4
    strategy = D.MirroredStrategy(num_devices=2, reducer=made)
    with strategy.scope():
        weights = gf.get_variable("weights", [4])
        small = gf.get_variable("small", [3])
        fixed = gf.get_variable("fixed", [4], trainable=False)
        devices = strategy.worker_devices
        third = np.full(4, 1 / 3, np.float32)

        def each(value: Any) -> PerDevice:
            values = []
            for device in devices:
                with gf.device(device):
                    values.append(gf.constant(value))
            return PerDevice(values, devices)

        slices = [
            gf.IndexedSlices(v[None, :], gf.constant([1]), gf.constant([2, 4])) for v in each(third).values
        ]
        exact = [
            strategy.reduce(SUM, each(third[:3]), small),
            strategy.reduce(SUM, each(third), fixed),
            strategy.reduce(SUM, each(third), devices),
            strategy.reduce(SUM, each(np.arange(4)), weights),
        ]
        rows = strategy.reduce(SUM, PerDevice(slices, devices), weights)
        assert not left_out()
    assert all(isinstance(v, gf.IndexedSlices) for v in rows.values)
    with session(2) as s:
        for found in s.run([v.values[0] for v in exact[:3]]):
            np.testing.assert_array_equal(found, 2 * third[: len(found)])
        np.testing.assert_array_equal(s.run(exact[3].values[1]), 2 * np.arange(4))


def test_reducers_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1, got 0"):
        D.TopKReducer(0)
    with pytest.raises(ValueError, match="at least 1 byte"):
        D.Float16Reducer(bytes=0)
    weights = gf.get_variable("weights", [4])
    values = PerDevice(fed_on(["/cpu:0", "/cpu:1"], [4]), ["/cpu:0", "/cpu:1"])
    with pytest.raises(ValueError, match="inside of the scope of the strategy"):
        D.EightBitReducer().reduce(SUM, values, weights)


def test_what_is_left_out_is_in_checkpoints(tmp_path: Path) -> None:
    strategy = D.MirroredStrategy(num_devices=2, reducer=D.EightBitReducer())
    with strategy.scope():
        weights = gf.get_variable("weights", [300])
        fed = fed_on(strategy.worker_devices, [300])
        summed = strategy.unwrap(strategy.reduce(SUM, PerDevice(fed, strategy.worker_devices), weights))
        kept = left_out()[0]
        saver, begin = gf.train.Saver(), gf.global_variables_initializer()
    random = np.random.default_rng(0)
    values = [random.normal(size=300).astype("f") for _ in range(2)]
    with session(2) as s:
        s.run(begin)
        got = s.run(summed, dict(zip(fed, values, strict=True)))[0]
        rest = s.run(kept)
        path = saver.save(s, str(tmp_path / "model"))
    assert np.abs(rest).max() > 0
    np.testing.assert_array_equal(gf.train.load_variable(path, "weights/left_out"), rest)
    with session(2) as s:
        saver.restore(s, path)
        np.testing.assert_array_equal(s.run(kept), rest)
        more = s.run(summed, {x: np.zeros(300) for x in fed})[0]
        np.testing.assert_allclose(got + more + s.run(kept), sum(values), atol=1e-5)


@pytest.mark.parametrize("name", MAKE)
def test_mirrored_keeps_the_contract(name: str) -> None:
    reducer = D.TopKReducer() if name == "top k" else MAKE[name]()
    gf.testing.check_strategy(D.MirroredStrategy(num_devices=2, reducer=reducer), tolerance=0.05)


def test_sending_a_part_of_the_elements_trains() -> None:
    strategy = D.MirroredStrategy(num_devices=2, reducer=D.TopKReducer(0.3, least=1))
    properties = ["towers", "training", "normalisation", "datasets", "checkpoints"]
    gf.testing.check_strategy(strategy, synchronous=False, properties=properties)


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[dict[str, list[str]], list[str]]]:
    """Two workers in this process, as if each had a machine: their addresses, and their targets."""
    with ExitStack() as stack:
        found = spec_of(stack, worker=2)
        config = gf.ConfigProto(device_count={"CPU": 2}, tcp_only=True)
        yield found, [server.target for server in serve_all(stack, found, config=config)]


@pytest.mark.parametrize(("name", "devices"), [*((name, 1) for name in MAKE), ("8 bits", 2)])
def test_between_programs_the_contract_is_kept(name: str, devices: int, cluster: Any) -> None:
    addresses, targets = cluster
    strategies = [
        D.CollectiveAllReduceStrategy(
            addresses,
            "worker",
            i,
            devices,
            D.TopKReducer() if name == "top k" else MAKE[name](),
            timeout=100.0,
        )
        for i in range(2)
    ]
    properties = ["reduction", "training", "updates", "checkpoints"]
    gf.testing.check_strategy(strategies, targets=targets, tolerance=0.05, properties=properties)


def test_workers_other_than_the_first_go_on_with_nothing_left_out(cluster: Any) -> None:
    addresses, targets = cluster
    strategy = D.CollectiveAllReduceStrategy(addresses, "worker", 1, reducer=D.EightBitReducer())
    with strategy.scope(), gf.device(strategy.worker_devices[0]):
        weights = gf.get_variable("weights", [300])
        value = PerDevice([gf.ones([300])], strategy.worker_devices)
        strategy.batch_reduce(SUM, [(value, weights)])
        kept = left_out()[0]
    again = [op for op in gf.get_collection(SHARING) if op.name.startswith("weights/left_out/")]
    with gf.Session(targets[1]) as s:
        s.run(kept.initializer)
        kept.load(np.ones(300), s)
        s.run(again)
        assert not s.run(kept).any()


def reduced_between(
    cluster: Any, devices: int, make: Callable[[], Any], values: Any, steps: int
) -> list[Any]:
    """What each program of two gets of the sum, and keeps, and the bytes that the first sends in the last step."""
    addresses, targets = cluster
    for target in targets:
        gf.Session.reset(target)
    found: list[Any] = [None, None]
    meet = threading.Barrier(2, timeout=60.0)

    def sent() -> int:
        return sum(int(task["traffic"]["bytes_out"]) for task in cluster_status(targets[0]))

    def program(index: int) -> None:
        strategy = D.CollectiveAllReduceStrategy(addresses, "worker", index, devices, make(), timeout=60.0)
        with gf.Graph().as_default(), strategy.scope():
            weights = gf.get_variable("weights", [values.shape[-1]])
            own = []
            for number, device in enumerate(strategy.worker_devices):
                with gf.device(device):
                    own.append(
                        gf.constant(values[devices * index + number]) * gf.Variable(1.0, trainable=False)
                    )
            [result] = strategy.batch_reduce(SUM, [(PerDevice(own, strategy.worker_devices), weights)])
            copies = strategy.unwrap(result)
            begin, kept = gf.global_variables_initializer(), left_out()
            with gf.Session(targets[index]) as s:
                s.run(begin)
                sums = []
                for step in range(steps):
                    meet.wait()
                    before = sent() if step == steps - 1 else 0
                    meet.wait()
                    sums.append(s.run(copies))
                    meet.wait()
                more = sent() - before
                meet.wait()
                found[index] = sums, s.run(kept), more

    threads = [threading.Thread(target=program, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found), "a program has failed"
    return found


@pytest.mark.parametrize("name", MAKE)
def test_programs_get_what_towers_of_one_graph_get(name: str, cluster: Any) -> None:
    values = np.random.default_rng(3).normal(size=(4, 777)).astype("f")
    found = reduced_between(cluster, 2, MAKE[name], values, 3)
    given, got = 3 * values.sum(0, dtype=np.float64), np.zeros(777)
    for sums in zip(found[0][0], found[1][0], strict=True):
        copies = [copy for program in sums for copy in program]
        assert all(copy.tobytes() == copies[0].tobytes() for copy in copies)
        got += copies[0]
    kept = sum(np.asarray(rest, np.float64) for _, rests, _ in found for rest in rests)
    np.testing.assert_allclose(got + kept, given, atol={"float16": 0.03, "bfloat16": 0.3}.get(name, 1e-4))


def test_fewer_bytes_go_between_programs(cluster: Any) -> None:
    elements = 1 << 20
    assert elements > LARGE
    values = np.random.default_rng(3).normal(size=(2, elements)).astype("f")
    bytes_sent = {
        name: reduced_between(cluster, 1, make, values, 2)[0][2]
        for name, make in {**MAKE, "none": lambda: None}.items()
    }
    whole = bytes_sent["none"]
    assert whole > 8 * elements
    assert bytes_sent["float16"] < 0.51 * whole and bytes_sent["bfloat16"] < 0.51 * whole
    assert bytes_sent["8 bits"] < 0.26 * whole
    assert bytes_sent["top k"] < 0.41 * whole  # 8 bytes for each fifth element.

"""Protects copies that go on while a GPU computes: right whenever it gets to its work, and early where they can be."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.gpu.discovery import found
from tests.runtime.gpu.both_devices import plans, session
from tests.runtime.gpu.lazy_streams import make_lazy

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not found().simulated, reason="lazy streams are of the simulator"),
]


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def network(device: str, second: str | None = None) -> tuple[Any, Any, Any]:
    """A placeholder, a loss and a training step."""
    rng = np.random.default_rng(0)
    x = gf.placeholder(gf.float32, [None, 3])
    with gf.device(device):
        h = gf.tanh(gf.matmul(x, gf.Variable(rng.normal(size=(3, 4)).astype("f"))))
    with gf.device(second or device):
        h = gf.tanh(gf.matmul(h, gf.Variable(rng.normal(size=(4, 4)).astype("f"))))
        loss = gf.reduce_mean(gf.square(gf.matmul(h, gf.Variable(rng.normal(size=(4, 2)).astype("f"))) - 1.0))
        optimizer = gf.train.AdamOptimizer(0.1)
        pairs = optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)
        return x, loss, optimizer.apply_gradients(pairs)


def losses(*devices: str) -> list[float]:
    """The losses of some steps, every one with other data."""
    rng = np.random.default_rng(1)
    with gf.Graph().as_default():
        x, loss, train = network(*devices)
        with session(device_count={"GPU": 2}, allow_soft_placement=True) as one:
            one.run(gf.global_variables_initializer())
            values = []
            for _ in range(6):
                data = rng.normal(size=(5, 3)).astype("f")
                values.append(one.run([loss, train], {x: data})[0])
                one.run(train, {x: data * 0.5})  # Which waits for nothing.
                data[:] = np.nan
            return values


@pytest.mark.parametrize("devices", [("/gpu:0",), ("/gpu:0", "/gpu:1")])
@pytest.mark.parametrize("much", [1, 1 << 30])
def test_training_does_not_depend_on_when_the_gpu_works(
    devices: tuple[str, ...], much: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphflow._core.runtime.gpu import transfers

    monkeypatch.setattr(transfers, "_MUCH", much)
    wanted = losses("/cpu:0")
    make_lazy(monkeypatch, 2)
    np.testing.assert_allclose(losses(*devices), wanted, 1e-5)


def test_loops_do_not_depend_on_when_the_gpu_works(monkeypatch: pytest.MonkeyPatch) -> None:
    make_lazy(monkeypatch, 1)
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [2])
        w = gf.Variable([1.0, 2.0])
        _, y = gf.while_loop(lambda i, z: i < 4, lambda i, z: (i + 1, z * w + gf.cast(i, gf.float32)), [0, x])
        slope = gf.gradients(y, w)[0]
    with session() as one:
        one.run(w.initializer)
        for k in range(4):
            values = one.run([y, slope], {x: [1.0 + k, 1.0]})
            # Of x w^4 + w^2 + 2w + 3, and of its gradient by w.
            np.testing.assert_allclose(values[0], [1.0 + k + 6, 16 + 4 + 4 + 3], 1e-6)
            np.testing.assert_allclose(values[1], [4 * (1 + k) + 4, 32 + 4 + 2], 1e-6)


def test_a_loss_is_fetched_before_the_step_is_through(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = make_lazy(monkeypatch, 1)
    x, loss, train = network("/gpu:0")
    with session() as one:
        one.run(gf.global_variables_initializer())
        data = np.ones([5, 3], np.float32)
        for _ in range(2):
            one.run([loss, train], {x: data})
        asked.clear()
        one.run([loss, train], {x: data})
        order = [what for what, _ in asked]
        launches = plans(one)[-1].launches
        device = plans(one)[-1].device
        left = len(device.stream.work) - device.stream.done
    assert order.count("launch") == launches
    after = order[len(order) - order[::-1].index("download") :]
    assert after == ["launch"] * left
    assert left > launches / 3


def test_a_run_that_may_fail_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    make_lazy(monkeypatch, 1)
    with gf.device("/gpu:0"):
        ids = gf.placeholder(gf.int32, [2])
        w = gf.Variable(gf.ones([3, 2]))
        total = gf.reduce_sum(gf.constant([1.0, 2.0]) * gf.cast(ids, gf.float32))
        add = gf.scatter_add(w, ids, gf.ones([2, 2]), name="added")
    with session() as one:
        one.run(w.initializer)
        for _ in range(2):
            assert one.run([total, add.op], {ids: [0, 1]})[0] == 2.0
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"added.*the index 3 is not in"):
            one.run([total, add.op], {ids: [0, 3]})


def test_two_threads_run_one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [4])
        y = gf.sqrt(x) * 2.0
    wrong: list[Any] = []
    with session() as one:
        one.run(y, {x: np.ones(4)})

        def work(number: int) -> None:
            for k in range(8):
                data = np.full(4, number * 100.0 + k, np.float32)
                if not np.allclose(one.run(y, {x: data}), np.sqrt(data) * 2.0):
                    wrong.append((number, k))

        threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong

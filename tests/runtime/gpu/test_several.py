"""Protects values that go from one GPU to another: device to device, in order, and as whole as through the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import needs_two_gpus, session

pytestmark = [pytest.mark.device, needs_two_gpus]
TWO = {"GPU": 2}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often values were copied, and how often the host waited, by what was asked of the devices."""
    from graphflow._core.codegen.gpu.toolkit import Device
    from graphflow._core.runtime.gpu.transfers import Outbox

    found: Counter[str] = Counter()

    def count(kind: Any, name: str) -> None:
        real = getattr(kind, name)

        def call(self: Any, *rest: Any) -> Any:
            found[f"{name} {(self if kind is Device else self._device).index}"] += 1
            return real(self, *rest)

        monkeypatch.setattr(kind, name, call)

    for name in ("upload", "download", "receive", "wait", "allocate"):
        count(Device, name)
    count(Outbox, "wait")
    return found


def test_values_go_from_gpu_to_gpu_and_back(seen: Counter[str]) -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [3], name="x")
        a = gf.sqrt(x) * 2.0
    with gf.device("/gpu:1"):
        b = gf.reduce_sum(a * a)
    with gf.device("/gpu:0"):
        c = a + b
    with session(device_count=TWO) as one:
        for k in range(4):
            seen.clear()
            data = np.array([1.0, 4.0, 9.0 + k], np.float32)
            np.testing.assert_allclose(one.run(c, {x: data}), 2 * np.sqrt(data) + 4 * data.sum(), 1e-6)
    assert seen == {
        "upload 0": 1, "receive 1": 1, "receive 0": 1,
        "download 0": 2, "wait 0": 1,  # What is fetched, and whether all went well.
    }  # fmt: skip


def test_training_a_model_that_lies_on_two_gpus(seen: Counter[str]) -> None:
    """The same numbers as on one CPU, and no activation or gradient on the host."""
    rng = np.random.default_rng(0)
    first, second = (rng.normal(size=s).astype("f") for s in ((3, 4), (4, 2)))
    data = rng.normal(size=(5, 3)).astype("f")

    def losses(places: tuple[str, str]) -> list[Any]:
        with gf.Graph().as_default():
            x = gf.placeholder(gf.float32, [None, 3])
            with gf.device(places[0]):
                h = gf.tanh(gf.matmul(x, gf.Variable(first)))
            with gf.device(places[1]):
                loss = gf.reduce_mean(gf.square(gf.matmul(h, gf.Variable(second)) - 1.0))
            optimizer = gf.train.GradientDescentOptimizer(0.1)
            gradients = optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)
            train = optimizer.apply_gradients(gradients)
            with session(device_count=TWO, allow_soft_placement=True) as one:
                one.run(gf.global_variables_initializer())
                found = []
                for _ in range(4):
                    seen.clear()
                    found.append(one.run([loss, train], {x: data})[0])
                return found

    wanted = losses(("/cpu:0", "/cpu:0"))
    np.testing.assert_allclose(losses(("/gpu:0", "/gpu:1")), wanted, 1e-5)
    assert seen["receive 1"] == 1
    assert seen["receive 0"] == 1
    assert seen["download 0"] == 0
    assert seen["wait 0"] == 0


def test_a_variable_of_one_gpu_is_read_by_another_as_it_was() -> None:
    with gf.device("/gpu:0"):
        w = gf.Variable([1.0, 2.0])
    with gf.device("/gpu:1"):
        doubled = w * 2.0
    with gf.device("/gpu:0"), gf.control_dependencies([doubled]):
        add = w.assign_add([1.0, 1.0])
    with session(device_count=TWO) as one:
        one.run(w.initializer)
        for k in range(5):
            value, _ = one.run([doubled, add.op])
            np.testing.assert_array_equal(value, [2.0 + 2 * k, 4.0 + 2 * k])


def test_what_the_cpu_and_a_gpu_both_take() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [2])
        a = x + 1.0
    with gf.device("/gpu:1"):
        b = a * 2.0
    with gf.device("/cpu:0"):
        c = gf.concat([a, b], 0)
    with session(device_count=TWO) as one:
        for _ in range(4):
            values = one.run([a, b, c], {x: [1.0, 2.0]})
            np.testing.assert_array_equal(np.concatenate(values), [2, 3, 4, 6, 2, 3, 4, 6])
            values[0][:] = 0.0  # They belong to the caller.


def test_an_error_on_the_first_gpu_keeps_variables_of_the_second_as_they_are() -> None:
    with gf.device("/gpu:0"):
        ids = gf.placeholder(gf.int32, [2])
        picked = gf.gather(gf.constant([1.0, 2.0, 3.0]), ids, name="picked")
    with gf.device("/gpu:1"):
        w = gf.Variable([0.0, 0.0])
        add = w.assign_add(picked)
    with session(device_count=TWO) as one:
        one.run(w.initializer)
        for _ in range(3):
            one.run(add.op, {ids: [0, 2]})
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"picked.*the index 3 is not in \[0, 3\)"):
            one.run(add.op, {ids: [0, 3]})
        np.testing.assert_array_equal(one.run(w), [3.0, 9.0])


def test_loops_on_two_gpus() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [2])
        a = gf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * 2.0), [0, x])[1]
    with gf.device("/gpu:1"):
        b = gf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, z + a), [0, a])[1]
        slope = gf.gradients(b, x, colocate_gradients_with_ops=True)[0]
    with session(device_count=TWO) as one:
        for _ in range(3):
            values = one.run([b, slope], {x: [1.0, 2.0]})
            np.testing.assert_array_equal(values, [[24.0, 48.0], [24.0, 24.0]])


def test_what_the_driver_is_asked_for_is_asked_of_the_right_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread without a current GPU gets the first one from Numba, and memory there instead of where it is used."""
    from graphflow._core.codegen.gpu import toolkit
    from graphflow._core.runtime.gpu import arrays, transfers

    made_current = toolkit.Device.being_current
    current: list[int] = []
    asked: Counter[str] = Counter()

    @contextmanager
    def being_current(self: Any) -> Iterator[None]:
        current.append(self.index)
        try:
            with made_current(self):
                yield
        finally:
            current.pop()

    def check(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            if name != "part" or not isinstance(arguments[0], np.ndarray):
                assert current, f"{name} without a current GPU"
                asked[f"{name} {current[-1]}"] += 1
            return real(*arguments, **named)

        monkeypatch.setattr(owner, name, call)

    monkeypatch.setattr(toolkit.Device, "being_current", being_current)
    for name in ("device_array", "pinned_array", "event"):
        check(toolkit.cuda(), name)
    for user in (arrays, transfers):
        check(user, "part")
    with gf.device("/gpu:1"):
        count, x = gf.placeholder(gf.int32, []), gf.placeholder(gf.float32, [3])
        lists = gf.TensorArray(gf.float32, 3).unstack(x)
        y = gf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, gf.tanh(a) + lists.read(i)), [0, x])[1]
        gradient = gf.gradients(y, x)[0]
    for device in (0, 1):
        toolkit.device(device).pool.clear()
    with session(device_count=TWO) as one:
        for _ in range(3):
            one.run([y, gradient], {count: 3, x: np.ones(3, np.float32)})
    assert asked["device_array 1"] and asked["part 1"]
    assert not [name for name in asked if name.endswith(" 0")]

"""Protects branches, loops and lists of tensors on a GPU: the CPU's numbers and gradients, values that stay on the
device, and a host that waits for the device only where a decision needs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both, plans, session

pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def alike(build: Any, runs: int = 3) -> None:
    """Asserts that runs give the same on both devices, and that the GPU has computed it."""
    cpu, gpu = on_both(build, runs)
    for one, other in zip(gpu, cpu, strict=True):
        for got, wanted in zip(one, other, strict=True):
            if wanted is not None:
                np.testing.assert_allclose(got, wanted, 2e-5, 1e-6)


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the device is asked for something from now on."""
    from graphflow._core.codegen.gpu.toolkit import Device

    seen: Counter[str] = Counter()

    def count(name: str) -> None:
        real = getattr(Device, name)

        def call(self: Any, *rest: Any) -> Any:
            seen[name] += 1
            return real(self, *rest)

        monkeypatch.setattr(Device, name, call)

    for name in ("upload", "download", "allocate"):
        count(name)
    return seen


@pytest.mark.parametrize("limit", [2.0, 20.0])
def test_a_branch_decided_by_the_device(limit: float) -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        x, n = gf.placeholder(gf.float32, [3]), gf.placeholder(gf.float32, [])
        w = gf.Variable([1.0, 2.0, 3.0])
        y = gf.cond(gf.reduce_sum(x) > n, lambda: gf.tanh(w * x), lambda: x - w)
        return [y * 2.0, *gf.gradients(y, [x, w])], {x: [1.0, 2.0, 3.0], n: limit}

    alike(build)


@pytest.mark.parametrize("training", [True, False])
def test_a_fed_decision_leaves_one_device_region(training: bool) -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        x, is_training = gf.placeholder(gf.float32, [4, 3]), gf.placeholder(gf.bool, [])
        w = gf.Variable(gf.ones([3]))
        y = gf.cond(is_training, lambda: gf.nn.l2_normalize(x * w, 1), lambda: x + w)
        train = gf.train.GradientDescentOptimizer(0.1).minimize(gf.reduce_sum(y))
        return [y, train], {x: np.arange(12.0).reshape(4, 3), is_training: training}

    alike(build)


def test_a_branch_that_writes_a_variable() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        w = gf.Variable([1.0, 2.0])
        y = gf.cond(gf.reduce_sum(w) < 9.0, lambda: w.assign_add([1.5, 1.0]) + 0.0, lambda: w * 1.0)
        return [y], {}

    alike(build, 5)


def test_a_loop_and_its_gradient() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        x, w = gf.placeholder(gf.float32, [3]), gf.Variable([1.0, 0.2, 0.3])
        _, y = gf.while_loop(lambda i, z: i < 5, lambda i, z: (i + 1, gf.tanh(z * w)), [0, x])
        return [y, *gf.gradients(y, [x, w])], {x: [1.0, 2.0, 3.0]}

    alike(build)


def test_a_loop_that_begins_with_a_variable_and_writes_it() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        w = gf.Variable([1.0, 2.0])

        def body(i: Any, z: Any) -> Any:
            with gf.control_dependencies([w.assign_add(z * 0.5)]):
                return i + 1, w * 1.0

        return [gf.while_loop(lambda i, z: i < 3, body, [0, w])[1]], {}

    alike(build)


def test_a_loop_inside_a_loop_with_a_branch() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [2, 2])

        def inner(j: Any, z: Any) -> Any:
            return j + 1, gf.cond(gf.equal(j, 1), lambda: gf.matmul(z, x), lambda: z + 0.5)

        def outer(i: Any, z: Any) -> Any:
            return i + 1, gf.while_loop(lambda j, _: j < i + 1, inner, [0, z])[1] * 0.5

        y = gf.while_loop(lambda i, z: i < 3, outer, [0, x])[1]
        return [y, *gf.gradients(y, x)], {x: [[0.3, 0.1], [0.2, 0.4]]}

    alike(build)


@pytest.mark.parametrize("cell", ["BasicLSTMCell", "GRUCell"])
def test_training_a_recurrent_network(cell: str) -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        rng = np.random.default_rng(0)
        x, lengths = gf.placeholder(gf.float32, [None, None, 3]), gf.placeholder(gf.int32, [None])
        outputs, _ = gf.nn.dynamic_rnn(getattr(gf.nn.rnn_cell, cell)(2), x, lengths, dtype=gf.float32)
        loss = gf.reduce_sum(gf.square(outputs))
        train = gf.train.GradientDescentOptimizer(0.1).minimize(loss)
        return [loss, outputs, train], {x: rng.normal(size=(2, 3, 3)), lengths: [2, 3]}

    alike(build)


def test_lists_of_tensors() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [4, 2])
        rows = gf.TensorArray(gf.float32, 4).unstack(x * 2.0)
        again = gf.TensorArray(gf.float32, 2, clear_after_read=False, infer_shape=False).split(
            x + 1.0, [1, 3]
        )
        y = gf.reduce_sum(rows.stack() * x) + gf.reduce_sum(again.concat() * x) + gf.reduce_sum(again.read(1))
        return [y, *gf.gradients(y, x)], {x: np.arange(8.0).reshape(4, 2)}

    alike(build)


def test_shapes_that_change_in_a_loop() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [2])
        shapes = [gf.TensorShape([]), gf.TensorShape([None])]
        grown = gf.while_loop(
            lambda i, z: i < 3, lambda i, z: (i + 1, gf.concat([z, z * 2.0], 0)), [0, x], shapes
        )
        return [grown[1] + 1.0], {x: [1.0, 2.0]}

    alike(build)


def test_a_counted_loop_waits_for_the_device_only_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [3])
        _, y = gf.while_loop(lambda i, z: i < 6, lambda i, z: (i + 1, gf.tanh(z) + 0.5), [0, x])
        slope = gf.gradients(y, x)[0]
    with session() as one:
        for _ in range(3):
            one.run([y, slope], {x: [1.0, 2.0, 3.0]})
        seen = counted(monkeypatch)
        one.run([y, slope], {x: [1.0, 2.5, 3.0]})
    assert seen["download"] == 2  # What is fetched.
    assert seen["allocate"] == 0
    assert seen["upload"] <= 2  # What is fed, and the gradient that begins.


def test_a_loop_whose_end_the_device_knows_fetches_the_truth_value_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [3])
        y = gf.while_loop(lambda z: gf.reduce_sum(z) < 100.0, lambda z: z * 2.0, [x])
    with session() as one:
        for _ in range(3):
            one.run(y, {x: [1.0, 2.0, 3.0]})
        seen = counted(monkeypatch)
        np.testing.assert_array_equal(one.run(y, {x: [1.0, 2.0, 3.5]}), [16.0, 32.0, 56.0])
    assert seen["download"] == 6  # Five truth values and the result.


def test_what_has_no_kernel_inside_a_loop_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [2, 2])

        def body(i: Any, z: Any) -> Any:
            return i + 1, gf.linalg.inv(z, name="inverse") * 2.0

        y = gf.while_loop(lambda i, z: i < 3, body, [0, x])[1]
    data = np.array([[2.0, 0.0], [0.0, 4.0]])
    with session(allow_soft_placement=True, log_device_placement=True) as one:
        for _ in range(3):
            np.testing.assert_allclose(one.run(y, {x: data}), 2 * np.linalg.inv(data), 1e-6)
        assert plans(one)
    told = next(line for line in capfd.readouterr().err.splitlines() if "inverse" in line)
    assert told.endswith("/device:CPU:0")
    with session() as strict, pytest.raises(gf.errors.InvalidArgumentError, match="no kernel for MatrixInv"):
        strict.run(y, {x: data})


def test_python_functions_and_strings_inside_a_loop() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [2])

        def body(i: Any, z: Any, text: Any) -> Any:
            return i + 1, gf.py_func(lambda a: a + 1, [z * 2.0], gf.float32), gf.string_join([text, "a"])

        shapes = [gf.TensorShape([]), gf.TensorShape(None), gf.TensorShape([])]
        y = gf.while_loop(lambda i, z, text: i < 3, body, [0, x, gf.constant("b")], shapes)
    with session(allow_soft_placement=True) as one:
        for _ in range(3):
            _, value, text = one.run(y, {x: [1.0, 2.0]})
            np.testing.assert_array_equal(value, [15.0, 23.0])
            assert text == b"baaa"


def test_an_error_inside_a_loop_names_the_operation() -> None:
    with gf.device("/gpu:0"):
        w = gf.Variable(gf.ones([4]))
        first = gf.placeholder(gf.int32, [2])

        def body(i: Any, ids: Any, z: Any) -> Any:
            return i + 1, ids + 1, z + gf.reduce_sum(gf.gather(w, ids, name="picked"))

        y = gf.while_loop(lambda i, ids, z: i < 2, body, [0, first, 0.0])[2]
    with session() as one:
        one.run(w.initializer)
        for _ in range(3):
            assert one.run(y, {first: [0, 2]}) == 4.0
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"picked.*the index 4 is not in") as told:
            one.run(y, {first: [0, 3]})
        assert "test_control.py" in str(told.value)
        assert one.run(y, {first: [2, 1]}) == 4.0


def test_variables_without_values_are_told() -> None:
    with gf.device("/gpu:0"):
        w = gf.Variable([1.0], name="w")
        y = gf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, z * w), [0, gf.ones([1])])[1]
    with session() as one:
        with pytest.raises(gf.errors.FailedPreconditionError, match="uninitialized value w"):
            one.run(y)
        one.run(w.initializer)
        assert [one.run(y)[0] for _ in range(3)] == [1.0] * 3


@pytest.mark.parametrize("from_the_end", [False, True])
def test_rows_that_a_loop_takes_one_by_one(from_the_end: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """x[i] and its gradient: the place is the host's, the rows stay on the device."""

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [4, 3])

        def body(i: Any, z: Any) -> Any:
            row = x[-1 - i] if from_the_end else x[i]
            return i + 1, gf.tanh(z + row) * x[i, 1] + gf.reduce_sum(x[i : i + 1])

        y = gf.while_loop(lambda i, z: i < 4, body, [0, gf.zeros([3])])[1]
        return [y, *gf.gradients(y, x)], {x: np.linspace(-1.0, 1.0, 12).reshape(4, 3)}

    alike(build)
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [4, 3])
        y = gf.while_loop(lambda i, z: i < 4, lambda i, z: (i + 1, z + x[i]), [0, gf.zeros([3])])[1]
        slope = gf.gradients(y, x)[0]
    with session() as one:
        for _ in range(3):
            one.run([y, slope], {x: np.ones([4, 3])})
        seen = counted(monkeypatch)
        one.run([y, slope], {x: np.ones([4, 3])})
    assert seen["download"] == 2


def test_a_row_that_is_not_there_is_told() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [2, 3])
        y = gf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z + x[i]), [0, gf.zeros([3])])[1]
    with session() as one, pytest.raises(gf.errors.InvalidArgumentError, match="out of bounds"):
        one.run(y, {x: np.ones([2, 3])})


@pytest.mark.parametrize("fed", [True, False])
def test_the_gradient_of_a_branch_on_the_cpu(fed: bool) -> None:
    """What the branch leaves for it is there only where the branch was taken."""
    x, taken = gf.placeholder(gf.float32, [3, 4]), gf.placeholder(gf.bool, [])
    with gf.device("/gpu:0"):
        predicate = taken if fed else gf.logical_and(taken, gf.reduce_max(x) > 0.0)
        result = gf.cond(predicate, lambda: gf.tanh(gf.exp(x)), lambda: x * 2.0)
    with gf.device("/cpu:0"):
        gradient = gf.gradients(result * result, x)[0]
    value = np.full([3, 4], 0.3, np.float32)
    with session(allow_soft_placement=True) as one:
        for choice in (True, True, False, False, True):
            y, slope = (np.tanh(np.exp(0.3)), np.exp(0.3)) if choice else (0.6, 2.0)
            slope *= (1 - y * y) if choice else 1
            values = one.run([result, gradient], {x: value, taken: choice})
            np.testing.assert_allclose(values[0], np.full([3, 4], y), 1e-5)
            np.testing.assert_allclose(values[1], np.full([3, 4], 2 * y * slope), 1e-5)

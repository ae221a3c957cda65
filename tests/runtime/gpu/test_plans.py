"""Protects plans on a GPU: same numbers as the CPU's, variables that stay there, no copies that are not needed, and
errors that say what happened. Runs on a GPU or in Numba's simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import needs_two_gpus, on_both, plans, session

pytestmark = pytest.mark.device
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The copies between host and device, allocations and launches from now on."""
    from graphflow._core.codegen.gpu.toolkit import Device

    seen: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *rest: Any) -> Any:
            seen.append(name)
            return real(self, *rest)

        return call

    for name in ("upload", "download", "allocate", "launch"):
        monkeypatch.setattr(Device, name, counted(name, getattr(Device, name)))
    return seen


def dense(x: Any, units: int, rng: np.random.Generator) -> Any:
    w = gf.Variable(rng.normal(size=(int(x.shape[1]), units)).astype("f") * 0.5)
    return gf.matmul(x, w) + gf.Variable(gf.zeros([units]))


@pytest.mark.parametrize("optimizer", ["GradientDescent", "Momentum", "Adam", "RMSProp"])
def test_training_gives_the_numbers_of_the_cpu(optimizer: str) -> None:
    arguments = {"Momentum": (0.05, 0.9), "RMSProp": (0.01, 0.9, 0.1)}.get(optimizer, (0.05,))

    def build() -> tuple[Any, dict[Any, Any]]:
        rng = np.random.default_rng(0)
        x, y = gf.placeholder(gf.float32, [None, 5]), gf.placeholder(gf.float32, [None, 3])
        logits = dense(gf.nn.relu(dense(x, 4, rng)), 3, rng)
        loss = gf.reduce_mean(gf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=y))
        train = getattr(gf.train, f"{optimizer}Optimizer")(*arguments).minimize(loss)
        data = {x: rng.normal(size=(7, 5)), y: np.eye(3)[rng.integers(0, 3, 7)]}
        return [loss, train], data

    cpu, gpu = on_both(build)
    np.testing.assert_allclose([r[0] for r in gpu], [r[0] for r in cpu], 1e-5)


def test_a_convolutional_network_gives_the_numbers_of_the_cpu() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        rng = np.random.default_rng(0)
        x, y = gf.placeholder(gf.float32, [None, 5, 5, 1]), gf.placeholder(gf.int32, [None])
        kernel = gf.Variable(rng.normal(size=(3, 3, 1, 2)).astype("f"))
        h = gf.nn.relu(gf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"))
        h = gf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        logits = dense(gf.reshape(h, [-1, 18]), 3, rng)
        loss = gf.reduce_mean(gf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        train = gf.train.GradientDescentOptimizer(0.1).minimize(loss)
        return [loss, train], {x: rng.normal(size=(2, 5, 5, 1)), y: [2, 0]}

    cpu, gpu = on_both(build)
    np.testing.assert_allclose([r[0] for r in gpu], [r[0] for r in cpu], 1e-5)


@pytest.mark.parametrize(
    "shape, axes",
    [((3,), (0,)), ((1,), (0,)), ((70,), (0,)), ((5, 9), (0,)), ((5, 9), (1,)), ((4, 3, 5), (0, 2)), ((2, 3, 4), (1,)),
     ((300, 2), (0,)), ((2, 130), (1,)), ((3, 2, 2, 3), (0, 1, 2))],
)  # fmt: skip
def test_reductions_over_any_axes(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    data = np.random.default_rng(7).normal(size=shape).astype("f")

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, shape)
        return [gf.reduce_sum(x * 2.0, axes), gf.reduce_max(x, axes), gf.reduce_mean(x, axes)], {x: data}

    cpu, gpu = on_both(build, 2)
    for got, wanted in zip(gpu[1], cpu[1], strict=True):
        np.testing.assert_allclose(got, wanted, 2e-6, 2e-6)


@pytest.mark.parametrize(
    "shape, axes", [((70, 3), (0,)), ((3, 200), (1,)), ((41, 5, 2), (0, 1)), ((33,), (0,))]
)
def test_reductions_by_larger_blocks(
    shape: tuple[int, ...], axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the simulator's small blocks no two threads share a cell of what is kept along the last axis."""
    from graphflow._core.codegen.gpu import regions
    from graphflow._core.codegen.gpu.kernels import reductions

    monkeypatch.setattr(reductions, "BLOCK", 64)
    monkeypatch.setattr(regions, "elementwise_launch", None)  # Nothing but the reductions is to be launched.
    data = np.random.default_rng(7).normal(size=shape).astype("f")

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, shape)
        return [gf.reduce_mean(x * 2.0, axes), gf.reduce_min(x, axes)], {x: data}

    cpu, gpu = on_both(build, 1)
    for got, wanted in zip(gpu[0], cpu[0], strict=True):
        np.testing.assert_allclose(got, wanted, 2e-6, 2e-6)


@pytest.mark.parametrize("rows, depth, columns", [(1, 1, 1), (4, 4, 4), (5, 7, 3), (9, 2, 6), (3, 11, 1)])
def test_products_of_odd_sizes(rows: int, depth: int, columns: int) -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        rng = np.random.default_rng(1)
        a, b = gf.placeholder(gf.float32, [rows, depth]), gf.placeholder(gf.float32, [depth, columns])
        c, d = gf.placeholder(gf.float32, [depth, rows]), gf.placeholder(gf.float32, [columns, depth])
        fetches = [gf.matmul(a, b), gf.matmul(c, d, True, True), gf.matmul(c, b, transpose_a=True)]
        fetches.append(gf.matmul(gf.stack([a, a + 1.0]), gf.stack([b, b])))
        feeds = {t: rng.normal(size=t.shape.as_list()).astype("f") for t in (a, b, c, d)}
        return fetches, feeds

    cpu, gpu = on_both(build, 2)
    for got, wanted in zip(gpu[1], cpu[1], strict=True):
        np.testing.assert_allclose(got, wanted, 1e-5, 1e-5)


@pytest.mark.parametrize(
    "name, turned", [("MEDIUM", False), ("MEDIUM", True), ("LARGE", False), ("LARGE", True)]
)
def test_products_by_the_tiles_of_a_gpu(name: str, turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphflow._core.codegen.gpu.kernels import matmul

    monkeypatch.setattr(matmul, "SMALL", getattr(matmul, name))

    def build() -> tuple[Any, dict[Any, Any]]:
        rng = np.random.default_rng(1)
        a, b = gf.placeholder(gf.float32, [67, 18]), gf.placeholder(gf.float32, [18, 5])
        product = gf.matmul(b, a, True, True) if turned else gf.matmul(a, b)
        return [product], {t: rng.normal(size=t.shape.as_list()).astype("f") for t in (a, b)}

    cpu, gpu = on_both(build, 1)
    np.testing.assert_allclose(gpu[0][0], cpu[0][0], 1e-5, 1e-5)


def test_a_steady_step_allocates_nothing_and_copies_feeds_and_fetches_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [3])
        w = gf.Variable([1.0, 2.0, 3.0])
        loss = gf.reduce_sum(gf.square(w - x))
        train = gf.train.AdamOptimizer(0.1).minimize(loss)
    with session() as one:
        one.run(gf.global_variables_initializer())
        for _ in range(3):
            one.run([loss, train], {x: [0.0, 1.0, 0.0]})
        seen = copies(monkeypatch)
        one.run([loss, train], {x: [0.5, 1.0, 0.0]})
        launches = plans(one)[-1].launches
    assert "allocate" not in seen
    assert seen.count("upload") == 1  # All that comes from the host.
    assert seen.count("download") == 2  # The loss, and whether all went well.
    assert seen.count("launch") in (0, launches)  # None of its own where all were captured.


def test_captured_launches_are_replayed_until_memory_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CUDA graph holds addresses: where a variable gets other memory, its launches are made and captured anew."""
    from graphflow._core.codegen.gpu.toolkit import Device

    replayed: list[int] = []

    def captured(self: Any, works: Any) -> Callable[[], None]:
        def replay() -> None:
            replayed.append(len(works))
            for work in works:
                self.launch(work)

        return replay

    monkeypatch.setattr(Device, "captured", captured)
    with gf.device("/gpu:0"):
        w = gf.Variable([1.0, 2.0], validate_shape=False)
        add = w.assign_add(w * 1.0)
    with session(allow_soft_placement=True) as one:
        one.run(w.initializer)
        for _ in range(5):
            one.run(add.op)
        assert replayed == [1, 1]  # One run on NumPy, two of plain launches.
        np.testing.assert_array_equal(one.run(w), [32.0, 64.0])
        cell = one.store.variable("Variable", gf.float32, ("", 0))
        cell._block = None  # As if the memory were somewhere else.
        cell.value = np.array([1.0, 1.0], np.float32)
        one.run(add.op)
        assert replayed == [1, 1]
        np.testing.assert_array_equal(one.run(w), [2.0, 2.0])


def test_updates_of_all_parameters_are_one_launch() -> None:
    with gf.device("/gpu:0"):
        variables = [gf.Variable(gf.ones([n])) for n in (3, 5, 4, 1)]
        loss = gf.add_n([gf.reduce_sum(v * v) for v in variables])
        gradients = [gf.constant(np.full(v.shape.as_list(), 0.5, "f")) for v in variables]
        pairs = list(zip(gradients, variables, strict=True))
        train = gf.train.GradientDescentOptimizer(1.0).apply_gradients(pairs)
    with session() as one:
        one.run(gf.global_variables_initializer())
        for _ in range(3):
            one.run(train)
        assert plans(one)[-1].launches == 1
        assert one.run(loss) == pytest.approx(13 * 0.25)


def test_variables_are_found_from_both_sides(tmp_path: Any) -> None:
    with gf.device("/gpu:0"):
        w = gf.Variable([1.0, 2.0], name="w")
        add = w.assign_add([1.0, 1.0])
    doubled = w * 2.0
    saver = gf.train.Saver()
    with session(allow_soft_placement=True) as one:
        one.run(w.initializer)
        for _ in range(3):
            one.run(add.op)
        np.testing.assert_array_equal(one.run(doubled), [8.0, 10.0])
        path = saver.save(one, str(tmp_path / "model"))
        one.run(add.op)
        saver.restore(one, path)
        one.run(add.op)
        np.testing.assert_array_equal(one.run(w), [5.0, 6.0])


def test_what_has_no_kernel_goes_to_the_cpu_and_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [2, 2], name="x")
        inverse = gf.linalg.inv(x, name="inverse")
        y = gf.reduce_sum(inverse * 2.0, name="y")
    with session(allow_soft_placement=True, log_device_placement=True) as one:
        for _ in range(3):
            assert one.run(y, {x: [[2.0, 0.0], [0.0, 4.0]]}) == pytest.approx(1.5)
    log = {
        line.split(":")[0]: line
        for line in capfd.readouterr().err.splitlines()
        if line.startswith(("inv", "y"))
    }
    assert log["inverse"].endswith("/device:CPU:0")
    assert log["y"].endswith("/device:GPU:0")
    with (
        session() as strict,
        pytest.raises(gf.errors.InvalidArgumentError, match="no kernel for MatrixInverse"),
    ):
        strict.run(y, {x: [[2.0, 0.0], [0.0, 4.0]]})


def test_what_a_kernel_does_not_take_is_numpys_between_kernels() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.int32, [2, 3])
        product = gf.matmul(gf.transpose(x + 1)[::-1], x * 2, name="whole")
        y = product - 1
    with session(allow_soft_placement=True) as one:
        data = np.arange(6, dtype=np.int32).reshape(2, 3)
        for _ in range(3):
            np.testing.assert_array_equal(one.run(y, {x: data}), (data + 1).T[::-1] @ (data * 2) - 1)
        assert plans(one)[-1].on_host == ["MatMul 'whole'"]


def test_branches_use_variables_of_the_gpu() -> None:
    with gf.device("/gpu:0"):
        w = gf.Variable([1.0, 2.0])
        add = w.assign_add([1.0, 1.0])
    n = gf.placeholder(gf.float32, [])
    y = gf.cond(n > 0.0, lambda: w * n, lambda: w - 1.0)
    with session(allow_soft_placement=True) as one:
        one.run(w.initializer)
        for k in range(1, 4):
            one.run(add.op)
            np.testing.assert_array_equal(one.run(y, {n: 2.0}), [2.0 + 2 * k, 4.0 + 2 * k])
            np.testing.assert_array_equal(one.run(y, {n: -1.0}), [k, 1.0 + k])


def test_errors_name_the_operation_and_leave_variables_alone() -> None:
    with gf.device("/gpu:0"):
        w = gf.Variable(gf.zeros([4]))
        ids = gf.placeholder(gf.int32, [2])
        picked = gf.gather(w, ids, name="picked")
        add = w.assign_add(gf.ones([4]) * gf.reduce_sum(picked) + 1.0)
        divisor = gf.placeholder(gf.int32, [3])
        quotient = gf.floordiv(gf.constant([7, 8, 9]), divisor, name="quotient")
    with session(compiled="never") as one:
        one.run(w.initializer)
        for _ in range(2):
            one.run(add.op, {ids: [0, 3]})
        before = one.run(w)
        with pytest.raises(
            gf.errors.InvalidArgumentError, match=r"picked.*the index 4 is not in \[0, 4\)"
        ) as told:
            one.run(add.op, {ids: [0, 4]})
        assert "test_plans.py" in str(told.value)
        np.testing.assert_array_equal(one.run(w), before)
        one.run(quotient, {divisor: [1, 2, 3]})
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"quotient.*division by zero"):
            one.run(quotient, {divisor: [1, 0, 3]})
        np.testing.assert_array_equal(one.run(quotient, {divisor: [1, -2, 3]}), [7, -4, 3])


def test_uninitialized_variables_are_told() -> None:
    with gf.device("/gpu:0"):
        w = gf.Variable([1.0], name="w")
        y = w * 2.0
    with session() as one:
        for _ in range(2):
            with pytest.raises(gf.errors.FailedPreconditionError, match="uninitialized value w"):
                one.run(y)
        one.run(w.initializer)
        assert [one.run(y)[0] for _ in range(3)] == [2.0] * 3


def no_memory(shape: Any, dtype: Any) -> Any:
    raise MemoryError("CUDA_ERROR_OUT_OF_MEMORY")


def test_too_little_memory_names_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphflow._core.codegen.gpu import toolkit

    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [64])
        y = gf.matmul(gf.reshape(x, [64, 1]), gf.reshape(x, [1, 64]), name="large")
    monkeypatch.setattr(toolkit.cuda(), "device_array", no_memory)
    with (
        session() as one,
        pytest.raises(gf.errors.ResourceExhaustedError, match=r"GPU:0.*plan.*MatMul 'large'"),
    ):
        one.run(y, {x: np.ones(64)})


def test_too_little_memory_for_a_value_between_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphflow._core.codegen.gpu import toolkit

    with gf.device("/gpu:0"):
        count, x = gf.placeholder(gf.int32, []), gf.placeholder(gf.float32, [1000])
        y = gf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, gf.tanh(a)), [0, x])[1]
    feeds = {count: 2, x: np.ones(1000)}
    with session() as one:
        before = one.run(y, feeds)
        one.run(y, feeds)
        toolkit.device(0).pool.clear()
        with monkeypatch.context() as patch:
            patch.setattr(toolkit.cuda(), "device_array", no_memory)
            with pytest.raises(gf.errors.ResourceExhaustedError, match=r"GPU 0 has no \d+ bytes"):
                one.run(y, feeds)
        np.testing.assert_array_equal(one.run(y, feeds), before)


def test_a_gpu_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphflow._core.codegen.gpu.toolkit import Device

    def fails(self: Any, source: Any, target: Any, stream: Any = None) -> None:
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")

    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [3])
        y = x * 2.0
    with session() as one:
        one.run(y, {x: [1.0, 2.0, 3.0]})
        monkeypatch.setattr(Device, "download", fails)
        with pytest.raises(
            gf.errors.InternalError, match=r"GPU:0 failed: RuntimeError: CUDA_ERROR_ILLEGAL_ADDRESS"
        ):
            one.run(y, {x: [1.0, 2.0, 3.0]})


def test_the_gpu_is_current_where_the_host_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphflow._core.codegen.gpu import toolkit

    asked: list[str] = []

    class Recorded:
        """The GPU's context, a stream and an event, as Numba has them."""

        def __enter__(self) -> None:
            asked.append("current")

        def __exit__(self, *_: object) -> None:
            asked.append("no longer")

        def synchronize(self) -> None:
            asked.append("waited")

    device = object.__new__(toolkit.Device)
    device.numba_device = device.stream = Recorded()
    monkeypatch.setattr(toolkit, "SIMULATED", False)
    device.wait()
    device.wait_for(Recorded())
    assert asked == ["current", "waited", "no longer"] * 2


def test_explain_tells_the_launches() -> None:
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [3])
        y = gf.tanh(x) + 1.0
    with session() as one:
        for _ in range(2):
            one.run(y, {x: [1.0, 2.0, 3.0]})
        assert f"1 launches on {GPU}" in one.explain(y, [x])


def test_views_that_walk_backwards() -> None:
    data = np.random.default_rng(0).normal(size=(3, 4)).astype("f")

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [3, 4])
        return [x[::-1, ::-2] * 2.0, gf.reverse(x, [1]) + 1.0, gf.transpose(x)[1:] * x[0, 0]], {x: data}

    cpu, gpu = on_both(build, 2)
    for got, wanted in zip(gpu[1], cpu[1], strict=True):
        np.testing.assert_array_equal(got, wanted)


@needs_two_gpus
def test_several_devices_in_one_run() -> None:
    with gf.device("/gpu:0"):
        a = gf.placeholder(gf.float32, [3], name="a")
        b = gf.sqrt(a) * 2.0
    with gf.device("/cpu:0"):
        c = b + 1.0
    with gf.device("/gpu:1"):
        d = gf.reduce_sum(c * c)
    with session(device_count={"GPU": 2}) as one:
        for _ in range(3):
            assert one.run(d, {a: [1.0, 4.0, 9.0]}) == pytest.approx(9 + 25 + 49)

"""Protects that denormal floats count as zero while a plan runs, in both tiers, and that nobody else's mode changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.common import denormals

SECONDS = 60
TINY = np.float32(1e-40)
pytestmark = pytest.mark.skipif(not denormals.SUPPORTED, reason="this processor's mode is left as it is")


def flushes() -> bool:
    """Whether this thread flushes denormals now, as NumPy shows it."""
    return bool((np.full(3, TINY) * np.float32(1.5) == 0).all())


@pytest.fixture(autouse=True)
def own_mode_and_graph() -> Iterator[None]:
    assert not flushes()
    with gf.Graph().as_default():
        yield
    assert not flushes()


def config(tier: str, threads: int = 2) -> gf.ConfigProto:
    return gf.ConfigProto(compiled=tier, intra_op_parallelism_threads=threads)


def results(fetches: Any, feeds: Any, tier: str, runs: int = 3) -> Any:
    with gf.Session(config=config(tier)) as session:
        session.run(gf.global_variables_initializer())
        for _ in range(runs):
            found = session.run(fetches, feeds)
        return found


ZEROS: dict[str, Callable[[Any], Any]] = {
    "product": lambda x: x * 1.5,
    "sum": lambda x: x + x,
    "quotient": lambda x: x / 1.5,
    "square": lambda x: gf.square((x + 1e-38) * 1e-2),
    "products of normal numbers": lambda x: (x + 1e-30) * 1e-10,
    "difference of normal numbers": lambda x: (x + 1.5e-38) - 1.3e-38,
    "sum of many": lambda x: gf.reduce_sum(x, keepdims=True),
    "mean": lambda x: gf.reduce_mean(x, keepdims=True),
    "dense layer": lambda x: gf.matmul(gf.reshape(x, [1, -1]), gf.reshape(x, [-1, 1])),
    "loop": lambda x: gf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.1), [0, x])[1],
    "branch": lambda x: gf.cond(gf.reduce_all(x < 1.0), lambda: x * 1.1, lambda: x + 1.0),
}


@pytest.mark.parametrize("size", [4, 100_000])
@pytest.mark.parametrize("name", ZEROS)
def test_denormals_are_zero_in_both_tiers(name: str, size: int) -> None:
    x = gf.placeholder(gf.float32, [size])
    y = ZEROS[name](x)
    for tier in ("never", "always"):
        found = results(y, {x: np.full(size, TINY)}, tier)
        assert not found.any(), (tier, found)


def test_denormals_of_float64_are_zero_too() -> None:
    x = gf.placeholder(gf.float64, [4])
    for tier in ("never", "always"):
        assert not results(x * 1.5, {x: np.full(4, 1e-310)}, tier).any()


def test_what_is_only_moved_is_not_touched() -> None:
    x = gf.placeholder(gf.float32, [4])
    w = gf.Variable(np.full(4, TINY))
    for tier in ("never", "always"):
        moved = results([gf.identity(x), gf.reshape(x, [2, 2]), w, x], {x: np.full(4, TINY)}, tier)
        assert all((value == TINY).all() for value in moved)


def test_a_constant_is_folded_as_a_run_computes_it() -> None:
    for tier in ("never", "always"):
        assert results(gf.constant(np.full(4, TINY)) * 1.5, {}, tier).max() == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: gf.train.AdamOptimizer(0.01, beta1=0.2, beta2=0.1),
        lambda: gf.train.MomentumOptimizer(0.01, 0.1),
        lambda: gf.train.RMSPropOptimizer(0.01, decay=0.1, momentum=0.1),
        lambda: gf.train.GradientDescentOptimizer(0.45),
    ],
)
def test_moments_and_weights_that_decay_end_at_zero_and_are_the_same_in_both_tiers(make: Any) -> None:
    x = gf.placeholder(gf.float32, [])
    w = gf.get_variable("w", initializer=np.linspace(1.0, 2.0, 64, dtype=np.float32))
    step = make().minimize(gf.reduce_sum(gf.square(w)) * x)
    moments = (
        len(gf.global_variables()) > 1
    )  # They decay where the gradient is 0, the weights where it is not.
    found: dict[str, Any] = {}
    for tier in ("never", "always"):
        with gf.Session(config=config(tier)) as session:
            session.run(gf.global_variables_initializer())
            session.run(step, {x: 1.0})
            for _ in range(60 if moments else 50):
                session.run(step, {x: 0.0 if moments else 1.0})
            found[tier] = session.run(gf.global_variables())
    for never, always in zip(found["never"], found["always"], strict=True):
        smallest = np.finfo(np.float32).tiny
        for value in (never, always):
            assert not ((np.abs(value) > 0) & (np.abs(value) < smallest)).any()
        np.testing.assert_allclose(never, always, rtol=1e-5)


@pytest.mark.parametrize("tier", ["never", "always"])
def test_an_error_leaves_the_mode_as_it_was(tier: str) -> None:
    x = gf.placeholder(gf.int32, [2])
    y = gf.cast(gf.floordiv(6, x), gf.float32) * 1.5
    with gf.Session(config=config(tier)) as session:
        for _ in range(3):
            session.run(y, {x: [1, 2]})
            with pytest.raises(gf.errors.InvalidArgumentError):
                session.run(y, {x: [1, 0]})
            assert not flushes()


def test_a_caller_who_flushes_goes_on_to_flush() -> None:
    x = gf.placeholder(gf.float32, [4])
    before = denormals.flush()
    try:
        for tier in ("never", "always"):
            assert not results(x * 1.5, {x: np.full(4, TINY)}, tier).any()
            assert flushes()
    finally:
        denormals.restore(before)


@pytest.mark.parametrize("tier", ["never", "always"])
def test_functions_of_the_users_run_in_pythons_mode(tier: str) -> None:
    seen: list[bool] = []

    def look(value: Any) -> Any:
        seen.append(flushes())
        if len(seen) == 3:
            raise ValueError("enough")
        return value

    def numbers() -> Iterator[float]:
        while True:
            seen.append(flushes())
            yield float(TINY)

    class Hook(gf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            seen.append(flushes())

        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append(flushes())

    x = gf.placeholder(gf.float32, [4])
    y = gf.py_func(look, [x * 1.5], gf.float32) * 1.5
    z = gf.data.Dataset.from_generator(numbers, gf.float32).make_one_shot_iterator().get_next() * 2.0
    with gf.Session(config=config(tier)) as session:
        for _ in range(2):
            session.run(y, {x: np.ones(4)})
        with pytest.raises(gf.errors.InvalidArgumentError, match="enough"):
            session.run(y, {x: np.ones(4)})
        assert [session.run(z) for _ in range(3)] == [0.0] * 3
    with gf.train.MonitoredSession(gf.train.ChiefSessionCreator(config=config(tier)), [Hook()]) as session:
        session.run(z)
    assert len(seen) >= 8 and not any(seen)


def test_threads_of_the_users_and_of_the_run_flush_in_a_run_alone() -> None:
    """A plan that waits has stages, which threads of the session compute."""
    queue = gf.FIFOQueue(100, gf.float32, [4])
    put = queue.enqueue(np.full(4, TINY))
    y, found = queue.dequeue() * 1.5, []

    with gf.Session() as session:

        def work() -> None:
            for _ in range(20):
                session.run(put)
                found.append(bool(session.run(y).any()) or flushes())

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
    assert found == [False] * 60


def test_a_datasets_function_gives_the_same_for_one_element_and_for_many() -> None:
    rows = np.full((12, 3), TINY)
    data = gf.data.Dataset.from_tensor_slices(rows).map(lambda row: row * 1.5 + row)
    one, many = data.make_one_shot_iterator().get_next(), data.batch(6).make_one_shot_iterator().get_next()
    with gf.Session() as session:
        assert not session.run(one).any() and not session.run(many).any()
        assert not session.run(many).any()


def test_a_task_of_a_cluster_flushes_too() -> None:
    server = gf.train.Server.create_local_server()
    x = gf.placeholder(gf.float32, [4])
    with gf.device("/job:local/task:0"):
        y = x * 1.5
    for tier in ("never", "always"):
        with gf.Session(server.target, config=config(tier)) as session:
            for _ in range(3):
                assert not session.run(y, {x: np.full(4, TINY)}).any()


def test_two_devices_flush() -> None:
    x = gf.placeholder(gf.float32, [4])
    with gf.device("/cpu:0"):
        a = x * 1.5
    with gf.device("/cpu:1"):
        b = x + x
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        for _ in range(10):
            assert not any(value.any() for value in session.run([a, b], {x: np.full(4, TINY)}))


def test_numpy_says_nothing_of_subnormal_numbers_inside_a_run() -> None:
    """Asked for the first time while flushing, it would warn that the smallest one is zero."""
    x = gf.placeholder(gf.float32, [4])
    y = gf.py_func(lambda v: v * np.finfo(np.float32).smallest_subnormal, [x], gf.float32)
    assert results(y, {x: np.ones(4)}, "never").all()

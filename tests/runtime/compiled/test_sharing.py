"""Protects: products of the NumPy tier keep to one core while neighbours want the others, and only then.

The clock, the products' times and the cores lost are played, and what is counted is on how many cores products ran.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.kernels.math.products import PRODUCTS
from graphflow._core.runtime import numpy_executable
from graphflow._core.runtime.compiled import observe, sharing
from graphflow._core.runtime.compiled.sharing import CoreSharing

LARGE = np.ones((128, 128), np.float32)
SMALL = np.ones((8, 8), np.float32)


class Machine:
    """Two cores, a clock, and perhaps neighbours beside whom products on both cores stall."""

    def __init__(self) -> None:
        self.now = 100.0
        self.losses = 0
        self.neighbours = False
        self.takes_cores = True
        self.stall = 0.025
        self.cores = 2
        self.ran_on: list[int] = []
        """The number of cores of each product."""

    def multiply(self, x: Any, y: Any, out: Any = None) -> Any:
        self.ran_on.append(self.cores)
        stalls = self.neighbours and self.cores > 1
        self.now += self.stall if stalls else 0.00004
        self.losses += stalls and self.takes_cores
        return x

    @contextmanager
    def one_core(self) -> Iterator[None]:
        assert self.cores == 2
        self.cores = 1
        yield
        self.cores = 2

    def run(self, shared: CoreSharing, products: int, factor: np.ndarray = LARGE) -> list[int]:
        """On how many cores each product of one run was computed."""
        self.ran_on.clear()
        with shared:
            for _ in range(products):
                PRODUCTS.multiply(factor, factor)
        assert self.cores == 2
        assert PRODUCTS.multiply == self.multiply
        return list(self.ran_on)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(sharing, "np", SimpleNamespace(matmul=made.multiply))
    monkeypatch.setattr(sharing, "time", SimpleNamespace(monotonic=lambda: made.now))
    monkeypatch.setattr(sharing, "core_losses", lambda: made.losses)
    monkeypatch.setattr(sharing, "one_core", made.one_core)
    monkeypatch.setattr(PRODUCTS, "multiply", made.multiply)
    return made


def test_on_free_cores_products_have_all(machine: Machine) -> None:
    assert machine.run(CoreSharing(), 1000) == [2] * 1000


def test_one_slow_product_is_enough_within_a_run_and_for_the_next(machine: Machine) -> None:
    machine.neighbours = True
    shared = CoreSharing()
    assert machine.run(shared, 100) == [2] + [1] * 99
    assert machine.run(shared, 100) == [1] * 100


def test_attempts_become_rare_beside_steady_neighbours(machine: Machine) -> None:
    machine.neighbours = True
    shared, begun, attempts = CoreSharing(), machine.now, 0
    while machine.now < begun + 100.0:
        attempts += machine.run(shared, 50).count(2)
    assert 40 <= attempts <= 70  # Every two seconds; each costs 25 ms.


def test_products_have_all_cores_again_after_the_neighbours_have_gone(machine: Machine) -> None:
    machine.neighbours = True
    shared, begun = CoreSharing(), machine.now
    while machine.now < begun + 20.0:
        machine.run(shared, 50)
    machine.neighbours = False
    machine.now += 2.0
    assert machine.run(shared, 50) == [2] * 50
    machine.now += 60.0
    machine.neighbours = True
    assert machine.run(shared, 2000)[:2] == [2, 1]
    machine.neighbours = False
    machine.now += 0.1  # The pause is as short as the first.
    assert machine.run(shared, 5) == [2] * 5


def test_slowness_that_no_neighbour_explains_changes_nothing(machine: Machine) -> None:
    machine.neighbours, machine.takes_cores = True, False
    assert machine.run(CoreSharing(), 10) == [2] * 10


def test_a_core_lost_between_products_is_no_slow_product(machine: Machine) -> None:
    shared = CoreSharing()
    with shared:
        for _ in range(100):
            machine.losses += 1
            machine.now += 0.1
            PRODUCTS.multiply(LARGE, LARGE)
    assert machine.ran_on == [2] * 100


def test_cores_lost_before_a_run_are_not_held_against_its_products(machine: Machine) -> None:
    shared = CoreSharing()
    assert machine.run(shared, 10) == [2] * 10
    machine.losses, machine.now = 5, machine.now + 0.02
    machine.neighbours, machine.takes_cores = True, False
    assert machine.run(shared, 10) == [2] * 10


def test_a_product_that_is_a_little_late_was_not_held_up(machine: Machine) -> None:
    shared = CoreSharing()
    assert machine.run(shared, 10) == [2] * 10
    machine.neighbours, machine.stall = True, 0.0015
    assert machine.run(shared, 10) == [2] * 10
    machine.stall = 0.005
    assert machine.run(shared, 10) == [2] + [1] * 9


def test_a_large_product_may_take_as_long_as_its_size_explains(machine: Machine) -> None:
    shared, large = CoreSharing(), np.ones((2048, 2048), np.float32)
    machine.neighbours, machine.stall = (
        True,
        0.3,
    )  # 2048^3 multiply-adds at the rate of 128^3 in 40 us take 0.16 s.
    with shared:
        machine.neighbours = False
        PRODUCTS.multiply(LARGE, LARGE)
        machine.neighbours = True
        PRODUCTS.multiply(large, large)
        PRODUCTS.multiply(large, large)
    assert machine.ran_on == [2, 2, 2]


def test_a_product_that_waits_for_memory_may_take_as_long_as_that_explains(machine: Machine) -> None:
    shared, large = CoreSharing(), np.ones((4096, 4096), np.float32)
    with shared:
        PRODUCTS.multiply(LARGE, LARGE)
        machine.neighbours, machine.stall = True, 0.008
        for _ in range(3):
            PRODUCTS.multiply(large[:1], large)
    assert machine.ran_on == [2] * 4


def test_small_products_are_not_timed(machine: Machine) -> None:
    machine.neighbours = True
    shared = CoreSharing()
    assert machine.run(shared, 10, SMALL) == [2] * 10


def test_blas_is_given_back_after_the_last_run_and_after_an_error(machine: Machine) -> None:
    machine.neighbours = True
    shared = CoreSharing()
    with shared:
        with pytest.raises(KeyError), shared:
            PRODUCTS.multiply(LARGE, LARGE)
            raise KeyError
        assert machine.cores == 1
        PRODUCTS.multiply(LARGE, LARGE)
    assert machine.ran_on == [2, 1]
    assert (machine.cores, PRODUCTS.multiply) == (2, machine.multiply)


@pytest.mark.parametrize(
    "factors",
    [
        (np.ones((90, 70), np.float64), np.ones((70, 80))),
        (np.full((3, 80, 70), 2j, np.complex64), np.ones((70, 90), np.complex64)),
        (np.arange(90 * 70).reshape(90, 70), np.arange(70 * 80).reshape(70, 80)),
        (np.ones((0, 5), np.float32), np.ones((5, 3), np.float32)),
    ],
    ids=["float64", "batch of complex64", "int64", "empty"],
)
def test_results_are_those_of_numpy(factors: tuple[np.ndarray, np.ndarray]) -> None:
    with CoreSharing():
        assert PRODUCTS.multiply is not np.matmul
        result = PRODUCTS.multiply(*factors)
        out = np.empty_like(result)
        assert PRODUCTS.multiply(*factors, out=out) is out
    assert PRODUCTS.multiply is np.matmul
    want = np.matmul(*factors)
    assert result.dtype == want.dtype
    np.testing.assert_allclose(result, want)
    np.testing.assert_allclose(out, want)


# ---- which runs take part --------------------------------------------------------------------------------------------


def watched_runs(
    monkeypatch: pytest.MonkeyPatch,
    build: Callable[[Any], Any],
    *,
    size: int = 100,
    draws: bool = True,
    short: bool = False,
    until: float = 0.0,
    compiled: str = "never",
) -> int:
    """How many of ten runs watched their products, if compiled is not "never" of those that were observed.

    until: when the neighbours that are known will be forgotten.
    """
    entered = []

    class Noted(CoreSharing):
        def __enter__(self) -> None:
            entered.append(self)
            super().__enter__()

    noted = Noted()
    noted.until = until
    monkeypatch.setattr(sharing, "core_losses", lambda: 0)  # those of a busy machine are not the test's
    monkeypatch.setattr(numpy_executable if compiled == "never" else observe, "SHARING", noted)
    monkeypatch.setattr(numpy_executable, "SHORT_RUN_SECONDS", 1000.0 if short else 0.0)
    config = gf.ConfigProto(compiled=compiled)
    with gf.Graph().as_default(), gf.Session(config=config) as session:
        if draws:
            gf.random_uniform([2])
        x = gf.placeholder(gf.float32, [None, None])
        y = build(x)
        for _ in range(10):
            session.run(y, {x: np.ones((size, size))})
    return len(entered)


def test_runs_with_products_are_watched_after_one_that_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched_runs(monkeypatch, lambda x: gf.matmul(x, x)) == 10
    assert watched_runs(monkeypatch, lambda x: gf.matmul(x, x), short=True) == 1
    assert watched_runs(monkeypatch, lambda x: x * x) == 0


def test_runs_that_are_observed_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs of a program whose shapes change, until it is hot: each product of them may wait for a neighbour."""
    assert watched_runs(monkeypatch, lambda x: gf.matmul(x, x), compiled="always") == 1
    assert watched_runs(monkeypatch, lambda x: x * x, compiled="always") == 0
    assert watched_runs(monkeypatch, lambda x: gf.matmul(x, x), compiled="always", draws=False) == 0


def test_short_runs_are_watched_as_long_as_there_are_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.monotonic() + 1e6
    assert watched_runs(monkeypatch, lambda x: gf.matmul(x, x), short=True, until=later) == 10


def test_convolutions_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def convolved(x: Any) -> Any:
        return gf.nn.conv2d(
            x[None, :, :, None] * gf.ones([16]), gf.ones([3, 3, 16, 16]), [1, 1, 1, 1], "SAME"
        )

    assert watched_runs(monkeypatch, convolved, size=30) == 10


def test_bits_of_seeded_programs_do_not_depend_on_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched_runs(monkeypatch, lambda x: gf.matmul(x, x), draws=False) == 0


def test_functions_of_users_find_blas_as_they_left_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(x: Any) -> Any:
        return gf.py_func(lambda v: v, [gf.matmul(x, x)], gf.float32)

    assert watched_runs(monkeypatch, build) == 0

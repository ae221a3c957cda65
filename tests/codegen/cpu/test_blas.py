"""Protects: matrix products through BLAS are right for every layout and the same bits on any number of threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from graphflow._core.codegen.cpu.blas import (
    Blas,
    blas_threads,
    find_blas,
    gemm_source,
    gemm_steps,
    single_threaded,
)
from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.programs.machine import Machine


@pytest.fixture(scope="module")
def blas() -> Blas:
    found = find_blas()
    if found is None:
        pytest.skip("NumPy's BLAS has no cblas interface")
    return found


def multiply(
    machine: Machine,
    kernel: int,
    blas: Blas,
    a: np.ndarray,
    b: np.ndarray,
    trans_a: bool,
    trans_b: bool,
    threads: int,
) -> np.ndarray:
    rows, depth = a.shape[::-1] if trans_a else a.shape
    columns = b.shape[0] if trans_b else b.shape[1]
    out = np.full((rows, columns), np.nan, a.dtype)
    left, right = (a.ctypes.data, a.shape[1], trans_a), (b.ctypes.data, b.shape[1], trans_b)
    steps = gemm_steps(
        kernel, blas, str(a.dtype), (rows, columns, depth), left, right, (out.ctypes.data, columns)
    )
    with single_threaded():
        assert machine.program(steps, threads).run() == 0
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_products_of_every_layout(
    compiler: Compiler, machine: Machine, blas: Blas, dtype: str, trans_a: bool, trans_b: bool
) -> None:
    kernel = compiler.compile_async(gemm_source(dtype, blas.integer_bits)).result(250)
    random = np.random.RandomState(0)
    for rows, columns, depth in [
        (1, 1, 1),
        (3, 5, 7),
        (128, 256, 784),
        (784, 256, 128),
        (64, 10, 33),
        (500, 31, 300),
    ]:
        a = random.randn(*((depth, rows) if trans_a else (rows, depth))).astype(dtype)
        b = random.randn(*((columns, depth) if trans_b else (depth, columns))).astype(dtype)
        want = (a.T if trans_a else a).astype(np.float64) @ (b.T if trans_b else b)
        one, two = (multiply(machine, kernel, blas, a, b, trans_a, trans_b, threads) for threads in (1, 2))
        assert one.tobytes() == two.tobytes()
        np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-3 if dtype == "float32" else 1e-9)


def test_empty_products_and_empty_sums(compiler: Compiler, machine: Machine, blas: Blas) -> None:
    kernel = compiler.compile_async(gemm_source("float32", blas.integer_bits)).result(250)
    assert multiply(
        machine, kernel, blas, np.ones((0, 4), "f"), np.ones((4, 3), "f"), False, False, 1
    ).shape == (0, 3)
    zero = multiply(machine, kernel, blas, np.ones((2, 0), "f"), np.ones((0, 3), "f"), False, False, 1)
    np.testing.assert_array_equal(zero, np.zeros((2, 3)))


def test_batches_and_accumulation(compiler: Compiler, machine: Machine, blas: Blas) -> None:
    kernel = compiler.compile_async(gemm_source("float64", blas.integer_bits)).result(250)
    random = np.random.RandomState(1)
    a, b, out = random.randn(5, 6, 7), random.randn(7, 8), random.randn(5, 6, 8)
    want = out + a @ b
    steps = gemm_steps(
        kernel,
        blas,
        "float64",
        (6, 8, 7),
        (a.ctypes.data, 7, False),
        (b.ctypes.data, 8, False),
        (out.ctypes.data, 8),
        accumulate=True,
        batch=5,
        batch_strides=(42, 0, 48),
    )
    with single_threaded():
        assert machine.program(steps, 2).run() == 0
    np.testing.assert_allclose(out, want, rtol=1e-12)


def test_the_thread_count_comes_back_after_the_last_holder() -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with single_threaded():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    before = blas_threads()
    thread.start()
    inside.wait(30)
    with single_threaded():
        assert blas_threads() in (1, before)
    held = blas_threads()
    leave.set()
    thread.join()
    assert blas_threads() == before
    assert held == 1 or before == held

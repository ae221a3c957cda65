"""Protects: softmax family, gather, scatter, transposition and argmax against NumPy; bad indices are reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.kernels import nnkernels
from graphflow._core.codegen.cpu.programs.machine import Machine


class Bench:
    """Compiles a source, runs its steps, returns the status word."""

    def __init__(self, compiler: Compiler, machine: Machine) -> None:
        self.compiler, self.machine = compiler, machine
        self.status = np.zeros(1, np.int64)

    def kernel(self, source: str) -> int:
        return self.compiler.compile_async(source).result(250)

    def run(self, steps: list[Any], threads: int = 2) -> int:
        self.status[:] = 0
        assert self.machine.program(steps, threads).run() == 0
        return int(self.status[0])


@pytest.fixture
def bench(compiler: Compiler, machine: Machine) -> Bench:
    return Bench(compiler, machine)


def at(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def reference_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


SHAPES = [(1, 1), (3, 10), (128, 10), (5, 1001), (4000, 17), (0, 5)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_and_log_softmax_with_gradients(bench: Bench, dtype: str) -> None:
    kernels = [bench.kernel(nnkernels.softmax_source(dtype, log)) for log in (False, True)]
    gradients = [bench.kernel(nnkernels.softmax_gradient_source(dtype, log)) for log in (False, True)]
    for rows, columns in SHAPES:
        x = (np.random.RandomState(0).randn(rows, columns) * 20).astype(dtype)
        g = np.random.RandomState(1).randn(rows, columns).astype(dtype)
        want = reference_softmax(x) if rows else x
        y, d = np.zeros_like(x), np.zeros_like(x)
        bench.run(nnkernels.softmax_steps(kernels[0], at(x), at(y), rows, columns))
        np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-30)
        bench.run(nnkernels.softmax_gradient_steps(gradients[0], at(y), at(g), at(d), rows, columns))
        np.testing.assert_allclose(d, (g - (g * want).sum(1, keepdims=True)) * want, rtol=1e-3, atol=1e-5)
        bench.run(nnkernels.softmax_steps(kernels[1], at(x), at(y), rows, columns))
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(np.exp(y), want, rtol=2e-4, atol=1e-30)
        bench.run(nnkernels.softmax_gradient_steps(gradients[1], at(y), at(g), at(d), rows, columns))
        np.testing.assert_allclose(d, g - want * g.sum(1, keepdims=True), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_entropy_with_dense_and_sparse_labels(bench: Bench, dtype: str) -> None:
    dense = bench.kernel(nnkernels.cross_entropy_source(dtype))
    sparse = bench.kernel(nnkernels.sparse_cross_entropy_source(dtype, "int32"))
    for rows, columns in SHAPES:
        x = (np.random.RandomState(0).randn(rows, columns) * 5).astype(dtype)
        ids = np.random.RandomState(1).randint(0, columns, rows).astype(np.int32)
        labels = np.eye(columns, dtype=dtype)[ids]
        probability = reference_softmax(x) if rows else x
        loss, gradient = np.zeros(rows, dtype), np.zeros_like(x)
        for steps in (
            nnkernels.cross_entropy_steps(dense, at(x), at(labels), at(loss), at(gradient), rows, columns),
            nnkernels.sparse_cross_entropy_steps(
                sparse, at(bench.status), at(x), at(ids), at(loss), at(gradient), rows, columns
            ),
        ):
            loss[:], gradient[:] = 7, 7
            assert bench.run(steps) == 0
            np.testing.assert_allclose(loss, -np.log(probability[np.arange(rows), ids]), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(gradient, probability - labels, rtol=1e-5, atol=1e-6)


def test_a_label_out_of_range_is_reported(bench: Bench) -> None:
    kernel = bench.kernel(nnkernels.sparse_cross_entropy_source("float32", "int32"))
    x, loss = np.zeros((2, 3), np.float32), np.zeros(2, np.float32)
    for bad in (-1, 3):
        ids, gradient = np.array([0, bad], np.int32), np.zeros((2, 3), np.float32)
        steps = nnkernels.sparse_cross_entropy_steps(
            kernel, at(bench.status), at(x), at(ids), at(loss), at(gradient), 2, 3
        )
        assert bench.run(steps) == nnkernels.ERROR_INDEX


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_gather_rows_of_any_width(bench: Bench, index_dtype: str) -> None:
    kernel = bench.kernel(nnkernels.gather_source(index_dtype))
    ids = np.random.RandomState(0).randint(0, 50, 1023).astype(index_dtype)
    for dtype, width in [("float32", 64), ("float32", 1), ("float64", 1), ("uint8", 3), ("int16", 1)]:
        table = (np.random.RandomState(1).rand(50, width) * 100).astype(dtype)
        out = np.zeros((ids.size, width), dtype)
        row_bytes = table.itemsize * width
        steps = nnkernels.gather_steps(
            kernel, at(bench.status), at(table), 50, row_bytes, at(ids), ids.size, at(out)
        )
        assert bench.run(steps) == 0
        np.testing.assert_array_equal(out, table[ids])
    ids[500] = 50
    assert bench.run(steps) == nnkernels.ERROR_INDEX


@pytest.mark.parametrize("operation", ["add", "sub", "update", "max"])
def test_scatter_is_in_order_and_the_same_on_two_threads(bench: Bench, operation: str) -> None:
    kernel = bench.kernel(nnkernels.scatter_source("float32", "int32", operation))
    ids = np.random.RandomState(0).randint(0, 40, 3000).astype(np.int32)
    values = np.random.RandomState(1).randn(3000, 67).astype(np.float32)
    before = np.random.RandomState(2).randn(40, 67).astype(np.float32)
    want = before.copy()
    function = {"add": np.add, "sub": np.subtract, "max": np.maximum, "update": lambda old, new: new}[
        operation
    ]
    for row, value in zip(ids, values):
        want[row] = function(want[row], value)
    for threads in (1, 2):
        got = before.copy()
        steps = nnkernels.scatter_steps(kernel, at(bench.status), at(got), 40, 67, at(ids), 3000, at(values))
        assert bench.run(steps, threads) == 0
        np.testing.assert_array_equal(got, want)
    ids[7] = -1
    assert bench.run(steps) == nnkernels.ERROR_INDEX


def test_a_scaled_scatter_multiplies_first(bench: Bench) -> None:
    kernel = bench.kernel(nnkernels.scatter_source("float32", "int64", "sub", scaled=True))
    ids, rate = np.array([1, 1, 0]), np.array([0.1], np.float32)
    values, got = np.ones((3, 5), np.float32), np.ones((2, 5), np.float32)
    bench.run(
        nnkernels.scatter_steps(kernel, at(bench.status), at(got), 2, 5, at(ids), 3, at(values), at(rate))
    )
    np.testing.assert_allclose(got[:, 0], [0.9, 0.8], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_transpose(bench: Bench, dtype: str) -> None:
    kernel = bench.kernel(nnkernels.transpose_source(np.dtype(dtype).itemsize))
    for batch, rows, columns in [(1, 1, 1), (3, 17, 33), (1, 300, 200), (2, 0, 4), (2, 4, 0)]:
        x = (np.random.RandomState(0).rand(batch, columns, rows) * 99).astype(dtype)
        y = np.zeros((batch, rows, columns), dtype)
        bench.run(nnkernels.transpose_steps(kernel, at(x), at(y), batch, rows, columns))
        np.testing.assert_array_equal(y, x.transpose(0, 2, 1))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_argmax_and_argmin_along_any_axis(bench: Bench, dtype: str) -> None:
    x = np.random.RandomState(0).randint(-5, 5, (7, 13, 11)).astype(dtype)
    if dtype == "float32":
        x[2, 3, 4] = x[2, 9, 4] = np.nan
    for largest, reference in ((True, np.argmax), (False, np.argmin)):
        kernel = bench.kernel(nnkernels.argument_source(dtype, "int64", largest))
        for axis, (outer, count, inner) in enumerate([(1, 7, 143), (7, 13, 11), (91, 11, 1)]):
            want = reference(x, axis=axis)
            out = np.zeros(want.shape, np.int64)
            bench.run(nnkernels.argument_steps(kernel, at(x), at(out), outer, count, inner))
            np.testing.assert_array_equal(out, want)

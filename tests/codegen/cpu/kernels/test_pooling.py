"""Protects the generated pooling kernels: the NumPy kernels' results, ties and NaN, however the work is cut."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.kernels import pooling
from graphflow._core.codegen.cpu.kernels.kernel_source import Kernel, VectorUnit, host_vector_unit
from graphflow._core.codegen.cpu.programs.machine import Machine, Step
from graphflow._core.kernels.nn import pooling as reference
from graphflow._core.kernels.nn.windows import Axis

Array = npt.NDArray[Any]
Call = Callable[..., None]
IMAGES = 3

# rows, columns, channels, window rows, window columns, strides, padding
CASES = [
    (8, 8, 32, 2, 2, (2, 2), "SAME"),
    (7, 9, 20, 3, 2, (2, 2), "SAME"),
    (7, 9, 5, 3, 3, (1, 1), "SAME"),
    (8, 9, 1, 2, 2, (3, 3), "VALID"),
    (9, 9, 33, 2, 3, (2, 1), "VALID"),
    (5, 5, 3, 1, 1, (2, 2), "SAME"),
]


@pytest.fixture
def call(compiler: Compiler, machine: Machine) -> Call:
    """Runs a kernel on arrays, its units cut into pieces of `grain` for two threads."""

    def run(kernel: Kernel, arrays: Sequence[Array], grain: int = 3) -> None:
        address = compiler.compile_async(kernel.source).result(250)
        words = [array.ctypes.data for array in arrays]
        assert machine.program([Step(address, words, 0, kernel.units * IMAGES, grain)], 2).run() == 0

    return run


def pool_of(case: tuple[Any, ...], element: str = "float32") -> tuple[pooling.Pool, list[Any]]:
    """The pool of a case, and what the NumPy kernels are told about it."""
    rows, columns, channels, height, width, (down, right), padding = case
    axes = Axis.of(rows, height, down, padding), Axis.of(columns, width, right, padding)
    return pooling.Pool(*axes, channels, element), [[1, height, width, 1], [1, down, right, 1], padding]


def arrays_of(pool: pooling.Pool) -> tuple[Array, Array, Array, Array]:
    """An input with many equal elements, a result to be written, its gradient, and the input's to be written."""
    generator = np.random.default_rng(0)
    x = generator.integers(-2, 3, (IMAGES, pool.rows.inputs, pool.columns.inputs, pool.channels))
    shape = IMAGES, pool.rows.outputs, pool.columns.outputs, pool.channels
    dy = generator.integers(-4, 5, shape).astype(pool.element)
    return x.astype(pool.element), np.full(shape, 77, pool.element), dy, np.full(x.shape, 77, pool.element)


def check(call: Call, case: tuple[Any, ...], unit: VectorUnit, element: str) -> None:
    pool, settings = pool_of(case, element)
    x, y, dy, dx = arrays_of(pool)
    call(pooling.max_pool(pool, unit), [x, y])
    np.testing.assert_array_equal(y, reference.max_pool(x, *settings))
    call(pooling.max_pool_gradient(pool, unit), [x, dy, dx])
    np.testing.assert_array_equal(dx, reference.max_pool_grad(x, y, dy, *settings))
    call(pooling.avg_pool(pool, unit), [x, y])
    np.testing.assert_array_equal(y, reference.avg_pool(x, *settings))
    call(pooling.avg_pool_gradient(pool, unit), [dy, dx])
    np.testing.assert_allclose(dx, reference.avg_pool_grad(x.shape, dy, *settings), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "case", [*CASES[:3], *(pytest.param(case, marks=pytest.mark.slow) for case in CASES[3:])], ids=str
)
def test_results_are_those_of_numpy(call: Call, case: tuple[Any, ...]) -> None:
    check(call, case, host_vector_unit(), "float32")


def test_doubles(call: Call) -> None:
    check(call, CASES[1], host_vector_unit(), "float64")


@pytest.mark.slow
@pytest.mark.parametrize("unit", [VectorUnit(32, 16), VectorUnit(16, 16, fused=False)], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_other_vector_units(call: Call, case: tuple[Any, ...], unit: VectorUnit) -> None:
    check(call, case, unit, "float32")


def test_nan_is_the_largest_and_the_first_nan_gets_the_gradient(call: Call) -> None:
    pool, settings = pool_of(CASES[1])
    x, y, dy, dx = arrays_of(pool)
    x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    call(pooling.max_pool(pool, host_vector_unit()), [x, y])
    assert np.isnan(y).any()
    np.testing.assert_array_equal(y, reference.max_pool(x, *settings))
    call(pooling.max_pool_gradient(pool, host_vector_unit()), [x, dy, dx])
    np.testing.assert_array_equal(dx, reference.max_pool_grad(x, y, dy, *settings))


@pytest.mark.parametrize("case", CASES[:2], ids=str)
def test_the_gradient_through_a_relu_before_the_pool(call: Call, case: tuple[Any, ...]) -> None:
    pool, settings = pool_of(case)
    x, y, dy, dx = arrays_of(pool)
    x = np.maximum(x, 0)
    call(pooling.max_pool(pool, host_vector_unit()), [x, y])
    call(pooling.max_pool_gradient(pool, host_vector_unit(), relu=True), [x, dy, dx])
    np.testing.assert_array_equal(dx, reference.max_pool_grad(x, y, dy, *settings) * (x > 0))


def test_bits_do_not_depend_on_how_the_work_is_cut(call: Call) -> None:
    pool, _ = pool_of(CASES[2])
    dy = np.random.default_rng(2).standard_normal(arrays_of(pool)[2].shape, np.float32)
    results = []
    for grain in (0, 1, 2):
        x, _, _, dx = arrays_of(pool)
        call(pooling.max_pool_gradient(pool, host_vector_unit()), [x, dy, dx], grain)
        results.append(dx.tobytes())
    assert results[0] == results[1] == results[2]


def test_a_pool_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="of nothing"):
        pooling.Pool(Axis.of(2, 3, 1, "VALID"), Axis.of(2, 3, 1, "VALID"), 1)

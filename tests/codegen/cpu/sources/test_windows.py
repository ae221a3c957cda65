"""Protects convolutions and pools of any sizes: the bits of the kernels made for a shape, and no byte beyond an array.

Arrays end where memory ends that may be touched: a byte read or written behind them ends the process.
"""

from __future__ import annotations

import ctypes
import mmap
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.kernels import conv, pooling
from graphflow._core.codegen.cpu.kernels.kernel_source import Kernel, VectorUnit, host_vector_unit
from graphflow._core.codegen.cpu.programs.machine import Machine, Step
from graphflow._core.codegen.cpu.sources import windows
from graphflow._core.kernels.nn import convolution as reference
from graphflow._core.kernels.nn import pooling as reference_pooling
from graphflow._core.kernels.nn.windows import Axis

Array = npt.NDArray[Any]
Made = Kernel | windows.Call
IMAGES = 3
LANES = host_vector_unit().lanes("float32")
CHANNELS = (1, 2, 3, LANES - 1, LANES, LANES + 1, 2 * LANES - 1, 2 * LANES, 2 * LANES + 1, 3 * LANES + 1)
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13)

# rows, columns, channels, outputs, window rows, window columns, strides, dilation, padding
CASES = [
    (12, 12, 1, 6, 3, 3, (1, 1), 1, "SAME"),
    (9, 11, 3, 20, 3, 3, (2, 2), 1, "SAME"),
    (6, 7, 18, 33, 3, 2, (1, 2), 1, "VALID"),
    (10, 9, 7, 1, 2, 3, (3, 2), 1, "SAME"),
    (5, 9, 4, 17, 3, 3, (1, 1), 2, "SAME"),
    (3, 3, 9, 10, 5, 5, (2, 2), 1, "SAME"),
]


class Guarded:
    """Arrays that lie at the end of readable memory, or at its beginning."""

    def __init__(self) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self.kept: list[tuple[mmap.mmap, int, int]] = []

    def array(self, values: Array, at_end: bool = True) -> Array:
        """A copy of an array, its last byte the last before memory that nobody may touch, or its first the first."""
        page = mmap.PAGESIZE
        inner = -(-max(values.nbytes, 1) // page) * page
        block = mmap.mmap(-1, inner + 2 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(block))
        for place in (start, start + page + inner):
            assert self.libc.mprotect(place, page, 0) == 0
        self.kept.append((block, start, inner))
        first = page + (inner - values.nbytes if at_end else 0)
        found: Array = np.frombuffer(block, values.dtype, values.size, first).reshape(values.shape)
        found[...] = values
        return found

    def free(self) -> None:
        """Makes the memory ordinary again, which goes with its arrays."""
        for _, start, inner in self.kept:
            self.libc.mprotect(start, inner + 2 * mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)


class Calls:
    """Runs kernels on arrays, their units cut into small pieces for two threads."""

    def __init__(self, compiler: Compiler, machine: Machine) -> None:
        self.compiler, self.machine = compiler, machine
        self.unit = host_vector_unit()
        self.guarded = Guarded()
        self.at_end = True

    def array(self, values: Array) -> Array:
        return self.guarded.array(values, self.at_end)

    def empty(self, shape: Sequence[int], element: str) -> Array:
        return self.array(np.full(shape, 77, element))

    def run(self, made: Made, arguments: Sequence[Any], further: Sequence[int] = ()) -> None:
        words = [item.ctypes.data if isinstance(item, np.ndarray) else item for item in arguments]
        words += further if isinstance(made, Kernel) else made.words
        address = self.compiler.compile_async(made.source).result(100)
        units = made.units * (IMAGES if made.per_image else 1)
        assert self.machine.program([Step(address, words, 0, units, 3)], 2).run() == 0


@pytest.fixture
def calls(compiler: Compiler, machine: Machine) -> Any:
    found = Calls(compiler, machine)
    yield found
    found.guarded.free()


def convolution(case: tuple[Any, ...], element: str = "float32") -> tuple[conv.Convolution, list[Any]]:
    """The convolution of a case, and what the NumPy kernels are told about it."""
    rows, columns, channels, outputs, height, width, (down, right), dilation, padding = case
    axes = (
        Axis.of(rows, height, down, padding, dilation),
        Axis.of(columns, width, right, padding, dilation),
    )
    settings = [[1, down, right, 1], padding, [1, dilation, dilation, 1]]
    return conv.Convolution(*axes, channels, outputs, element), settings


def given(calls: Calls, c: conv.Convolution, draw: Callable[..., Any]) -> list[Array]:
    shapes = (
        (IMAGES, c.rows.inputs, c.columns.inputs, c.channels),
        (c.rows.size, c.columns.size, c.channels, c.outputs),
        (IMAGES, c.rows.outputs, c.columns.outputs, c.outputs),
        (c.outputs,),
    )
    return [calls.array(draw(shape).astype(c.element)) for shape in shapes]


def integers(generator: np.random.Generator) -> Callable[..., Any]:
    """Draws small ones: sums of their products are exact in any order."""
    return lambda shape: generator.integers(-4, 5, shape)


def generic_results(
    calls: Calls, c: conv.Convolution, arrays: Sequence[Array], bias: bool, relu: bool
) -> list[Array]:
    """The convolution, its gradient to the input, the one to the filter in groups, and the sum of these."""
    x, w, dy, b = arrays
    groups = conv.filter_groups(c, calls.unit)
    y, dx = calls.empty(dy.shape, c.element), calls.empty(x.shape, c.element)
    turned = calls.empty((*w.shape[:2], w.shape[3], w.shape[2]), c.element)
    partial, dw = calls.empty((groups, *w.shape), c.element), calls.empty(w.shape, c.element)
    calls.run(windows.forward(c, calls.unit, relu), [x, w, y, b if bias else 0])
    calls.run(windows.turned_filter(c, calls.unit), [w, turned])
    calls.run(windows.input_gradient(c, calls.unit), [dy, turned, dx, 0])
    calls.run(windows.filter_gradient(c, calls.unit, IMAGES, groups), [x, dy, partial])
    calls.run(windows.group_sum(c, calls.unit, groups), [partial, dw])
    return [y, dx, partial, dw]


def own_results(
    calls: Calls, c: conv.Convolution, arrays: Sequence[Array], bias: bool, relu: bool
) -> list[Array]:
    """The same of the kernels that are made for the shape."""
    x, w, dy, b = arrays
    unit, groups = calls.unit, conv.filter_groups(c, calls.unit)
    y, dx, partial, dw = (np.empty(s, c.element) for s in (dy.shape, x.shape, (groups, *w.shape), w.shape))
    turned = np.empty((*w.shape[:2], w.shape[3], w.shape[2]), c.element)
    calls.run(conv.forward(c, unit, bias, relu), [x, w, y, *([b] if bias else [])])
    calls.run(conv.transposed_filter(c, unit), [w, turned])
    calls.run(conv.input_gradient(c, unit), [dy, turned, dx])
    calls.run(conv.filter_gradient(c, unit), [x, dy, partial], [IMAGES])
    calls.run(conv.filter_group_sum(c, unit), [partial, dw])
    return [y, dx, partial, dw]


def same(found: Sequence[Array], expected: Sequence[Array]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.tobytes() == other.tobytes(), f"{np.sum(one != other)} of {one.size} differ"


@pytest.mark.parametrize(
    "case", [*CASES[:3], *(pytest.param(case, marks=pytest.mark.slow) for case in CASES[3:])], ids=str
)
def test_convolutions_have_the_bits_of_those_made_for_a_shape(calls: Calls, case: tuple[Any, ...]) -> None:
    c, _ = convolution(case)
    generator = np.random.default_rng(0)
    arrays = given(calls, c, generator.standard_normal)
    for bias, relu in ((True, True), (False, False)):
        same(generic_results(calls, c, arrays, bias, relu), own_results(calls, c, arrays, bias, relu))


def _cases(seed: int, count: int) -> list[tuple[Any, ...]]:
    chance = random.Random(seed)
    found: list[tuple[Any, ...]] = []
    while len(found) < count:
        strides = chance.choice([(1, 1), (1, 1), (2, 2), (1, 3), (3, 2)])
        dilation = chance.choice([1, 1, 2, 3]) if strides == (1, 1) else 1
        window = chance.choice([1, 2, 3, 5]), chance.choice([1, 2, 3, 4, 7])
        case = (
            *(chance.choice(SIZES), chance.choice(SIZES)), *(chance.choice(CHANNELS), chance.choice(CHANNELS)),
            *window, strides, dilation, chance.choice(["SAME", "VALID"]),
        )  # fmt: skip
        try:
            convolution(case)
        except ValueError:
            continue  # Of nothing.
        found.append(case)
    return found


@pytest.mark.parametrize("element", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("at_end", [True, False])
def test_convolutions_of_any_sizes_stay_within_their_arrays(calls: Calls, at_end: bool, element: str) -> None:
    calls.at_end = at_end
    for case in _cases(1 + at_end, 60):
        c, settings = convolution(case, element)
        generator = np.random.default_rng(0)
        x, w, dy, b = arrays = given(calls, c, integers(generator))
        y, dx, _, dw = generic_results(calls, c, arrays, True, True)
        np.testing.assert_array_equal(
            y, np.maximum(reference.conv2d(x, w, *settings) + b, 0), err_msg=str(case)
        )
        expected = reference.conv2d_backprop_input(x.shape, w, dy, *settings)
        np.testing.assert_array_equal(dx, expected, err_msg=str(case))
        expected = reference.conv2d_backprop_filter(x, w.shape, dy, *settings)
        np.testing.assert_array_equal(dw, expected, err_msg=str(case))


POOLS = [
    (8, 8, 32, 2, 2, (2, 2), "SAME"),
    (7, 9, 5, 3, 3, (1, 1), "SAME"),
    (9, 9, 33, 2, 3, (2, 1), "VALID"),
    (8, 9, 1, 2, 2, (3, 3), "VALID"),
    (5, 5, 3, 1, 1, (2, 2), "SAME"),
]


def pool_of(case: tuple[Any, ...], element: str = "float32") -> tuple[pooling.Pool, list[Any]]:
    rows, columns, channels, height, width, (down, right), padding = case
    axes = Axis.of(rows, height, down, padding), Axis.of(columns, width, right, padding)
    return pooling.Pool(*axes, channels, element), [[1, height, width, 1], [1, down, right, 1], padding]


def pooled(calls: Calls, pool: pooling.Pool, x: Array, dy: Array, own: bool) -> list[Array]:
    """Largest elements and means, with their gradients; those of the largest also through a relu."""
    unit = calls.unit
    results = [calls.empty(a.shape, pool.element) for a in (dy, dy, x, x, x)]
    if own:
        made: list[Made] = [pooling.max_pool(pool, unit), pooling.avg_pool(pool, unit)]
        made += [pooling.max_pool_gradient(pool, unit, relu) for relu in (False, True)]
        made.append(pooling.avg_pool_gradient(pool, unit))
        inputs: list[list[Any]] = [[x], [x], [x, dy], [x, dy], [dy]]
    else:
        made = [windows.pooled(pool, unit, largest, 1) for largest in (True, False)]
        made += [windows.pool_gradient(pool, unit, True, relu, 1) for relu in (False, True)]
        made.append(windows.pool_gradient(pool, unit, False, False, 1))
        inputs = [[x], [x], [x, dy], [x, dy], [0, dy]]
    for kernel, arguments, result in zip(made, inputs, results, strict=True):
        calls.run(kernel, [*arguments, result])
    return results


def pool_arrays(calls: Calls, pool: pooling.Pool) -> tuple[Array, Array]:
    """An input with many equal elements, and a gradient."""
    generator = np.random.default_rng(0)
    x = generator.integers(-2, 3, (IMAGES, pool.rows.inputs, pool.columns.inputs, pool.channels))
    dy = generator.integers(-4, 5, (IMAGES, pool.rows.outputs, pool.columns.outputs, pool.channels))
    return calls.array(x.astype(pool.element)), calls.array(dy.astype(pool.element))


@pytest.mark.parametrize(
    "case", [*POOLS[:2], *(pytest.param(case, marks=pytest.mark.slow) for case in POOLS[2:])], ids=str
)
def test_pools_have_the_bits_of_those_made_for_a_shape(calls: Calls, case: tuple[Any, ...]) -> None:
    pool, _ = pool_of(case)
    x, dy = pool_arrays(calls, pool)
    x += np.random.default_rng(1).standard_normal(x.shape).astype("f") * (x > 0)
    dy *= np.float32(0.3)
    x.reshape(-1)[5::31] = np.nan
    dy.reshape(-1)[3::7] = -0.0
    same(pooled(calls, pool, x, dy, False), pooled(calls, pool, x, dy, True))


@pytest.mark.parametrize("element", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_pools_of_any_sizes_stay_within_their_arrays(calls: Calls, element: str) -> None:
    chance = random.Random(3)
    for number in range(60):
        calls.at_end = number % 2 == 0
        window = chance.choice([1, 2, 3]), chance.choice([1, 2, 4])
        strides = chance.choice([(1, 1), (2, 2), (3, 1), (2, 3)])
        sizes = [max(chance.choice(SIZES), size) for size in window]
        case = (*sizes, chance.choice(CHANNELS), *window, strides, chance.choice(["SAME", "VALID"]))
        pool, settings = pool_of(case, element)
        x, dy = pool_arrays(calls, pool)
        most, mean, of_most, through_relu, of_mean = pooled(calls, pool, x, dy, False)
        np.testing.assert_array_equal(most, reference_pooling.max_pool(x, *settings), err_msg=str(case))
        np.testing.assert_array_equal(mean, reference_pooling.avg_pool(x, *settings), err_msg=str(case))
        expected = reference_pooling.max_pool_grad(x, most, dy, *settings)
        np.testing.assert_array_equal(of_most, expected, err_msg=str(case))
        assert not through_relu[x <= 0].any() and np.array_equal(through_relu[x > 0], of_most[x > 0])
        expected = reference_pooling.avg_pool_grad(x.shape, dy, *settings)
        np.testing.assert_allclose(of_mean, expected, rtol=1e-5, atol=1e-6, err_msg=str(case))


@pytest.mark.slow
@pytest.mark.parametrize("unit", [VectorUnit(32, 16), VectorUnit(16, 16, fused=False)], ids=str)
def test_other_vector_units(calls: Calls, unit: VectorUnit) -> None:
    calls.unit = unit
    for case in _cases(5, 30):
        c, _ = convolution(case)
        generator = np.random.default_rng(0)
        arrays = given(calls, c, integers(generator))
        found = generic_results(calls, c, arrays, True, True)
        calls.unit = host_vector_unit()
        expected = generic_results(calls, c, arrays, True, True)
        for number in (0, 1, 3):  # How many partial results there are is a matter of the unit.
            np.testing.assert_array_equal(found[number], expected[number], str(case))
        calls.unit = unit

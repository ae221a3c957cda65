"""Protects the generated convolution kernels: the NumPy kernels' results, the same bits however the work is cut.

Inputs are small integers where results are compared, so that sums are exact in any order.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.kernels import conv
from graphflow._core.codegen.cpu.kernels.kernel_source import Kernel, VectorUnit, host_vector_unit
from graphflow._core.codegen.cpu.programs.machine import Machine, Step
from graphflow._core.kernels.nn import convolution as reference
from graphflow._core.kernels.nn.windows import Axis

Array = npt.NDArray[Any]
Call = Callable[..., None]
IMAGES = 3

# rows, columns, channels, outputs, window rows, window columns, strides, dilation, padding
CASES = [
    (28, 28, 1, 32, 5, 5, (1, 1), 1, "SAME"),
    (14, 14, 32, 64, 5, 5, (1, 1), 1, "SAME"),
    (9, 11, 3, 20, 3, 3, (2, 2), 1, "SAME"),
    (9, 11, 5, 72, 3, 4, (1, 2), 1, "VALID"),
    (10, 9, 7, 1, 2, 3, (3, 2), 1, "SAME"),
    (4, 5, 4, 17, 3, 3, (1, 1), 2, "SAME"),
    (7, 7, 6, 33, 1, 1, (2, 2), 1, "SAME"),
    (3, 3, 9, 10, 5, 5, (2, 2), 1, "SAME"),
    (2, 40, 8, 160, 3, 3, (1, 1), 3, "SAME"),
]
SMALL_UNITS = [VectorUnit(32, 16), VectorUnit(16, 16, fused=False), VectorUnit(16, 32)]


@pytest.fixture
def call(compiler: Compiler, machine: Machine) -> Call:
    """Runs a kernel on arrays and sizes, its units cut into pieces of `grain` for two threads."""

    def run(kernel: Kernel, arguments: Sequence[Any], images: int = IMAGES, grain: int | None = None) -> None:
        address = compiler.compile_async(kernel.source).result(250)
        words = [item.ctypes.data if isinstance(item, np.ndarray) else item for item in arguments]
        units = kernel.units * images if kernel.per_image else kernel.units
        step = Step(address, words, 0, units, kernel.grain if grain is None else grain)
        assert machine.program([step], 2).run() == 0

    return run


def convolution(case: tuple[Any, ...], element: str = "float32") -> tuple[conv.Convolution, list[Any]]:
    """The convolution of a case, and what the NumPy kernels are told about it."""
    rows, columns, channels, outputs, height, width, (down, right), dilation, padding = case
    axes = (
        Axis.of(rows, height, down, padding, dilation),
        Axis.of(columns, width, right, padding, dilation),
    )
    settings = [[1, down, right, 1], padding, [1, dilation, dilation, 1]]
    return conv.Convolution(*axes, channels, outputs, element), settings


def integers(generator: np.random.Generator, element: str, *shape: int) -> Array:
    return generator.integers(-4, 5, shape).astype(element)


def filled(shape: Sequence[int], element: str) -> Array:
    return np.full(shape, 77, element)


def shapes(c: conv.Convolution, images: int = IMAGES) -> tuple[tuple[int, ...], ...]:
    return (
        (images, c.rows.inputs, c.columns.inputs, c.channels),
        (c.rows.size, c.columns.size, c.channels, c.outputs),
        (images, c.rows.outputs, c.columns.outputs, c.outputs),
    )


def filter_gradient(
    call: Call, c: conv.Convolution, unit: VectorUnit, x: Array, dy: Array, grain: int
) -> Array:
    size = shapes(c)[1]
    groups = conv.filter_groups(c, unit)
    partial, result = filled((groups, *size), c.element), filled(size, c.element)
    call(conv.filter_gradient(c, unit), [x, dy, partial, x.shape[0]], grain=grain)
    call(conv.filter_group_sum(c, unit), [partial, result])
    return result


def check(call: Call, case: tuple[Any, ...], unit: VectorUnit, element: str) -> None:
    c, settings = convolution(case, element)
    generator = np.random.default_rng(0)
    x, w, dy = (integers(generator, element, *shape) for shape in shapes(c))
    y, dx = filled(dy.shape, element), filled(x.shape, element)
    transposed = filled((c.rows.size, c.columns.size, c.outputs, c.channels), element)
    call(conv.forward(c, unit), [x, w, y])
    np.testing.assert_array_equal(y, reference.conv2d(x, w, *settings))
    call(conv.transposed_filter(c, unit), [w, transposed])
    call(conv.input_gradient(c, unit), [dy, transposed, dx])
    np.testing.assert_array_equal(dx, reference.conv2d_backprop_input(x.shape, w, dy, *settings))
    dw = filter_gradient(call, c, unit, x, dy, 7)
    np.testing.assert_array_equal(dw, reference.conv2d_backprop_filter(x, w.shape, dy, *settings))


@pytest.mark.parametrize(
    "case", [*CASES[:4], *(pytest.param(case, marks=pytest.mark.slow) for case in CASES[4:])], ids=str
)
def test_results_are_those_of_numpy(call: Call, case: tuple[Any, ...]) -> None:
    check(call, case, host_vector_unit(), "float32")


def test_doubles(call: Call) -> None:
    check(call, CASES[7], host_vector_unit(), "float64")


@pytest.mark.slow
@pytest.mark.parametrize("unit", SMALL_UNITS, ids=str)
@pytest.mark.parametrize("case", CASES[2:], ids=str)
def test_other_vector_units(call: Call, case: tuple[Any, ...], unit: VectorUnit) -> None:
    check(call, case, unit, "float32")


@pytest.mark.parametrize(("bias", "relu"), [(True, False), (False, True), (True, True)])
def test_bias_and_relu_in_the_same_pass(call: Call, bias: bool, relu: bool) -> None:
    c, settings = convolution(CASES[2])
    generator = np.random.default_rng(1)
    x, w, y = (integers(generator, "float32", *shape) for shape in shapes(c))
    x[0, 0, 0, 0] = np.nan
    b = integers(generator, "float32", c.outputs)
    call(conv.forward(c, host_vector_unit(), bias, relu), [x, w, y, b])
    expected = reference.conv2d(x, w, *settings) + b * bias
    np.testing.assert_array_equal(y, np.maximum(expected, 0) if relu else expected)


def test_bits_do_not_depend_on_how_the_work_is_cut(call: Call) -> None:
    c, unit = convolution(CASES[2])[0], host_vector_unit()
    generator = np.random.default_rng(2)
    x, w, dy = (generator.standard_normal(shape, np.float32) for shape in shapes(c))
    results = []
    for grain in (0, 1, 5):
        y, dx = filled(dy.shape, "float32"), filled(x.shape, "float32")
        transposed = np.ascontiguousarray(w.transpose(0, 1, 3, 2))
        call(conv.forward(c, unit), [x, w, y], grain=grain)
        call(conv.input_gradient(c, unit), [dy, transposed, dx], grain=grain)
        dw = filter_gradient(call, c, unit, x, dy, grain)
        results.append(b"".join(array.tobytes() for array in (y, dx, dw)))
    assert conv.filter_groups(c, unit) > 1
    assert results[0] == results[1] == results[2]


def test_fewer_images_than_groups(call: Call) -> None:
    c, settings = convolution(CASES[2])
    generator = np.random.default_rng(3)
    for images in (0, 1):
        x, _, dy = (integers(generator, "float32", *shape) for shape in shapes(c, images))
        dw = filter_gradient(call, c, host_vector_unit(), x, dy, 1)
        expected = reference.conv2d_backprop_filter(x, dw.shape, dy, *settings)
        np.testing.assert_array_equal(dw, expected)


def test_the_source_stands_alone_and_is_known_by_its_text() -> None:
    c, unit = convolution(CASES[0])[0], VectorUnit(64, 32)
    assert (
        "graphflow._core.kernels"
        not in conv.forward(c, unit).source.split('"""', 2)[2].split("def define_kernel")[0]
    )
    assert conv.forward(c, unit) == conv.forward(c, unit)
    assert conv.forward(c, unit).source != conv.forward(c, unit, relu=True).source


def test_a_convolution_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="of nothing"):
        conv.Convolution(Axis.of(2, 3, 1, "VALID"), Axis.of(2, 3, 1, "VALID"), 1, 1)

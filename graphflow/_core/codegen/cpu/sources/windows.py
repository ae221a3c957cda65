"""Convolutions and pools of any sizes: the sources of their kernels, and what words these are called with.

A kernel made for one shape (`kernels/conv.py`, `kernels/pooling.py`) is faster, but is compiled when a program first
has that shape. These are compiled once a machine and run until then. They give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import gcd
from pathlib import Path
from typing import Final, NamedTuple

from graphflow._core.codegen.cpu.kernels import conv
from graphflow._core.codegen.cpu.kernels.kernel_source import VectorUnit, host_vector_unit
from graphflow._core.codegen.cpu.kernels.pooling import Pool
from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.kernels.nn.windows import Axis

TILE: Final = 4
"""As `windows_emitter.py` has it."""


class Call(NamedTuple):
    """A call of a kernel: its source, the words behind the addresses, the units (of an image if so is said)."""

    source: str
    words: Sequence[int]
    units: int
    per_image: bool = False
    grain: int = 1

    def step(self, kernel: int, addresses: Sequence[int], images: int) -> Step:
        """The step that calls the kernel at an address."""
        units = self.units * images if self.per_image else self.units
        return Step(kernel, [*addresses, *self.words], 0, units, self.grain)


@cache
def _text(names: tuple[str, ...]) -> str:
    """The emitters' texts as one that stands alone; modules of this library are left out, as they are in it."""
    folder = Path(__file__).parent
    shared = Path(conv.__file__).with_name("emitter.py")  # Importing it would import Numba.
    paths = [shared, *(folder / name for name in names)]
    lines: list[str] = []
    inside = False
    for line in "\n".join(path.read_text("utf-8") for path in paths).splitlines():
        inside = inside or line.startswith("from graphflow")
        if not inside:
            lines.append(line)
        elif line.startswith("from graphflow") and not line.endswith("(") or line.startswith(")"):
            inside = False
    return "\n".join(lines)


@cache
def _source(family: str, body: str, element: str, unit: VectorUnit, largest: bool = False) -> str:
    names = ("windows_emitter.py", "pools_emitter.py") if family == "pools" else ("windows_emitter.py",)
    parameters = {"element": element, "fused": unit.fused, "lanes": unit.lanes(element), "largest": largest}
    return f"{_text(names)}\n\nkernel = define_kernel({body}, {parameters!r})\n"


def window_sources(element: str, unit: VectorUnit | None = None) -> list[str]:
    """The sources of all kernels of this module, the most wanted first."""
    unit = unit or host_vector_unit()
    convolutions = ("gather", "filter_of_gradient", "turn_filter", "add_groups")
    pools = [
        (body, largest) for largest in (True, False) for body in ("pool_of_windows", "gradient_of_windows")
    ]
    return [
        *(_source("windows", body, element, unit) for body in convolutions),
        *(_source("pools", body, element, unit, largest) for body, largest in pools),
    ]


def _axis(size: int, inputs: int, pace: int, shift: int, spread: int, divisor: int) -> list[int]:
    """The words of an axis; see AxisWords in `windows_emitter.py`."""
    step = divisor // gcd(spread, divisor)
    return [size, inputs, pace, shift, spread, divisor, step, spread * step // divisor]


def _forward_axis(axis: Axis) -> list[int]:
    return _axis(axis.size, axis.inputs, axis.stride, -axis.before, axis.dilation, 1)


def _backward_axis(axis: Axis) -> list[int]:
    return _axis(axis.size, axis.outputs, 1, axis.before, -axis.dilation, axis.stride)


def forward(c: conv.Convolution, unit: VectorUnit, relu: bool = False, grain: int = 1) -> Call:
    """A convolution. Addresses: input, filter, output, bias (0 if there is none)."""
    words = [
        int(relu),
        c.rows.inputs,
        c.columns.inputs,
        c.channels,
        c.rows.outputs,
        c.columns.outputs,
        c.outputs,
    ]
    words += [*_forward_axis(c.rows), *_forward_axis(c.columns)]
    return Call(_source("windows", "gather", c.element, unit), words, c.rows.outputs, True, grain)


def turned_filter(c: conv.Convolution, unit: VectorUnit, grain: int = 1) -> Call:
    """The filter as the gradient to the input needs it. Addresses: filter, result."""
    taps = c.rows.size * c.columns.size
    return Call(
        _source("windows", "turn_filter", c.element, unit), [c.channels, c.outputs], taps, False, grain
    )


def input_gradient(c: conv.Convolution, unit: VectorUnit, grain: int = 1) -> Call:
    """The gradient to the input. Addresses: gradient, turned filter, result, 0."""
    words = [0, c.rows.outputs, c.columns.outputs, c.outputs, c.rows.inputs, c.columns.inputs, c.channels]
    words += [*_backward_axis(c.rows), *_backward_axis(c.columns)]
    return Call(_source("windows", "gather", c.element, unit), words, c.rows.inputs, True, grain)


def filter_gradient(c: conv.Convolution, unit: VectorUnit, images: int, groups: int) -> Call:
    """The gradient to the filter, a partial result for each group. Addresses: input, gradient, result."""
    words = [
        images,
        groups,
        c.rows.inputs,
        c.columns.inputs,
        c.channels,
        c.rows.outputs,
        c.columns.outputs,
        c.outputs,
    ]
    for axis in (c.rows, c.columns):
        words += [axis.size, axis.stride, axis.dilation, axis.before]
    whole, left = divmod(c.columns.size * c.channels, TILE)
    units = groups * c.rows.size * (whole + left)
    return Call(_source("windows", "filter_of_gradient", c.element, unit), words, units)


def group_sum(c: conv.Convolution, unit: VectorUnit, groups: int, grain: int = 1) -> Call:
    """The sum of partial results. Addresses: these, the sum."""
    size = c.rows.size * c.columns.size * c.channels * c.outputs
    units = -(-size // unit.lanes(c.element))
    return Call(_source("windows", "add_groups", c.element, unit), [size, groups], units, False, grain)


def _pool_words(pool: Pool) -> list[int]:
    words = [pool.rows.inputs, pool.columns.inputs, pool.channels, pool.rows.outputs, pool.columns.outputs]
    for axis in (pool.rows, pool.columns):
        words += [axis.size, axis.stride, axis.before]
    return words


def pooled(pool: Pool, unit: VectorUnit, largest: bool, grain: int = 1) -> Call:
    """A pool. Addresses: input, output."""
    source = _source("pools", "pool_of_windows", pool.element, unit, largest)
    return Call(source, _pool_words(pool), pool.rows.outputs, True, grain)


def pool_gradient(pool: Pool, unit: VectorUnit, largest: bool, relu: bool, grain: int = 1) -> Call:
    """The gradient of a pool. Addresses: input (0 for a mean), gradient, result."""
    whole_images, overlapping, clear = pool_flags(pool)
    words = [int(relu), int(overlapping), int(whole_images), int(clear), *_pool_words(pool)]
    source = _source("pools", "gradient_of_windows", pool.element, unit, largest)
    return Call(source, words, 1 if whole_images else pool.rows.outputs, True, grain)


def pool_flags(pool: Pool) -> tuple[bool, bool, bool]:
    """Of a gradient: whether windows share rows, whether they share elements, and whether they leave any out."""
    whole_images = pool.rows.size > pool.rows.stride
    overlapping = whole_images or pool.columns.size > pool.columns.stride
    reached = [{source for pairs in axis.taps() for _, source in pairs} for axis in (pool.rows, pool.columns)]
    left_out = len(reached[0]) < pool.rows.inputs or len(reached[1]) < pool.columns.inputs
    return whole_images, overlapping, overlapping or left_out

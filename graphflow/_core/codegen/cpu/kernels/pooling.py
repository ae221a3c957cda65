"""The source text of pooling kernels made for one shape, with how to call them; see `conv.py`.

They are bound by memory: what is generated saves the passes that NumPy makes, one for each element of the window.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.codegen.cpu.kernels.conv_tiles import tile_runs
from graphflow._core.codegen.cpu.kernels.kernel_source import Kernel, VectorUnit, grain, kernel_source
from graphflow._core.common.records import dataclass
from graphflow._core.kernels.nn.windows import Axis

# Elements gone over that are worth handing to another thread.
PIECE_ELEMENTS = 1 << 15


@dataclass(frozen=True)
class Pool:
    """A pool over windows of NHWC images; `element` is "float32" or "float64"."""

    rows: Axis
    columns: Axis
    channels: int
    element: str = "float32"

    def __post_init__(self) -> None:
        sizes = (
            self.rows.inputs,
            self.columns.inputs,
            self.rows.outputs,
            self.columns.outputs,
            self.channels,
        )
        if min(sizes) < 1:
            raise ValueError(f"a pool of nothing needs no kernel: {self}")


def max_pool(pool: Pool, unit: VectorUnit) -> Kernel:
    """The largest element of each window; a NaN in it is the result. TensorFlow: MaxPool.

    Arguments: input [N, rows, columns, channels], output; unit: an output row of an image.
    """
    return _pool(pool, unit, True)


def avg_pool(pool: Pool, unit: VectorUnit) -> Kernel:
    """The mean of each window's elements, padding not counted. TensorFlow: AvgPool.

    Arguments: input [N, rows, columns, channels], output; unit: an output row of an image.
    """
    return _pool(pool, unit, False)


def max_pool_gradient(pool: Pool, unit: VectorUnit, relu: bool = False) -> Kernel:
    """The gradient to max_pool's input: the first largest element of a window gets it. TensorFlow: MaxPoolGrad.

    With `relu` the input is the result of a relu, and the gradient is that to the relu's own input.
    Arguments: input, gradient, result; unit: an output row of an image, or an image if windows share rows.
    """
    return _gradient(pool, unit, True, relu)


def avg_pool_gradient(pool: Pool, unit: VectorUnit) -> Kernel:
    """The gradient to avg_pool's input. TensorFlow: AvgPoolGrad.

    Arguments: gradient, result; unit: an output row of an image, or an image if windows share rows.
    """
    return _gradient(pool, unit, False, False)


def _pool(pool: Pool, unit: VectorUnit, largest: bool) -> Kernel:
    source = kernel_source("pooling", "pool", _parameters(pool, unit, largest))
    return Kernel(
        source, pool.rows.outputs, True, grain(_image_work(pool) // pool.rows.outputs, PIECE_ELEMENTS)
    )


def _gradient(pool: Pool, unit: VectorUnit, largest: bool, relu: bool) -> Kernel:
    rows, columns = pool.rows, pool.columns
    row_taps = rows.taps()
    whole_images = rows.size > rows.stride
    first_owned = [0, *(pairs[0][1] for pairs in row_taps[1:])]
    reached = [{source for pairs in axis.taps() for _, source in pairs} for axis in (rows, columns)]
    overlapping = whole_images or columns.size > columns.stride
    parameters = _parameters(pool, unit, largest) | {
        "relu": relu, "overlapping": overlapping, "whole_images": whole_images,
        "clear": overlapping or len(reached[0]) < rows.inputs or len(reached[1]) < columns.inputs,
        "first_owned": tuple(first_owned), "past_owned": (*first_owned[1:], rows.inputs),
    }  # fmt: skip
    source = kernel_source("pooling", "pool_gradient", parameters)
    units = 1 if whole_images else rows.outputs
    return Kernel(source, units, True, grain(_image_work(pool) // units, PIECE_ELEMENTS))


def _image_work(pool: Pool) -> int:
    """The elements that the windows of one image have."""
    rows, columns = (sum(len(pairs) for pairs in axis.taps()) for axis in (pool.rows, pool.columns))
    return rows * columns * pool.channels


def _parameters(pool: Pool, unit: VectorUnit, largest: bool) -> dict[str, Any]:
    row_taps = pool.rows.taps()
    windows = []
    for run in tile_runs(pool.columns.taps(), [range(pool.columns.outputs)], 1):
        columns = [
            tap.inputs[0] + i * tap.input_step
            for tap in run.taps for i in range(tap.repeats) if tap.inputs[0] is not None
        ]  # fmt: skip
        windows.append((tuple(columns), run.first, run.first_input, run.repeats, run.step, run.input_step))
    return {
        "element": pool.element, "fused": unit.fused, "lanes": unit.lanes(pool.element), "largest": largest,
        "channels": pool.channels, "in_rows": pool.rows.inputs, "in_columns": pool.columns.inputs,
        "out_rows": pool.rows.outputs, "out_columns": pool.columns.outputs, "windows": tuple(windows),
        "rows": (tuple(pairs[0][1] for pairs in row_taps), tuple(len(pairs) for pairs in row_taps)),
    }  # fmt: skip

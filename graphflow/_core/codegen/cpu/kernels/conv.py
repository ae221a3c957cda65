"""The source text of convolution kernels made for one shape, with how to call them.

A convolution is known by its sizes: those of the window, the channels and the image are built into the kernel, the
batch is an argument. Text is made here without Numba; it is compiled where it is executed.

Each function here returns a `Kernel` (`kernel_source.py` says how one is called).
"""

from __future__ import annotations

from typing import Any

from graphflow._core.codegen.cpu.kernels import conv_tiles as tiles
from graphflow._core.codegen.cpu.kernels.kernel_source import Kernel, VectorUnit, grain, kernel_source, plain
from graphflow._core.common.records import dataclass
from graphflow._core.kernels.nn.windows import Axis

# So many bytes of both inputs of a filter's gradient are visited by all tiles before the next are.
FILTER_BLOCK_BYTES = 160 * 1024
# Multiply-adds, and elements moved, that are worth handing to another thread.
PIECE_PRODUCTS = 1 << 21
PIECE_ELEMENTS = 1 << 16
# A filter's gradient is split by images until it has this many units, for the threads to share.
FILTER_UNITS = 48


@dataclass(frozen=True)
class Convolution:
    """A two-dimensional convolution of NHWC images with an HWIO filter; `element` is "float32" or "float64"."""

    rows: Axis
    columns: Axis
    channels: int
    outputs: int
    element: str = "float32"

    def __post_init__(self) -> None:
        sizes = (self.rows.inputs, self.columns.inputs, self.rows.outputs, self.columns.outputs)
        if min(*sizes, self.channels, self.outputs) < 1:
            raise ValueError(f"a convolution of nothing needs no kernel: {self}")


def forward(conv: Convolution, unit: VectorUnit, bias: bool = False, relu: bool = False) -> Kernel:
    """The convolution, with a bias added and relu taken if asked. TensorFlow: Conv2D.

    Arguments: input [N, rows, columns, channels], filter, output[, bias [outputs]]; unit: an output row of an image.
    """
    return _gather(
        conv.element, unit, conv.rows.taps(), conv.columns.taps(), [range(conv.columns.outputs)],
        (conv.rows.inputs, conv.columns.inputs, conv.channels), (conv.rows.outputs, conv.columns.outputs),
        conv.outputs, conv.columns.size, bias, relu,
    )  # fmt: skip


def transposed_filter(conv: Convolution, unit: VectorUnit) -> Kernel:
    """The filter with its last two axes exchanged, as `input_gradient` needs it.

    Arguments: filter [rows, columns, channels, outputs], result [rows, columns, outputs, channels]; unit: a tap.
    """
    lanes = tiles.vector_lanes(min(conv.channels, conv.outputs), unit.lanes(conv.element))
    parameters: dict[str, Any] = {
        "element": conv.element, "fused": unit.fused, "lanes": lanes, "channels": conv.channels,
        "outputs": conv.outputs,
    }  # fmt: skip
    source = kernel_source("conv", "transpose_filter", parameters)
    taps = conv.rows.size * conv.columns.size
    return Kernel(source, taps, False, grain(conv.channels * conv.outputs, PIECE_ELEMENTS))


def input_gradient(conv: Convolution, unit: VectorUnit) -> Kernel:
    """The gradient to the input. TensorFlow: Conv2DBackpropInput.

    Arguments: gradient [N, rows, columns, outputs], `transposed_filter`'s result, result [N, rows, columns, channels];
    unit: a row of the result of an image.
    """
    stride = conv.columns.stride
    # Columns a stride apart meet the same window columns, at neighbouring outputs.
    groups = [range(first, conv.columns.inputs, stride) for first in range(min(stride, conv.columns.inputs))]
    return _gather(
        conv.element, unit, conv.rows.transposed_taps(), conv.columns.transposed_taps(), groups,
        (conv.rows.outputs, conv.columns.outputs, conv.outputs), (conv.rows.inputs, conv.columns.inputs),
        conv.channels, conv.columns.size, False, False,
    )  # fmt: skip


def filter_gradient(conv: Convolution, unit: VectorUnit) -> Kernel:
    """The gradient to the filter. TensorFlow: Conv2DBackpropFilter.

    Arguments: input, gradient, result [groups, filter], number of images; units do not depend on the batch. If
    `filter_groups` is not 1 the result is scratch, which `filter_group_sum` adds up.
    """
    parameters = _filter_parameters(conv, unit)
    source = kernel_source("conv", "filter_gradient", parameters)
    units = parameters["groups"] * parameters["tiles"]
    return Kernel(source, units, False, grain(1, units // 32))


def filter_groups(conv: Convolution, unit: VectorUnit) -> int:
    """How many partial results `filter_gradient` writes: a matter of the shape, never of the threads."""
    return int(_filter_parameters(conv, unit)["groups"])


def filter_group_sum(conv: Convolution, unit: VectorUnit) -> Kernel:
    """Adds up what `filter_gradient` wrote. Arguments: partial results, result; unit: a vector of the result."""
    size = conv.rows.size * conv.columns.size * conv.channels * conv.outputs
    lanes = tiles.vector_lanes(size, unit.lanes(conv.element))
    parameters: dict[str, Any] = {
        "element": conv.element, "fused": unit.fused, "size": size, "lanes": lanes,
        "groups": filter_groups(conv, unit),
    }  # fmt: skip
    source = kernel_source("conv", "sum_groups", parameters)
    return Kernel(source, -(-size // lanes), False, grain(lanes * parameters["groups"], PIECE_ELEMENTS))


def _gather(
    element: str, unit: VectorUnit, row_taps: Any, column_taps: Any, groups: Any, inputs: tuple[int, int, int],
    outputs: tuple[int, int], channels: int, window_columns: int, bias: bool, relu: bool,
) -> Kernel:  # fmt: skip
    lanes = tiles.vector_lanes(channels, unit.lanes(element))
    vectors = len(tiles.channel_vectors(channels, lanes))
    pixels, block = tiles.choose_tile(max(len(group) for group in groups), vectors, unit)
    parameters: dict[str, Any] = {
        "element": element, "fused": unit.fused, "lanes": lanes, "channels": inputs[2], "outputs": channels,
        "in_rows": inputs[0], "in_columns": inputs[1], "out_rows": outputs[0], "out_columns": outputs[1],
        "window_columns": window_columns, "rows": tuple(tiles.row_table(row_taps)),
        "blocks": plain(tiles.vector_blocks(channels, lanes, block)),
        "tiles": plain(tiles.tile_runs(column_taps, groups, pixels)),
        "unroll": tiles.unroll(inputs[2], pixels * block), "bias": bias, "relu": relu,
    }  # fmt: skip
    products = sum(len(pairs) for pairs in row_taps) * sum(len(pairs) for pairs in column_taps)
    work = products * inputs[2] * channels // outputs[0]
    source = kernel_source("conv", "gather_convolution", parameters)
    return Kernel(source, outputs[0], True, grain(work, PIECE_PRODUCTS))


def _filter_parameters(conv: Convolution, unit: VectorUnit) -> dict[str, Any]:
    rows, columns, channels = conv.rows, conv.columns, conv.channels
    lanes = tiles.vector_lanes(conv.outputs, unit.lanes(conv.element))
    vectors = len(tiles.channel_vectors(conv.outputs, lanes))
    valid, valid_rows = _meeting(columns), _meeting(rows)
    whole_row = columns.size * channels <= 64 and channels <= 4
    elements = columns.size * channels if whole_row else channels
    most, block = tiles.choose_tile(elements, vectors, unit, exact=True)
    kinds: list[dict[str, Any]] = []
    count, first = 0, 0
    parts = tiles.even_parts(elements, most)
    for size in parts if whole_row else sorted(set(parts)):
        repeats = 1 if whole_row else parts.count(size)
        for run in tiles.vector_blocks(conv.outputs, lanes, block):
            kind: dict[str, Any] = {"first": count, "outputs": tuple(run)}
            if whole_row:
                taps = [divmod(element, channels) for element in range(first, first + size)]
                kind["elements"] = [(k * columns.dilation * channels + c, k * channels + c) for k, c in taps]
                kind["column_runs"] = _column_runs([k for k, _ in taps], valid, columns.outputs)
                kind |= {"window_columns": 1, "channel_tiles": 1, "first_channel": 0, "channel_step": 0}
            else:
                kind["elements"] = [(i, i) for i in range(size)]
                kind["column_runs"] = [(tuple(range(size)), *_ranges(valid))]  # fmt: skip
                kind |= {"window_columns": columns.size, "channel_tiles": repeats, "first_channel": first,
                         "channel_step": size}  # fmt: skip
            kind["count"] = rows.size * kind["window_columns"] * kind["channel_tiles"] * run.repeats
            count += kind["count"]
            kinds.append(kind)
        first += size * repeats
    itemsize = 4 if conv.element == "float32" else 8
    row_bytes = (columns.inputs * channels * rows.stride + columns.outputs * conv.outputs) * itemsize
    rows_block = max(min(rows.outputs, FILTER_BLOCK_BYTES // max(row_bytes, 1)), 1)
    images_block = (
        max(FILTER_BLOCK_BYTES // max(row_bytes * rows.outputs, 1), 1) if rows_block == rows.outputs else 1
    )
    return {
        "element": conv.element, "fused": unit.fused, "lanes": lanes, "channels": channels, "outputs": conv.outputs,
        "in_rows": rows.inputs, "in_columns": columns.inputs, "out_rows": rows.outputs, "out_columns": columns.outputs,
        "row_stride": rows.stride, "row_dilation": rows.dilation, "rows_before": rows.before,
        "column_stride": columns.stride, "column_dilation": columns.dilation, "columns_before": columns.before,
        "window_columns": columns.size, "filter_size": rows.size * columns.size * channels * conv.outputs,
        "first_row": _ranges(valid_rows)[0], "past_row": _ranges(valid_rows)[1],
        "rows_block": rows_block, "images_block": images_block,
        "groups": max(-(-FILTER_UNITS // count), 1), "tiles": count, "kinds": kinds,
    }  # fmt: skip


def _meeting(axis: Axis) -> list[list[int]]:
    """For each window element the outputs for which it does not fall into the padding."""
    return [
        [o for o, pairs in enumerate(axis.taps()) if any(k == tap for k, _ in pairs)]
        for tap in range(axis.size)
    ]


def _ranges(valid: list[list[int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """First and past the last of each list of neighbouring numbers."""
    return tuple(v[0] if v else 0 for v in valid), tuple(v[-1] + 1 if v else 0 for v in valid)


def _column_runs(
    taps: list[int], valid: list[list[int]], columns: int
) -> list[tuple[tuple[int, ...], tuple[int], tuple[int]]]:
    """Ranges of output columns in which the same elements of a tile meet the input, in order."""
    found: list[tuple[tuple[int, ...], int, int]] = []
    for column in range(columns):
        meeting = tuple(i for i, k in enumerate(taps) if column in valid[k])
        if found and found[-1][0] == meeting:
            found[-1] = (meeting, found[-1][1], column + 1)
        elif meeting:
            found.append((meeting, column, column + 1))
    return [(meeting, (first,), (past,)) for meeting, first, past in found]

"""Kernels of depthwise convolutions of NHWC images, with their gradients: one of each for all sizes.

Channels lie side by side and do not meet, so that each element of a window is a product of vectors of channels. Sizes
are words, in the order of `Depthwise.words`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.common.records import dataclass
from graphflow._core.kernels.nn.windows import Axis

_GRAIN_PRODUCTS: Final = 1 << 15
_SIZES: Final = """
    channels = args[3]
    multiplier = args[4]
    in_rows = args[5]
    in_columns = args[6]
    out_rows = args[7]
    out_columns = args[8]
    window_rows = args[9]
    window_columns = args[10]
    row_stride = args[11]
    column_stride = args[12]
    row_dilation = args[13]
    column_dilation = args[14]
    rows_before = args[15]
    columns_before = args[16]
    outputs = channels * multiplier"""


@dataclass(frozen=True)
class Depthwise:
    """A depthwise convolution: axes of the images, their channels, and filters for each of these."""

    rows: Axis
    columns: Axis
    channels: int
    multiplier: int

    def words(self) -> list[int]:
        """The sizes as the kernels take them."""
        r, c = self.rows, self.columns
        return [
            *(self.channels, self.multiplier, r.inputs, c.inputs, r.outputs, c.outputs, r.size, c.size),
            *(r.stride, c.stride, r.dilation, c.dilation, r.before, c.before),
        ]

    def steps(self, kernel: int, addresses: Sequence[int], units: int, products: int) -> list[Step]:
        """The step of a kernel with three addresses, of so many products in a unit."""
        grain = max(1, _GRAIN_PRODUCTS // max(1, products))
        return [Step(kernel, [*addresses, *self.words()], 0, units, grain)]

    @property
    def window(self) -> int:
        """Products of one element of each channel's result."""
        return self.rows.size * self.columns.size * self.channels * self.multiplier


def forward_source(dtype: str) -> str:
    """Source of the convolution. TensorFlow: DepthwiseConv2dNative.

    Arguments: images, filter [rows, columns, channels, multiplier], result; unit: a row of the result.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    w = pointer_{dtype}(args[1])
    y = pointer_{dtype}(args[2]){_SIZES}
    for unit in range(begin, end):
        image = unit // out_rows
        top = unit % out_rows * row_stride - rows_before
        for column in range(out_columns):
            place = (unit * out_columns + column) * outputs
            left = column * column_stride - columns_before
            for c in range(outputs):
                store(y, place + c, {dtype}(0), 1)
            for k in range(window_rows):
                i = top + k * row_dilation
                if i < 0 or i >= in_rows:
                    continue
                for l in range(window_columns):
                    j = left + l * column_dilation
                    if j < 0 or j >= in_columns:
                        continue
                    source = ((image * in_rows + i) * in_columns + j) * channels
                    weights = (k * window_columns + l) * outputs
                    if multiplier == 1:
                        for c in range(channels):
                            product = load(x, source + c, 0) * load(w, weights + c, 0)
                            store(y, place + c, load(y, place + c, 1) + product, 1)
                    else:
                        for c in range(channels):
                            value = load(x, source + c, 0)
                            for q in range(multiplier):
                                product = value * load(w, weights + c * multiplier + q, 0)
                                at = place + c * multiplier + q
                                store(y, at, load(y, at, 1) + product, 1)
"""


def input_gradient_source(dtype: str) -> str:
    """Source of the gradient to the images. TensorFlow: DepthwiseConv2dNativeBackpropInput.

    Arguments: gradient, filter, result; unit: a row of the result.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    g = pointer_{dtype}(args[0])
    w = pointer_{dtype}(args[1])
    y = pointer_{dtype}(args[2]){_SIZES}
    for unit in range(begin, end):
        image = unit // in_rows
        below = unit % in_rows + rows_before
        for column in range(in_columns):
            place = (unit * in_columns + column) * channels
            right = column + columns_before
            for c in range(channels):
                store(y, place + c, {dtype}(0), 1)
            for k in range(window_rows):
                i = below - k * row_dilation
                if i < 0 or i % row_stride != 0 or i // row_stride >= out_rows:
                    continue
                for l in range(window_columns):
                    j = right - l * column_dilation
                    if j < 0 or j % column_stride != 0 or j // column_stride >= out_columns:
                        continue
                    row = image * out_rows + i // row_stride
                    source = (row * out_columns + j // column_stride) * outputs
                    weights = (k * window_columns + l) * outputs
                    if multiplier == 1:
                        for c in range(channels):
                            product = load(g, source + c, 0) * load(w, weights + c, 0)
                            store(y, place + c, load(y, place + c, 1) + product, 1)
                    else:
                        for c in range(channels):
                            total = {dtype}(0)
                            for q in range(multiplier):
                                at = c * multiplier + q
                                total += load(g, source + at, 0) * load(w, weights + at, 0)
                            store(y, place + c, load(y, place + c, 1) + total, 1)
"""


def filter_gradient_source(dtype: str) -> str:
    """Source of the gradient to the filter. TensorFlow: DepthwiseConv2dNativeBackpropFilter.

    Arguments: images, gradient, result [2, rows, columns, channels, multiplier], of which the second half is scratch
    for the sums of single rows; further word: images; unit: an element of the window.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    g = pointer_{dtype}(args[1])
    y = pointer_{dtype}(args[2]){_SIZES}
    images = args[17]
    half = window_rows * window_columns * outputs
    for unit in range(begin, end):
        k = unit // window_columns
        l = unit % window_columns
        place = unit * outputs
        partial = half + place
        for c in range(outputs):
            store(y, place + c, {dtype}(0), 1)
        for row in range(images * out_rows):
            i = row % out_rows * row_stride - rows_before + k * row_dilation
            if i < 0 or i >= in_rows:
                continue
            above = (row // out_rows * in_rows + i) * in_columns
            for c in range(outputs):
                store(y, partial + c, {dtype}(0), 1)
            for column in range(out_columns):
                j = column * column_stride - columns_before + l * column_dilation
                if j < 0 or j >= in_columns:
                    continue
                source = (above + j) * channels
                gradient = (row * out_columns + column) * outputs
                if multiplier == 1:
                    for c in range(channels):
                        product = load(x, source + c, 0) * load(g, gradient + c, 0)
                        store(y, partial + c, load(y, partial + c, 1) + product, 1)
                else:
                    for c in range(channels):
                        value = load(x, source + c, 0)
                        for q in range(multiplier):
                            at = c * multiplier + q
                            product = value * load(g, gradient + at, 0)
                            store(y, partial + at, load(y, partial + at, 1) + product, 1)
            for c in range(outputs):
                store(y, place + c, load(y, place + c, 1) + load(y, partial + c, 1), 1)
"""

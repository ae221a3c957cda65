"""NumPy convolutions: what runs until the generated kernels are compiled, and what those are compared with.

A convolution copies the windows of a few images at a time into a matrix, in runs of window columns times channels, and
leaves the products to BLAS; a depthwise one goes over the window's elements, each a view of the whole batch. Images
are NHWC, filters [rows, columns, channels, outputs]; `strides` and `dilations` have four entries, as in TensorFlow, of
which the outer two are 1; padding is "SAME" or "VALID". ValueError says what does not fit. Results are fresh arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from graphflow._core.kernels.math.products import PRODUCTS
from graphflow._core.kernels.nn.images import (
    Array,
    Axes,
    check_gradient,
    image_kernel,
    padded_images,
    padded_shape,
    tap_views,
    unpadded_images,
    window_axes,
)
from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.kernels.registry import kernel, takes

# The matrix of windows is made for so many bytes of images at once, to be multiplied while it is in the cache.
BLOCK_BYTES = 1 << 21
# An input's gradient is a convolution with the mirrored filter if the input has at most so many times the places of
# the output. A filter as wide as the input, as of convolutions over texts, would meet little else than padding.
_MOST_SPREADING = 2


def conv2d(
    x: Array, w: Array, strides: Sequence[int], padding: str, dilations: Sequence[int] = (1, 1, 1, 1)
) -> Array:
    """The convolution [N, out rows, out columns, outputs]. TensorFlow: Conv2D."""
    axes = window_axes(x.shape, w.shape[:2], strides, padding, dilations)
    _check_channels(x.shape[3], w)
    return _convolve(padded_images(x, axes), w, axes)


def conv2d_backprop_input(
    input_sizes: Sequence[int],
    w: Array,
    gradient: Array,
    strides: Sequence[int],
    padding: str,
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Array:
    """The gradient to an input of shape `input_sizes`. TensorFlow: Conv2DBackpropInput."""
    axes = rows, columns = window_axes(input_sizes, w.shape[:2], strides, padding, dilations)
    _check_channels(int(input_sizes[3]), w)
    check_gradient(gradient, axes, int(input_sizes[0]), w.shape[3])
    narrow = rows.inputs * columns.inputs > _MOST_SPREADING * rows.outputs * columns.outputs
    strided = not rows.stride == columns.stride == 1
    if not (narrow or strided) and rows.before < rows.extent and columns.before < columns.extent:
        mirrored: list[Axis] = []
        widths = [(0, 0)]
        for axis in axes:
            front = axis.extent - 1 - axis.before
            back = axis.inputs - 1 - (axis.outputs - 1) + axis.before
            widths.append((front, back))
            mirrored.append(Axis(axis.outputs, axis.size, 1, axis.dilation, front, axis.inputs))
        padded = np.pad(gradient, [*widths, (0, 0)])
        return _convolve(padded, w[::-1, ::-1].transpose(0, 1, 3, 2), (mirrored[0], mirrored[1]))
    images, channels, outputs = gradient.shape[0], w.shape[2], w.shape[3]
    result = np.zeros(padded_shape((images, *input_sizes[1:3], channels), axes), gradient.dtype)
    matrix = np.ascontiguousarray(w.reshape(-1, outputs).T)
    step = _images_at_once(rows.outputs * columns.outputs * matrix.shape[1] * gradient.itemsize)
    for first in range(0, images, step):
        some = gradient[first : first + step]
        windows = PRODUCTS.multiply(some.reshape(-1, outputs), matrix).reshape(*some.shape[:3], *w.shape[:3])
        for (i, j), view in tap_views(result[first : first + step], axes):
            view += windows[:, :, :, i, j]
    return unpadded_images(result, axes)


def conv2d_backprop_filter(
    x: Array,
    filter_sizes: Sequence[int],
    gradient: Array,
    strides: Sequence[int],
    padding: str,
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Array:
    """The gradient to a filter of shape `filter_sizes`. TensorFlow: Conv2DBackpropFilter."""
    axes = window_axes(x.shape, filter_sizes[:2], strides, padding, dilations)
    outputs = int(filter_sizes[3])
    check_gradient(gradient, axes, x.shape[0], outputs)
    result = np.zeros((int(np.prod(filter_sizes[:3])), outputs), gradient.dtype)
    for images, windows in _window_blocks(padded_images(x, axes), axes):
        result += PRODUCTS.multiply(windows.T, gradient[images].reshape(-1, outputs))
    return result.reshape([int(size) for size in filter_sizes])


def depthwise_conv2d_native(
    x: Array, w: Array, strides: Sequence[int], padding: str, dilations: Sequence[int] = (1, 1, 1, 1)
) -> Array:
    """Each channel convolved with its own filters; channel c's are outputs c * multiplier onwards.

    `w` is [rows, columns, channels, multiplier]. TensorFlow: DepthwiseConv2dNative.
    """
    axes = rows, columns = window_axes(x.shape, w.shape[:2], strides, padding, dilations)
    _check_channels(x.shape[3], w)
    result = np.zeros((x.shape[0], rows.outputs, columns.outputs, *w.shape[2:]), x.dtype)
    for (i, j), view in tap_views(padded_images(x, axes), axes):
        result += view[..., None] * w[i, j]
    return result.reshape(*result.shape[:3], w.shape[2] * w.shape[3])


def depthwise_conv2d_native_backprop_input(
    input_sizes: Sequence[int],
    w: Array,
    gradient: Array,
    strides: Sequence[int],
    padding: str,
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Array:
    """The gradient to the input. TensorFlow: DepthwiseConv2dNativeBackpropInput."""
    axes = window_axes(input_sizes, w.shape[:2], strides, padding, dilations)
    _check_channels(int(input_sizes[3]), w)
    check_gradient(gradient, axes, int(input_sizes[0]), w.shape[2] * w.shape[3])
    split = gradient.reshape(*gradient.shape[:3], *w.shape[2:])
    result = np.zeros(padded_shape([int(size) for size in input_sizes], axes), gradient.dtype)
    for (i, j), view in tap_views(result, axes):
        view += np.einsum("nhwcm,cm->nhwc", split, w[i, j])
    return unpadded_images(result, axes)


def depthwise_conv2d_native_backprop_filter(
    x: Array,
    filter_sizes: Sequence[int],
    gradient: Array,
    strides: Sequence[int],
    padding: str,
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Array:
    """The gradient to the filters. TensorFlow: DepthwiseConv2dNativeBackpropFilter."""
    axes = window_axes(x.shape, filter_sizes[:2], strides, padding, dilations)
    channels, multiplier = int(filter_sizes[2]), int(filter_sizes[3])
    check_gradient(gradient, axes, x.shape[0], channels * multiplier)
    split = gradient.reshape(*gradient.shape[:3], channels, multiplier)
    result = np.empty([int(size) for size in filter_sizes], gradient.dtype)
    for (i, j), view in tap_views(padded_images(x, axes), axes):
        result[i, j] = np.einsum("nhwc,nhwcm->cm", view, split)
    return result


def _check_channels(channels: int, w: Array) -> None:
    if w.ndim != 4 or w.shape[2] != channels:
        raise ValueError(
            f"the input has {channels} channels and the filter is {w.shape}; "
            "it must be [rows, columns, channels of the input, outputs]"
        )


def _images_at_once(bytes_each: int) -> int:
    return max(BLOCK_BYTES // max(bytes_each, 1), 1)


def _window_blocks(padded: Array, axes: Axes) -> Iterator[tuple[slice, Array]]:
    """The windows of some images at a time, as the rows of a matrix [images and positions, window elements]."""
    rows, columns = axes
    images, channels = padded.shape[0], padded.shape[3]
    n, r, c, e = padded.strides
    shape = (images, rows.outputs, columns.outputs, rows.size, columns.size, channels)
    strides = (n, r * rows.stride, c * columns.stride, r * rows.dilation, c * columns.dilation, e)
    windows = np.lib.stride_tricks.as_strided(padded, shape, strides, writeable=False)
    elements = rows.size * columns.size * channels
    step = _images_at_once(rows.outputs * columns.outputs * elements * padded.itemsize)
    for first in range(0, images, step):
        block = slice(first, min(first + step, images))
        yield block, windows[block].reshape(-1, elements)


def _convolve(padded: Array, w: Array, axes: Axes) -> Array:
    rows, columns = axes
    outputs = w.shape[3]
    matrix = np.ascontiguousarray(w).reshape(-1, outputs)
    result = np.empty((padded.shape[0], rows.outputs, columns.outputs, outputs), padded.dtype)
    for images, windows in _window_blocks(padded, axes):
        PRODUCTS.multiply(windows, matrix, out=result[images].reshape(-1, outputs))
    return result


_CONV = ("strides", "padding", "dilations")

kernel("Conv2D")(image_kernel(conv2d, (0,), None, True, _CONV))
kernel("Conv2DBackpropInput")(image_kernel(conv2d_backprop_input, (2,), 0, True, _CONV))
kernel("Conv2DBackpropFilter")(image_kernel(conv2d_backprop_filter, (0, 2), None, False, _CONV))
kernel("DepthwiseConv2dNative")(image_kernel(depthwise_conv2d_native, (0,), None, True, _CONV))
kernel("DepthwiseConv2dNativeBackpropInput")(
    image_kernel(depthwise_conv2d_native_backprop_input, (2,), 0, True, _CONV)
)
kernel("DepthwiseConv2dNativeBackpropFilter")(
    image_kernel(depthwise_conv2d_native_backprop_filter, (0, 2), None, False, _CONV)
)
takes(0.0, "Conv2DBackpropFilter", "Conv2DBackpropInput", "DepthwiseConv2dNative", call=50_000.0)
takes(0.0, "DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput", call=50_000.0)

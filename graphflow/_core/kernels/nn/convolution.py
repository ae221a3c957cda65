"""NumPy convolutions and pools: what runs until the generated kernels are compiled, and what those are compared with.

A convolution copies the windows of a few images at a time into a matrix, in runs of window columns times channels, and
leaves the products to BLAS; pools go over the window's elements, each a view of the whole batch. Images are NHWC,
filters [rows, columns, channels, outputs]; `strides`, `ksize` and `dilations` have four entries, as in TensorFlow, of
which the outer two are 1; padding is "SAME" or "VALID". ValueError says what does not fit. Results are fresh arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graphflow._core.kernels.math.products import PRODUCTS
from graphflow._core.kernels.nn.windows import Axis

Array: TypeAlias = npt.NDArray[Any]
Axes: TypeAlias = tuple[Axis, Axis]

# The matrix of windows is made for so many bytes of images at once, to be multiplied while it is in the cache.
BLOCK_BYTES = 1 << 21
# An input's gradient is a convolution with the mirrored filter if the input has at most so many times the places of
# the output. A filter as wide as the input, as of convolutions over texts, would meet little else than padding.
_MOST_SPREADING = 2


def window_axes(
    shape: Sequence[int], size: Sequence[int], strides: Sequence[int], padding: str, dilations: Sequence[int]
) -> Axes:
    """The row and the column axis of windows of `size` over images of a shape."""
    if len(shape) != 4 or len(strides) != 4 or len(dilations) != 4:
        raise ValueError(
            f"images are NHWC and strides and dilations have four entries; got shape {tuple(shape)}, "
            f"strides {list(strides)}, dilations {list(dilations)}"
        )
    for name, values in (("strides", strides), ("dilations", dilations)):
        if values[0] != 1 or values[3] != 1:
            raise ValueError(f"{name} are {list(values)}; in the batch and the channels they must be 1")
    rows, columns = (
        Axis.of(int(shape[axis]), int(size[axis - 1]), int(strides[axis]), padding, int(dilations[axis]))
        for axis in (1, 2)
    )
    return rows, columns


def conv2d(
    x: Array, w: Array, strides: Sequence[int], padding: str, dilations: Sequence[int] = (1, 1, 1, 1)
) -> Array:
    """The convolution [N, out rows, out columns, outputs]. TensorFlow: Conv2D."""
    axes = window_axes(x.shape, w.shape[:2], strides, padding, dilations)
    _check_channels(x.shape[3], w)
    return _convolve(_padded(x, axes), w, axes)


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
    _check_gradient(gradient, axes, int(input_sizes[0]), w.shape[3])
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
    result = np.zeros(_padded_shape((images, *input_sizes[1:3], channels), axes), gradient.dtype)
    matrix = np.ascontiguousarray(w.reshape(-1, outputs).T)
    step = _images_at_once(rows.outputs * columns.outputs * matrix.shape[1] * gradient.itemsize)
    for first in range(0, images, step):
        some = gradient[first : first + step]
        windows = PRODUCTS.multiply(some.reshape(-1, outputs), matrix).reshape(*some.shape[:3], *w.shape[:3])
        for (i, j), view in _tap_views(result[first : first + step], axes):
            view += windows[:, :, :, i, j]
    return _unpadded(result, axes)


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
    _check_gradient(gradient, axes, x.shape[0], outputs)
    result = np.zeros((int(np.prod(filter_sizes[:3])), outputs), gradient.dtype)
    for images, windows in _window_blocks(_padded(x, axes), axes):
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
    for (i, j), view in _tap_views(_padded(x, axes), axes):
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
    _check_gradient(gradient, axes, int(input_sizes[0]), w.shape[2] * w.shape[3])
    split = gradient.reshape(*gradient.shape[:3], *w.shape[2:])
    result = np.zeros(_padded_shape([int(size) for size in input_sizes], axes), gradient.dtype)
    for (i, j), view in _tap_views(result, axes):
        view += np.einsum("nhwcm,cm->nhwc", split, w[i, j])
    return _unpadded(result, axes)


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
    _check_gradient(gradient, axes, x.shape[0], channels * multiplier)
    split = gradient.reshape(*gradient.shape[:3], channels, multiplier)
    result = np.empty([int(size) for size in filter_sizes], gradient.dtype)
    for (i, j), view in _tap_views(_padded(x, axes), axes):
        result[i, j] = np.einsum("nhwc,nhwcm->cm", view, split)
    return result


def image_patches(
    x: Array, ksizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str
) -> Array:
    """The windows [N, out rows, out columns, window rows * window columns * channels].

    TensorFlow: ExtractImagePatches.
    """
    axes = window_axes(x.shape, ksizes[1:3], strides, padding, rates)
    result = np.empty((x.shape[0], axes[0].outputs, axes[1].outputs, *ksizes[1:3], x.shape[3]), x.dtype)
    for (i, j), view in _tap_views(_padded(x, axes), axes):
        result[:, :, :, i, j] = view
    return result.reshape(*result.shape[:3], math.prod(result.shape[3:]))


def max_pool(x: Array, ksize: Sequence[int], strides: Sequence[int], padding: str) -> Array:
    """The largest element of each window; a NaN in it is the result. TensorFlow: MaxPool."""
    axes = _pool_axes(x.shape, ksize, strides, padding)
    views = [view for _, view in _tap_views(_padded(x, axes, _lowest(x.dtype)), axes)]
    result = views[0].copy()
    for view in views[1:]:
        np.maximum(result, view, out=result)
    return result


def max_pool_grad(
    x: Array, y: Array, gradient: Array, ksize: Sequence[int], strides: Sequence[int], padding: str
) -> Array:
    """The gradient to max_pool's input `x`, given its output `y`. TensorFlow: MaxPoolGrad.

    If several elements of a window are the largest, the first in row order gets it, as in TensorFlow.
    """
    axes = _pool_axes(x.shape, ksize, strides, padding)
    _check_gradient(gradient, axes, x.shape[0], x.shape[3])
    result = np.zeros(_padded_shape(x.shape, axes), gradient.dtype)
    chosen = _first_largest(x, y, axes)
    for (_, view), mask in zip(_tap_views(result, axes), chosen):
        view += np.where(mask, gradient, gradient.dtype.type(0))
    return _unpadded(result, axes)


def max_pool_grad_grad(
    x: Array, y: Array, gradient: Array, ksize: Sequence[int], strides: Sequence[int], padding: str
) -> Array:
    """The elements of `gradient`, shaped as `x`, where max_pool found its results. TensorFlow: MaxPoolGradGrad."""
    axes = _pool_axes(x.shape, ksize, strides, padding)
    result = np.zeros(y.shape, gradient.dtype)
    for (_, view), mask in zip(_tap_views(_padded(gradient, axes), axes), _first_largest(x, y, axes)):
        np.copyto(result, view, where=mask)
    return result


def avg_pool(x: Array, ksize: Sequence[int], strides: Sequence[int], padding: str) -> Array:
    """The mean of each window's elements, padding not counted. TensorFlow: AvgPool."""
    axes = _pool_axes(x.shape, ksize, strides, padding)
    views = [view for _, view in _tap_views(_padded(x, axes), axes)]
    result = views[0].copy()
    for view in views[1:]:
        result += view
    result /= _window_counts(axes, x.dtype)
    return result


def avg_pool_grad(
    input_sizes: Sequence[int], gradient: Array, ksize: Sequence[int], strides: Sequence[int], padding: str
) -> Array:
    """The gradient to avg_pool's input of shape `input_sizes`. TensorFlow: AvgPoolGrad."""
    sizes = [int(size) for size in input_sizes]
    axes = _pool_axes(sizes, ksize, strides, padding)
    _check_gradient(gradient, axes, sizes[0], sizes[3])
    share = gradient / _window_counts(axes, gradient.dtype)
    result = np.zeros(_padded_shape(sizes, axes), gradient.dtype)
    for _, view in _tap_views(result, axes):
        view += share
    return _unpadded(result, axes)


def _pool_axes(shape: Sequence[int], ksize: Sequence[int], strides: Sequence[int], padding: str) -> Axes:
    if len(ksize) != 4 or ksize[0] != 1 or ksize[3] != 1:
        raise ValueError(f"ksize is {list(ksize)}; it has four entries, 1 in the batch and the channels")
    return window_axes(shape, ksize[1:3], strides, padding, (1, 1, 1, 1))


def _check_channels(channels: int, w: Array) -> None:
    if w.ndim != 4 or w.shape[2] != channels:
        raise ValueError(
            f"the input has {channels} channels and the filter is {w.shape}; "
            "it must be [rows, columns, channels of the input, outputs]"
        )


def _check_gradient(gradient: Array, axes: Axes, images: int, outputs: int) -> None:
    expected = (images, axes[0].outputs, axes[1].outputs, outputs)
    if gradient.shape != expected:
        raise ValueError(
            f"the gradient's shape is {gradient.shape}; the output that it belongs to has {expected}"
        )


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _padded_shape(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    rows, columns = axes
    return (
        shape[0], rows.before + rows.inputs + rows.after, columns.before + columns.inputs + columns.after, shape[3],
    )  # fmt: skip


def _padded(x: Array, axes: Axes, value: Any = 0) -> Array:
    """The images with their padding, or themselves if there is none."""
    rows, columns = axes
    widths = ((0, 0), (rows.before, rows.after), (columns.before, columns.after), (0, 0))
    if not any(sum(width) for width in widths):
        return x
    return np.pad(x, widths, constant_values=value)


def _unpadded(x: Array, axes: Axes) -> Array:
    rows, columns = axes
    view = x[:, rows.before : rows.before + rows.inputs, columns.before : columns.before + columns.inputs]
    return np.ascontiguousarray(view)


def _tap_views(padded: Array, axes: Axes) -> Iterator[tuple[tuple[int, int], Array]]:
    """For each element of the window, what all windows have there: [N, out rows, out columns, channels]."""
    rows, columns = axes

    def along(axis: Axis, k: int) -> slice:
        first = k * axis.dilation
        return slice(
            first, first + max(axis.outputs - 1, 0) * axis.stride + min(axis.outputs, 1), axis.stride
        )

    for i in range(rows.size):
        for j in range(columns.size):
            yield (i, j), padded[:, along(rows, i), along(columns, j)]


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


def _first_largest(x: Array, y: Array, axes: Axes) -> Iterator[Array]:
    """For each element of the window, in order, the mask of windows whose first largest element it is."""
    taken = np.zeros(y.shape, np.bool_)
    has_nan = y.dtype.kind == "f" and bool(np.isnan(y).any())
    for _, view in _tap_views(_padded(x, axes, _lowest(x.dtype)), axes):
        mask = view == y
        if has_nan:
            mask |= np.isnan(view)
        mask &= ~taken
        taken |= mask
        yield mask


def _window_counts(axes: Axes, dtype: np.dtype[Any]) -> Array:
    """How many elements of each window are not padding, [out rows, out columns, 1]."""
    rows, columns = ([len(pairs) for pairs in axis.taps()] for axis in axes)
    counts: Array = np.outer(rows, columns).astype(dtype)[:, :, None]
    return counts

"""NumPy pools: what runs until the generated kernels are compiled, and what those are compared with.

They go over the window's elements, each a view of the whole batch. Images are NHWC; `ksize` and `strides` have four
entries, as in TensorFlow, of which the outer two are 1; padding is "SAME" or "VALID". ValueError says what does not
fit. Results are fresh arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from graphflow._core.kernels.nn.images import (
    Array,
    Axes,
    check_gradient,
    checked_images,
    image_kernel,
    padded_images,
    padded_shape,
    tap_views,
    unpadded_images,
    window_axes,
)
from graphflow._core.kernels.registry import Kernel, Node, kernel, takes


def max_pool(x: Array, ksize: Sequence[int], strides: Sequence[int], padding: str) -> Array:
    """The largest element of each window; a NaN in it is the result. TensorFlow: MaxPool."""
    axes = _pool_axes(x.shape, ksize, strides, padding)
    views = [view for _, view in tap_views(padded_images(x, axes, _lowest(x.dtype)), axes)]
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
    check_gradient(gradient, axes, x.shape[0], x.shape[3])
    result = np.zeros(padded_shape(x.shape, axes), gradient.dtype)
    chosen = _first_largest(x, y, axes)
    for (_, view), mask in zip(tap_views(result, axes), chosen):
        view += np.where(mask, gradient, gradient.dtype.type(0))
    return unpadded_images(result, axes)


def max_pool_grad_grad(
    x: Array, y: Array, gradient: Array, ksize: Sequence[int], strides: Sequence[int], padding: str
) -> Array:
    """The elements of `gradient`, shaped as `x`, where max_pool found its results. TensorFlow: MaxPoolGradGrad."""
    axes = _pool_axes(x.shape, ksize, strides, padding)
    result = np.zeros(y.shape, gradient.dtype)
    for (_, view), mask in zip(tap_views(padded_images(gradient, axes), axes), _first_largest(x, y, axes)):
        np.copyto(result, view, where=mask)
    return result


def avg_pool(x: Array, ksize: Sequence[int], strides: Sequence[int], padding: str) -> Array:
    """The mean of each window's elements, padding not counted. TensorFlow: AvgPool."""
    axes = _pool_axes(x.shape, ksize, strides, padding)
    views = [view for _, view in tap_views(padded_images(x, axes), axes)]
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
    check_gradient(gradient, axes, sizes[0], sizes[3])
    share = gradient / _window_counts(axes, gradient.dtype)
    result = np.zeros(padded_shape(sizes, axes), gradient.dtype)
    for _, view in tap_views(result, axes):
        view += share
    return unpadded_images(result, axes)


def _pool_axes(shape: Sequence[int], ksize: Sequence[int], strides: Sequence[int], padding: str) -> Axes:
    if len(ksize) != 4 or ksize[0] != 1 or ksize[3] != 1:
        raise ValueError(f"ksize is {list(ksize)}; it has four entries, 1 in the batch and the channels")
    return window_axes(shape, ksize[1:3], strides, padding, (1, 1, 1, 1))


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _first_largest(x: Array, y: Array, axes: Axes) -> Iterator[Array]:
    """For each element of the window, in order, the mask of windows whose first largest element it is."""
    taken = np.zeros(y.shape, np.bool_)
    has_nan = y.dtype.kind == "f" and bool(np.isnan(y).any())
    for _, view in tap_views(padded_images(x, axes, _lowest(x.dtype)), axes):
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


_POOL = ("ksize", "strides", "padding")
kernel("MaxPool")(image_kernel(max_pool, (0,), None, True, _POOL))
kernel("MaxPoolGrad")(image_kernel(max_pool_grad, (0, 1, 2), None, True, _POOL))
kernel("MaxPoolGradGrad")(image_kernel(max_pool_grad_grad, (0, 1, 2), None, True, _POOL))
kernel("AvgPool")(image_kernel(avg_pool, (0,), None, True, _POOL))
kernel("AvgPoolGrad")(image_kernel(avg_pool_grad, (1,), 0, True, _POOL))
takes(0.0, "AvgPool", "AvgPoolGrad", "MaxPool", call=40_000.0)
takes(0.0, "MaxPoolGrad", call=90_000.0)


@kernel("MaxPoolWithArgmax")
def _max_pool_with_argmax(node: Node) -> Kernel:
    ksize, strides, padding = (node.attrs[name] for name in _POOL)
    dtype, with_batch = node.dtypes[1].as_numpy_dtype, node.attrs["include_batch_in_index"]

    def run(x: Any) -> tuple[Any, Any]:
        if node.attrs["data_format"] == "NCHW" or x.ndim != 4:
            raise ValueError(f"max_pool_with_argmax takes NHWC images, got shape {x.shape}")
        y = max_pool(x, ksize, strides, padding)
        # The place of each result is what max_pool_grad_grad picks from an array of places.
        size = math.prod(x.shape[1:])
        places = np.arange(size, dtype=np.float64).reshape(1, *x.shape[1:])
        shifts = np.arange(len(x), dtype=np.float64).reshape(-1, 1, 1, 1) * (size if with_batch else 0)
        argmax = max_pool_grad_grad(x, y, places + shifts, ksize, strides, padding)
        return y, argmax.astype(dtype)

    return checked_images(run)

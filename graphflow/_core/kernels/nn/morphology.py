"""NumPy dilations of images: window element by element, each a view of the whole batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from graphflow._core.kernels.nn.images import (
    Array,
    Axes,
    check_gradient,
    checked_images,
    padded_images,
    padded_shape,
    tap_views,
    unpadded_images,
    window_axes,
)
from graphflow._core.kernels.registry import Kernel, Node, kernel

_Tap: TypeAlias = tuple[tuple[int, int], Array, Array]


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _taps(x: Array, window: Array, axes: Axes) -> Iterator[_Tap]:
    """For each element of the window its place, the sums there, and which of them are of the images."""
    inside = padded_images(np.ones((1, *x.shape[1:3], 1), np.bool_), axes, False)
    for ((i, j), view), (_, valid) in zip(
        tap_views(padded_images(x, axes), axes), tap_views(inside, axes), strict=True
    ):
        yield (i, j), view + window[i, j], valid


def _largest(x: Array, window: Array, axes: Axes) -> Array:
    rows, columns = axes
    best = np.full((x.shape[0], rows.outputs, columns.outputs, x.shape[3]), _lowest(x.dtype), x.dtype)
    for _, sums, valid in _taps(x, window, axes):
        np.copyto(best, sums, where=valid & (sums > best))
    return best


def _first_largest(x: Array, window: Array, axes: Axes) -> Iterator[tuple[tuple[int, int], Array]]:
    """For each element of the window, the mask of the places whose first largest sum it gives."""
    best = _largest(x, window, axes)
    taken = np.zeros(best.shape, np.bool_)
    for place, sums, valid in _taps(x, window, axes):
        mask = valid & (sums == best) & ~taken
        taken |= mask
        yield place, mask


def _input_gradient(x: Array, window: Array, g: Array, axes: Axes) -> Array:
    result = np.zeros(padded_shape(x.shape, axes), x.dtype)
    masks = _first_largest(x, window, axes)
    for (_, view), (_, mask) in zip(tap_views(result, axes), masks, strict=True):
        view += np.where(mask, g, g.dtype.type(0))
    return unpadded_images(result, axes)


def _filter_gradient(x: Array, window: Array, g: Array, axes: Axes) -> Array:
    result = np.zeros_like(window)
    for place, mask in _first_largest(x, window, axes):
        result[place] = np.where(mask, g, g.dtype.type(0)).sum((0, 1, 2), dtype=g.dtype)
    return result


def _dilation(function: Callable[..., Array]) -> Callable[[Node], Kernel]:
    def factory(node: Node) -> Kernel:
        strides, rates, padding = (node.attrs[name] for name in ("strides", "rates", "padding"))

        def run(x: Array, window: Array, *gradient: Array) -> Array:
            if window.ndim != 3 or x.ndim != 4 or window.shape[2] != x.shape[3]:
                raise ValueError(f"a filter of shape {window.shape} does not fit images of shape {x.shape}")
            axes = window_axes(x.shape, window.shape[:2], strides, padding, rates)
            for g in gradient:
                check_gradient(g, axes, x.shape[0], x.shape[3])
            return function(x, window, *gradient, axes)

        return checked_images(run)

    return factory


kernel("Dilation2D")(_dilation(_largest))
kernel("Dilation2DBackpropInput")(_dilation(_input_gradient))
kernel("Dilation2DBackpropFilter")(_dilation(_filter_gradient))

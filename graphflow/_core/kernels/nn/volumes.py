"""NumPy kernels of convolution and pooling over three axes.

A convolution is a product of the windows, laid out side by side, and the filter: one call for all elements of a window,
in pieces of a size that fits the cache. Pools go over the elements of the window, each a view of all volumes.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.kernels.math.products import PRODUCTS
from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.kernels.registry import Kernel, Node, kernel, takes
from graphflow.errors import InvalidArgumentError


class _Windows:
    """The positions of one op's windows over volumes of a shape."""

    def __init__(self, node: Node, shape: Sequence[int], size: Sequence[int]) -> None:
        attrs = node.attrs
        strides, dilations = attrs["strides"], attrs.get("dilations", [1] * 5)
        if len(shape) != 5 or {strides[0], strides[4], dilations[0], dilations[4]} != {1}:
            raise InvalidArgumentError(
                None,
                None,
                f"volumes have five axes and steps of 1 along batch and channels; got shape {tuple(shape)}",
            )
        try:
            self.axes = [
                Axis.of(int(shape[i]), int(size[i - 1]), strides[i], attrs["padding"], dilations[i])
                for i in (1, 2, 3)
            ]
        except ValueError as error:
            raise InvalidArgumentError(None, None, str(error)) from None
        self.shape = tuple(int(d) for d in shape)
        self.outputs = tuple(axis.outputs for axis in self.axes)

    def over(self, outputs: tuple[int, ...]) -> _Windows:
        """Windows of the same size, a step apart and without padding, at so many places."""
        found = copy.copy(self)
        found.axes = [
            replace(axis, stride=1, before=0, outputs=n) for axis, n in zip(self.axes, outputs, strict=True)
        ]
        found.outputs = outputs
        return found

    def padded(self, x: Any, fill: Any = 0) -> Any:
        """The volumes with their padding."""
        if not any(axis.before or axis.after for axis in self.axes):
            return x
        inner = [axis.before + axis.inputs + axis.after for axis in self.axes]
        result = np.full((x.shape[0], *inner, x.shape[4]), fill, x.dtype)
        self._inside(result)[...] = x
        return result

    def _inside(self, x: Any) -> Any:
        """The part of padded volumes that is no padding."""
        cut = (slice(axis.before, axis.before + axis.inputs) for axis in self.axes)
        return x[(slice(None), *cut)]

    def empty(self, channels: int, dtype: Any) -> Any:
        """Zeros of the padded shape."""
        inner = [axis.before + axis.inputs + axis.after for axis in self.axes]
        return np.zeros((self.shape[0], *inner, channels), dtype)

    def unpadded(self, x: Any) -> Any:
        """The volumes without their padding."""
        return np.ascontiguousarray(self._inside(x))

    def views(self, x: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
        """For each element of the window its place, and a view of that element of every window."""
        for place in itertools.product(*(range(axis.size) for axis in self.axes)):
            cut = []
            for axis, k in zip(self.axes, place, strict=True):
                start = k * axis.dilation
                reach = (axis.outputs - 1) * axis.stride + 1 if axis.outputs else 0
                cut.append(slice(start, start + reach, axis.stride))
            yield place, x[(slice(None), *cut)]

    def pieces(self, x: Any) -> Iterator[tuple[Any, Any]]:
        """Padded volumes by pieces: which of the windows' places, as (volumes, planes), and a window a row."""
        sizes = tuple(axis.size for axis in self.axes)
        steps = [axis.stride * x.strides[k] for k, axis in enumerate(self.axes, 1)]
        inner = [axis.dilation * x.strides[k] for k, axis in enumerate(self.axes, 1)]
        channels = x.shape[4]
        every = np.lib.stride_tricks.as_strided(
            x,
            (x.shape[0], *self.outputs, *sizes, channels),
            (x.strides[0], *steps, *inner, x.strides[4]),
            writeable=False,
        )
        width = math.prod(sizes) * channels
        plane = max(1, math.prod(self.outputs[1:]) * width)
        planes = max(1, _PIECE_ELEMENTS // plane)
        volumes = max(1, _PIECE_ELEMENTS // (plane * max(1, self.outputs[0])))
        for n in range(0, x.shape[0], volumes):
            for d in range(0, self.outputs[0], planes):
                where = slice(n, n + volumes), slice(d, d + planes)
                yield where, every[where].reshape(-1, width)


_PIECE_ELEMENTS: Final = 1 << 19
"""Of windows that are laid out at once: two megabytes of float32."""


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidArgumentError(None, None, message)


def _wide(x: Any) -> Any:
    """BLAS has no half precision."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _convolved(windows: _Windows, x: Any, w: Any) -> Any:
    """The products of the windows over padded volumes with a filter."""
    filters = w.reshape(-1, w.shape[4])
    result = np.empty((x.shape[0], *windows.outputs, w.shape[4]), x.dtype)
    for where, rows in windows.pieces(x):
        target = result[where]
        target[...] = PRODUCTS.multiply(rows, filters).reshape(target.shape)
    return result


@kernel("Conv3D")
def _conv(node: Node) -> Kernel:
    def run(x: Any, w: Any) -> Any:
        windows = _Windows(node, x.shape, w.shape)
        _check(x.shape[4] == w.shape[3], f"volumes {x.shape} do not fit the filter {w.shape}")
        return _convolved(windows, windows.padded(_wide(x)), _wide(w)).astype(x.dtype, copy=False)

    return run


def _turned(windows: _Windows, w: Any, g: Any) -> Any:
    """The gradient of volumes if windows are a step apart: a convolution of g with the filter from end to start."""
    result = windows.empty(w.shape[3], g.dtype)
    reach = [(axis.size - 1) * axis.dilation for axis in windows.axes]
    room = np.zeros(
        (g.shape[0], *(n + 2 * r for n, r in zip(g.shape[1:4], reach, strict=True)), g.shape[4]), g.dtype
    )
    room[(slice(None), *(slice(r, r + n) for n, r in zip(g.shape[1:4], reach, strict=True)))] = g
    back = windows.over(tuple(n + r for n, r in zip(g.shape[1:4], reach, strict=True)))
    filters = np.ascontiguousarray(w[::-1, ::-1, ::-1].swapaxes(3, 4))
    made = _convolved(back, room, filters)
    result[(slice(None), *(slice(0, n) for n in made.shape[1:4]))] = made
    return windows.unpadded(result)


@kernel("Conv3DBackpropInputV2")
def _conv_input(node: Node) -> Kernel:
    def run(sizes: Any, w: Any, g: Any) -> Any:
        windows = _Windows(node, sizes, w.shape)
        wanted = (windows.shape[0], *windows.outputs, w.shape[4])
        _check(g.shape == wanted and windows.shape[4] == w.shape[3], f"gradient {g.shape}, expected {wanted}")
        filters, gradient = _wide(w), _wide(g)
        if all(axis.stride == 1 for axis in windows.axes) and 0 not in g.shape:
            return _turned(windows, filters, gradient).astype(g.dtype, copy=False)
        result = windows.empty(w.shape[3], gradient.dtype)
        for place, view in windows.views(result):
            view += PRODUCTS.multiply(gradient, filters[place].T)
        return windows.unpadded(result).astype(g.dtype, copy=False)

    return run


@kernel("Conv3DBackpropFilterV2")
def _conv_filter(node: Node) -> Kernel:
    def run(x: Any, sizes: Any, g: Any) -> Any:
        windows = _Windows(node, x.shape, sizes)
        wanted = (x.shape[0], *windows.outputs, int(sizes[4]))
        _check(g.shape == wanted, f"gradient {g.shape}, expected {wanted}")
        gradient = _wide(g)
        shape = [int(size) for size in sizes]
        total = np.zeros((math.prod(shape[:4]), shape[4]), gradient.dtype)
        for where, rows in windows.pieces(windows.padded(_wide(x))):
            total += PRODUCTS.multiply(rows.T, gradient[where].reshape(-1, shape[4]))
        return total.reshape(shape).astype(g.dtype, copy=False)

    return run


def _pool_windows(node: Node, shape: Sequence[int]) -> _Windows:
    return _Windows(node, shape, node.attrs["ksize"][1:4])


takes(0.0, "Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2", call=50_000.0)


@kernel("MaxPool3D")
def _max_pool(node: Node) -> Kernel:
    def run(x: Any) -> Any:
        windows = _pool_windows(node, x.shape)
        result = np.full((x.shape[0], *windows.outputs, x.shape[4]), -np.inf, x.dtype)
        for _, view in windows.views(windows.padded(x, -np.inf)):
            result = np.maximum(result, view)
        return result

    return run


def _first_largest(windows: _Windows, x: Any, y: Any) -> Iterator[Any]:
    """For each element of the window where it is the first to equal the result."""
    free = np.ones(y.shape, bool)
    for _, view in windows.views(windows.padded(x, -np.inf)):
        chosen = free & (view == y)
        free &= ~chosen
        yield chosen


@kernel("MaxPool3DGrad")
def _max_pool_grad(node: Node) -> Kernel:
    def run(x: Any, y: Any, g: Any) -> Any:
        windows = _pool_windows(node, x.shape)
        _check(g.shape == y.shape, f"gradient {g.shape}, expected {y.shape}")
        result = windows.empty(x.shape[4], g.dtype)
        for (_, view), chosen in zip(windows.views(result), _first_largest(windows, x, y), strict=True):
            view += np.where(chosen, g, g.dtype.type(0))
        return windows.unpadded(result)

    return run


@kernel("MaxPool3DGradGrad")
def _max_pool_grad_grad(node: Node) -> Kernel:
    def run(x: Any, y: Any, g: Any) -> Any:
        windows = _pool_windows(node, x.shape)
        result = np.zeros(y.shape, g.dtype)
        pairs = zip(windows.views(windows.padded(g)), _first_largest(windows, x, y), strict=True)
        for (_, view), chosen in pairs:
            np.copyto(result, view, where=chosen)
        return result

    return run


def _counts(windows: _Windows, dtype: Any) -> Any:
    """How many elements of each window lie inside the volume."""
    counted = np.zeros((1, *windows.outputs, 1), dtype)
    ones = np.ones((1, *(axis.inputs for axis in windows.axes), 1), dtype)
    for _, view in windows.views(windows.padded(ones)):
        counted += view
    return counted


@kernel("AvgPool3D")
def _avg_pool(node: Node) -> Kernel:
    def run(x: Any) -> Any:
        windows = _pool_windows(node, x.shape)
        result = np.zeros((x.shape[0], *windows.outputs, x.shape[4]), x.dtype)
        for _, view in windows.views(windows.padded(x)):
            result += view
        return result / _counts(windows, x.dtype)

    return run


@kernel("AvgPool3DGrad")
def _avg_pool_grad(node: Node) -> Kernel:
    def run(sizes: Any, g: Any) -> Any:
        windows = _pool_windows(node, sizes)
        share = g / _counts(windows, g.dtype)
        result = windows.empty(windows.shape[4], g.dtype)
        for _, view in windows.views(result):
            view += share
        return windows.unpadded(result)

    return run

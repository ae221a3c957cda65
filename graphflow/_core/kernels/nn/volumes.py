"""NumPy kernels of convolution and pooling over three axes.

They go over the elements of the window, each of which is a view of all volumes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.kernels.registry import Kernel, Node, kernel
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

    def padded(self, x: Any, fill: Any = 0) -> Any:
        """The volumes with their padding."""
        widths = [(0, 0), *((axis.before, axis.after) for axis in self.axes), (0, 0)]
        return np.pad(x, widths, constant_values=fill)

    def empty(self, channels: int, dtype: Any) -> Any:
        """Zeros of the padded shape."""
        inner = [axis.before + axis.inputs + axis.after for axis in self.axes]
        return np.zeros((self.shape[0], *inner, channels), dtype)

    def unpadded(self, x: Any) -> Any:
        """The volumes without their padding."""
        cut = (slice(axis.before, axis.before + axis.inputs) for axis in self.axes)
        return np.ascontiguousarray(x[(slice(None), *cut)])

    def views(self, x: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
        """For each element of the window its place, and a view of that element of every window."""
        for place in itertools.product(*(range(axis.size) for axis in self.axes)):
            cut = []
            for axis, k in zip(self.axes, place, strict=True):
                start = k * axis.dilation
                reach = (axis.outputs - 1) * axis.stride + 1 if axis.outputs else 0
                cut.append(slice(start, start + reach, axis.stride))
            yield place, x[(slice(None), *cut)]


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidArgumentError(None, None, message)


@kernel("Conv3D")
def _conv(node: Node) -> Kernel:
    def run(x: Any, w: Any) -> Any:
        windows = _Windows(node, x.shape, w.shape)
        _check(x.shape[4] == w.shape[3], f"volumes {x.shape} do not fit the filter {w.shape}")
        result = np.zeros((x.shape[0], *windows.outputs, w.shape[4]), x.dtype)
        for place, view in windows.views(windows.padded(x)):
            result += view @ w[place]
        return result

    return run


@kernel("Conv3DBackpropInputV2")
def _conv_input(node: Node) -> Kernel:
    def run(sizes: Any, w: Any, g: Any) -> Any:
        windows = _Windows(node, sizes, w.shape)
        wanted = (windows.shape[0], *windows.outputs, w.shape[4])
        _check(g.shape == wanted and windows.shape[4] == w.shape[3], f"gradient {g.shape}, expected {wanted}")
        result = windows.empty(w.shape[3], g.dtype)
        for place, view in windows.views(result):
            view += g @ w[place].T
        return windows.unpadded(result)

    return run


@kernel("Conv3DBackpropFilterV2")
def _conv_filter(node: Node) -> Kernel:
    def run(x: Any, sizes: Any, g: Any) -> Any:
        windows = _Windows(node, x.shape, sizes)
        wanted = (x.shape[0], *windows.outputs, int(sizes[4]))
        _check(g.shape == wanted, f"gradient {g.shape}, expected {wanted}")
        result = np.zeros([int(size) for size in sizes], g.dtype)
        for place, view in windows.views(windows.padded(x)):
            result[place] = np.tensordot(view, g, axes=([0, 1, 2, 3], [0, 1, 2, 3]))
        return result

    return run


def _pool_windows(node: Node, shape: Sequence[int]) -> _Windows:
    return _Windows(node, shape, node.attrs["ksize"][1:4])


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

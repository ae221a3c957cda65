"""Samples of convolutions and pooling.

They are checked against one loop over (window position, place in the window) for any number of axes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import graphflow as gf
from tests.ops.op_samples.sample import (
    DOUBLE,
    INT,
    SINGLE,
    Draw,
    Random,
    Sample,
    differentiable,
    distinct,
    draw,
    over,
)

FLOATS = [DOUBLE, SINGLE]
Tap = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _extents(
    space: Sequence[int], window: Sequence[int], steps: Any, padding: str, gaps: Any
) -> Iterator[tuple[int, int]]:
    """Of each axis, how many window positions there are, and how much padding comes first."""
    for size, wide, step, gap in zip(space, window, steps, gaps):
        reach = (wide - 1) * gap + 1
        if padding == "VALID":
            yield (size - reach) // step + 1, 0
        else:
            count = -(-size // step)
            yield count, max((count - 1) * step + reach - size, 0) // 2


def _taps(space: Sequence[int], window: Sequence[int], attrs: Any) -> tuple[list[int], list[Tap]]:
    """The window positions of each axis, and all (position, place in the input, place in the window)."""
    axes = slice(2, None) if attrs["data_format"].startswith("NC") else slice(1, -1)
    steps, gaps = attrs["strides"][axes], attrs.get("dilations", [1] * 9)[axes]
    extents = list(_extents(space, window, steps, attrs["padding"], gaps))
    found = []
    for position in itertools.product(*(range(n) for n, _ in extents)):
        for at in itertools.product(*map(range, window)):
            rows = zip(position, steps, extents, at, gaps)
            place = tuple(p * step - before + k * gap for p, step, (_, before), k, gap in rows)
            if all(0 <= i < n for i, n in zip(place, space)):
                found.append((position, place, at))
    return [n for n, _ in extents], found


def channels_last(x: Any, attrs: Any) -> Any:
    """Channels brought to the last axis."""
    return np.moveaxis(x, 1, -1) if attrs["data_format"].startswith("NC") else x


def channels_back(x: Any, attrs: Any) -> Any:
    """Channels brought back to where the layout has them."""
    return np.moveaxis(x, -1, 1) if attrs["data_format"].startswith("NC") else x


def _every(place: tuple[int, ...]) -> tuple[Any, ...]:
    return (slice(None), *place)


def _times(x: Any, w: Any, depthwise: bool) -> Any:
    return (x[:, :, None] * w).reshape(len(x), w.size) if depthwise else x @ w


def _convolved(x: Any, w: Any, attrs: Any, depthwise: bool) -> Any:
    x = channels_last(x, attrs)
    counts, taps = _taps(x.shape[1:-1], w.shape[: x.ndim - 2], attrs)
    channels = w.shape[-1] * (w.shape[-2] if depthwise else 1)
    y = np.zeros((x.shape[0], *counts, channels), x.dtype)
    for position, place, at in taps:
        y[_every(position)] += _times(x[_every(place)], w[at], depthwise)
    return channels_back(y, attrs)


def _to_input(sizes: Any, w: Any, dy: Any, attrs: Any, depthwise: bool) -> Any:
    dx, dy = channels_last(np.zeros(tuple(sizes), dy.dtype), attrs), channels_last(dy, attrs)
    for position, place, at in _taps(dx.shape[1:-1], w.shape[: dx.ndim - 2], attrs)[1]:
        g = dy[_every(position)]
        part = (g.reshape(len(g), *w.shape[-2:]) * w[at]).sum(-1) if depthwise else g @ w[at].T
        dx[_every(place)] += part
    return channels_back(dx, attrs)


def _to_filter(x: Any, sizes: Any, dy: Any, attrs: Any, depthwise: bool) -> Any:
    x, dy, dw = channels_last(x, attrs), channels_last(dy, attrs), np.zeros(tuple(sizes), dy.dtype)
    for position, place, at in _taps(x.shape[1:-1], dw.shape[: x.ndim - 2], attrs)[1]:
        g, rows = dy[_every(position)], x[_every(place)]
        if depthwise:
            dw[at] += (g.reshape(len(g), *dw.shape[-2:]) * rows[:, :, None]).sum(0)
        else:
            dw[at] += rows.T @ g
    return dw


# Input [N, space, C], window, strides, padding, dilations, outputs.
PLANES = (
    ((1, 3, 3, 2), (2, 2), (1, 1), "VALID", (1, 1), 2), ((2, 3, 2, 1), (2, 1), (1, 1), "SAME", (1, 1), 2),
    ((1, 4, 3, 1), (3, 2), (2, 1), "SAME", (1, 1), 1), ((1, 4, 4, 1), (2, 2), (1, 1), "VALID", (2, 2), 1),
    ((0, 3, 3, 1), (2, 2), (1, 1), "SAME", (1, 1), 2), ((2, 1, 1, 3), (1, 1), (1, 1), "VALID", (1, 1), 2),
    ((1, 5, 2, 1), (2, 2), (3, 2), "VALID", (1, 1), 1),
)  # fmt: skip
VOLUMES = (
    ((1, 2, 2, 2, 1), (2, 1, 2), (1, 1, 1), "VALID", (1, 1, 1), 2),
    ((1, 3, 2, 2, 2), (2, 2, 2), (2, 1, 1), "SAME", (1, 1, 1), 1),
    ((0, 2, 2, 2, 1), (1, 1, 1), (1, 1, 1), "SAME", (1, 1, 1), 1),
    ((2, 1, 2, 3, 1), (1, 2, 2), (1, 2, 2), "SAME", (1, 1, 1), 1),
)


def _attrs(row: tuple[Any, ...], layout: str) -> dict[str, Any]:
    _, _, strides, padding, dilations, _ = row
    first = layout.startswith("NC")
    return {
        "strides": [1, 1, *strides] if first else [1, *strides, 1],
        "dilations": [1, 1, *dilations] if first else [1, *dilations, 1],
        "padding": padding,
        "data_format": layout,
    }


def _convolution(which: str, rows: Sequence[Any], layouts: Sequence[str], depthwise: bool = False) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for (dtype, row), layout in zip(over(FLOATS, rows), itertools.cycle(layouts)):
            (batch, *space, channels), window, *_, outputs = row
            attrs = _attrs(row, layout)
            x = channels_back(draw(random, dtype, (batch, *space, channels)), attrs).copy()
            w = draw(random, dtype, (*window, channels, outputs))
            dy = draw(random, dtype, _convolved(x, w, attrs, depthwise).shape)
            if which == "forward":
                inputs: Any = (x, w)
                reference: Any = partial(_convolved, attrs=attrs, depthwise=depthwise)
            elif which == "input":
                inputs = (np.array(x.shape, np.int32), w, dy)
                reference = partial(_to_input, attrs=attrs, depthwise=depthwise)
            else:
                inputs = (x, np.array(w.shape, np.int32), dy)
                reference = partial(_to_filter, attrs=attrs, depthwise=depthwise)
            yield Sample(inputs, attrs, reference, tolerance=10)

    return generate


# ---- pooling --------------------------------------------------------------------------------------------------------

POOLS = (
    ((1, 4, 4, 1), (2, 2), (2, 2), "VALID", (1, 1), 0), ((1, 3, 3, 2), (2, 2), (1, 1), "SAME", (1, 1), 0),
    ((2, 3, 2, 1), (3, 2), (2, 1), "SAME", (1, 1), 0), ((0, 2, 2, 1), (2, 2), (1, 1), "VALID", (1, 1), 0),
    ((1, 5, 3, 1), (2, 3), (3, 1), "VALID", (1, 1), 0),
)  # fmt: skip
DEEP_POOLS = (
    ((1, 2, 2, 2, 1), (2, 2, 1), (1, 1, 1), "VALID", (1, 1, 1), 0),
    ((1, 3, 2, 2, 1), (2, 2, 2), (2, 1, 2), "SAME", (1, 1, 1), 0),
    ((0, 2, 2, 2, 1), (1, 1, 1), (1, 1, 1), "SAME", (1, 1, 1), 0),
)


def _pool_attrs(row: tuple[Any, ...], layout: str) -> dict[str, Any]:
    attrs = _attrs(row, layout)
    del attrs["dilations"]
    attrs["ksize"] = [1, 1, *row[1]] if layout.startswith("NC") else [1, *row[1], 1]
    return attrs


def _windows(x: Any, attrs: Any) -> tuple[list[int], dict[tuple[int, ...], list[tuple[int, ...]]]]:
    """The places of the input in each window."""
    axes = slice(2, None) if attrs["data_format"].startswith("NC") else slice(1, -1)
    counts, taps = _taps(x.shape[1:-1], attrs["ksize"][axes], attrs)
    groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for position, place, _ in taps:
        groups.setdefault(position, []).append(place)
    return counts, groups


def _pooled(x: Any, attrs: Any, function: Callable[..., Any]) -> Any:
    x = channels_last(x, attrs)
    counts, groups = _windows(x, attrs)
    y = np.zeros((x.shape[0], *counts, x.shape[-1]), x.dtype)
    for position, places in groups.items():
        y[_every(position)] = function(np.stack([x[_every(p)] for p in places]), axis=0)
    return channels_back(y, attrs)


def _largest(x: Any, attrs: Any) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Of each window, its position and the first place of its largest element, both with image and channel."""
    for position, places in _windows(x, attrs)[1].items():
        for n, c in itertools.product(range(x.shape[0]), range(x.shape[-1])):
            yield (n, *position, c), max(((n, *p, c) for p in places), key=lambda p: x[p])


def _largest_gradient(x: Any, y: Any, g: Any, attrs: Any) -> Any:
    x, g = channels_last(x, attrs), channels_last(g, attrs)
    result = np.zeros_like(x)
    for position, place in _largest(x, attrs):
        result[place] += g[position]
    return channels_back(result, attrs)


def _largest_picked(x: Any, y: Any, g: Any, attrs: Any) -> Any:
    x, y, g = channels_last(x, attrs), channels_last(y, attrs), channels_last(g, attrs)
    result = np.zeros_like(y)
    for position, place in _largest(x, attrs):
        result[position] = g[place]
    return channels_back(result, attrs)


def _largest_places(x: Any, attrs: Any, kind: Any) -> Any:
    """Values and flat places inside the image, or, with include_batch_in_index, inside the batch."""
    y = _pooled(x, attrs, np.max)
    places = np.zeros(y.shape, kind)
    for position, place in _largest(x, attrs):
        image = place if attrs["include_batch_in_index"] else (0, *place[1:])
        places[position] = np.ravel_multi_index(image, x.shape)
    return y, places


def _mean_gradient(sizes: Any, g: Any, attrs: Any) -> Any:
    result, g = channels_last(np.zeros(tuple(sizes), g.dtype), attrs), channels_last(g, attrs)
    for position, places in _windows(result, attrs)[1].items():
        for place in places:
            result[_every(place)] += g[_every(position)] / len(places)
    return channels_back(result, attrs)


def _patches(random: Random) -> Iterable[Sample]:
    def reference(x: Any, attrs: Any) -> Any:
        size = attrs["ksizes"][1:3]
        counts, taps = _taps(
            x.shape[1:3], size, {**attrs, "dilations": attrs["rates"], "data_format": "NHWC"}
        )
        y = np.zeros((x.shape[0], *counts, *size, x.shape[-1]), x.dtype)
        for position, place, at in taps:
            y[(slice(None), *position, *at)] = x[_every(place)]
        return y.reshape(x.shape[0], *counts, size[0] * size[1] * x.shape[-1])

    for dtype, (shape, window, strides, padding, rates, _) in over([*FLOATS, INT], PLANES):
        attrs = {
            "ksizes": [1, *window, 1], "strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding,
        }  # fmt: skip
        inputs = (draw(random, dtype, shape),)
        yield Sample(inputs, attrs, partial(reference, attrs=attrs), smooth=differentiable(dtype))


def _pool(which: str, rows: Sequence[Any], layouts: Sequence[str], dtypes: Sequence[Any] = FLOATS) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for (dtype, row), layout in zip(over(dtypes, rows), itertools.cycle(layouts)):
            attrs = _pool_attrs(row, layout)
            x = channels_back(distinct(random, dtype, row[0]), attrs).copy()
            y = _pooled(x, attrs, np.max)
            sizes, smooth = np.array(x.shape, np.int32), differentiable(dtype)
            if which == "max":
                yield Sample((x,), attrs, partial(_pooled, attrs=attrs, function=np.max), smooth=smooth)
            elif which == "mean":
                yield Sample((x,), attrs, partial(_pooled, attrs=attrs, function=np.mean))
            elif which == "mean gradient":
                inputs: Any = (sizes, draw(random, dtype, y.shape))
                yield Sample(inputs, attrs, partial(_mean_gradient, attrs=attrs))
            elif which == "max gradient":
                inputs = (x, y, draw(random, dtype, y.shape))
                reference: Any = partial(_largest_gradient, attrs=attrs)
                yield Sample(inputs, attrs, reference, smooth=smooth, varied=(2,))
            elif which == "max second gradient":
                inputs = (x, y, draw(random, dtype, x.shape))
                reference = partial(_largest_picked, attrs=attrs)
                yield Sample(inputs, attrs, reference, smooth=smooth, varied=(2,))
            else:
                for out, kind, batch in ((gf.int64, np.int64, False), (gf.int32, np.int32, True)):
                    more = {**attrs, "Targmax": out, "include_batch_in_index": batch}
                    reference = partial(_largest_places, attrs=more, kind=kind)
                    yield Sample((x,), more, reference, smooth=smooth)

    return generate


def _dilation(which: str) -> Draw:
    def largest(
        x: Any, w: Any, attrs: Any
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        """Of each window its position, and the first place of its largest sum in the images and in the filter."""
        _, taps = _taps(
            x.shape[1:3], w.shape[:2], {**attrs, "dilations": attrs["rates"], "data_format": "NHWC"}
        )
        for position, group in itertools.groupby(taps, key=lambda tap: tap[0]):
            pairs = [(place, at) for _, place, at in group]
            for n, c in itertools.product(range(x.shape[0]), range(x.shape[-1])):
                best = max(pairs, key=lambda pair: x[(n, *pair[0], c)] + w[(*pair[1], c)])
                yield (n, *position, c), (n, *best[0], c), (*best[1], c)

    def forward(x: Any, w: Any, attrs: Any) -> Any:
        attrs = {**attrs, "dilations": attrs["rates"], "data_format": "NHWC"}
        y = np.zeros((x.shape[0], *_taps(x.shape[1:3], w.shape[:2], attrs)[0], x.shape[-1]), x.dtype)
        for position, place, at in largest(x, w, attrs):
            y[position] = x[place] + w[at]
        return y

    def backward(x: Any, w: Any, g: Any, attrs: Any) -> Any:
        result = np.zeros_like(x if which == "input" else w)
        for position, place, at in largest(x, w, attrs):
            result[place if which == "input" else at] += g[position]
        return result

    def generate(random: Random) -> Iterable[Sample]:
        for dtype, (shape, window, strides, padding, rates, _) in over([*FLOATS, INT], PLANES):
            attrs = {"strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding}
            w = distinct(random, dtype, (*window, shape[-1]), 0.01)
            x = distinct(random, dtype, shape) * (16 if dtype == INT else 1)
            if which == "forward":
                yield Sample((x, w), attrs, partial(forward, attrs=attrs), smooth=differentiable(dtype))
            else:
                g = draw(random, dtype, forward(x, w, attrs).shape)
                yield Sample((x, w, g), attrs, partial(backward, attrs=attrs), smooth=False)

    return generate


BOTH, PLAIN, DEEP = ("NHWC", "NCHW"), ("NHWC",), ("NDHWC",)
REALS = [DOUBLE, SINGLE, INT, np.dtype(np.int64)]

TABLE: dict[str, Draw] = {
    "Conv2D": _convolution("forward", PLANES, BOTH),
    "Conv2DBackpropInput": _convolution("input", PLANES, BOTH),
    "Conv2DBackpropFilter": _convolution("filter", PLANES, BOTH),
    "DepthwiseConv2dNative": _convolution("forward", PLANES, BOTH, True),
    "DepthwiseConv2dNativeBackpropInput": _convolution("input", PLANES, BOTH, True),
    "DepthwiseConv2dNativeBackpropFilter": _convolution("filter", PLANES, BOTH, True),
    "Conv3D": _convolution("forward", VOLUMES, DEEP),
    "Conv3DBackpropInputV2": _convolution("input", VOLUMES, DEEP),
    "Conv3DBackpropFilterV2": _convolution("filter", VOLUMES, DEEP),
    "MaxPool": _pool("max", POOLS, BOTH, REALS),
    "MaxPoolGrad": _pool("max gradient", POOLS, BOTH, REALS),
    "MaxPoolGradGrad": _pool("max second gradient", POOLS, BOTH, REALS),
    "MaxPoolWithArgmax": _pool("places", POOLS, PLAIN, REALS),
    "AvgPool": _pool("mean", POOLS, BOTH),
    "AvgPoolGrad": _pool("mean gradient", POOLS, BOTH),
    "MaxPool3D": _pool("max", DEEP_POOLS, DEEP),
    "MaxPool3DGrad": _pool("max gradient", DEEP_POOLS, DEEP),
    "MaxPool3DGradGrad": _pool("max second gradient", DEEP_POOLS, DEEP),
    "AvgPool3D": _pool("mean", DEEP_POOLS, DEEP),
    "AvgPool3DGrad": _pool("mean gradient", DEEP_POOLS, DEEP),
    "ExtractImagePatches": _patches,
    "Dilation2D": _dilation("forward"),
    "Dilation2DBackpropInput": _dilation("input"),
    "Dilation2DBackpropFilter": _dilation("filter"),
}

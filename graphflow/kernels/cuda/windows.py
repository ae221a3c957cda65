"""Kernels of what slides windows over images (NHWC): patches for convolutions, their sum back, pools and gradients.

A convolution is a matrix product of the image's patches, which lie in working memory. Every gradient is computed by
the thread of the element it belongs to, from the windows that cover it, so that no sum needs atomic additions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from graphflow.kernels.windows import Axis

_SIZES = "height, width, channels, rows, columns, kh, kw, sh, sw, dh, dw, ph, pw"
"""The image's, the outputs', the window's, its strides, its dilations, the padding before."""


def size_arguments(vertical: Axis, horizontal: Axis, channels: int) -> list[Any]:
    """The arguments of which `_SIZES` are the names."""
    pairs = [(a.outputs, a.size, a.stride, a.dilation, a.before) for a in (vertical, horizontal)]
    return [
        vertical.inputs,
        horizontal.inputs,
        channels,
        *(n for both in zip(*pairs, strict=True) for n in both),
    ]


def _kernel(arrays: str, body: Sequence[str]) -> str:
    head = [f"def kernel(count, {arrays}, {_SIZES}):", "    i = cuda.grid(1)", "    step = cuda.gridsize(1)"]
    return "\n".join(
        [*head, "    while i < count:", *(f"        {b}" for b in body), "        i += step", ""]
    )


def _decode(*names: str) -> list[str]:
    """Lines that take the coordinates of element i apart; the first is what is left."""
    lines = ["rest = i"]
    sizes = {
        "c": "channels",
        "ow": "columns",
        "oh": "rows",
        "w": "width",
        "h": "height",
        "b": "kw",
        "a": "kh",
    }
    for name in reversed(names[1:]):
        lines += [f"{name} = rest % {sizes[name]}", f"rest = rest // {sizes[name]}"]
    return [*lines, f"{names[0]} = rest"]


def _over_windows(*inner: str) -> list[str]:
    """Lines over the windows (oh, ow) that cover element (h, w), as their elements (a, b)."""
    return [
        "for a in range(kh):",
        "    down = h + ph - a * dh",
        "    if down >= 0 and down % sh == 0 and down // sh < rows:",
        "        oh = down // sh",
        "        for b in range(kw):",
        "            right = w + pw - b * dw",
        "            if right >= 0 and right % sw == 0 and right // sw < columns:",
        "                ow = right // sw",
        *(f"                {line}" for line in inner),
    ]


@cache
def patches_source(dtype: str) -> str:
    """The elements of each window side by side: kernel(count, x, y, ...), y [n, oh, ow, kh, kw, channels]."""
    return _kernel(
        "x, y",
        [
            *_decode("n", "oh", "ow", "a", "b", "c"),
            "h = oh * sh + a * dh - ph",
            "w = ow * sw + b * dw - pw",
            f"value = {dtype}(0)",
            "if h >= 0 and h < height and w >= 0 and w < width:",
            "    value = x[((n * height + h) * width + w) * channels + c]",
            "y[i] = value",
        ],
    )


@cache
def fold_source(dtype: str) -> str:
    """The sum over all windows of what their elements got: kernel(count, y, x, ...), the reverse of patches."""
    return _kernel(
        "y, x",
        [
            *_decode("n", "h", "w", "c"),
            f"total = {dtype}(0)",
            *_over_windows(
                "place = (((n * rows + oh) * columns + ow) * kh + a) * kw + b",
                "total += y[place * channels + c]",
            ),
            "x[i] = total",
        ],
    )


@cache
def pool_source(dtype: str, largest: bool) -> str:
    """max_pool or avg_pool: kernel(count, x, y, ...)."""
    start = f"best = {dtype}(-1e999)" if largest else f"best = {dtype}(0)"
    step = ["if value > best or value != value:", "    best = value"] if largest else ["best += value"]
    return _kernel(
        "x, y",
        [
            *_decode("n", "oh", "ow", "c"),
            start,
            "found = 0",
            "for a in range(kh):",
            "    h = oh * sh + a * dh - ph",
            "    if h >= 0 and h < height:",
            "        for b in range(kw):",
            "            w = ow * sw + b * dw - pw",
            "            if w >= 0 and w < width:",
            "                value = x[((n * height + h) * width + w) * channels + c]",
            *(f"                {line}" for line in step),
            "                found += 1",
            "y[i] = best" if largest else f"y[i] = best / {dtype}(found)",
        ],
    )


@cache
def pool_places_source(dtype: str, output: str, with_batch: bool) -> str:
    """max_pool, and the place of each first largest, in its image or in all: kernel(count, x, y, places, ...).

    Of a window with NaNs it is the first of them.
    """
    start = "0" if with_batch else "n * height * width * channels"
    return _kernel(
        "x, y, places",
        [
            *_decode("n", "oh", "ow", "c"),
            f"best = {dtype}(-1e999)",
            "place = -1",
            "for a in range(kh):",
            "    h = oh * sh + a * dh - ph",
            "    if h >= 0 and h < height:",
            "        for b in range(kw):",
            "            w = ow * sw + b * dw - pw",
            "            if w >= 0 and w < width:",
            "                here = ((n * height + h) * width + w) * channels + c",
            "                value = x[here]",
            "                if value > best or place < 0 or (value != value and best == best):",
            "                    best = value",
            f"                    place = here - {start}",
            "y[i] = best",
            f"places[i] = {output}(place)",
        ],
    )


@cache
def max_pool_gradient_source(dtype: str) -> str:
    """The first largest element of each window gets its gradient: kernel(count, x, y, g, out, ...)."""
    return _kernel(
        "x, y, g, out",
        [
            *_decode("n", "h", "w", "c"),
            f"total = {dtype}(0)",
            *_over_windows(
                "place = ((n * rows + oh) * columns + ow) * channels + c",
                "largest = y[place]",
                "first = x[i] == largest or (x[i] != x[i] and largest != largest)",
                "for before in range(a * kw + b):",
                "    up = oh * sh + before // kw * dh - ph",
                "    left = ow * sw + before % kw * dw - pw",
                "    if up >= 0 and up < height and left >= 0 and left < width:",
                "        other = x[((n * height + up) * width + left) * channels + c]",
                "        if other == largest or (other != other and largest != largest):",
                "            first = False",
                "if first:",
                "    total += g[place]",
            ),
            "out[i] = total",
        ],
    )


@cache
def avg_pool_gradient_source(dtype: str) -> str:
    """Each element of a window gets its part: kernel(count, g, out, ...)."""
    return _kernel(
        "g, out",
        [
            *_decode("n", "h", "w", "c"),
            f"total = {dtype}(0)",
            *_over_windows(
                "tall = min(oh * sh - ph + kh, height) - max(oh * sh - ph, 0)",
                "wide = min(ow * sw - pw + kw, width) - max(ow * sw - pw, 0)",
                f"total += g[((n * rows + oh) * columns + ow) * channels + c] / {dtype}(tall * wide)",
            ),
            "out[i] = total",
        ],
    )

"""Kernels of what slides windows over images (NHWC): patches for convolutions, their sum back, pools and gradients.

A convolution is a matrix product of the image's patches, which lie in working memory. Every gradient is computed by
the thread of the element it belongs to, from the windows that cover it, so that no sum needs atomic additions. A thread
takes four neighbouring channels at a time if their number is a multiple of four (`wide`): then `channels` is that of
such groups, and `count` as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from graphflow._core.codegen.gpu.region_text import marks
from graphflow._core.codegen.gpu.vectors import WIDTH, lies_well
from graphflow._core.kernels.nn.windows import Axis

_SIZES = "height, width, channels, rows, columns, kh, kw, sh, sw, dh, dw, ph, pw"
"""The image's, the outputs', the window's, its strides, its dilations, the padding before."""


def may_be_wide(arrays: Sequence[Any], channels: int) -> bool:
    """Whether images of so many channels, which lie side by side, can be taken by four channels at a time."""
    return channels % WIDTH == 0 and all(lies_well(array, 0, ()) for array in arrays)


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
        size = sizes[name]
        lines += [f"q = quotient(rest, {size})", f"{name} = remainder(rest, q, {size})", "rest = q"]
    return [*lines, f"{names[0]} = rest"]


def _over_windows(*inner: str) -> list[str]:
    """Lines over the windows (oh, ow) that cover element (h, w), as their elements (a, b)."""
    return [
        "for a in range(kh):",
        "    down = h + ph - a * dh",
        "    oh = quotient(down, sh)",
        "    if down >= 0 and oh * sh == down and oh < rows:",
        "        for b in range(kw):",
        "            right = w + pw - b * dw",
        "            ow = quotient(right, sw)",
        "            if right >= 0 and ow * sw == right and ow < columns:",
        *(f"                {line}" for line in inner),
    ]


def _over_elements(*inner: str) -> list[str]:
    """Lines over the elements (a, b) of window (oh, ow) that lie in the image, as their places (h, w) in it."""
    return [
        "for a in range(kh):",
        "    h = oh * sh + a * dh - ph",
        "    if h >= 0 and h < height:",
        "        for b in range(kw):",
        "            w = ow * sw + b * dw - pw",
        "            if w >= 0 and w < width:",
        *(f"                {line}" for line in inner),
    ]


_PIXEL: Final = "((n * height + h) * width + w) * channels + c"
"""The place of an element of an image."""
_ADDED: Final = ("total += value * weight",)


def _lanes(lines: Sequence[str], names: Sequence[str], wide: bool) -> list[str]:
    """Lines as they are, or for each of four neighbouring channels, whose `names` have its mark."""
    if not wide:
        return list(lines)
    marked = re.compile(rf"\b({'|'.join(names)})\b")
    # All of a block's lanes stand where the block stands.
    return [marked.sub(rf"\g<1>{mark}", line) for mark in marks(WIDTH) for line in lines]


def _load(array: str, place: str, name: str, wide: bool) -> str:
    if not wide:
        return f"{name} = {array}[{place}]"
    return f"{', '.join(name + mark for mark in marks(WIDTH))} = load4({array}, {WIDTH} * ({place}))"


def _store(array: str, place: str, name: str, wide: bool) -> str:
    if not wide:
        return f"{array}[{place}] = {name}"
    return f"store4({array}, {WIDTH} * ({place}), {', '.join(name + mark for mark in marks(WIDTH))})"


@cache
def patches_source(dtype: str, wide: bool) -> str:
    """The elements of each window side by side: kernel(count, x, y, ...), y [n, oh, ow, kh, kw, channels]."""
    return _kernel(
        "x, y",
        [
            *_decode("n", "oh", "ow", "a", "b", "c"),
            "h = oh * sh + a * dh - ph",
            "w = ow * sw + b * dw - pw",
            *_lanes([f"value = {dtype}(0)"], ["value"], wide),
            "if h >= 0 and h < height and w >= 0 and w < width:",
            f"    {_load('x', _PIXEL, 'value', wide)}",
            _store("y", "i", "value", wide),
        ],
    )


@cache
def fold_source(dtype: str, wide: bool) -> str:
    """The sum over all windows of what their elements got: kernel(count, y, x, ...), the reverse of patches."""
    return _kernel(
        "y, x",
        [
            *_decode("n", "h", "w", "c"),
            *_lanes([f"total = {dtype}(0)"], ["total"], wide),
            *_over_windows(
                "place = (((n * rows + oh) * columns + ow) * kh + a) * kw + b",
                _load("y", "place * channels + c", "value", wide),
                *_lanes(["total += value"], ["total", "value"], wide),
            ),
            _store("x", "i", "total", wide),
        ],
    )


@cache
def depthwise_source(dtype: str, wide: bool) -> str:
    """Each channel with its own filter [kh, kw, channels]: kernel(count, x, filters, y, ...)."""
    return _kernel(
        "x, filters, y",
        [
            *_decode("n", "oh", "ow", "c"),
            *_lanes([f"total = {dtype}(0)"], ["total"], wide),
            *_over_elements(
                _load("x", _PIXEL, "value", wide),
                _load("filters", "(a * kw + b) * channels + c", "weight", wide),
                *_lanes(_ADDED, ["total", "value", "weight"], wide),
            ),
            _store("y", "i", "total", wide),
        ],
    )


@cache
def depthwise_input_source(dtype: str, wide: bool) -> str:
    """The gradient of the images of depthwise_source: kernel(count, g, filters, x, ...)."""
    return _kernel(
        "g, filters, x",
        [
            *_decode("n", "h", "w", "c"),
            *_lanes([f"total = {dtype}(0)"], ["total"], wide),
            *_over_windows(
                _load("g", "((n * rows + oh) * columns + ow) * channels + c", "value", wide),
                _load("filters", "(a * kw + b) * channels + c", "weight", wide),
                *_lanes(_ADDED, ["total", "value", "weight"], wide),
            ),
            _store("x", "i", "total", wide),
        ],
    )


@cache
def pool_source(dtype: str, wide: bool, largest: bool) -> str:
    """max_pool or avg_pool: kernel(count, x, y, ...)."""
    start = f"best = {dtype}(-1e999)" if largest else f"best = {dtype}(0)"
    step = "best = value if value > best or value != value else best" if largest else "best += value"
    return _kernel(
        "x, y",
        [
            *_decode("n", "oh", "ow", "c"),
            *_lanes([start], ["best"], wide),
            "found = 0",
            *_over_elements(
                _load("x", _PIXEL, "value", wide),
                *_lanes([step], ["best", "value"], wide),
                "found += 1",
            ),
            *([] if largest else _lanes([f"best = best / {dtype}(found)"], ["best"], wide)),
            _store("y", "i", "best", wide),
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
            *_over_elements(
                f"here = {_PIXEL}",
                "value = x[here]",
                "if value > best or place < 0 or (value != value and best == best):",
                "    best = value",
                f"    place = here - {start}",
            ),
            "y[i] = best",
            f"places[i] = {output}(place)",
        ],
    )


@cache
def max_pool_gradient_source(dtype: str, wide: bool) -> str:
    """The first largest element of each window gets its gradient: kernel(count, x, y, g, out, ...)."""
    names = ["own", "largest", "first", "other", "given", "total"]

    def lanes(*lines: str) -> list[str]:
        return _lanes(lines, names, wide)

    return _kernel(
        "x, y, g, out",
        [
            *_decode("n", "h", "w", "c"),
            *lanes(f"total = {dtype}(0)"),
            _load("x", "i", "own", wide),
            *_over_windows(
                "place = ((n * rows + oh) * columns + ow) * channels + c",
                _load("y", "place", "largest", wide),
                *lanes("first = own == largest or (own != own and largest != largest)"),
                "for before in range(a * kw + b):",
                "    up = quotient(before, kw)",
                "    left = ow * sw + remainder(before, up, kw) * dw - pw",
                "    up = oh * sh + up * dh - ph",
                "    if up >= 0 and up < height and left >= 0 and left < width:",
                f"        {_load('x', '((n * height + up) * width + left) * channels + c', 'other', wide)}",
                *(
                    f"        {line}"
                    for line in lanes(
                        "if other == largest or (other != other and largest != largest):", "    first = False"
                    )
                ),
                _load("g", "place", "given", wide),
                *lanes("if first:", "    total += given"),
            ),
            _store("out", "i", "total", wide),
        ],
    )


@cache
def avg_pool_gradient_source(dtype: str, wide: bool) -> str:
    """Each element of a window gets its part: kernel(count, g, out, ...)."""
    return _kernel(
        "g, out",
        [
            *_decode("n", "h", "w", "c"),
            *_lanes([f"total = {dtype}(0)"], ["total"], wide),
            *_over_windows(
                "tall = min(oh * sh - ph + kh, height) - max(oh * sh - ph, 0)",
                "broad = min(ow * sw - pw + kw, width) - max(ow * sw - pw, 0)",
                _load("g", "((n * rows + oh) * columns + ow) * channels + c", "given", wide),
                *_lanes([f"total += given / {dtype}(tall * broad)"], ["total", "given"], wide),
            ),
            _store("out", "i", "total", wide),
        ],
    )

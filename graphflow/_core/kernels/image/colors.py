"""Kernels of colours: channels apart, each an array of its own, so that every step is one operation on many pixels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
from graphflow.errors import FailedPreconditionError

_BLOCK_PIXELS = 1 << 14


def _by_pixel(change: Callable[[Any, Any, Any], tuple[Any, Any, Any]]) -> Callable[[Any], Any]:
    """A function of three channels as one of pixels, a block of pixels at a time, so that they stay in the cache."""

    def run(images: Any) -> Any:
        if images.ndim < 1 or images.shape[-1] != 3:
            told = f"input must have 3 channels in the last dimension, got shape {list(images.shape)}"
            raise FailedPreconditionError(None, None, told)
        pixels = np.ascontiguousarray(images).reshape(-1, 3)
        result = np.empty(pixels.shape, pixels.dtype)
        for begin in range(0, len(pixels), _BLOCK_PIXELS):
            block = np.ascontiguousarray(pixels[begin : begin + _BLOCK_PIXELS].T)
            changed = change(block[0], block[1], block[2])
            for channel, values in enumerate(changed):
                result[begin : begin + _BLOCK_PIXELS, channel] = values
        return result.reshape(images.shape)

    return run


def to_hsv(r: Any, g: Any, b: Any) -> tuple[Any, Any, Any]:
    """Hue, saturation and value; the hue of a grey is 0."""
    number = r.dtype.type
    value = np.maximum(np.maximum(r, g), b)
    spread = value - np.minimum(np.minimum(r, g), b)
    saturation = np.where(value > 0, spread / value, number(0))
    unit = 1 / (number(6) * spread)
    hue = np.where(
        r == value,
        unit * (g - b),
        np.where(g == value, unit * (b - r) + number(2 / 6), unit * (r - g) + number(4 / 6)),
    )
    hue[~(spread > 0)] = 0
    hue += hue < 0
    return hue, saturation, value


def to_rgb(hue: Any, saturation: Any, value: Any) -> tuple[Any, Any, Any]:
    """Red, green and blue."""
    number = hue.dtype.type
    at = hue * number(6)
    parts = (np.abs(at - number(3)) - 1, 2 - np.abs(at - number(2)), 2 - np.abs(at - number(4)))
    pale = 1 - saturation
    found = [(np.clip(p, number(0), number(1)) * saturation + pale) * value for p in parts]
    return found[0], found[1], found[2]


simple("RGBToHSV", _by_pixel(to_hsv))
simple("HSVToRGB", _by_pixel(to_rgb))


def _check(images: Any, colours: bool = True) -> None:
    if images.ndim < 3:
        raise invalid(f"input must be at least 3-D, got shape {list(images.shape)}")
    if colours and images.shape[-1] != 3:
        raise invalid(f"input must have 3 channels but instead has {images.shape[-1]} channels.")


def _adjusted(op_type: str, change: Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]) -> None:
    @kernel(op_type)
    def _(node: Node) -> Kernel:
        def run(images: Any, amount: Any) -> Any:
            _check(images)
            single = images.astype(np.float32, copy=False)
            changed = _by_pixel(lambda r, g, b: change(r, g, b, np.float32(amount)))(single)
            return changed.astype(images.dtype, copy=False)

        return run


def _turned(r: Any, g: Any, b: Any, delta: Any) -> tuple[Any, Any, Any]:
    """Another hue, by turns of the circle; the largest and the smallest channel's values stay."""
    value = np.maximum(np.maximum(r, g), b)
    least = np.minimum(np.minimum(r, g), b)
    spread = value - least
    unit = 1 / np.where(spread > 0, spread, np.float32(1))
    at = np.where(r == value, (g - b) * unit, np.where(g == value, (b - r) * unit + 2, (r - g) * unit + 4))
    at += delta * np.float32(6)
    at -= np.floor(at / np.float32(6)) * np.float32(6)
    parts = (np.abs(at - 3) - 1, 2 - np.abs(at - 2), 2 - np.abs(at - 4))
    found = [np.clip(p, np.float32(0), np.float32(1)) * spread + least for p in parts]
    return found[0], found[1], found[2]


def _saturated(r: Any, g: Any, b: Any, scale: Any) -> tuple[Any, Any, Any]:
    hue, saturation, value = to_hsv(r, g, b)
    return to_rgb(hue, np.clip(saturation * scale, np.float32(0), np.float32(1)), value)


_adjusted("AdjustHue", _turned)
_adjusted("AdjustSaturation", _saturated)


@kernel("AdjustContrastv2")
def _contrast(node: Node) -> Kernel:
    def run(images: Any, factor: Any) -> Any:
        _check(images, colours=False)
        height, width, channels = images.shape[-3:]
        flat = images.reshape(math.prod(images.shape[:-3]), height * width, channels)
        result = np.empty(flat.shape, images.dtype)
        # A product with ones is a sum, several times as quick as one over the axes before the last.
        ones = np.full(height * width, 1 / max(1, height * width), np.float32)
        for image, target in zip(flat, result, strict=True):
            single = image.astype(np.float32, copy=False)
            mean = ones @ single
            adjusted = single - mean
            adjusted *= np.float32(factor)
            np.add(adjusted, mean, out=target, casting="same_kind")
        return result.reshape(images.shape)

    return run

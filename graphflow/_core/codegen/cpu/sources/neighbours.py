"""Kernels of local response normalisation: each channel divided by a power of the sum of its neighbours' squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.codegen.cpu.programs.machine import Step

TOGETHER: Final = 64
"""Pixels that are one unit, and share the space for what is in between."""
_GRAIN_ELEMENTS: Final = 8192


def _power(dtype: str, beta: float) -> str:
    """The text of n ** -beta."""
    if beta == 1.0:
        return f"{dtype}(1) / n"
    if beta == 0.5:
        return f"{dtype}(1) / f_sqrt(n)"
    return f"f_pow(n, {dtype}({-beta!r}))"


def _window_sums(buffer: str, at: str, value: str) -> str:
    """Lines that add to buffer[at + j], for each channel j, `value` of the channels up to `radius` away.

    `value` is a text with {k} for a channel.
    """
    return f"""
            for j in range(channels):
                store({buffer}, {at} + j, {value.format(k="j")}, 2)
            for shift in range(1, reach + 1):
                for j in range(channels - shift):
                    store({buffer}, {at} + j + shift, load({buffer}, {at} + j + shift, 2) + {value.format(k="j")}, 2)
                for j in range(channels - shift):
                    store({buffer}, {at} + j, load({buffer}, {at} + j, 2) + {value.format(k="j + shift")}, 2)"""


_SQUARE: Final = "load(x, row + {k}, 0) * load(x, row + {k}, 0)"


def _kernel(pointers: Sequence[str], dtype: str, body: str, bias: float, alpha: float) -> str:
    lines = "".join(f"\n    {name} = pointer_{dtype}(args[{k}])" for k, name in enumerate(pointers))
    count = len(pointers)
    return f"""
@kernel_function
def kernel(args, begin, end):{lines}
    pixels = args[{count}]
    channels = args[{count + 1}]
    reach = args[{count + 2}]
    bias = {dtype}({bias!r})
    alpha = {dtype}({alpha!r})
    for unit in range(begin, end):
        for pixel in range(unit * {TOGETHER}, min(unit * {TOGETHER} + {TOGETHER}, pixels)):
            row = pixel * channels{body}
"""


def response_source(dtype: str, bias: float, alpha: float, beta: float) -> str:
    """Source of x * (bias + alpha * sum of squares) ** -beta; unit: some pixels. TensorFlow's LRN.

    Arguments: x, result, pixels, channels, how far a neighbour may be (less than the channels).
    """
    body = f"""{_window_sums("y", "row", _SQUARE)}
            for j in range(channels):
                n = bias + alpha * load(y, row + j, 2)
                store(y, row + j, load(x, row + j, 0) * ({_power(dtype, beta)}), 2)"""
    return _kernel(["x", "y"], dtype, body, bias, alpha)


def response_gradient_source(dtype: str, bias: float, alpha: float, beta: float) -> str:
    """Source of the gradient; unit: some pixels. TensorFlow's LRNGrad.

    Arguments: x, g, result, space for one pixel a unit, then as before.
    """
    body = f"""{_window_sums("sums", "line", _SQUARE)}
            for j in range(channels):
                n = bias + alpha * load(sums, line + j, 2)
                share = load(g, row + j, 1) * ({_power(dtype, beta)})
                store(out, row + j, share, 3)
                store(parts, line + j, share * load(x, row + j, 0) / n, 4)
{_window_sums("sums", "line", "load(parts, line + {k}, 4)")}
            for j in range(channels):
                slope = {dtype}({2 * alpha * beta!r}) * load(x, row + j, 0) * load(sums, line + j, 2)
                store(out, row + j, load(out, row + j, 3) - slope, 3)"""
    head = "\n            line = unit * channels"
    return _kernel(["x", "g", "out", "sums", "parts"], dtype, head + body, bias, alpha)


def response_steps(kernel: int, places: Sequence[int], pixels: int, channels: int, radius: int) -> list[Step]:
    """Steps over contiguous pixels; `places` are the addresses that come first."""
    reach = max(0, min(radius, channels - 1))
    work = TOGETHER * channels * (2 * reach + 4)
    words = [*places, pixels, channels, reach]
    return [Step(kernel, words, 0, units(pixels), max(1, _GRAIN_ELEMENTS // work))]


def units(pixels: int) -> int:
    """How many units so many pixels are."""
    return -(-pixels // TOGETHER)

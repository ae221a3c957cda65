"""Kernels of local response normalisation: each channel divided by a power of the sum of its neighbours' squares.

What is summed is first laid out with zeros around it, so that the sums of all channels are vectors' without a case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.codegen.cpu.programs.machine import Step

_TOGETHER: Final = 64
"""Pixels that are one unit, and share the space for what is in between."""
_MOST_WRITTEN_OUT: Final = 8
"""Sums over neighbours that are no farther are written out, others are a loop."""
_GRAIN_ELEMENTS: Final = 8192


def _power(dtype: str, beta: float) -> str:
    """The text of n ** -beta."""
    if beta == 1.0:
        return f"{dtype}(1) / n"
    if beta == 0.5:
        return f"{dtype}(1) / f_sqrt(n)"
    return f"f_pow(n, {dtype}({-beta!r}))"


def _sum(reach: int) -> str:
    """Lines that make `total`, the sum of what lies around channel j."""
    first = "total = load(padded, line + j, 2)"
    if reach <= _MOST_WRITTEN_OUT:
        lines = [first, *(f"total += load(padded, line + j + {k}, 2)" for k in range(1, 2 * reach + 1))]
    else:
        lines = [first, f"for k in range(1, {2 * reach + 1}):", "    total += load(padded, line + j + k, 2)"]
    return "".join(f"\n                {line}" for line in lines)


def _kernel(pointers: Sequence[str], dtype: str, numbers: tuple[float, float], reach: int, body: str) -> str:
    lines = "".join(f"\n    {name} = pointer_{dtype}(args[{k}])" for k, name in enumerate(pointers))
    count = len(pointers)
    return f"""
@kernel_function
def kernel(args, begin, end):{lines}
    pixels = args[{count}]
    channels = args[{count + 1}]
    wide = channels + {2 * reach}
    bias = {dtype}({numbers[0]!r})
    alpha = {dtype}({numbers[1]!r})
    for unit in range(begin, end):
        line = unit * wide
        for j in range(wide):
            store(padded, line + j, {dtype}(0), 2)
        for pixel in range(unit * {_TOGETHER}, min(unit * {_TOGETHER} + {_TOGETHER}, pixels)):
            row = pixel * channels
            for j in range(channels):
                value = load(x, row + j, 0)
                store(padded, line + {reach} + j, value * value, 2){body}
"""


def response_source(dtype: str, bias: float, alpha: float, beta: float, reach: int) -> str:
    """Source of x * (bias + alpha * sum of squares) ** -beta; unit: some pixels. TensorFlow's LRN.

    Arguments: x, result, space, pixels, channels. reach: how far a neighbour may be, at least 0.
    """
    body = f"""
            for j in range(channels):{_sum(reach)}
                n = bias + alpha * total
                store(y, row + j, load(x, row + j, 0) * ({_power(dtype, beta)}), 1)"""
    return _kernel(["x", "y", "padded"], dtype, (bias, alpha), reach, body)


def response_gradient_source(dtype: str, bias: float, alpha: float, beta: float, reach: int) -> str:
    """Source of the gradient; unit: some pixels. TensorFlow's LRNGrad.

    Arguments: x, g, result, space twice, pixels, channels.
    """
    body = f"""
            for j in range(channels):{_sum(reach)}
                n = bias + alpha * total
                share = load(g, row + j, 1) * ({_power(dtype, beta)})
                store(out, row + j, share, 3)
                store(parts, unit * channels + j, share * load(x, row + j, 0) / n, 4)
            for j in range(channels):
                store(padded, line + {reach} + j, load(parts, unit * channels + j, 4), 2)
            for j in range(channels):{_sum(reach)}
                slope = {dtype}({2 * alpha * beta!r}) * load(x, row + j, 0) * total
                store(out, row + j, load(out, row + j, 3) - slope, 3)"""
    return _kernel(["x", "g", "out", "padded", "parts"], dtype, (bias, alpha), reach, body)


def response_steps(kernel: int, places: Sequence[int], pixels: int, channels: int, reach: int) -> list[Step]:
    """Steps over contiguous pixels; `places` are the addresses that come first."""
    work = _TOGETHER * channels * (reach + 4)
    return [Step(kernel, [*places, pixels, channels], 0, units(pixels), max(1, _GRAIN_ELEMENTS // work))]


def space(pixels: int, channels: int, reach: int) -> int:
    """The elements of each space."""
    return units(pixels) * (channels + 2 * reach)


def units(pixels: int) -> int:
    """How many units so many pixels are."""
    return -(-pixels // _TOGETHER)

"""Samples of numbers rounded as a quantized network has them: number after number, by Python's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import SHAPES, SINGLE, Draw, Random, Sample, draw

SETTINGS = tuple(itertools.product((8, 2, 4), (False, True)))
ENDS = ((-1.0, 1.1), (0.5, 2.0), (-2.0, -0.25), (-0.75, 1.5), (0.0, 1.0))


def _moved(low: Any, high: Any, attrs: Any) -> tuple[Fraction, Fraction, Fraction]:
    """The range that has 0 as the end of a step, and the step."""
    least, most = int(attrs["narrow_range"]), 2 ** attrs["num_bits"] - 1
    step = Fraction(float(high)) - Fraction(float(low))
    step /= most - least
    zero = min(max(math.floor(least - Fraction(float(low)) / step + Fraction(1, 2)), least), most)
    return (least - zero) * step, (most - zero) * step, step


def _nearest(x: Any, low: Any, high: Any, attrs: Any) -> float:
    if low == high == 0:
        return 0.0
    first, last, step = _moved(low, high, attrs)
    within = min(max(Fraction(float(x)), first), last)
    return float(math.floor((within - first) / step + Fraction(1, 2)) * step + first)


def _where(x: Any, low: Any, high: Any, attrs: Any) -> int:
    """0 within the range, -1 below it, 1 above."""
    if low == high == 0:
        return 0
    first, last, _ = _moved(low, high, attrs)
    return (x > last) - (x < first)


def _each(x: Any, low: Any, high: Any, function: Any, attrs: Any) -> Any:
    lows, highs = np.broadcast_to(low, x.shape), np.broadcast_to(high, x.shape)
    result = np.zeros(x.shape, np.float32)
    for place in np.ndindex(x.shape):
        result[place] = function(x[place], lows[place], highs[place], attrs)
    return result


def _gradients(g: Any, x: Any, low: Any, high: Any, attrs: Any, channels: bool) -> Any:
    sides = _each(x, low, high, _where, attrs)
    over = tuple(range(x.ndim - 1)) if channels else None
    ends = [np.where(sides == side, g, 0).sum(over).astype(np.float32) for side in (-1, 1)]
    return np.where(sides == 0, g, 0).astype(np.float32), *ends


def _of_attributes(gradient: bool) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for shape, (low, high), (bits, narrow) in zip(
            SHAPES, itertools.cycle(ENDS), itertools.cycle(SETTINGS)
        ):
            attrs = {"min": low, "max": high, "num_bits": bits, "narrow_range": narrow}
            x = draw(random, SINGLE, shape, -3, 3)

            def values(x: Any, attrs: Any = attrs) -> Any:
                return _each(x, attrs["min"], attrs["max"], _nearest, attrs)

            def passed(g: Any, x: Any, attrs: Any = attrs) -> Any:
                return _gradients(g, x, attrs["min"], attrs["max"], attrs, False)[0]

            if gradient:
                yield Sample((draw(random, SINGLE, shape), x), attrs, passed, smooth=False)
            else:
                yield Sample((x,), attrs, values, smooth=False, tolerance=10)

    return generate


def _of_inputs(gradient: bool, channels: bool) -> Draw:
    shapes = ((3,), (2, 3), (0,), (2, 0, 3), (3, 1, 2)) if channels else SHAPES

    def generate(random: Random) -> Iterable[Sample]:
        ends = itertools.cycle((*ENDS, (0.0, 0.0)))
        for shape, (bits, narrow) in zip(shapes, itertools.cycle(SETTINGS)):
            attrs = {"num_bits": bits, "narrow_range": narrow}
            pairs = [next(ends) for _ in range(shape[-1] if channels else 1)]
            low, high = (np.array([pair[i] for pair in pairs], SINGLE) for i in (0, 1))
            if not channels:
                low, high = low[0], high[0]
            x = draw(random, SINGLE, shape, -3, 3)

            def values(x: Any, low: Any, high: Any, attrs: Any = attrs) -> Any:
                return _each(x, low, high, _nearest, attrs)

            def passed(g: Any, x: Any, low: Any, high: Any, attrs: Any = attrs) -> Any:
                return _gradients(g, x, low, high, attrs, channels)

            if gradient:
                yield Sample(
                    (draw(random, SINGLE, shape), x, low, high), attrs, passed, smooth=False, tolerance=4
                )
            else:
                yield Sample((x, low, high), attrs, values, smooth=False, tolerance=10)

    return generate


TABLE: dict[str, Draw] = {
    "FakeQuantWithMinMaxArgs": _of_attributes(False),
    "FakeQuantWithMinMaxArgsGradient": _of_attributes(True),
    "FakeQuantWithMinMaxVars": _of_inputs(False, False),
    "FakeQuantWithMinMaxVarsGradient": _of_inputs(True, False),
    "FakeQuantWithMinMaxVarsPerChannel": _of_inputs(False, True),
    "FakeQuantWithMinMaxVarsPerChannelGradient": _of_inputs(True, True),
}

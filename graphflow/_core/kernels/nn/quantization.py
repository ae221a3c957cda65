"""Numbers rounded to those of a quantized network, and which of them pass gradients; float32 as in TensorFlow."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow.errors import InvalidArgumentError

Array: TypeAlias = npt.NDArray[Any]


def moved_range(low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Array, Array, Array]:
    """The ends of a range moved so that 0 is a whole number of steps from them, and the step."""
    least, most = np.float32(narrow_range), np.float32(2**num_bits - 1)
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    with np.errstate(all="ignore"):  # An empty range is told by its users.
        step = (high - low) / (most - least)
        place = least - low / step
        whole = np.floor(place)
        nearest = whole + (place - whole >= np.float32(0.5))
        zero = np.clip(nearest, least, most).astype(np.float32)
    return (least - zero) * step, (most - zero) * step, step


def rounded(x: Array, low: Any, high: Any, num_bits: int, narrow_range: bool) -> Array:
    """The nearest number of the range; 0 where both of its ends are."""
    first, last, step = moved_range(low, high, num_bits, narrow_range)
    with np.errstate(all="ignore"):
        clipped = np.maximum(np.minimum(x, last), first)
        result = np.floor((clipped - first) / step + np.float32(0.5)) * step + first
    empty = (np.asarray(low) == 0) & (np.asarray(high) == 0)
    return np.where(empty, np.float32(0), result).astype(np.float32)


def passed(
    g: Array, x: Array, low: Any, high: Any, num_bits: int, narrow_range: bool
) -> tuple[Array, Array, Array]:
    """The gradients of inputs that the range holds, of those below it, and of those above; zeros elsewhere."""
    first, last, _ = moved_range(low, high, num_bits, narrow_range)
    empty = (np.asarray(low) == 0) & (np.asarray(high) == 0)
    below, above = (x < first) & ~empty, (x > last) & ~empty
    within = (x >= first) & (x <= last) | empty
    zero = np.float32(0)
    return np.where(within, g, zero), np.where(below, g, zero), np.where(above, g, zero)


def _settings(node: Node) -> tuple[int, bool]:
    return node.attrs["num_bits"], node.attrs["narrow_range"]


@kernel("FakeQuantWithMinMaxArgs")
def _args(node: Node) -> Kernel:
    ends = node.attrs["min"], node.attrs["max"]
    settings = _settings(node)
    return lambda x: rounded(x, *ends, *settings)


@kernel("FakeQuantWithMinMaxArgsGradient")
def _args_gradient(node: Node) -> Kernel:
    ends = node.attrs["min"], node.attrs["max"]
    settings = _settings(node)

    def run(g: Array, x: Array) -> Array:
        _check(g, x)
        return passed(g, x, *ends, *settings)[0]

    return run


@kernel("FakeQuantWithMinMaxVars")
def _vars(node: Node) -> Kernel:
    settings = _settings(node)
    return lambda x, low, high: rounded(x, low, high, *settings)


@kernel("FakeQuantWithMinMaxVarsGradient")
def _vars_gradient(node: Node) -> Kernel:
    settings = _settings(node)

    def run(g: Array, x: Array, low: Array, high: Array) -> tuple[Array, Any, Any]:
        _check(g, x)
        within, below, above = passed(g, x, low, high, *settings)
        return within, below.sum(dtype=np.float32), above.sum(dtype=np.float32)

    return run


@kernel("FakeQuantWithMinMaxVarsPerChannel")
def _channels(node: Node) -> Kernel:
    settings = _settings(node)

    def run(x: Array, low: Array, high: Array) -> Array:
        _check_channels(x, low, high)
        return rounded(x, low, high, *settings)

    return run


@kernel("FakeQuantWithMinMaxVarsPerChannelGradient")
def _channels_gradient(node: Node) -> Kernel:
    settings = _settings(node)

    def run(g: Array, x: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
        _check(g, x)
        _check_channels(x, low, high)
        within, below, above = passed(g, x, low, high, *settings)
        over = tuple(range(x.ndim - 1))
        return within, below.sum(over, dtype=np.float32), above.sum(over, dtype=np.float32)

    return run


def _check(g: Array, x: Array) -> None:
    if g.shape != x.shape:
        raise InvalidArgumentError(
            None, None, f"gradient and input must be the same size, got {g.shape} and {x.shape}"
        )


def _check_channels(x: Array, low: Array, high: Array) -> None:
    for word, ends in (("min", low), ("max", high)):
        if not x.ndim or ends.shape != x.shape[-1:]:
            raise InvalidArgumentError(
                None, None, f"{word} has incorrect size, expected {x.shape[-1:]} was {ends.shape}"
            )

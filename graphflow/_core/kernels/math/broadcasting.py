"""NumPy kernels of broadcasting, of the sums that undo it, and of the check that two shapes allow it."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.math.reductions import sum_along
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
from graphflow.errors import InvalidArgumentError

Array = Any


def _broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        raise InvalidArgumentError(None, None, f"Cannot broadcast shape {x.shape} to {shape}.") from None


def _sum_to_shape(x: Array, like: Array) -> Array:
    if x.shape == like.shape:
        return x
    extra = x.ndim - like.ndim
    inner = tuple(extra + i for i, size in enumerate(like.shape) if size == 1 and x.shape[extra + i] != 1)
    total = sum_along(x, (*range(extra), *inner), True) if extra or inner else x
    if extra < 0 or total.size != like.size:
        raise InvalidArgumentError(
            None, None, f"A gradient of shape {x.shape} does not belong to shape {like.shape}."
        )
    return np.reshape(total, like.shape)


simple("BroadcastLike", lambda x, like: _broadcast_to(x, like.shape), view=True)
simple("SumToShape", _sum_to_shape, view=True)


@kernel("BroadcastStatic", view=True)
def _broadcast_static(node: Node) -> Kernel:
    shape = node.attrs["shape"].raw
    return lambda x: _broadcast_to(x, shape)


@kernel("AssertBroadcastable", stateful=True)
def _assert_broadcastable(node: Node) -> Kernel:
    exact = node.attrs["exact"]

    def run(context: Any, given: Any, wanted: Any) -> tuple[()]:
        shapes = f"shape {tuple(given.tolist())} against shape {tuple(wanted.tolist())}"
        if exact and not np.array_equal(given, wanted):
            raise InvalidArgumentError(None, None, f"{shapes}: they must be equal")
        same_or_one = (
            (given == 1) | (given == wanted[: len(given)]) if len(given) == len(wanted) else np.zeros(1)
        )
        if not exact and len(given) and not same_or_one.all():
            raise InvalidArgumentError(
                None,
                None,
                f"weights can not be broadcast to values, {shapes}: they need the same rank, and in each axis the "
                "same size or 1",
            )
        return ()

    return run

"""NumPy kernels of scans along an axis, and of the places of its largest and smallest elements.

Sums of float16 are made in float32; integers wrap in their own width.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphflow._core.kernels.math.reductions import accumulator
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow.errors import InvalidArgumentError

Array = Any


def _axis_of(x: Array, axis: Array, what: str, kind: str = "axis") -> int:
    if np.ndim(axis):
        raise InvalidArgumentError(
            None, None, f"{what}: the axis must be a scalar, got shape {np.shape(axis)}."
        )
    if not -x.ndim <= axis < x.ndim:
        raise InvalidArgumentError(
            None, None, f"{what}: Expected {kind} in the range [{-x.ndim}, {x.ndim}), but got {axis}."
        )
    along: int = int(axis) % x.ndim
    return along


def _argument(node: Node, function: Callable[..., Any]) -> Kernel:
    dtype = node.attrs["output_type"].as_numpy_dtype

    def compute(x: Array, dimension: Array) -> Array:
        axis = _axis_of(x, dimension, node.type)
        if x.shape[axis] == 0:
            raise InvalidArgumentError(
                None, None, f"Reduction axis {axis} is empty in shape {list(x.shape)}."
            )
        return function(x, axis=axis).astype(dtype)

    return compute


kernel("ArgMax")(partial(_argument, function=np.argmax))
kernel("ArgMin")(partial(_argument, function=np.argmin))


def _running_sum(x: Array, axis: int) -> Array:
    return np.add.accumulate(x, axis=axis, dtype=accumulator(x.dtype)).astype(x.dtype, copy=False)


def _running_product(x: Array, axis: int) -> Array:
    return np.multiply.accumulate(x, axis=axis, dtype=x.dtype)


def _running_logsumexp(x: Array, axis: int) -> Array:
    return np.logaddexp.accumulate(x, axis=axis)


@kernel("Cumsum", "Cumprod", "CumulativeLogsumexp")
def _scan(node: Node) -> Kernel:
    running, empty = {
        "Cumsum": (_running_sum, 0),
        "Cumprod": (_running_product, 1),
        "CumulativeLogsumexp": (_running_logsumexp, -np.inf),
    }[node.type]
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]

    def compute(x: Array, axis: Array) -> Array:
        along = _axis_of(x, axis, node.type, "scan axis")
        if x.size == 0:
            return np.array(x)
        ordered = np.flip(x, along) if reverse else x
        if exclusive:
            head = np.full_like(x, empty, shape=tuple(1 if i == along else n for i, n in enumerate(x.shape)))
            body = running(np.take(ordered, range(x.shape[along] - 1), axis=along), along)
            result = np.concatenate([head, body], axis=along)
        else:
            result = running(ordered, along)
        return np.ascontiguousarray(np.flip(result, along)) if reverse else result

    return compute

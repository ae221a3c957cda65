"""NumPy kernels of reductions, scans and the broadcasting that undoes reductions.

Sums of float16 are made in float32; integers wrap in their own width. NaN wins in max and min, as in elementwise
maximum: TensorFlow 1 leaves out NaN or not depending on the order of the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
from graphflow.errors import InvalidArgumentError

Array = Any
_ADD: Any = np.add
_MULTIPLY: Any = np.multiply
Reduce = Callable[[Array, tuple[int, ...], bool], Array]


def _axes_of(x: Array, indices: Array) -> tuple[int, ...]:
    axes = []
    for axis in np.atleast_1d(indices).tolist():
        if not -x.ndim <= axis < x.ndim:
            raise InvalidArgumentError(
                None, None, f"Invalid reduction dimension ({axis} for input with {x.ndim} dimension(s)."
            )
        axes.append(axis % x.ndim)
    return tuple(sorted(set(axes)))


def _accumulator(dtype: Any) -> Any:
    return np.float32 if dtype == np.float16 else dtype


def _sum(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    total = _ADD.reduce(x, axis=axes, dtype=_accumulator(x.dtype), keepdims=keep)
    return total.astype(x.dtype, copy=False)


def _mean(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    count = int(np.prod([x.shape[i] for i in axes], dtype=np.int64))
    total = _ADD.reduce(x, axis=axes, dtype=_accumulator(x.dtype), keepdims=keep)
    if x.dtype.kind not in "iu":
        return np.divide(total, total.dtype.type(count)).astype(x.dtype, copy=False)
    quotient = np.abs(total) // x.dtype.type(max(count, 1))
    return np.where(total < 0, -quotient, quotient).astype(x.dtype)


def _product(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    return _MULTIPLY.reduce(x, axis=axes, dtype=x.dtype, keepdims=keep)


def _extremum(ufunc: Any, lowest: bool) -> Reduce:
    def reduce(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        if x.size:
            return ufunc.reduce(x, axis=axes, keepdims=keep)
        return ufunc.reduce(x, axis=axes, keepdims=keep, initial=_limit(x.dtype, lowest))

    return reduce


def _limit(dtype: Any, lowest: bool) -> Any:
    """The identity of max (the lowest value) or of min."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max
    return dtype.type(-np.inf if lowest else np.inf)


def _euclidean_norm(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    if x.dtype.kind in "iu":
        return np.sqrt(_sum(np.square(x), axes, keep)).astype(x.dtype)
    squares = np.square(np.abs(x).astype(_accumulator(np.abs(x).dtype)))
    return np.sqrt(_ADD.reduce(squares, axis=axes, keepdims=keep)).astype(x.dtype)


def _register(op_type: str, reduce: Reduce) -> None:
    @kernel(op_type)
    def factory(node: Node) -> Kernel:
        keep = node.attrs["keep_dims"]

        def compute(x: Array, indices: Array) -> Array:
            axes = _axes_of(x, indices)
            return reduce(x, axes, keep) if axes or op_type == "EuclideanNorm" else np.array(x)

        return compute


for _name, _reduce in {
    "Sum": _sum,
    "Mean": _mean,
    "Prod": _product,
    "Max": _extremum(np.maximum, True),
    "Min": _extremum(np.minimum, False),
    "EuclideanNorm": _euclidean_norm,
    "All": lambda x, axes, keep: np.logical_and.reduce(x, axis=axes, keepdims=keep),
    "Any": lambda x, axes, keep: np.logical_or.reduce(x, axis=axes, keepdims=keep),
}.items():
    _register(_name, _reduce)


# ---- putting axes back ---------------------------------------------------------------------------------------------


def _restore_axes(reduced: Array, x: Array, indices: Array) -> Array:
    axes = _axes_of(x, indices)
    return np.reshape(reduced, tuple(1 if i in axes else size for i, size in enumerate(x.shape)))


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
    total = _sum(x, (*range(extra), *inner), True) if extra or inner else x
    if extra < 0 or total.size != like.size:
        raise InvalidArgumentError(
            None, None, f"A gradient of shape {x.shape} does not belong to shape {like.shape}."
        )
    return np.reshape(total, like.shape)


simple("RestoreReducedAxes", _restore_axes, view=True)
simple("BroadcastLike", lambda x, like: _broadcast_to(x, like.shape), view=True)
simple("SumToShape", _sum_to_shape, view=True)


@kernel("BroadcastStatic", view=True)
def _broadcast_static(node: Node) -> Kernel:
    shape = node.attrs["shape"].raw
    return lambda x: _broadcast_to(x, shape)


# ---- places and scans ----------------------------------------------------------------------------------------------


def _axis_of(x: Array, axis: Array, what: str) -> int:
    if not -x.ndim <= axis < x.ndim:
        raise InvalidArgumentError(
            None, None, f"{what}: Expected axis in the range [{-x.ndim}, {x.ndim}), but got {axis}."
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
    return np.add.accumulate(x, axis=axis, dtype=_accumulator(x.dtype)).astype(x.dtype, copy=False)


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
        along = _axis_of(x, axis, node.type)
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

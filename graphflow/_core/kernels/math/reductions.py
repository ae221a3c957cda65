"""NumPy kernels of reductions.

Sums of float16 are made in float32; integers wrap in their own width. NaN wins in max and min, as in elementwise
maximum: TensorFlow 1 leaves out NaN or not depending on the order of the elements.
"""

from __future__ import annotations

from collections.abc import Callable
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


def accumulator(dtype: Any) -> Any:
    """The dtype in which the elements of one are added up."""
    return np.float32 if dtype == np.float16 else dtype


def sum_along(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """The sums along axes, in the dtype of x; `keep` keeps these as axes of size 1."""
    total = _ADD.reduce(x, axis=axes, dtype=accumulator(x.dtype), keepdims=keep)
    return total.astype(x.dtype, copy=False)


def _mean(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    count = int(np.prod([x.shape[i] for i in axes], dtype=np.int64))
    total = _ADD.reduce(x, axis=axes, dtype=accumulator(x.dtype), keepdims=keep)
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
        return np.sqrt(sum_along(np.square(x), axes, keep)).astype(x.dtype)
    squares = np.square(np.abs(x).astype(accumulator(np.abs(x).dtype)))
    return np.sqrt(_ADD.reduce(squares, axis=axes, keepdims=keep)).astype(x.dtype)


def _register(op_type: str, reduce: Reduce) -> None:
    @kernel(op_type)
    def factory(node: Node) -> Kernel:
        keep = node.attrs["keep_dims"]

        def compute(x: Array, indices: Array) -> Array:
            axes = _axes_of(x, indices)
            return reduce(x, axes, keep) if axes else np.array(x)

        return compute


for _name, _reduce in {
    "Sum": sum_along,
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


simple("RestoreReducedAxes", _restore_axes, view=True)

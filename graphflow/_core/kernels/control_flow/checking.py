"""NumPy kernels of assertions, checks of numbers and Python functions."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.denormals import kept
from graphflow._core.graph import dtypes
from graphflow._core.kernels.control_flow.printing import summarized
from graphflow._core.kernels.registry import Kernel, Node, kernel


@kernel("Assert", stateful=True)
def _assert(node: Node) -> Kernel:
    count = node.attrs.get("summarize", 3)

    def check(run: Any, condition: Any, *data: Any) -> None:
        if not (condition if isinstance(condition, np.bool_ | bool) else np.all(condition)):
            listing = " ".join(summarized(d, count) for d in data)
            raise errors.InvalidArgumentError(None, None, f"assertion failed: {listing}")

    return check


def not_finite(message: str, nan: bool, infinite: bool) -> str:
    """The error of CheckNumerics for a tensor with NaNs, infinities or both."""
    return f"{message} : Tensor had {' and '.join(['Inf'] * infinite + ['NaN'] * nan)} values"


@kernel("CheckNumerics", view=True)
def _check_numerics(node: Node) -> Kernel:
    message = node.attrs["message"]

    def check(value: Any) -> Any:
        if not np.isfinite(value).all():
            told = not_finite(message, bool(np.isnan(value).any()), bool(np.isinf(value).any()))
            raise errors.InvalidArgumentError(None, None, told)
        return value

    return check


@kernel("PyFunc", "PyFuncStateless", stateful=True)
def _py_func(node: Node) -> Kernel:
    function, types = node.attrs["function"], node.dtypes

    def call(run: Any, *arguments: Any) -> Any:
        try:
            with kept():
                result = run.call(function, *[_for_python(a) for a in arguments])
        except StopIteration as error:
            raise errors.OutOfRangeError(None, None, _told(error)) from error
        except errors.OpError:
            raise
        except Exception as error:
            kind = _PYTHON_ERRORS.get(type(error), errors.UnknownError)
            raise kind(None, None, _told(error)) from error
        run.check()
        values = [] if not types else list(result) if isinstance(result, list | tuple) else [result]
        if len(values) != len(types):
            raise errors.InvalidArgumentError(
                None, None, f"pyfunc returns {len(values)} values, but expects to see {len(types)} values."
            )
        arrays = tuple(_as_type(v, t, i) for i, (v, t) in enumerate(zip(values, types, strict=True)))
        return arrays[0] if len(types) == 1 else arrays if types else None

    return call


def _told(error: Exception) -> str:
    """What an error of a Python function says, and where it was raised: who reads it may be in another process."""
    said, place = f"{type(error).__name__}: {error}", error.__traceback__
    while place is not None and str(place.tb_frame.f_globals.get("__name__")).startswith("graphflow."):
        place = place.tb_next
    if place is None:  # It has no lines in Python.
        return said
    lines = "".join(traceback.format_exception(type(error), error, place, chain=False))
    return f"{said}\n{lines.rstrip()}"


def _for_python(value: Any) -> Any:
    """A value of the user's own to change; a scalar string as bytes."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.ndim or value.dtype != object else value[()]
    return value


_PYTHON_ERRORS = {
    TypeError: errors.InvalidArgumentError,
    ValueError: errors.InvalidArgumentError,
    MemoryError: errors.ResourceExhaustedError,
    NotImplementedError: errors.UnimplementedError,
}


def _as_type(value: Any, dtype: dtypes.DType, position: int) -> Any:
    if dtype is dtypes.string:
        array = np.array(value, dtype=object)
        for index, item in np.ndenumerate(array):
            array[index] = item.encode() if isinstance(item, str) else item
        return array[()] if array.ndim == 0 else array
    array = np.asarray(value)
    if array.dtype != dtype.as_numpy_dtype:
        python = isinstance(value, bool | int | float | list)
        if array.dtype.kind in "OV":
            what = (
                f"object type {type(value).__name__}"
                if array.dtype.kind == "O"
                else f"numpy data type {array.dtype}"
            )
            raise errors.InternalError(
                None, None, f"Unsupported {what}: the {position}-th value of a pyfunc must be {dtype.name}."
            )
        if not python:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{position}-th value returned by pyfunc is {array.dtype.name}, but expects {dtype.name}",
            )
        array = array.astype(dtype.as_numpy_dtype)
    return array[()] if array.ndim == 0 else array

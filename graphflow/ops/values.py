"""Python values as NumPy arrays, with TensorFlow's rules for their dtype.

What a value becomes is decided once, here, for constants and for whatever is converted to a tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow.graph import dtypes
from graphflow.graph.dtypes import DType


def as_array(value: Any, dtype: DType | None) -> Any:
    """A fresh NumPy array of a Python value, with TensorFlow's rules for the dtype.

    TypeError where the value is not of that dtype, ValueError where it is ragged.
    """
    if isinstance(value, np.ndarray | np.generic):
        return _from_numpy(np.asarray(value), dtype)
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, DType):
        return np.array(value.as_datatype_enum, np.int32)
    try:
        array = np.array(value)
    except ValueError:
        raise _uneven(value) from None
    kind = array.dtype.kind
    if kind in "SU" and not _all_strings(value):
        raise _unsupported(value)
    if kind in "SU" or (kind == "O" and all(isinstance(v, str | bytes) for v in array.reshape(-1))):
        return _strings(value, dtype)
    if kind == "O":
        raise _unsupported(value)
    if dtype is None:
        if kind == "f":
            return array.astype(np.float32)
        if kind == "i" and array.dtype == np.int64 and not _holds_numpy(value):
            narrow = array.astype(np.int32)
            return narrow if np.array_equal(narrow, array) else array
        return array
    _check_python_kind(value, array, dtype)
    with np.errstate(over="ignore"):
        return array.astype(dtype.as_numpy_dtype)


def _unsupported(value: Any) -> TypeError:
    return TypeError(
        f"Failed to convert object of type {type(value).__name__} to Tensor. Contents: {_short(value)}. "
        "Consider casting elements to a supported type."
    )


def _uneven(value: Any) -> Exception:
    """What is wrong with nested lists that make no array: rows of different lengths, or numbers beside rows."""
    rows = [isinstance(item, list | tuple) for item in value]
    if all(rows) or rows[:1] == [True]:
        return ValueError(
            f"Argument must be a dense tensor: the rows of {_short(value)} have different lengths."
        )
    return _unsupported(value)


def _all_strings(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_all_strings, value))
    return isinstance(value, str | bytes) or getattr(getattr(value, "dtype", None), "kind", "") in ("S", "U")


def _holds_numpy(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_numpy, value))
    return isinstance(value, np.ndarray | np.generic)


def _check_python_kind(value: Any, array: Any, dtype: DType) -> None:
    kind = array.dtype.kind
    fits = {
        "b": dtype.is_bool or dtype.is_integer or dtype.is_floating or dtype.is_complex,
        "i": dtype.is_integer or dtype.is_floating or dtype.is_complex,
        "u": dtype.is_integer or dtype.is_floating or dtype.is_complex,
        "f": dtype.is_floating or dtype.is_complex or array.size == 0,
        "c": dtype.is_complex,
    }.get(kind, False)
    if not fits and array.size:
        first = array.reshape(-1)[0]
        raise TypeError(
            f"Expected {dtype.name}, got {_short(value)} of type '{type(first.item()).__name__}' instead."
        )
    if kind in "iu" and dtype.is_integer and array.size:
        low, high = int(array.min()), int(array.max())
        if low < dtype.min or high > dtype.max:
            raise ValueError(
                f"{low if low < dtype.min else high} does not fit into a tensor of {dtype.name}."
            )


def _strings(value: Any, dtype: DType | None) -> Any:
    if dtype not in (None, dtypes.string):
        raise TypeError(f"Expected {dtype.name}, got {_short(value)} of type 'str' instead.")
    array = np.array(value, dtype=object)
    for index, item in np.ndenumerate(array):
        array[index] = item.encode() if isinstance(item, str) else bytes(item)
    return array


def _from_numpy(array: Any, dtype: DType | None) -> Any:
    kind = array.dtype.kind
    if kind in "SU" or (kind == "O" and not array.size):
        return _strings(array.tolist(), dtype).reshape(array.shape)
    if kind == "O":
        return as_array(array.tolist(), dtype)
    if kind not in "fiubc":
        raise TypeError(f"A NumPy array of {array.dtype} cannot become a tensor.")
    if dtype is None:
        return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    if not dtype.is_numpy_compatible or dtype is dtypes.string:
        raise TypeError(f"Expected {dtype.name}, got a NumPy array of {array.dtype}.")
    if kind == "f" and dtype.is_integer and array.size or (kind != "b") == dtype.is_bool and array.size:
        raise TypeError(
            f"Expected {dtype.name}, got a NumPy array of {array.dtype}. Convert it with .astype first."
        )
    with np.errstate(over="ignore"):
        return np.array(array, dtype=dtype.as_numpy_dtype, order="C")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."

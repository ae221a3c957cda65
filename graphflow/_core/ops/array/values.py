"""Python values as NumPy arrays, with TensorFlow's rules for their dtype.

What a value becomes is decided once, here, for constants and for whatever is converted to a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from graphflow._core.common.arrays import array_of, kind_of, widened
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.shapes import Dimension


def as_array(value: Any, dtype: DType | None) -> Any:
    """A fresh NumPy array of a Python value, with TensorFlow's rules for the dtype.

    TypeError if the value is not of that dtype, ValueError if it is ragged.
    """
    if isinstance(value, np.ndarray | np.generic):
        return _from_numpy(widened(np.asarray(value)), dtype)
    if hasattr(
        value, "__array__"
    ):  # A column of a table of pandas, for one: it keeps its dtype as an array does.
        return as_array(_array_of(value), dtype)
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, DType):
        return np.array(value.as_datatype_enum, np.int32)
    try:
        array = _array_of(value)
        if not isinstance(value, list | tuple):  # Else it is fresh.
            array = np.array(array)
    except UnicodeDecodeError:  # Strings beside bytes that are not ASCII: NumPy has no array of both.
        return _strings(value, dtype)
    except ValueError:
        raise _uneven(value) from None
    kind = array.dtype.kind
    if kind in "SU" and not _all_strings(value):
        raise _unsupported(value)
    if kind in "SU" or (kind == "O" and all(isinstance(v, str | bytes) for v in array.reshape(-1))):
        return _strings(value, dtype)
    if kind == "O":
        sizes = _dimensions_as_ints(value)
        if sizes is None:
            raise _unsupported(value)
        return as_array(sizes, dtype)
    if dtype is None:
        arrays = list(_arrays_in(value))
        if arrays:
            return array.astype(_common_dtype(arrays, array.dtype))
        if array.dtype == np.float64:
            return array.astype(np.float32)
        if array.dtype == np.int64:
            narrow = array.astype(np.int32)
            return narrow if np.array_equal(narrow, array) else array
        return array
    _check_python_kind(value, array, dtype)
    with np.errstate(over="ignore"):
        return array.astype(dtype.as_numpy_dtype)


def _array_of(value: Any) -> Any:
    try:
        return array_of(value)
    except TypeError as error:
        raise TypeError(f"Failed to convert {_short(value)} to a tensor: {error}") from None


def _dimensions_as_ints(value: Any) -> Any:
    """Nested lists with the Dimensions in them as numbers, as shapes are written; None if there are none."""
    if isinstance(value, Dimension):
        return None if value.value is None else value.value
    if not isinstance(value, list | tuple):
        return None
    changed = [_dimensions_as_ints(item) for item in value]
    if all(item is None for item in changed):
        return None
    return [old if new is None else new for old, new in zip(value, changed, strict=True)]


def _unsupported(value: Any) -> TypeError:
    return TypeError(
        f"Failed to convert object of type {type(value).__name__} to Tensor. Contents: {_short(value)}. "
        "Consider casting elements to a supported type."
    )


def _uneven(value: Any) -> Exception:
    """Why nested lists make no array: rows of different lengths, or numbers beside rows."""
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


def _arrays_in(value: Any) -> Iterator[Any]:
    """The arrays in nested lists, without NumPy's scalars, which count as Python's numbers there."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _arrays_in(item)
    elif isinstance(value, np.ndarray):
        yield value


def holds_numpy(value: Any) -> bool:
    """Whether nested lists hold NumPy's arrays or scalars, whose dtypes count, by their first element."""
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return isinstance(value, np.ndarray | np.generic)


def _common_dtype(arrays: list[Any], joined: Any) -> Any:
    """The dtype of a list that holds arrays: theirs, and only the kind of what stands beside them."""
    own = np.result_type(*[array.dtype for array in arrays])
    if own.kind == joined.kind or own.kind not in _KINDS or joined.kind not in _KINDS:
        return own if own.kind == joined.kind else joined
    sample = {"i": 0, "u": 0, "f": 0.0, "c": 0j}[joined.kind]
    found = np.result_type(own, sample)
    if own.kind in "fc":
        return found
    return np.dtype({"i": np.int32, "f": np.float32, "c": np.complex64}.get(found.kind, found))


_KINDS: Final = "biufc"


def loses_kind(value: Any, dtype: DType) -> bool:
    """Whether a value is an array of a kind that says more than a dtype: a cast would lose what it says."""
    if not isinstance(value, np.ndarray | np.generic) or not value.size or not dtype.is_numpy_compatible:
        return False
    return _kind(value.dtype) > _kind(dtype.as_numpy_dtype)


def _kind(dtype: Any) -> int:
    """How much a kind of number can say: a truth value, an integer, a real one, a complex one; -1 for what is none."""
    return _KINDS.find(kind_of(np.dtype(dtype)).replace("u", "i"))


def _check_python_kind(value: Any, array: Any, dtype: DType) -> None:
    kind = kind_of(array.dtype)
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
    kind = kind_of(array.dtype)
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
    # As in TensorFlow, who says a dtype gets it, though fractions are lost by it, and numbers that do not fit.
    if kind == "c" and kind_of(np.dtype(dtype.as_numpy_dtype)) in "fiu":
        array = array.real  # NumPy takes it so as well, and warns.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(array, dtype=dtype.as_numpy_dtype, order="C")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."

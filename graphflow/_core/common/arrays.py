"""Arrays of what other libraries hold, for feeds and for constants alike."""

from __future__ import annotations

from ctypes import addressof, c_char
from functools import cache
from typing import Any

import numpy as np


def array_of(value: Any) -> Any:
    """A NumPy array of a value, the user's own memory if that can be.

    What has only `__dlpack__` is taken by it. TypeError or ValueError if NumPy has no array of it; TypeError, too, for
    what its library does not hand out, as PyTorch a tensor that takes part in a gradient: the text is the library's.
    """
    try:
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return widened(np.from_dlpack(value))
        array = np.asarray(value)
        return array if array.dtype.kind != "V" else widened(array)
    except (RuntimeError, BufferError) as error:
        raise TypeError(str(error)) from None


@cache
def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype, which NumPy puts together anew each time that it is asked."""
    return dtype.name


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is bfloat16, which the package ml_dtypes has added to NumPy's."""
    return dtype.kind == "V" and dtype.name == "bfloat16"


def kind_of(dtype: np.dtype[Any]) -> str:
    """The kind of a dtype as NumPy says it, but "f" of bfloat16."""
    return "f" if is_bfloat16(dtype) else dtype.kind


def finfo(dtype: np.dtype[Any]) -> Any:
    """What np.finfo says of a dtype of floats, bfloat16 among them: `eps`, `tiny`, `min`, `max`."""
    if not is_bfloat16(dtype):
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def widened(array: Any) -> Any:
    """The array, with a dtype of NumPy's own if a package has added its dtype, unless that is bfloat16.

    Those hold integers of a few bits, which become integers of eight, or numbers with fewer digits than float32.
    """
    if array.dtype.kind != "V" or array.dtype.type is np.void or is_bfloat16(array.dtype):
        return array
    found = [each for each in (np.int8, np.uint8) if np.can_cast(array.dtype, each)]
    return array.astype(found[0] if found else np.float32)


def memory_address(array: Any) -> int:
    """Where the first element of an array lies."""
    try:
        return addressof(c_char.from_buffer(array))  # A fifth of the time of the other way.
    except (TypeError, ValueError, BufferError):  # It is empty, read-only, or not contiguous.
        return int(array.__array_interface__["data"][0])

"""Arrays that are given away: the code that takes one keeps its memory, so that nothing is copied.

What reads a checkpoint makes an array for each variable that has no value yet; the plan has found that nothing but the
assignment takes it (plan/handover.py). It is known by its base, which views of it and copies do not have.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np

_LOCK: Final = threading.Lock()


class _Gift:
    """The base of an array that is given away."""

    __slots__ = ("__array_interface__", "array")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


def given(array: Any) -> Any:
    """The array, marked as one whose memory its receiver may keep."""
    return np.asarray(_Gift(array))


def taken(value: Any, dtype: Any) -> Any:
    """The memory of an array of this dtype that is given away, for the first who asks; None for any other value."""
    gift = getattr(value, "base", None)
    if not isinstance(gift, _Gift) or value.dtype != dtype or value.shape != gift.array.shape:
        return None
    with _LOCK:
        array, gift.array = gift.array, value
    return None if array is value else array

"""Donated buffers: arrays whose memory the receiver keeps, so that nothing is copied.

A restore makes an array for each variable that has no value yet. The plan has found that nothing but the assignment
takes it (plan/passes/donation.py). A donated array is known by its base, which its views and copies do not have.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np

_LOCK: Final = threading.Lock()


class _Donation:
    """The base of a donated array."""

    __slots__ = ("__array_interface__", "array")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


def donated(array: Any) -> Any:
    """The array, marked as donated: its receiver may keep the memory."""
    return np.asarray(_Donation(array))


def take_donated(value: Any, dtype: Any) -> Any:
    """The memory of a donated array of this dtype, for the first caller that asks; None for any other value."""
    donation = getattr(value, "base", None)
    if not isinstance(donation, _Donation) or value.dtype != dtype or value.shape != donation.array.shape:
        return None
    with _LOCK:
        array, donation.array = donation.array, value
    return None if array is value else array

"""Arrays of byte strings as plain bytes: the length of each as a little-endian uint64, then all of them joined."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np


def encode_strings(array: Any) -> bytes:
    """The bytes of an array of `bytes` objects, in row-major order; TypeError if one is something else."""
    flat = np.asarray(array, object).reshape(-1).tolist()
    for item in flat:
        if not isinstance(item, bytes):
            raise TypeError(f"an array of strings has {item!r}, which is not bytes")
    return np.array([len(item) for item in flat], "<u8").tobytes() + b"".join(flat)


def decode_strings(data: memoryview, shape: Sequence[int]) -> Any:
    """The array of strings; ValueError if the lengths do not fill the bytes exactly."""
    count = prod(shape)
    lengths = np.frombuffer(data[: 8 * count], "<u8").tolist()
    if len(lengths) != count or sum(lengths) != len(data) - 8 * count:
        raise ValueError("the lengths of its strings do not fit its bytes")
    result = np.empty(count, object)
    position = 8 * count
    for index, length in enumerate(lengths):
        result[index] = bytes(data[position : position + length])
        position += length
    return result.reshape(shape)

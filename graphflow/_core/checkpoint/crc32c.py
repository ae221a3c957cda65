"""CRC-32C, masked: the checksum of TensorFlow's files.

It is masked since a checksum over data that holds checksums is weak. In Python one takes a microsecond for every 20
bytes, and a graph has megabytes: hence google-crc32c, which leaves it to the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

_MASK_DELTA: Final = 0xA282EAD8
_PIECE: Final = 1 << 20
"""Bytes that are copied at once: google-crc32c takes `bytes` alone."""


def masked_checksum(data: bytes | memoryview) -> int:
    """The CRC-32C of data, rotated and shifted as TensorFlow's files have it."""
    if type(data) is bytes and len(data) <= _PIECE:
        return _masked(_extend()(0, data))
    return masked_checksum_of([data])


@cache
def _extend() -> Callable[[int, bytes], int]:
    """(checksum of what came before, data) -> checksum; records ask for it twice each."""
    from google_crc32c import extend

    found: Callable[[int, bytes], int] = extend
    return found


def _masked(checksum: int) -> int:
    return ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & 0xFFFFFFFF


def masked_checksum_of(parts: Iterable[bytes | memoryview]) -> int:
    """The masked CRC-32C of parts that follow one another."""
    extend = _extend()
    checksum: int = 0
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), _PIECE):
            checksum = extend(checksum, bytes(view[start : start + _PIECE]))
    return _masked(checksum)

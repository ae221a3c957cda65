"""CRC-32C, masked: the checksum of TensorFlow's files.

It is masked since a checksum over data that holds checksums is weak. In Python one takes a microsecond for every 20
bytes, and a graph has megabytes: hence google-crc32c, which leaves it to the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

_MASK_DELTA: Final = 0xA282EAD8
_POLYNOMIAL: Final = 0x82F63B78
_PIECE: Final = 1 << 20
"""Bytes that are copied at once: google-crc32c takes `bytes` alone."""


def masked_checksum(data: bytes | memoryview) -> int:
    """The CRC-32C of data, rotated and shifted as TensorFlow's files have it."""
    if type(data) is bytes and len(data) <= _PIECE:
        return masked(_extend()(0, data))
    return masked_checksum_of([data])


@cache
def _extend() -> Callable[[int, bytes], int]:
    """(checksum of what came before, data) -> checksum; records ask for it twice each."""
    from google_crc32c import extend

    found: Callable[[int, bytes], int] = extend
    return found


def masked(checksum: int) -> int:
    """A CRC-32C as TensorFlow's files have it."""
    return ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & 0xFFFFFFFF


def masked_checksum_of(parts: Iterable[bytes | memoryview]) -> int:
    """The masked CRC-32C of parts that follow one another."""
    return masked(checksum_of(parts))


def checksum_of(parts: Iterable[bytes | memoryview]) -> int:
    """The CRC-32C of parts that follow one another, as it is."""
    extend = _extend()
    checksum: int = 0
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), _PIECE):
            checksum = extend(checksum, bytes(view[start : start + _PIECE]))
    return checksum


# ---- checksums of parts, found in any order -------------------------------------------------------------------------


def joined(parts: Sequence[tuple[int, int]]) -> int:
    """The CRC-32C of parts that follow one another, given those of each and the lengths of the parts."""
    checksum = 0
    for found, length in parts:
        checksum = _behind_zeros(checksum, length) ^ found
    return checksum


def _behind_zeros(checksum: int, count: int) -> int:
    """What becomes of a checksum by so many zero bytes that follow.

    That is linear over the bits of the checksum: a matrix, whose powers of two serve for every count.
    """
    power = 0
    while count and checksum:
        if count & 1:
            checksum = _applied(_zeros(power), checksum)
        count >>= 1
        power += 1
    return checksum


@cache
def _zeros(power: int) -> tuple[int, ...]:
    """What becomes of each bit of a checksum by 2**power zero bytes."""
    if power:
        half = _zeros(power - 1)
        return tuple(_applied(half, column) for column in half)
    return tuple(_after_a_byte(1 << bit) for bit in range(32))


def _after_a_byte(checksum: int) -> int:
    for _ in range(8):
        checksum = checksum >> 1 ^ (_POLYNOMIAL if checksum & 1 else 0)
    return checksum


def _applied(matrix: Sequence[int], checksum: int) -> int:
    result = 0
    for column in matrix:
        if not checksum:
            break
        if checksum & 1:
            result ^= column
        checksum >>= 1
    return result

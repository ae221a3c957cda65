"""64-bit fingerprints of strings, the same as TensorFlow's on every machine: what hashed buckets are numbered by.

The function is Fingerprint64 of FarmHash (Pike and Alakuijala 2014: farmhashna::Hash64 of farmhash.cc); the combination
of two is FingerprintCat64 of TensorFlow's core/platform/fingerprint.h. The older one is MurmurHash64A (Appleby 2008),
and the one with a key is SipHash-2-4 (Aumasson and Bernstein 2012). Numbers are Python's, cut to 64 bits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_K0: Final = 0xC3A5C85C97CB3127
_K1: Final = 0xB492B66FBE98F273
_K2: Final = 0x9AE16A3B2F90404F
_CAT: Final = 0xC6A4A7935BD1E995
_OLD_SEED: Final = 0xDECAFCAFFE
KEPT: Final = 1 << 16
"""Fingerprints that are kept: the values of a categorical feature come again and again."""


def _fetch(text: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(text[at : at + size], "little")


def _rotate(value: int, by: int) -> int:
    value &= _MASK
    return (value >> by | value << (64 - by)) & _MASK


def _mix(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _pair(first: int, second: int, factor: int) -> int:
    """FarmHash's HashLen16 of two words."""
    second &= _MASK
    a = _mix(((first & _MASK) ^ second) * factor)
    return _mix((second ^ a) * factor) * factor & _MASK


def _short(text: bytes) -> int:
    """Up to 16 bytes."""
    size = len(text)
    factor = _K2 + size * 2
    if size >= 8:
        a, b = _fetch(text, 0) + _K2, _fetch(text, size - 8)
        return _pair(_rotate(b, 37) * factor + a, (_rotate(a, 25) + b) * factor, factor)
    if size >= 4:
        return _pair(size + (_fetch(text, 0, 4) << 3), _fetch(text, size - 4, 4), factor)
    if size:
        y = text[0] + (text[size >> 1] << 8)
        z = size + (text[-1] << 2)
        return _mix(y * _K2 & _MASK ^ z * _K0 & _MASK) * _K2 & _MASK
    return _K2


def _middle(text: bytes) -> int:
    """17 to 32 bytes."""
    size = len(text)
    factor = _K2 + size * 2
    a, b = _fetch(text, 0) * _K1, _fetch(text, 8)
    c, d = _fetch(text, size - 8) * factor, _fetch(text, size - 16) * _K2
    return _pair(_rotate(a + b, 43) + _rotate(c, 30) + d, a + _rotate(b + _K2, 18) + c, factor)


def _long(text: bytes) -> int:
    """33 to 64 bytes."""
    size = len(text)
    factor = _K2 + size * 2
    a, b = _fetch(text, 0) * _K2, _fetch(text, 8)
    c, d = _fetch(text, size - 8) * factor, _fetch(text, size - 16) * _K2
    y = _rotate(a + b, 43) + _rotate(c, 30) + d
    z = _pair(y, a + _rotate(b + _K2, 18) + c, factor)
    e, f = _fetch(text, 16) * factor, _fetch(text, 24)
    g, h = (y + _fetch(text, size - 32)) * factor, (z + _fetch(text, size - 24)) * factor
    return _pair(_rotate(e + f, 43) + _rotate(g, 30) + h, e + _rotate(f + a, 18) + g, factor)


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """FarmHash's WeakHashLen32WithSeeds of 32 bytes from `at`."""
    w, x, y, z = (_fetch(text, at + offset) for offset in (0, 8, 16, 24))
    a += w
    b = _rotate(b + a + z, 21)
    c = a
    a += x + y
    return (a + z) & _MASK, (b + _rotate(a, 44) + c) & _MASK


def _longest(text: bytes) -> int:
    """More than 64 bytes: 64 at a time, the last ones overlapping."""
    size, seed = len(text), 81
    y = seed * _K1 + 113
    z = _mix(y * _K2 + 113) * _K2
    v, w = (0, 0), (0, 0)
    x = (seed * _K2 + _fetch(text, 0)) & _MASK
    factor = _K1
    at, end = 0, (size - 1) // 64 * 64
    while True:
        last = at == end
        if last:
            factor = (_K1 + ((z & 0xFF) << 1)) & _MASK
            at = size - 64
            w = (w[0] + ((size - 1) & 63), w[1])
            v = (v[0] + w[0], v[1])
            w = (w[0] + v[0], w[1])
        nine = 9 if last else 1
        x = _rotate(x + y + v[0] + _fetch(text, at + 8), 37) * factor
        y = _rotate(y + v[1] + _fetch(text, at + 48), 42) * factor
        x = (x & _MASK) ^ (w[1] * nine & _MASK)
        y = (y + v[0] * nine + _fetch(text, at + 40)) & _MASK
        z = _rotate(z + w[0], 33) * factor & _MASK
        v = _weak(text, at, v[1] * factor, x + w[0])
        w = _weak(text, at + 32, z + w[1], y + _fetch(text, at + 16))
        z, x = x, z
        if last:
            break
        at += 64
    first = _pair(v[0], w[0], factor) + _mix(y) * _K0 + z
    return _pair(first, _pair(v[1], w[1], factor) + x, factor)


@lru_cache(KEPT)
def fingerprint64(text: bytes) -> int:
    """The fingerprint of a string, from 0 to 2**64 - 1."""
    size = len(text)
    if size <= 16:
        return _short(text)
    if size <= 32:
        return _middle(text)
    return _long(text) if size <= 64 else _longest(text)


def joined_fingerprint(first: int, second: int) -> int:
    """The fingerprint of two fingerprints in that order, from 0 to 2**64 - 1; numbers below 0 count as of 64 bits."""
    result = (first & _MASK) ^ _CAT
    result ^= _mix((second & _MASK) * _CAT) * _CAT & _MASK
    result = result * _CAT & _MASK
    return _mix(_mix(result) * _CAT)


@lru_cache(KEPT)
def old_fingerprint64(text: bytes) -> int:
    """The fingerprint of TensorFlow's first hashed buckets, from 0 to 2**64 - 1."""
    size = len(text)
    found = _OLD_SEED ^ (size * _CAT & _MASK)
    whole = size // 8 * 8
    for at in range(0, whole, 8):
        found = (found ^ _mix(_fetch(text, at) * _CAT) * _CAT & _MASK) * _CAT & _MASK
    if size > whole:
        found = (found ^ _fetch(text, whole)) * _CAT & _MASK
    return _mix(_mix(found) * _CAT)


def keyed_fingerprint64(key: tuple[int, int], text: bytes) -> int:
    """A fingerprint, from 0 to 2**64 - 1, that nobody foresees who does not know the key, two numbers of 64 bits."""
    low, high = (part & _MASK for part in key)
    a, b, c, d = (
        low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D, low ^ 0x6C7967656E657261, high ^ 0x7465646279746573
    )  # fmt: skip

    def rounds(count: int) -> None:
        nonlocal a, b, c, d
        for _ in range(count):
            a, c = (a + b) & _MASK, (c + d) & _MASK
            b, d = _rotate(b, 51) ^ a, _rotate(d, 48) ^ c
            a = (_rotate(a, 32) + d) & _MASK
            c = (c + b) & _MASK
            b, d = _rotate(b, 47) ^ c, _rotate(d, 43) ^ a
            c = _rotate(c, 32)

    whole = len(text) // 8 * 8
    for at in range(0, whole + 1, 8):
        word = _fetch(text, at) | (len(text) & 0xFF) << 56 if at == whole else _fetch(text, at)
        d ^= word
        rounds(2)
        a ^= word
    c ^= 0xFF
    rounds(4)
    return a ^ b ^ c ^ d

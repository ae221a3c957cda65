"""Tensors as a table of descriptors and a raw buffer each, without a copy if the array is contiguous.

A descriptor is dtype (TensorFlow's number), rank, sizes, and the length of its buffer. A small buffer follows it at
once, since a frame of its own would cost more than copying it; a large one is a frame. The buffer holds the elements in
row-major order, little-endian; for strings the ends of all elements as 64-bit integers, then their bytes.
In place of a buffer there may be a handle of shared memory (transport/shared.py). A value that was not computed, since
its branch was not taken, has a type of its own: the gradient of the branch may be on another task, which awaits it.
Nothing that comes in is trusted: every size is checked against the length of the bytes that are there.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.transport.shared import HANDLE, PartnerMemory, SharedMemoryError

MOST_TENSORS: Final = 65_535
MOST_AXES: Final = 64
SMALL: Final = 4096
"""Bytes of a buffer up to which it is part of the table."""
_MOST_KNOWN: Final = 4096
"""Descriptors of small arrays that are made and read once, and remembered."""
HEAD: Final = struct.Struct("<BBHIQ")
"""dtype, rank, where, 0, length of the buffer; the sizes, 8 bytes each, and the buffer or handle follow."""
_HERE: Final = 0
_SHARED: Final = 1
NUMBER_OF: Final = {
    np.dtype(d.as_numpy_dtype): d.as_datatype_enum
    for d in dtypes.ALL
    if d.is_numpy_compatible and d is not dtypes.string
}
NUMPY_OF: Final = {number: dtype for dtype, number in NUMBER_OF.items()}
STRING: Final = dtypes.string.as_datatype_enum
_BOOL: Final = dtypes.bool_.as_datatype_enum
_NO_VALUE: Final = 0
"""TensorFlow's number for no type."""
_NOTHING: Final = HEAD.pack(_NO_VALUE, 0, _HERE, 0, 0)
"""The descriptor of a value that was not computed."""

if sys.byteorder != "little":
    raise ImportError("graphflow's transport needs a little-endian machine.")

Buffer = bytes | memoryview


class BadMessage(ValueError):
    """Frames came that are no message as docs/wire-protocol.md describes it."""


class NotShared(BadMessage, SharedMemoryError):
    """A tensor is in memory that the sender does not share with this process."""


Share = Callable[[np.ndarray[Any, Any]], bytes | None]
"""The handle of an array, for the one who gets the message; None for what is to be in the message."""


def encode(values: Sequence[Any], share: Share | None = None) -> tuple[bytes, list[Buffer]]:
    """The table of some values, and their large buffers, which share memory with the arrays.

    A value is an array, a NumPy scalar, bytes, or None if it was not computed. TypeError for anything else.
    """
    if len(values) > MOST_TENSORS:
        raise ValueError(f"A message holds at most {MOST_TENSORS} tensors, got {len(values)}.")
    table: list[bytes] = []
    buffers: list[Buffer] = []
    buffer: Buffer
    for value in values:
        if value is None:
            table.append(_NOTHING)
            continue
        array = np.asarray(value, object) if isinstance(value, bytes) else np.asarray(value)
        small = _small(array.dtype, array.shape)
        if small is not None:
            table.append(small)
            table.append(array.tobytes())
            continue
        number = NUMBER_OF.get(array.dtype)
        handle = None
        if number is not None:
            buffer = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            if share is not None:
                handle = share(array)
        elif array.dtype == object:
            number, buffer = STRING, _encode_strings(array)
        else:
            raise TypeError(f"A value of type {array.dtype} cannot be sent to another task.")
        where = _HERE if handle is None else _SHARED
        table.append(_heads(array.ndim).pack(number, array.ndim, where, 0, len(buffer), *array.shape))
        if handle is not None:
            table.append(handle)
        elif len(buffer) <= SMALL:
            table.append(bytes(buffer))
        else:
            buffers.append(buffer)
    return b"".join(table), buffers


@lru_cache(_MOST_KNOWN)
def _small(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes | None:
    """The descriptor of an array whose buffer follows at once, as every step sends some; None for any other."""
    number = NUMBER_OF.get(dtype)
    length = math.prod(shape) * dtype.itemsize
    if number is None or length > SMALL:
        return None
    return _heads(len(shape)).pack(number, len(shape), _HERE, 0, length, *shape)


@lru_cache(_MOST_KNOWN)
def _of_small(head: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int] | None:
    """Shape, dtype and length in bytes of what `_small` describes; None for any other descriptor, right or wrong."""
    number, rank, where, zero, length = HEAD.unpack_from(head)
    dtype = NUMPY_OF.get(number)
    if dtype is None or number == _BOOL or rank > MOST_AXES or len(head) != HEAD.size + 8 * rank:
        return None
    shape = _sizes(rank).unpack_from(head, HEAD.size)
    fits = where == _HERE and not zero and 0 < length == math.prod(shape) * dtype.itemsize <= SMALL
    return (shape, dtype, length) if fits else None


@cache
def _heads(rank: int) -> struct.Struct:
    """A descriptor with that many sizes."""
    return struct.Struct(f"{HEAD.format}{rank}Q")


@cache
def _sizes(rank: int) -> struct.Struct:
    return struct.Struct(f"<{rank}Q")


def _encode_strings(array: np.ndarray[Any, Any]) -> Buffer:
    elements = array.reshape(-1).tolist()
    for element in elements:
        if not isinstance(element, bytes):
            raise TypeError(f"A value of type {type(element).__name__} cannot be sent to another task.")
    ends = np.cumsum([len(e) for e in elements], dtype=np.uint64)
    return ends.tobytes() + b"".join(elements)


def decode(
    table: Buffer, position: int, count: int, buffers: Sequence[Buffer], memory: PartnerMemory | None = None
) -> list[np.ndarray[Any, Any] | None]:
    """The `count` values that `encode` was given; arrays are read-only, and large ones share memory with the buffers.

    The table begins at a position and goes to the end. memory: the memory that the sender shares. Raises BadMessage if
    there is no such table, SharedMemoryError if the memory cannot be read any more.
    """
    values: list[np.ndarray[Any, Any] | None] = []
    large = iter(buffers)
    end = len(table)
    buffer: Buffer
    for _ in range(count):
        if end - position < HEAD.size:
            raise BadMessage("The table of tensors ends too early.")
        after = position + HEAD.size + 8 * table[position + 1]
        small = _of_small(bytes(table[position:after]))
        if small is not None:
            shape, dtype, length = small
            buffer = bytes(table[after : after + length])
            if len(buffer) == length:
                values.append(np.ndarray(shape, dtype, buffer))
                position = after + length
                continue
        number, rank, where, zero, length = HEAD.unpack_from(table, position)
        position += HEAD.size
        if rank > MOST_AXES or where > _SHARED or zero or end - position < 8 * rank:
            raise BadMessage("A tensor's descriptor is wrong.")
        if number == _NO_VALUE:
            if rank or where or length:
                raise BadMessage("What has no value has neither axes nor a buffer.")
            values.append(None)
            continue
        shape = _sizes(rank).unpack_from(table, position) if rank else ()
        position += 8 * rank
        if where == _SHARED:
            if number == STRING or end - position < HANDLE.size:
                raise BadMessage("A tensor cannot be in shared memory.")
            if memory is None:
                raise NotShared("A tensor is in memory that is not shared.")
            buffer = memory.read(bytes(table[position : position + HANDLE.size]), length).data
            position += HANDLE.size
        elif length <= SMALL:
            buffer = bytes(table[position : position + length])
            position += length
        else:
            buffer = next(large, b"")
        if length != len(buffer):
            raise BadMessage(f"A tensor of {length} bytes came with {len(buffer)}.")
        values.append(_decode_one(number, shape, buffer))
    if position != len(table) or next(large, None) is not None:
        raise BadMessage("There is more than the tensors take.")
    return values


def _decode_one(number: int, shape: tuple[int, ...], buffer: Buffer) -> np.ndarray[Any, Any]:
    count = math.prod(shape)
    if number == STRING:
        return _decode_strings(shape, count, buffer)
    dtype = NUMPY_OF.get(number)
    if dtype is None:
        raise BadMessage(f"A tensor has the unknown type {number}.")
    if count * dtype.itemsize != len(buffer) or (not count and max(shape, default=0) > sys.maxsize):
        raise BadMessage(f"A tensor of shape {shape} and type {dtype} came with {len(buffer)} bytes.")
    array = np.frombuffer(buffer, dtype)
    if number == _BOOL and count and array.view(np.uint8).max() > 1:
        raise BadMessage("A tensor of truth values holds others.")
    if len(shape) != 1:
        array = _shaped(array, shape)
    if type(buffer) is not bytes:
        array.flags.writeable = False
    return array


def _decode_strings(shape: tuple[int, ...], count: int, buffer: Buffer) -> np.ndarray[Any, Any]:
    start = 8 * count
    if start > len(buffer):
        raise BadMessage(f"A tensor of {count} strings came with {len(buffer)} bytes.")
    ends = np.frombuffer(buffer[:start], np.uint64)
    body = bytes(buffer[start:])
    bounds = [0, *ends.tolist()]
    if bounds[-1] != len(body) or any(a > b for a, b in pairwise(bounds)):
        raise BadMessage("The lengths of a tensor's strings are wrong.")
    array = np.empty(count, object)
    array[:] = [body[a:b] for a, b in pairwise(bounds)]
    array = _shaped(array, shape)
    array.flags.writeable = False
    return array


def _shaped(array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    try:
        return array.reshape(shape)
    except (ValueError, OverflowError) as error:  # Sizes beyond what NumPy can index, beside a 0.
        raise BadMessage(f"A tensor has the shape {shape}.") from error

"""The messages in the index of a checkpoint of TensorFlow's, to and from bytes.

They are protobuf messages (BundleHeaderProto and BundleEntryProto), written and read here without protobuf: a program
that only trains does not need it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from graphflow._core.checkpoint.layout import CorruptError
from graphflow._core.checkpoint.regions import Region
from graphflow._core.common.records import dataclass

_NUMBER, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
"""How the value of a field is written: what protobuf calls wire types."""
_PRODUCER: Final = 1
"""The version of the format that is written."""


@dataclass
class BundleHeader:
    """What an index says of all its tensors: how many files of data there are, and the order of their bytes."""

    num_shards: int = 0
    endianness: int = 0
    """0 for little-endian."""

    def encoded(self) -> bytes:
        """The message."""
        return _field(1, self.num_shards) + _field(2, self.endianness) + _field(3, _field(1, _PRODUCER))

    @staticmethod
    def of(data: memoryview) -> BundleHeader:
        """What a message says; CorruptError if it is none."""
        header = BundleHeader()
        for number, value in fields_of(data):
            if number == 1 and isinstance(value, int):
                header.num_shards = value
            elif number == 2 and isinstance(value, int):
                header.endianness = value
        return header


@dataclass
class BundleEntry:
    """A tensor in the index: what it is and where it lies, or which parts it has.

    shape: None if its rank is not known. slices: of each part, (offset, length) along each axis; a length of None is
    all of the axis.
    """

    dtype: int = 0
    shape: tuple[int, ...] | None = ()
    shard_id: int = 0
    offset: int = 0
    size: int = 0
    crc32c: int = 0
    slices: list[tuple[tuple[int, int | None], ...]] = field(default_factory=list)

    def encoded(self) -> bytes:
        """The message."""
        shape = b"".join(_field(2, _field(1, size), True) for size in self.shape or ())
        text = _field(1, self.dtype) + _field(2, shape, True) + _field(3, self.shard_id)
        text += _field(4, self.offset) + _field(5, self.size)
        if self.crc32c:
            text += varint(6 << 3 | _FOUR_BYTES) + struct.pack("<I", self.crc32c)
        for part in self.slices:
            extents = (
                _field(1, start) + (b"" if length is None else varint(2 << 3) + varint(length))
                for start, length in part
            )
            text += _field(7, b"".join(_field(1, extent, True) for extent in extents), True)
        return text

    @staticmethod
    def of(data: memoryview) -> BundleEntry:
        """What a message says; CorruptError if it is none."""
        entry = BundleEntry()
        for number, value in fields_of(data):
            if isinstance(value, int):
                if number == 1:
                    entry.dtype = value
                elif number == 3:
                    entry.shard_id = value
                elif number == 4:
                    entry.offset = value
                elif number == 5:
                    entry.size = value
                elif number == 6:
                    entry.crc32c = value
            elif number == 2:
                entry.shape = shape_of(value)
            elif number == 7:
                entry.slices.append(extents_in(value))
        return entry


def extents_of(region: Region) -> tuple[tuple[int, int | None], ...]:
    """A box as an entry lists it."""
    return tuple(zip(region.offsets, region.lengths, strict=True))


def shape_of(data: memoryview) -> tuple[int, ...] | None:
    """The shape that a TensorShapeProto says; None if its rank is not known."""
    sizes: list[int] = []
    for number, value in fields_of(data):
        if number == 2 and not isinstance(value, int):
            size = 0
            for inner, found in fields_of(value):
                if inner == 1 and isinstance(found, int):
                    size = found
            sizes.append(size)
        elif number == 3 and value:
            return None
    return tuple(sizes)


def extents_in(data: memoryview) -> tuple[tuple[int, int | None], ...]:
    """A box as a TensorSliceProto lists it."""
    return tuple(_extent(part) for part in messages_of(data, 1))


def _extent(data: memoryview) -> tuple[int, int | None]:
    start, length = 0, None
    for number, value in fields_of(data):
        if number == 1 and isinstance(value, int):
            start = value
        elif number == 2 and isinstance(value, int):
            length = value
    return start, length


def messages_of(data: memoryview, wanted: int) -> Iterator[memoryview]:
    """The messages of one field of a message."""
    for number, value in fields_of(data):
        if number == wanted and not isinstance(value, int):
            yield value


# ---- fields ---------------------------------------------------------------------------------------------------------


def _field(number: int, value: int | bytes, empty: bool = False) -> bytes:
    """A field with a number or with bytes; nothing if that is 0 or empty, unless `empty`."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value) if value else b""
    return varint(number << 3 | _BYTES) + varint(len(value)) + value if value or empty else b""


def fields_of(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message, in their order: the number of each, and what it holds."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == _NUMBER:
            number, at = read_varint(data, at)
            yield tag >> 3, number - (1 << 64) if number >> 63 else number
            continue
        if kind == _BYTES:
            size, at = read_varint(data, at)
        elif kind in (_FOUR_BYTES, _EIGHT_BYTES):
            size = 4 if kind == _FOUR_BYTES else 8
        else:
            raise CorruptError("an entry of its index cannot be read")
        if at + size > len(data):
            raise CorruptError("an entry of its index cannot be read: it ends too soon")
        part = data[at : at + size]
        at += size
        yield tag >> 3, part if kind == _BYTES else int.from_bytes(part, "little")


def varint(number: int) -> bytes:
    """A number from 0 on, seven bits a byte, the lowest first."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the position behind it."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
    raise CorruptError("a number in it has no end")

"""Files of records, as TensorFlow writes them (TFRecord): event files are such, and so are files of examples.

A record is its length (8 bytes, little endian), a checksum of these 8 bytes, the data, and a checksum of the data.
The checksums are CRC-32C, masked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, Final

from graphflow._core.checkpoint.crc32c import masked_checksum
from graphflow._core.common.limits import VARIABLE, most_bytes
from graphflow.errors import DataLossError

_HEADER: Final = struct.Struct("<QI")
_LENGTH: Final = struct.Struct("<Q")
_CHECKSUM: Final = struct.Struct("<I")
_PIECE: Final = 1 << 24
"""Bytes that are read at once: a length that lies allocates no more than this beyond what the file holds."""


def record(data: bytes) -> bytes:
    """The bytes of one record."""
    length = _LENGTH.pack(len(data))
    return b"".join(
        (length, _CHECKSUM.pack(masked_checksum(length)), data, _CHECKSUM.pack(masked_checksum(data)))
    )


def write_record(file: BinaryIO, data: bytes) -> int:
    """Appends one record to a file.

    Args:
        file: A file that is open for writing bytes.
        data: What the record holds.

    Returns:
        How many bytes it takes.
    """
    framed = record(data)
    file.write(framed)
    return len(framed)


def read_records(file: BinaryIO, path: str = "", limit: int | None = None) -> Iterator[bytes]:
    """The data of each record of a file, from where it stands to its end.

    Never more memory is used than the longest record that is there takes.

    Args:
        file: A file that is open for reading bytes.
        path: The name that errors give the file.
        limit: The most bytes that a record may have, by default what limits.most_bytes says, so that a compressed
            file of a few bytes cannot fill the memory.

    Returns:
        The data of a record.

    Raises:
        DataLossError: A checksum does not hold, a record is longer than `limit`, or the file ends within a record;
            names file and byte.
    """
    offset = 0
    most = most_bytes() if limit is None else limit
    while True:
        header = _read(file, _HEADER.size)
        if not header:
            return
        if len(header) < _HEADER.size:
            raise _loss(path, offset, "the file ends within its header")
        length, checksum = _HEADER.unpack(header)
        if masked_checksum(header[: _LENGTH.size]) != checksum:
            raise _loss(path, offset, "the checksum of its length does not hold")
        if length > most:
            more = "" if limit is not None else f" (set {VARIABLE} if more are meant)"
            raise _loss(path, offset, f"it has {length} bytes, more than the {most} that are allowed{more}")
        data = _read(file, length)
        end = _read(file, _CHECKSUM.size)
        if len(data) < length or len(end) < _CHECKSUM.size:
            raise _loss(path, offset, f"the file ends within its {length} bytes of data")
        if masked_checksum(data) != _CHECKSUM.unpack(end)[0]:
            raise _loss(path, offset, "the checksum of its data does not hold")
        yield data
        offset += _HEADER.size + length + _CHECKSUM.size


def _read(file: BinaryIO, size: int) -> bytes:
    """As many bytes as there are, up to `size`."""
    if size <= _PIECE:
        return file.read(size)
    pieces = []
    while size:
        piece = file.read(min(size, _PIECE))
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _loss(path: str, offset: int, what: str) -> DataLossError:
    where = f"{path}: " if path else ""
    return DataLossError(
        None,
        None,
        f"{where}the record at byte {offset} cannot be read: {what}. The file is damaged or cut off.",
    )

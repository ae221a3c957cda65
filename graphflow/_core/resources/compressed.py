"""Files of records and texts that may be compressed as a whole: none, GZIP or ZLIB, as TensorFlow names them."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO, Final, cast

import graphflow.errors as errors
from graphflow._core.checkpoint.atomic import os_error
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.common.limits import check_size, most_bytes, too_large

_PIECE: Final = 1 << 18
KINDS: Final = ("", "GZIP", "ZLIB")


def open_to_read(path: str, compression: str = "") -> BinaryIO:
    """The bytes of a file, decompressed as they are read.

    Reading raises what `reading_errors` lists if the file is damaged.

    Args:
        path: The file.
        compression: "GZIP", "ZLIB" or "" for none.

    Returns:
        A file that is open for reading bytes.

    Raises:
        NotFoundError: There is none.
        InvalidArgumentError: The path has a zero byte.
    """
    path = user_path(path)
    try:
        if compression == "GZIP":
            return cast(BinaryIO, gzip.open(storage.opened(path) if storage.is_remote(path) else path, "rb"))
        file = storage.opened(path)
    except OSError as error:
        raise os_error(error, path, "Cannot read") from error
    except ValueError as error:  # a zero byte in the name
        raise errors.InvalidArgumentError(None, None, f"Cannot read {path!r}: {error}") from error
    return cast(BinaryIO, io.BufferedReader(_Inflated(file), _PIECE)) if compression == "ZLIB" else file


reading_errors: Final = (OSError, EOFError, zlib.error)
"""What reading a damaged file may raise."""


def read_whole(file: BinaryIO, path: str, compression: str = "") -> bytes:
    """All bytes of an open file; InvalidArgumentError if a compressed or a special one has more than are allowed."""
    if not compression and (storage.is_remote(path) or stat.S_ISREG(os.fstat(file.fileno()).st_mode)):
        return file.read()
    found = file.read(most_bytes() + 1)
    check_size(f"what {path} holds", len(found))
    return found


def whole_lines(file: BinaryIO, path: str) -> Iterator[bytes]:
    """The lines of an open file with their ends; InvalidArgumentError for one that is longer than is allowed."""
    most = most_bytes()
    for line in iter(partial(file.readline, most + 3), b""):
        if len(line.removesuffix(b"\n").removesuffix(b"\r")) > most:
            raise errors.InvalidArgumentError(None, None, too_large(f"a line of {path}", "more"))
        yield line


def read_lines(file: BinaryIO, path: str) -> Iterator[bytes]:
    """The same lines without their ends."""
    for line in whole_lines(file, path):
        yield line.removesuffix(b"\n").removesuffix(b"\r")


class _Inflated(io.RawIOBase):
    """The decompressed bytes of a file of zlib's format."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inflate = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills a buffer; 0 at the end."""
        while not self._inflate.eof:
            data = self._inflate.unconsumed_tail or self._file.read(_PIECE)
            found = self._inflate.decompress(data, len(buffer))
            if found:
                buffer[: len(found)] = found
                return len(found)
            if not data:
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
        return 0

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        super().close()


class _Deflated(io.RawIOBase):
    """A file that is written, of zlib's format or, with `window` 31, of gzip's."""

    def __init__(self, file: BinaryIO, level: int, window: int) -> None:
        self._file = file
        self._deflate = zlib.compressobj(level, zlib.DEFLATED, window)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Compresses and writes bytes."""
        self._file.write(self._deflate.compress(data))
        return len(data)

    def flush(self) -> None:
        """Hands what was written so far to the file."""
        if not self._file.closed:
            self._file.write(self._deflate.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def close(self) -> None:
        """Ends the compressed data and closes the file."""
        if not self._file.closed:
            self._file.write(self._deflate.flush())
            self._file.close()
        super().close()


def open_to_write(path: str, compression: str = "", level: int = -1) -> BinaryIO:
    """A new file whose bytes are compressed as they are written; the same bytes give the same file.

    Args:
        path: The file.
        compression: "GZIP", "ZLIB" or "" for none.
        level: How hard it is compressed, from 0 to 9; -1 for what is usual.

    Returns:
        A file that is open for writing bytes.

    Raises:
        OpError: It cannot be written.
    """
    path = user_path(path)
    try:
        file = storage.opened(path, "wb")
    except OSError as error:
        raise os_error(error, path, "Cannot write") from error
    window = {"GZIP": 31, "ZLIB": 15}.get(compression)
    return file if window is None else cast(BinaryIO, _Deflated(file, level, window))

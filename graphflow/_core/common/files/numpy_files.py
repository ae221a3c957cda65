"""Reads .npy and .npz files that may come from others: no pickles, and nothing allocated that the file does not hold.

NumPy allocates what the head of an array says before it reads the rest, and unpacks what a zip file holds however large
that becomes.
"""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
import zlib
from typing import Any, BinaryIO, Final

import numpy as np

from graphflow._core.common.files import storage
from graphflow._core.common.limits import most_bytes, too_large

reading_errors: Final = (OSError, ValueError)
"""What load raises for a file that is no such file, or damaged."""
_DAMAGED: Final = (
    *(EOFError, KeyError, TypeError, OverflowError, MemoryError, RecursionError, RuntimeError, SyntaxError),
    *(zlib.error, zipfile.BadZipFile, struct.error, tokenize.TokenError),
)
"""What NumPy and zipfile raise beside these: of both, whatever their parsers meet."""


def load(path: str) -> Any:
    """The array of a .npy file, or a dictionary of those of a .npz file; `reading_errors` list what it raises."""
    try:
        return _loaded(path)
    except _DAMAGED as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _loaded(path: str) -> Any:
    with storage.opened(path) as file:
        start = file.read(4)
        file.seek(0)
        if start[:2] != b"PK":
            return _array(file, storage.status(path).size)
        with zipfile.ZipFile(file) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            size = sum(info.file_size for info in members)
            if size > most_bytes():
                raise ValueError(too_large(f"what {path} unpacks to", size))
            found = {}
            for info in members:
                with archive.open(info) as member:
                    found[info.filename.removesuffix(".npy")] = _array(member, info.file_size)  # type: ignore[arg-type]
            return found


def _array(file: BinaryIO, size: int) -> Any:
    """An array from where a file stands, of which `size` bytes are left; ValueError if its head asks for more."""
    start = file.tell()
    version = np.lib.format.read_magic(file)
    read_head = {
        (1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)  # fmt: skip
    if read_head is None:
        raise ValueError(f"its format is version {version[0]}.{version[1]}, which only structures need")
    shape, _, dtype = read_head(file)
    needed, there = math.prod(shape) * dtype.itemsize, size - (file.tell() - start)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are programs and are not read")
    if needed > there or any(length < 0 for length in shape):
        raise ValueError(
            f"an array of shape {list(shape)} and {dtype} takes {needed} bytes, and {there} are there"
        )
    file.seek(start)
    return np.lib.format.read_array(file, allow_pickle=False)

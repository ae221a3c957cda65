"""Frames that members of a group send each other: with a small value itself, with a handle of a large one.

    head      see HEAD: what it is, the round it belongs to, of which rank it comes, dtype and rank of the value
    axes      8 bytes each
    text      the terms of the operation, a zero byte, its name
    payload   nothing; the value itself; a handle of shared memory; or the ranks whose shares come with the message

docs/wire-protocol.md has the bytes. As with every message, nothing that comes in is trusted.
"""

from __future__ import annotations

import functools
import math
import struct
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np

from graphflow._core.transport.frames.tensors import NUMBER_OF, NUMPY_OF, BadMessage, Buffer

HEAD: Final = struct.Struct("<BBBBHHqqQQqQ")
"""What, where, dtype, rank of the value, rank of the member, bytes of text, group, instance, count, communicator, rows,
length of the value."""
_MOST_AXES: Final = 64
_FLOAT: Final = np.dtype(np.float32)


class What(IntEnum):
    """The kinds of frames."""

    CONTRIBUTION = 1
    REDUCED = 2
    TAKEN = 3


class Where(IntEnum):
    """Where the value of a frame is."""

    NOWHERE = 0
    HERE = 1
    SHARED = 2
    BESIDE = 3


class Frame(NamedTuple):
    """One frame.

    rows: how many this member put in, and ~rows if others may put in other numbers. length: of the value, in bytes.
    payload: what is behind the text.
    """

    what: What
    group: int
    instance: int
    round: int
    communicator: int
    rank: int
    where: Where = Where.NOWHERE
    dtype: Any = _FLOAT
    shape: tuple[int, ...] = ()
    terms: str = ""
    name: str = ""
    rows: int = 0
    length: int = 0
    payload: Any = b""

    def encode(self) -> bytes:
        """The frame's bytes."""
        text = _text(self.terms, self.name)
        head = HEAD.pack(
            self.what, self.where, NUMBER_OF[self.dtype], len(self.shape), self.rank, len(text), self.group,
            self.instance, self.round, self.communicator, self.rows, self.length,
        )  # fmt: skip
        axes = struct.pack(f"<{len(self.shape)}Q", *self.shape) if self.shape else b""
        return b"".join((head, axes, text, self.payload))

    @staticmethod
    def decode(data: Buffer) -> Frame:
        """The frame that these bytes hold; BadMessage if they hold none."""
        if len(data) < HEAD.size:
            raise BadMessage("A frame of a collective is too short.")
        what, where, number, axes, rank, texts, group, instance, round_, communicator, rows, length = (
            HEAD.unpack_from(data)
        )
        begin = HEAD.size + 8 * axes
        end = begin + texts
        dtype = NUMPY_OF.get(number)
        if (
            what not in _WHATS
            or where not in _WHERES
            or axes > _MOST_AXES
            or end > len(data)
            or dtype is None
        ):
            raise BadMessage("A frame of a collective is wrong.")
        shape = struct.unpack_from(f"<{axes}Q", data, HEAD.size) if axes else ()
        terms, name = _texts(bytes(data[begin:end]))
        return Frame(
            _WHATS[what], group, instance, round_, communicator, rank, _WHERES[where], dtype, shape, terms, name,
            rows, length, memoryview(data)[end:],
        )  # fmt: skip

    def value(self) -> Any:
        """The value in this frame, flat; BadMessage if its length does not fit the shape."""
        if len(self.payload) != self.length or self.length != self.bytes:
            raise BadMessage("The value of a collective has another length than its shape says.")
        return np.frombuffer(self.payload, self.dtype)

    @property
    def bytes(self) -> int:
        """The number of bytes of a value of this dtype and shape."""
        return math.prod(self.shape) * int(self.dtype.itemsize)


_WHATS: Final = {int(w): w for w in What}
_WHERES: Final = {int(w): w for w in Where}


@functools.lru_cache(maxsize=4096)
def _text(terms: str, name: str) -> bytes:
    return terms.encode() + b"\0" + name.encode()


@functools.lru_cache(maxsize=4096)
def _texts(text: bytes) -> tuple[str, str]:
    terms, _, name = text.decode("utf-8", "replace").partition("\0")
    return terms, name

"""What goes over the socket of the compile server: length, then compressed JSON, each bounded before it is unpacked.

A client says {"environment": text, "sources": [text, ...]}; sources are named by their keys in what comes back. With
"waits" it says whether its program stands still until it has them. The server says {"process": number, "requests": how
many it has} first, then {"key", "stored": true}, or {"key", "error", "passing", "pause"}, and {"waiting": number} now
and then while a client waits. Machine code never goes over it: the client takes it from the cache, where it is signed.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final

MOST_FRAME_BYTES: Final = 1 << 20
MOST_TEXT_BYTES: Final = 8 << 20
"""Of one frame when it is unpacked."""
MOST_SOURCE_CHARACTERS: Final = 150_000
"""Of one kernel; it fits into a frame however badly it can be compressed."""
_LENGTH: Final = struct.Struct("!I")
_BLOCK_BYTES: Final = 1 << 18
"""Sources are put into frames of about so many bytes."""


class BadFrame(ValueError):
    """What came is no message of this protocol."""


def pack(message: dict[str, Any]) -> bytes:
    """A message as one frame; BadFrame if it is too large for one."""
    text = json.dumps(message).encode()
    data = zlib.compress(text, 1)
    if len(data) > MOST_FRAME_BYTES or len(text) > MOST_TEXT_BYTES:
        raise BadFrame(f"a message of {len(text)} bytes is too large for the compile server")
    return _LENGTH.pack(len(data)) + data


def pack_waits(environment: str, waits: bool) -> bytes:
    """A frame that says whether the client's program stands still until its kernels are there."""
    return pack({"environment": environment, "sources": [], "waits": waits})


def pack_sources(environment: str, sources: list[str]) -> Iterator[bytes]:
    """Frames that ask for kernels."""
    block: list[str] = []
    size = 0
    for source in sources:
        if block and size + len(source) > _BLOCK_BYTES:
            yield pack({"environment": environment, "sources": block})
            block, size = [], 0
        block.append(source)
        size += len(source)
    if block:
        yield pack({"environment": environment, "sources": block})


class Parser:
    """Takes what comes in blocks apart into messages; holds at most one frame and one block."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, block: bytes) -> list[dict[str, Any]]:
        """The messages that are whole with this block; BadFrame for what is none."""
        self._buffer += block
        found = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MOST_FRAME_BYTES:
                raise BadFrame(f"a frame of {length} bytes")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                break
            found.append(_unpack(self._buffer[_LENGTH.size : end]))
            self._buffer = self._buffer[end:]
        return found


def _unpack(data: bytes) -> dict[str, Any]:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, MOST_TEXT_BYTES)
        if not unpacker.eof or unpacker.unused_data:
            raise BadFrame("a frame that is too large, or not whole")
        message = json.loads(text)
    except (zlib.error, ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from error
    if not isinstance(message, dict):
        raise BadFrame("a message that is no dictionary")
    return message

"""Large frames in pieces, on their way through ZeroMQ.

ZeroMQ puts what it receives into memory that it gets from the system and gives back for every frame, and for a large
one getting it takes longer than everything else. So a large frame goes ahead of its message, a message for each piece,
and is put together in memory that is used again; the pieces need little memory, and copying them is cheap while they
are in the processor's cache.
"""

from __future__ import annotations

import mmap
import struct
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from graphflow._core.common.timeouts import IDLE_PIECES_SECONDS
from graphflow._core.transport.frames.tensors import BadMessage, Buffer
from graphflow._core.transport.local_channels import MOST_FRAME_BYTES, MOST_FRAMES

PIECE_BYTES: Final = 512 << 10
MOST_WHOLE_BYTES: Final = 512 << 10
"""Bytes of a frame up to which it stays in its message. ZeroMQ takes none that is larger: so much memory it gives to a
stranger, too, before it knows that it is one."""
_HEAD: Final = struct.Struct("<2s6xQ")
"""What a piece begins with, in a frame of its own: a word, zeros, and the length of the frame that it is of."""
_WORD: Final = b"GP"
_LEARNED_BYTES: Final = 31 << 20
"""The C library keeps as much freed memory as twice the largest block that was freed, and learns from none of 32 MB."""
_HUGE_FROM: Final = 8 << 20
"""Bytes from which memory is in huge pages, of 2 MiB: half a one is lost on average."""


def cut(frames: Sequence[Buffer]) -> Iterator[tuple[bytes, memoryview]]:
    """The pieces of the frames of a message that go ahead of it, each as two frames."""
    for frame in frames:
        if len(frame) > MOST_WHOLE_BYTES:
            head, view = _HEAD.pack(_WORD, len(frame)), memoryview(frame)
            for start in range(0, len(frame), PIECE_BYTES):
                yield head, view[start : start + PIECE_BYTES]


def is_cut(frame: Buffer) -> bool:
    """Whether a frame goes in pieces; in its place stands an empty one."""
    return len(frame) > MOST_WHOLE_BYTES


class Pool:
    """Memory for large frames, used again when no array is on it any more. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: dict[int, tuple[Any, mmap.mmap]] = {}
        """The memory in use, by the id of the array that all arrays on it are views of, with a reference to that."""
        self._freed: deque[mmap.mmap] = deque()
        self._idle: list[tuple[float, mmap.mmap]] = []
        np.empty(_LEARNED_BYTES, np.uint8)  # The memory of pieces that piled up then is there for the next.

    def empty(self, length: int) -> np.ndarray[Any, Any]:
        """That many bytes, with what was there before in them."""
        with self._lock:
            self._collect()
            fits = [n for n, (_, m) in enumerate(self._idle) if length <= len(m) <= length + (length >> 2)]
            memory = self._idle.pop(fits[-1])[1] if fits else _new(length)
        root = np.frombuffer(memory, np.uint8)
        key = id(root)

        def gone(_: Any) -> None:  # Maybe in the middle of something else that this thread does here.
            self._used.pop(key, None)
            self._freed.append(memory)

        self._used[key] = weakref.ref(root, gone), memory
        return root[:length]

    def trim(self) -> None:
        """Frees what has not been used for some seconds."""
        with self._lock:
            self._collect()
            limit = time.monotonic() - IDLE_PIECES_SECONDS
            self._idle = [(since, m) for since, m in self._idle if since > limit]

    def _collect(self) -> None:
        while self._freed:
            self._idle.append((time.monotonic(), self._freed.popleft()))


def _new(length: int) -> mmap.mmap:
    """Memory from the system, in huge pages where it has any: what is new costs time by the page."""
    memory = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if length >= _HUGE_FROM and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


class Pieces:
    """Puts together what one sender sends in pieces. For one thread."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._whole: deque[memoryview] = deque()
        self._filling: memoryview | None = None
        self._filled = 0

    def take(self, frames: list[Buffer]) -> list[Buffer] | None:
        """The message that has come with these frames, None if they are a piece.

        BadMessage if they are neither.
        """
        if frames and frames[0][:2] == _WORD:
            try:
                self._add(frames)
            except BadMessage:
                self._drop()
                raise
            return None
        if not all(map(len, frames)):
            if self._filling is not None or sum(not len(f) for f in frames) != len(self._whole):
                self._drop()
                raise BadMessage("What came in pieces is not what is missing.")
            frames = [f if len(f) else self._whole.popleft() for f in frames]
        elif (
            self._whole or self._filling is not None
        ):  # The connection was lost in between, and is a new one.
            self._drop()
        return frames

    def _add(self, frames: Sequence[Buffer]) -> None:
        if len(frames) != 2 or len(frames[0]) != _HEAD.size:
            raise BadMessage("A piece of a frame is wrong.")
        length = _HEAD.unpack(frames[0])[1]
        if self._filling is None:
            if not MOST_WHOLE_BYTES < length <= MOST_FRAME_BYTES or len(self._whole) >= MOST_FRAMES:
                raise BadMessage(f"A frame of {length} bytes came in pieces.")
            try:
                self._filling, self._filled = self._pool.empty(length).data, 0
            except (OSError, MemoryError, OverflowError) as error:
                raise BadMessage(f"There is no memory for a frame of {length} bytes.") from error
        end = self._filled + len(frames[1])
        if length != len(self._filling) or not self._filled < end <= length:
            raise BadMessage(f"The pieces of a frame of {length} bytes do not fit together.")
        self._filling[self._filled : end] = frames[1]
        self._filled = end
        if end == length:
            self._whole.append(self._filling)
            self._filling = None

    def _drop(self) -> None:
        self._whole.clear()
        self._filling = None

"""Large tensors between processes of one user on one machine: in memory that both map, so that nobody copies them.

The memory is that of files without a name (memfd_create), which the kernel frees with the last process that uses them.
A message says in which file a tensor lies instead of holding it. The receiver opens the sender's file as
/proc/PID/fd/NUMBER, which Linux allows to the same user alone. It maps it read-only and keeps the mapping, since the
memory is used again.

While a receiver reads a tensor, its memory is pinned. A pin is a byte in the sender's control file: the sender sets it,
and the receiver clears it when its last array on that memory is gone. Until then the sender neither writes to the
memory nor uses it for something else. Memory that is pinned for a process whose connection is gone is never used again,
as that process may still be there to read it.

Two processes find out whether they can do this by doing it: in its hello each says which its control file is, and the
other opens it and finds the same secret in it.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
import secrets
import stat
import struct
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping
from typing import Any, Final

import numpy as np

from graphflow._core.checkpoint.parallel import copy_into
from graphflow._core.common.arrays import memory_address
from graphflow._core.common.timeouts import IDLE_SHARED_SECONDS
from graphflow._core.resources.borrowing import borrowed_from

Array = np.ndarray[Any, Any]

SHARED_FROM: Final = 64 << 10
"""Smaller tensors do not go through shared memory: copying them costs less than saying in which file they are."""
HANDLE: Final = struct.Struct("<QQQQ")
"""Number of the file, its inode, its size, and the number of the pin. The tensor is at the beginning of the file."""
_CONTROL_BYTES: Final = 64 << 10
_SECRET_BYTES: Final = 32
_PAGE: Final = 64 << 10
_MOST_MAPPED: Final = 256


class SharedMemoryError(OSError):
    """A tensor in shared memory cannot be read: its sender is gone, or this process has no more files."""


class _Segment:
    """A file in memory, mapped."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.file = os.memfd_create("graphflow", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        weakref.finalize(self, os.close, self.file).atexit = False
        os.ftruncate(self.file, size)
        fcntl.fcntl(self.file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.inode = os.fstat(self.file).st_ino
        self.memory = mmap.mmap(self.file, size)
        self.address = memory_address(np.frombuffer(self.memory, np.uint8))
        self.root: weakref.ref[Array] | None = None
        self.pins: dict[int, Hashable] = {}
        """Its pins that were not seen to have ended, and the process that each is for."""
        self.idle_since = 0.0
        self.abandoned = False


class SharedMemory:
    """The memory that a process shares with others; with nobody on machines without memfd_create. Thread-safe.

    wanted: whether it shares any. If not, the memory is still used again within the process.
    """

    def __init__(self, wanted: bool = True) -> None:
        self.wanted = wanted
        self.usable = hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")
        """Whether this machine offers such memory."""
        self._secret = secrets.token_bytes(_SECRET_BYTES)
        self._control: _Segment | None = None
        if self.usable:
            self._control = _Segment(_CONTROL_BYTES)
            self._control.memory[:_SECRET_BYTES] = self._secret
            self._pinned = np.frombuffer(self._control.memory, np.uint8)
        self._numbers = list(range(_CONTROL_BYTES - 1, _SECRET_BYTES - 1, -1))
        self._lock = threading.Lock()
        self._roots: dict[int, _Segment] = {}
        """The segments in use here, by the id of the array that all arrays on one are views of."""
        self._unused: deque[_Segment] = deque()
        self._idle: list[_Segment] = []
        """The segments that no array here is on; some may still be pinned."""
        self.has_partners = False
        """Whether a process is known that can open this memory; before that, nothing is put here."""

    @property
    def address(self) -> Mapping[str, Any]:
        """How another process opens the control file, for a hello; empty if nothing is shared."""
        if self._control is None or not self.wanted:
            return {}
        return {
            "pid": os.getpid(), "user": os.geteuid(), "file": self._control.file, "inode": self._control.inode,
            "secret": self._secret.hex(),
        }  # fmt: skip

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        with self._lock:
            return sum(s.size for s in (*self._roots.values(), *self._idle, *self._unused))

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array in shared memory. Its contents are undefined."""
        dtype = np.dtype(dtype)
        length = math.prod(shape) * dtype.itemsize
        with self._lock:
            segment = self._take(length)
            root = np.frombuffer(segment.memory, np.uint8)
            key = id(root)
            self._roots[key] = segment

            def gone(_: Any) -> None:  # May be called while this thread is in another method.
                self._roots.pop(key, None)
                if self.usable:
                    self._unused.append(segment)

            segment.root = weakref.ref(root, gone)
        array: Array = root[:length].view(dtype).reshape(shape)
        return array

    def copied(self, array: Array) -> Array:
        """A copy of an array; in this memory if it is large and another process may open it."""
        if array.nbytes < SHARED_FROM or not self.has_partners or array.dtype.hasobject:
            return array.copy()
        copy = self.empty(array.shape, array.dtype)
        copy_into(copy, array)
        return copy

    def holds(self, array: Array) -> bool:
        """Whether an array lies in this memory."""
        return self._segment(array) is not None

    def pinned(self, array: Array) -> bool:
        """Whether another process may be reading an array that lies in this memory."""
        segment = self._segment(array)
        if segment is None:
            return False
        with self._lock:
            return self._in_use(segment)

    def pin(self, array: Array, holder: Hashable) -> bytes | None:
        """Pins an array for one process, and returns the handle by which that process finds it.

        None if the array is too small to be worth it, or if no pin is left. An array that does not lie in this memory
        is copied to it. It may not be written to while `pinned`.
        """
        if array.nbytes < SHARED_FROM:
            return None
        segment = self._segment(array) if array.flags.c_contiguous else None
        if segment is None or memory_address(array) != segment.address:
            array = self.copied(array)
            segment = self._segment(array)
        if segment is None:
            return None
        with self._lock:
            if not self._numbers:
                return None
            number = self._numbers.pop()
            segment.pins[number] = holder
            self._pinned[number] = 1
        return HANDLE.pack(segment.file, segment.inode, segment.size, number)

    def abandon(self, holder: Hashable) -> None:
        """Gives up the segments that are pinned for a process that is gone or unreachable: they are not used again."""
        with self._lock:
            for segment in (*self._roots.values(), *self._idle, *self._unused):
                if holder in segment.pins.values() and self._in_use(segment):
                    segment.abandoned = holder in segment.pins.values()
            self._idle = [s for s in self._idle if not s.abandoned]
            self._collect()

    def trim(self) -> None:
        """Frees the segments that were not used for some seconds."""
        with self._lock:
            self._collect()
            limit = time.monotonic() - IDLE_SHARED_SECONDS
            self._idle = [s for s in self._idle if s.idle_since > limit or self._in_use(s)]

    def close(self) -> None:
        """Frees the segments that no array here is on. Partners keep what they are still reading."""
        with self._lock:
            self.usable = self.has_partners = False
            self._numbers.clear()
            self._idle.clear()
            self._unused.clear()
            self._pinned = np.ones(_CONTROL_BYTES, np.uint8)
            self._control = None

    # ---- with the lock ----------------------------------------------------------------------------------------------

    def _take(self, length: int) -> _Segment:
        """A segment of at least so many bytes, and not many more."""
        self._collect()
        for position in range(len(self._idle) - 1, -1, -1):
            segment = self._idle[position]
            if length <= segment.size <= length + (length >> 2) + _PAGE and not self._in_use(segment):
                del self._idle[position]
                return segment
        return _Segment(max(_PAGE, -(-length // _PAGE) * _PAGE))

    def _collect(self) -> None:
        while self._unused:
            segment = self._unused.popleft()
            if not segment.abandoned:
                segment.idle_since = time.monotonic()
                self._idle.append(segment)

    def _in_use(self, segment: _Segment) -> bool:
        for number in [n for n in segment.pins if not self._pinned[n]]:
            del segment.pins[number]
            self._numbers.append(number)
        return segment.abandoned or bool(segment.pins)

    # ---- without the lock -------------------------------------------------------------------------------------------

    def _segment(self, array: Array) -> _Segment | None:
        root = borrowed_from(array).base
        segment = self._roots.get(id(root))
        return (
            segment if segment is not None and segment.root is not None and segment.root() is root else None
        )


class PartnerMemory:
    """The memory that another process shares with this one. For one thread, but its arrays may be collected in any.

    Raises SharedMemoryError if this process cannot open it.
    """

    def __init__(self, address: Mapping[str, Any]) -> None:
        try:
            self._pid = int(address["pid"])
            file = int(address["file"]), int(address["inode"])
            secret = bytes.fromhex(address["secret"])
            if address["user"] != os.geteuid() or len(secret) != _SECRET_BYTES:
                raise ValueError("It is another user's.")
            control = self._open(*file, _CONTROL_BYTES, True)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise SharedMemoryError(f"The other process shares no memory: {error}") from None
        if control[:_SECRET_BYTES] != secret:
            raise SharedMemoryError("There is another process's memory.")
        self._pinned = np.frombuffer(control, np.uint8)
        self._owner = os.getpid()
        self._mapped: OrderedDict[int, mmap.mmap] = OrderedDict()
        self._used: set[int] = set()
        """The mappings that were used since the last `trim`."""
        self._arrays: dict[int, weakref.ref[Array]] = {}

    def read(self, handle: bytes, length: int) -> Array:
        """The bytes that a handle stands for, read-only; the pin ends with the last array on them."""
        file, inode, size, number = HANDLE.unpack(handle)
        if length > size or not _SECRET_BYTES <= number < _CONTROL_BYTES:
            raise SharedMemoryError(f"{length} bytes cannot be in {size}.")
        mapped = self._mapped.get(inode)
        if mapped is None or len(mapped) != size:
            mapped = self._mapped[inode] = self._open(file, inode, size, False)
            if len(self._mapped) > _MOST_MAPPED:
                self._mapped.popitem(last=False)
        self._mapped.move_to_end(inode)
        self._used.add(inode)
        root = np.frombuffer(mapped, np.uint8, length)

        def gone(_: Any) -> None:
            self._arrays.pop(number, None)
            if os.getpid() == self._owner:  # In a child the same array is still used by its parent.
                self._pinned[number] = 0

        self._arrays[number] = weakref.ref(root, gone)
        return root

    def close(self) -> None:
        """Forgets all mappings."""
        self._mapped.clear()

    def trim(self) -> None:
        """Forgets the mappings that were not used since it was last called; arrays on them keep them."""
        for inode in self._mapped.keys() - self._used:
            del self._mapped[inode]
        self._used.clear()

    def _open(self, file: int, inode: int, size: int, writes: bool) -> mmap.mmap:
        try:
            found = os.open(
                f"/proc/{self._pid}/fd/{file}",
                (os.O_RDWR if writes else os.O_RDONLY) | os.O_CLOEXEC | os.O_NONBLOCK,
            )
        except OSError as error:
            raise SharedMemoryError(
                error.errno, f"Shared memory cannot be opened: {error.strerror}"
            ) from None
        try:
            status = os.fstat(found)
            if status.st_ino != inode or status.st_size != size or not stat.S_ISREG(status.st_mode):
                raise SharedMemoryError("The shared memory is another's.")
            if not fcntl.fcntl(found, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
                raise SharedMemoryError("The shared memory may shrink.")
            return mmap.mmap(found, size, access=mmap.ACCESS_WRITE if writes else mmap.ACCESS_READ)
        except SharedMemoryError:
            raise
        except (OSError, ValueError) as error:
            raise SharedMemoryError(f"Shared memory cannot be mapped: {error}") from None
        finally:
            os.close(found)

"""Waits until one of many files can be read or written, and knows the function to call for each."""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Any, Final, Protocol

READ: Final = select.POLLIN
WRITE: Final = select.POLLOUT
_MOST_EVENTS: Final = 64


class _File(Protocol):
    def fileno(self) -> int: ...


class Files:
    """The files that one thread waits for. They may be changed from other threads only while that does not wait."""

    def __init__(self) -> None:
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        self._poll: Any = self._epoll or select.poll()
        self.called: dict[int, Callable[[int], None]] = {}
        """The function to call with the events of each file, by the file's number."""

    def watch(self, file: int | _File, called: Callable[[int], None]) -> None:
        """Adds a file: waits until it can be read."""
        number = file if isinstance(file, int) else file.fileno()
        self._poll.register(number, READ)
        self.called[number] = called

    def until_writable(self, file: _File, wanted: bool) -> None:
        """Sets whether it waits, too, until a file can be written."""
        self._poll.modify(file.fileno(), READ | WRITE if wanted else READ)

    def unwatch(self, file: _File) -> None:
        """Removes a file, which is about to be closed."""
        del self.called[file.fileno()]
        self._poll.unregister(file.fileno())

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """The files that are ready, each with its events; nothing after so many seconds."""
        if self._epoll is not None:
            return self._epoll.poll(seconds, _MOST_EVENTS)
        found: list[tuple[int, int]] = self._poll.poll(1000 * seconds)
        return found

    def close(self) -> None:
        """Removes all files."""
        self.called.clear()
        if self._epoll is not None:
            self._epoll.close()

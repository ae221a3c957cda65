r"""What tasks print: whole lines, each with its task before it, and the traceback of one that failed.

A line that a task writes over by "\r", such as a progress line, is one line here, of which the last state counts. On a
terminal it is shown as it changes, in the row that the next line of any task takes; elsewhere every few seconds.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Sequence
from typing import IO, Final

from graphflow._core.common.timeouts import PLAIN_PROGRESS_SECONDS

_COLOURS: Final = (36, 33, 32, 35, 34, 31)
"""Of the terminal: cyan, yellow, green, magenta, blue, red."""
_KEPT: Final = 1000
_LAST: Final = 15
_LONGEST: Final = 1 << 20
"""Bytes after which a line is cut: what never ends one must not be kept for ever."""
_CLEARED: Final = "\033[K"
"""Clears a terminal's row from here on, where the state of a progress line may stand."""
_TRACEBACK: Final = "Traceback (most recent call last):"
_CHAINED: Final = ("During handling of the above exception", "The above exception was the direct cause")


def prefix(name: str, place: int, width: int, coloured: bool) -> str:
    """What stands before the lines of a task; `place` chooses its colour, `width` is that of the longest name."""
    text = f"[{name}]".ljust(width + 2)
    return f"\033[{_COLOURS[place % len(_COLOURS)]}m{text}\033[0m " if coloured else f"{text} "


class Lines:
    """One stream of a task: takes bytes as they come, writes whole lines. Not thread-safe.

    kept: the last lines, without prefixes; one of more than a megabyte is cut into several. terminal: whether `to` is
    one, by default as it says.
    """

    def __init__(self, before: str, to: IO[str], terminal: bool | None = None) -> None:
        self._before = before
        self._to = to
        self._terminal = to.isatty() if terminal is None else terminal
        self._rest = bytearray()
        """What has come of the line that has not ended; of one that is written over, "\\r" and the last state."""
        self._shown = b""
        self._shown_at = time.monotonic()
        self.kept: deque[str] = deque(maxlen=_KEPT)

    def feed(self, data: bytes) -> None:
        """Takes bytes; b"" ends the last line."""
        first, *others = data.split(b"\n")
        self._rest += first
        ended = bool(others) or (not data and bool(self._rest))
        if ended:
            self._end_line()
        for line in others[:-1]:
            self._rest += line
            self._end_line()
        if others:
            self._rest += others[-1]
        if b"\r" in data or self._rest.startswith(b"\r"):
            self._write_over()
        while len(self._rest) > _LONGEST:
            rest, self._rest = self._rest[_LONGEST:], self._rest[:_LONGEST]
            self._end_line()
            self._rest, ended = rest, True
        if ended:
            self._to.flush()

    def _end_line(self) -> None:
        text = _state(self._rest).decode("utf-8", "replace")
        self._rest.clear()
        self._shown = b""
        self.kept.append(text)
        self._to.write(f"{self._before}{text}".rstrip() + (_CLEARED if self._terminal else "") + "\n")

    def _write_over(self) -> None:
        """Keeps the last state of a line that is written over, and shows it if it is time."""
        state = _state(self._rest)
        if b"\r" not in self._rest.rstrip(b"\r") and not self._rest.startswith(b"\r"):
            return  # A mere end of a line, of which the other half is to come, or a state that is the first.
        self._rest = bytearray(b"\r" + state + (b"\r" if self._rest.endswith(b"\r") else b""))
        if not state or state == self._shown:
            return
        if not self._terminal and time.monotonic() - self._shown_at < PLAIN_PROGRESS_SECONDS:
            return
        self._shown, self._shown_at = state, time.monotonic()
        text = state.decode("utf-8", "replace")
        if self._terminal:
            room = max(10, shutil.get_terminal_size().columns - len(self._before) - 1)
            self._to.write(f"{self._before}{text[:room]}{_CLEARED}\r")
        else:
            self._to.write(f"{self._before}{text}".rstrip() + "\n")
        self._to.flush()


def _state(line: bytes | bytearray) -> bytes:
    """The last state of a line that may have been written over."""
    return bytes(line).rstrip(b"\r").rpartition(b"\r")[2]


def last_words(lines: Sequence[str]) -> list[str]:
    """The last traceback among lines, with those that it was chained to, and what follows; else the last lines."""
    starts = [i for i, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    if not starts:
        return list(lines)[-_LAST:]
    start = starts.pop()
    while starts and any(line.startswith(_CHAINED) for line in list(lines)[max(0, start - 3) : start]):
        start = starts.pop()
    return list(lines)[start:]

"""What tasks print: whole lines, each with its task before it, and the traceback of one that failed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import IO, Final

_COLOURS: Final = (36, 33, 32, 35, 34, 31)
"""Of the terminal: cyan, yellow, green, magenta, blue, red."""
_KEPT: Final = 1000
_LAST: Final = 15
_TRACEBACK: Final = "Traceback (most recent call last):"
_CHAINED: Final = ("During handling of the above exception", "The above exception was the direct cause")


def prefix(name: str, place: int, width: int, coloured: bool) -> str:
    """What stands before the lines of a task; `place` chooses its colour, `width` is that of the longest name."""
    text = f"[{name}]".ljust(width + 2)
    return f"\033[{_COLOURS[place % len(_COLOURS)]}m{text}\033[0m " if coloured else f"{text} "


class Lines:
    """One stream of a task: takes bytes as they come, writes whole lines. Not thread-safe.

    kept: the last lines, without prefixes.
    """

    def __init__(self, before: str, to: IO[str]) -> None:
        self._before = before
        self._to = to
        self._rest = b""
        self.kept: deque[str] = deque(maxlen=_KEPT)

    def feed(self, data: bytes) -> None:
        """Takes bytes; b"" ends the last line."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data and self._rest:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip("\r")
            self.kept.append(text)
            self._to.write(f"{self._before}{text}".rstrip() + "\n")
        if lines:
            self._to.flush()


def last_words(lines: Sequence[str]) -> list[str]:
    """The last traceback among lines, with those that it was chained to, and what follows; else the last lines."""
    starts = [i for i, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    if not starts:
        return list(lines)[-_LAST:]
    start = starts.pop()
    while starts and any(line.startswith(_CHAINED) for line in list(lines)[max(0, start - 3) : start]):
        start = starts.pop()
    return list(lines)[start:]

"""A line at the bottom of the terminal that says what a process is at, rewritten in place, or what it waits for.

Whatever else is written to the terminal meanwhile, by the program, a log or an operation, has its own line: the
line is wiped away before and drawn again afterwards. For that the `write` of standard output and standard error is
taken over while the line is there, on the stream objects themselves, because log handlers keep those.
"""

from __future__ import annotations

import logging
import math
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, TextIO

from graphflow._core.common.timeouts import STATUS_LOG_SECONDS

_log = logging.getLogger(__name__)

_WIPE: Final = "\r\x1b[K"


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def notebook_bar() -> Any:
    """What draws progress bars in this process's notebook: tqdm's class, if it is installed; None elsewhere."""
    interactive = sys.modules.get("IPython")
    with suppress(Exception):  # A notebook without bars is one.
        if interactive is not None and hasattr(interactive.get_ipython(), "kernel"):
            return import_module("tqdm.auto").tqdm
    return None


class NotebookLine:
    """A bar below a notebook's cell, in place of a StatusLine; bar: the class that draws it."""

    on_terminal = True

    def __init__(self, bar: Any) -> None:
        self._bar = bar(unit="step")

    def show(self, text: str, step: int = 0, last: int | None = None) -> None:
        """Puts `text` beside a bar at `step` of `last`."""
        self._bar.total, self._bar.n = last, step
        self._bar.set_postfix_str(text)

    def close(self, keep: bool = True) -> None:
        """Leaves the bar as it is."""
        self._bar.close()


class StatusLine:
    """A line at the bottom of the terminal that other output does not mangle. Thread-safe.

    On a stream that is no terminal every text is a line of its own.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream: Any = sys.stderr if stream is None else stream
        self.on_terminal = is_terminal(self._stream)
        self._lock = threading.RLock()
        self._text = ""
        self._write: Callable[[str], Any] = self._stream.write
        self._taken: list[tuple[Any, Any, bool, Any]] = []
        self._midline = False
        if self.on_terminal:
            for other in {id(s): s for s in (self._stream, sys.stdout, sys.stderr)}.values():
                if is_terminal(other):
                    self._take_over(other)

    def _take_over(self, stream: Any) -> None:
        original, nested = stream.write, "write" in getattr(stream, "__dict__", {})

        def write(text: str) -> Any:
            with self._lock:
                if self._text and not self._midline:
                    self._write(_WIPE)
                    self._stream.flush()
                written = original(text)
                if text:
                    self._midline = not text.endswith("\n")
                if self._text and not self._midline:
                    stream.flush()
                    self._write(self._text)
                    self._stream.flush()
            return written

        try:
            stream.write = write
        except AttributeError:  # a stream that has no room for it: its output may share a line with ours
            return
        self._taken.append((stream, write, nested, original))

    def show(self, text: str, step: int = 0, last: int | None = None) -> None:
        """Puts `text` in place of the line that is there; a line needs no numbers, a bar does."""
        with self._lock:
            if not self.on_terminal:
                self._write(text + "\n")
            elif not self._midline:
                width = shutil.get_terminal_size().columns - 1
                self._text = text[:width]
                self._write(_WIPE + self._text)
            self._stream.flush()

    def close(self, keep: bool = True) -> None:
        """Leaves the last text as an ordinary line, or wipes it away, and gives the streams back."""
        with self._lock:
            if self._text and not self._midline:
                self._write("\n" if keep else _WIPE)
                self._stream.flush()
            self._text = ""
            for stream, write, nested, original in self._taken:
                if stream.write is not write:
                    continue  # another line lies over this one, which from now on lets everything through
                if nested:
                    stream.write = original
                else:
                    del stream.write
            self._taken = []


class Waiting:
    """Says what a process waits for: on a terminal at once and in place, elsewhere in the log now and then.

    quiet_secs: for how long nothing is logged at first.
    """

    def __init__(self, max_wait_secs: float, quiet_secs: float = STATUS_LOG_SECONDS) -> None:
        self._begin = time.monotonic()
        self._limit = max_wait_secs
        self._line = StatusLine() if is_terminal(sys.stderr) else None
        self._logged = quiet_secs - STATUS_LOG_SECONDS

    def seconds(self) -> float:
        """How long it has been."""
        return time.monotonic() - self._begin

    def update(self, what: str) -> None:
        """Still waiting for `what`."""
        waited = self.seconds()
        limit = f" of at most {seconds_text(self._limit)}" if math.isfinite(self._limit) else ""
        text = f"waiting for {what} ({seconds_text(waited)}{limit})"
        if self._line is not None:
            self._line.show(text)
        elif waited >= self._logged + STATUS_LOG_SECONDS:
            self._logged = waited
            _log.warning("Still %s.", text)

    def close(self) -> None:
        """The wait is over."""
        if self._line is not None:
            self._line.close(keep=False)


def seconds_text(seconds: float) -> str:
    """A time as people write it: 0:07, 12:30, 3:05:00."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

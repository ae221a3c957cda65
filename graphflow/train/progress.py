"""One line on the terminal that says how far training is, rewritten in place.

Whatever else is written to the terminal meanwhile, by the program, a log or an operation, has its own line: the
progress line is wiped away before and drawn again afterwards. For that the `write` of standard output and standard
error is taken over while the line is there, on the stream objects themselves, because log handlers keep those.
"""

from __future__ import annotations

import logging
import math
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

import numpy as np

from graphflow.graph.elements import Tensor
from graphflow.graph.graph import Graph
from graphflow.graph.keys import GraphKeys

_log = logging.getLogger(__name__)

_REDRAW_SECS: Final = 0.2
_PLAIN_SECS: Final = 10.0
_LOG_SECS: Final = 10.0
_WIPE: Final = "\r\x1b[K"
_LOSS_NAME: Final = re.compile(r"(^|[/_])(loss|cost)(_\d+)?$", re.IGNORECASE)


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


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

    def show(self, text: str) -> None:
        """Puts `text` in place of the line that is there."""
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

    def __init__(self, max_wait_secs: float, quiet_secs: float = _LOG_SECS) -> None:
        self._begin = time.monotonic()
        self._limit = max_wait_secs
        self._line = StatusLine() if is_terminal(sys.stderr) else None
        self._logged = quiet_secs - _LOG_SECS

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
        elif waited >= self._logged + _LOG_SECS:
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


class TrainingProgress:
    """The progress line of a training loop: step, rate, loss where a run has computed one anyway, time left."""

    def __init__(self, graph: Graph, losses: list[Any], last_step: Callable[[], int | None]) -> None:
        self._line = StatusLine()
        self._period = _REDRAW_SECS if self._line.on_terminal else _PLAIN_SECS
        self._losses = {
            t for t in [*graph.get_collection(GraphKeys.LOSSES), *losses] if isinstance(t, Tensor)
        }
        self._last_step = last_step
        self._next = time.monotonic() + self._period
        self._points: list[tuple[float, int]] = []
        self._loss: Any = None

    def begin(self, step: int) -> None:
        """A session begins at a step: the rate is counted anew."""
        self._points = [(time.monotonic(), step)]

    def due(self) -> bool:
        """Whether it is time to draw the line again."""
        return time.monotonic() >= self._next

    def update(self, step: int, fetches: Any, values: Any) -> None:
        """Draws the line after a run that reached `step`, and fetched these values."""
        now = time.monotonic()
        self._next = now + self._period
        self._points.append((now, step))
        while len(self._points) > 2 and now - self._points[1][0] > 10:
            del self._points[0]
        loss = self._find_loss(fetches, values)
        if loss is not None:
            self._loss = loss
        self._line.show(self._text(step))

    def _text(self, step: int) -> str:
        last = self._last_step()
        parts = [f"step {step}" if last is None else f"step {step} of {last}"]
        (start, first), (now, _) = self._points[0], self._points[-1]
        rate = (step - first) / (now - start) if now > start else 0.0
        if rate > 0:
            parts.append(f"{rate:.3g} steps/s" if rate < 100 else f"{rate:.0f} steps/s")
        if self._loss is not None:
            parts.append(f"loss {self._loss:.4g}")
        if rate > 0 and last is not None and last > step:
            parts.append(f"{seconds_text((last - step) / rate)} left")
        return " · ".join(parts)

    def _find_loss(self, fetches: Any, values: Any) -> float | None:
        """The value of a fetched tensor that is known to be a loss, or is a scalar named so."""
        if values is None:
            return None
        if isinstance(fetches, Tensor):
            if fetches in self._losses or (fetches.dtype.is_floating and _LOSS_NAME.search(fetches.op.name)):
                return float(values) if np.ndim(values) == 0 else None
            return None
        pairs: Any = ()
        if isinstance(fetches, Mapping):
            pairs = zip(fetches.values(), values.values(), strict=True)
        elif isinstance(fetches, list | tuple):
            pairs = zip(fetches, values, strict=True)
        found = [loss for f, v in pairs if (loss := self._find_loss(f, v)) is not None]
        return found[0] if found else None

    def close(self) -> None:
        """Leaves the last state on the terminal."""
        self._line.close()

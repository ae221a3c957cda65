"""What happens in a client's steps, as tasks tell it: what operations print and wait for, which is shown, and traces.

Traces are kept until the run asks for them.

Text goes to sys.stderr and sys.stdout as they are at that time, so that notebooks and tests see it; each line begins
with the task that it is from.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from graphflow._core.cluster.server.step_output import AWAITED
from graphflow._core.common.shown.status_line import Waiting
from graphflow._core.graph.devices import short_task
from graphflow._core.transport.frames.message import Kind, Message

_MISTAKES: Final = (TypeError, ValueError, KeyError)


class StepEvents:
    """Takes messages that are no answers, in the thread that waits for one. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, str] = {}
        """The task whose line each stream is in the middle of."""
        self._local = threading.local()
        self.waits: dict[int, Waiting] = {}
        """By thread, what shows for whom its run waits."""

    def over(self) -> None:
        """The run of this thread is over: it does not wait any more."""
        waiting = self.waits.pop(threading.get_ident(), None)
        if waiting is not None:
            waiting.close()

    def __call__(self, message: Message) -> None:
        """Shows or keeps what happened on a task."""
        if message.kind is Kind.TRACE:
            self._traces().append((dict(message.details), time.perf_counter_ns()))
        elif message.kind is Kind.OUTPUT:
            with suppress(*_MISTAKES):  # The server is authenticated; what it garbles is not worth a run.
                self._show(message.details)

    def _traces(self) -> list[tuple[dict[str, Any], int]]:
        found: list[tuple[dict[str, Any], int]] = self._local.__dict__.setdefault("traces", [])
        return found

    def take_traces(self) -> list[tuple[dict[str, Any], int]]:
        """The traces that this thread's last run has brought, each with the time.perf_counter_ns() when it came."""
        found, self._local.traces = self._traces(), []
        return found

    def _show(self, details: Mapping[str, Any]) -> None:
        task = short_task(str(details["task"]))
        pieces = [(str(stream), str(text)) for stream, text in details["lines"]]
        for awaited in [text for stream, text in pieces if stream == AWAITED][-1:]:
            thread = threading.get_ident()
            if thread not in self.waits:
                self.waits[thread] = Waiting(math.inf, quiet_secs=0)
            self.waits[thread].update(awaited)
            pieces = [(stream, text) for stream, text in pieces if stream != AWAITED]
        if details["dropped"]:
            more = "s" if details["dropped"] > 1 else ""
            hidden = f"({details['dropped']} line{more} not shown: more was printed than is sent)\n"
            pieces.append(("stderr", hidden))
        with self._lock:
            texts: dict[str, str] = {}
            for stream, text in pieces:
                texts[stream] = texts.get(stream, "") + self._tagged(task, stream, text)
            for stream, text in texts.items():
                target = sys.stdout if stream == "stdout" else sys.stderr
                with suppress(OSError, ValueError, AttributeError):  # It is closed, or there is none.
                    target.write(text)
                    target.flush()

    def _tagged(self, task: str, stream: str, text: str) -> str:
        """The text with the task before each line; it may go on with a line of that task's."""
        before = self._open.pop(stream, "")
        start = "" if before == task else "\n" if before else ""
        lines = text.split("\n")
        last = lines.pop()
        shown = [f"{task}: {line}\n" for line in lines] + ([f"{task}: {last}"] if last else [])
        if before == task and shown:
            shown[0] = shown[0].removeprefix(f"{task}: ")
        if last or (not lines and before == task):
            self._open[stream] = task
        return start + "".join(shown)

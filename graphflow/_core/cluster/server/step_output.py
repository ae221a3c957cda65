"""What the operations of a step print on a task, on its way to the client that asked for the step.

Printing must never hold a step up, and nobody may fill the memory of a task or of the network with it. So lines are
taken at a rate, with a burst, and up to a sum; what is beyond that is counted, and the client is told the number.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import graphflow.errors as errors
from graphflow._core.common.standard_error import PROGRAM_LINE
from graphflow._core.resources.run import Run
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext

Result = TypeVar("Result")

BURST: Final = 1000
"""Pieces of text that are taken at once, and then each second."""
BURST_BYTES: Final = 1 << 20
MOST_TEXT: Final = 64 << 10
"""Characters of one piece of text; the rest is cut off."""
MOST_BYTES: Final = 64 << 20
"""Bytes that one step prints on one task."""
AWAITED: Final = "awaited"
"""The stream of what a run waits for, which the client shows in a line of its own (client/step_events.py)."""
_PIECE: Final = 32
"""What a piece costs beside its text."""
_LOCK: Final = threading.Lock()
_SPEAKING: Final = threading.local()
"""`context`: that of the step whose Python function this thread runs."""


class StepOutput:
    """What a step has printed and what was not sent yet. No clock of its own, no socket; not thread-safe."""

    def __init__(self, now: float) -> None:
        self._pieces: list[tuple[str, str]] = []
        self._dropped = 0
        self._left = float(BURST)
        self._left_bytes = float(BURST_BYTES)
        self._then = now
        self._sum = 0

    def add(self, stream: str, text: str, now: float) -> bool:
        """Takes a piece of text for "stderr" or "stdout"; whether that is the first to be sent."""
        passed = now - self._then
        self._then = now
        self._left = min(BURST, self._left + passed * BURST)
        self._left_bytes = min(BURST_BYTES, self._left_bytes + passed * BURST_BYTES)
        if len(text) > MOST_TEXT:
            text = f"{text[:MOST_TEXT]}... ({len(text) - MOST_TEXT} more characters)\n"
        size = len(text) + _PIECE
        if self._left < 1 or self._left_bytes < size or self._sum + size > MOST_BYTES:
            self._dropped += 1
            return False
        self._left -= 1
        self._left_bytes -= size
        self._sum += size
        self._pieces.append((stream, text))
        return len(self._pieces) == 1

    def take(self, last: bool) -> dict[str, Any]:
        """What is to be sent now, as the details of a message; {} if there is nothing.

        How much was dropped is told with what is not, or at last.
        """
        if not self._pieces and not (last and self._dropped):
            return {}
        found = {"lines": self._pieces, "dropped": self._dropped}
        self._pieces, self._dropped = [], 0
        return found


class StepContext(RunContext):
    """The context of a step on a task: what its operations print goes to the client.

    key: the step. tell: called, in any thread, when there is something to send that `take_output` gives.
    """

    __slots__ = (
        "_at_work", "_lock", "_output", "_over", "_settling", "_tell", "changed", "error", "has_written", "key",
        "takings",
    )  # fmt: skip

    def __init__(
        self, store: ResourceStore, key: tuple[int, int], tell: Callable[[StepContext], None]
    ) -> None:
        super().__init__(store)
        self.key = key
        self._tell = tell
        self.has_written = False
        """Whether there was anything to tell."""
        self.changed = False
        """Whether the step has begun to change something beside what it takes elements from."""
        self.takings: list[Callable[[], None]] = []
        """What gives back the elements that it has taken."""
        self._over = False
        """Whether the step has ended before it was through: what it takes from now on goes back at once."""
        self._settling = threading.Lock()
        """Guards the three."""
        self._output: StepOutput | None = None
        self._lock = threading.Lock()
        self._at_work = 0
        self.error: BaseException | None = None
        """What the device failed with that failed first: others fail after it."""

    def running(
        self, run: Run, function: Callable[[Any, Sequence[Any]], Result], values: Sequence[Any]
    ) -> Result:
        """As the store's, around a stage that waits for nobody: the step counts as active once for all its devices.

        Devices share no variable, so what one changes in place the others do not read.
        """
        with self._lock:
            self._at_work += 1
            if self._at_work == 1:
                self.store.enter()
        try:
            return function(run, values)
        except BaseException as error:
            run.failed(error)
            raise
        finally:
            with self._lock:
                self._at_work -= 1
                if not self._at_work:
                    self.store.leave()

    gives_back = True

    def took(self, give_back: Callable[[], None]) -> None:
        """Elements were taken."""
        with self._settling:
            if not self._over:
                self.takings.append(give_back)
                return
        give_back()
        raise errors.CancelledError(None, None, "The run was cancelled.")

    def begin_change(self) -> None:
        """Something is about to change."""
        with self._settling:
            if self._over:
                raise errors.CancelledError(None, None, "The run was cancelled.")
            self.changed = True

    def end(self, back: bool) -> None:
        """The step ends before it is through; `back`: what it has taken goes back, unless it was used."""
        with self._settling:
            self._over = True
            takings, self.takings = self.takings, []
        self.cancel()
        if back and not self.changed:
            for give_back in takings:
                give_back()

    def failed(self, error: BaseException) -> None:
        """One of its devices has failed."""
        with self._lock:
            self.error = self.error or error
        super().failed(error)

    def write(self, text: str, stream: str = "stderr") -> None:
        """Sends text to a stream of the client's; never waits. Thread-safe."""
        now = time.monotonic()
        with _LOCK:
            if self._output is None:
                self._output = StepOutput(now)
                self.has_written = True
            first = self._output.add(stream, text, now)
        if first:
            self._tell(self)

    def say_awaited(self, text: str) -> None:
        """Tells the client what its run waits for."""
        self.write(text, AWAITED)

    def take_output(self, last: bool) -> dict[str, Any]:
        """What was printed and is not sent yet; `last`: nothing will follow."""
        if self._output is None:
            return {}
        with _LOCK:
            return self._output.take(last)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the user's; what it logs meanwhile goes to the client."""
        before = getattr(_SPEAKING, "context", None)
        _SPEAKING.context = self
        try:
            return function(*arguments)
        finally:
            _SPEAKING.context = before


def to_client(record: logging.LogRecord) -> bool:
    """A filter of the logger "graphflow": what a function of a step logs goes to the client.

    It is not written here, too, unless the program of the task has set up Python's logging.
    """
    context: StepContext | None = getattr(_SPEAKING, "context", None)
    if context is None:
        return True
    context.write(f"{PROGRAM_LINE.format(record)}\n")
    return bool(logging.getLogger().handlers)

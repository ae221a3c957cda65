"""A compiler process as its owner sees it: how it is asked, how it ends, when it is started again.

The owner is the compile server, or if there can be none, the process that needs the kernels. A helper that dies is
started again; one that dies again and again is left alone for a while, longer each time. It is never given up, as a
server runs for weeks and what killed it may be mended.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import tempfile
import time
from typing import Final

from graphflow._core.codegen.cpu import isolated
from graphflow._core.common.compile_timeouts import (
    COMPILE_SECONDS,
    COMPILER_EXIT_SECONDS,
    COMPILER_PAUSE_SECONDS,
    LONGEST_COMPILER_PAUSE_SECONDS,
)
from graphflow._core.common.records import dataclass

_RESTARTS: Final = 3
"""Deaths of the helper in a row after which it is left alone for a while."""
_BLOCK_BYTES: Final = 1 << 16


class HelperDied(Exception):
    """The compiler process has ended, or does not answer in time."""


@dataclass
class Restarts:
    """When a helper that dies is started again. Times are those of time.monotonic()."""

    deaths: int = 0
    """How often it has died since it last answered."""
    alone_until: float = 0.0

    def died(self, now: float) -> float:
        """Notes a death; for how many seconds it is left alone."""
        self.deaths += 1
        if self.deaths <= _RESTARTS:
            return 0.0
        longer = float(1 << min(self.deaths - _RESTARTS - 1, 20))
        pause = min(LONGEST_COMPILER_PAUSE_SECONDS, COMPILER_PAUSE_SECONDS * longer)
        self.alone_until = now + pause
        return pause

    def left_alone(self, now: float) -> float:
        """For how many seconds more it is not started."""
        return max(0.0, self.alone_until - now)


class Helper:
    """The running compiler process, which makes one kernel at a time; HelperDied from all methods but stop()."""

    def __init__(self, command: list[str] | None = None) -> None:
        """Starts it: by this command, or by that of isolated.py."""
        # A pipe could fill up and block the helper.
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self.process = subprocess.Popen(
                command or isolated.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._messages,
                env=isolated.environment(),
                cwd=isolated.WORKING_DIRECTORY,
            )
        except OSError as error:
            self._messages.close()
            raise HelperDied(str(error)) from error
        assert self.process.stdin is not None and self.process.stdout is not None
        self.requests = self.process.stdin.fileno()
        self.answers = self.process.stdout.fileno()
        os.set_blocking(self.requests, False)
        os.set_blocking(self.answers, False)
        self._unsent = b""
        self._received = b""
        self._deadline = 0.0

    @property
    def is_sending(self) -> bool:
        """Whether send_more() has something to do once the process reads again."""
        return bool(self._unsent)

    def send(self, key: str, source: str) -> None:
        """Begins a request, without waiting."""
        self._unsent += json.dumps({"key": key, "source": source}).encode() + b"\n"
        self._deadline = time.monotonic() + COMPILE_SECONDS
        self.send_more()

    def send_more(self) -> None:
        """Goes on sending, without waiting."""
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self.requests, self._unsent[:_BLOCK_BYTES]) :]
        except BlockingIOError:
            return
        except OSError as error:
            raise HelperDied(self._how_it_ended() or str(error)) from error

    def receive(self) -> dict[str, str] | None:
        """The answer, if it is there; without waiting."""
        try:
            while b"\n" not in self._received:
                block = os.read(self.answers, 1 << 20)
                if not block:
                    raise HelperDied(self._how_it_ended())
                self._received += block
        except BlockingIOError:
            return None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HelperDied(str(error)) from error
        line, _, self._received = self._received.partition(b"\n")
        try:
            answer: dict[str, str] = json.loads(line)
        except ValueError as error:
            raise HelperDied(f"not an answer: {error}") from error
        return answer

    def check(self, now: float) -> None:
        """Raises HelperDied if the answer to what was sent is overdue."""
        if now > self._deadline:
            raise HelperDied(f"no answer within {COMPILE_SECONDS:.0f} s")

    def ask(self, key: str, source: str) -> dict[str, str]:
        """Sends a request and waits for its answer."""
        self.send(key, source)
        while True:
            answer = self.receive()
            if answer is not None:
                return answer
            left = self._deadline - time.monotonic()
            sending = [self.requests] if self._unsent else []
            try:
                _, writable, _ = select.select([self.answers], sending, [], max(0.0, left))
            except (OSError, ValueError) as error:  # It was closed meanwhile.
                raise HelperDied(str(error)) from error
            if writable:
                self.send_more()
            self.check(time.monotonic())

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f"exit status {self.process.wait(COMPILER_EXIT_SECONDS)} {self._last_message()}"
        return "it has closed its output"

    def _last_message(self) -> str:
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def stop(self) -> None:
        """Ends the process now."""
        self.process.kill()
        self.abandon()
        self.process.wait()

    def abandon(self) -> None:
        """Closes this side's pipes; all that a forked child may do with its parent's helper."""
        for pipe in (self.process.stdin, self.process.stdout, self._messages):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

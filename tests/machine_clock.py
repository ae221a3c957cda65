"""A clock that goes as fast as the machine: for promises that are times, in tests that share the machine with others.

A small process works and sleeps in turns, 20 ms a round if nothing holds it up, and counts the rounds. Seconds of this
clock are rounds: on an idle machine they are seconds, on a loaded one they last as much longer as the work of everybody
does. So what is late of itself is found under any load, and a machine that is slow makes no test fail. It works half of
the time, since who works little is let through on a busy machine as if that were idle: leave it when the time is told.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import Final

_WORK_SECONDS: Final = 0.01
_SLEEP_SECONDS: Final = 0.01
_ROUND_SECONDS: Final = _WORK_SECONDS + _SLEEP_SECONDS
_COUNT: Final = f"""
import os, sys, time
parent = os.getppid()
rounds = 0
while os.getppid() == parent:
    end = time.process_time() + {_WORK_SECONDS}
    while time.process_time() < end:
        pass
    time.sleep({_SLEEP_SECONDS})
    rounds += 1
    os.pwrite(int(sys.argv[1]), rounds.to_bytes(8, "little"), 0)
"""


class MachineClock:
    """A context manager; inside, `seconds` is the time that has passed on a machine of which one has a share."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _COUNT, str(self._file.fileno())],
            pass_fds=[self._file.fileno()],
        )

    @property
    def pid(self) -> int:
        """The process that counts."""
        return self._process.pid

    @property
    def seconds(self) -> float:
        """Seconds since the clock goes."""
        self._file.seek(0)
        return int.from_bytes(self._file.read(8), "little") * _ROUND_SECONDS

    def __enter__(self) -> MachineClock:
        limit = time.monotonic() + 60
        while not self.seconds:
            assert self._process.poll() is None and time.monotonic() < limit, "the clock does not go"
            time.sleep(0.001)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._file.close()

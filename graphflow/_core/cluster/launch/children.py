"""Child processes that leave nothing behind, and what their ends mean.

Each child leads a process group of its own, which is ended as a whole with it; on Linux the kernel ends the child when
its parent is gone, however that went.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from graphflow._core.cluster.launch.guard import Guard
from graphflow._core.common.records import dataclass

_PR_SET_PDEATHSIG: Final = 1
_KERNEL_COUNTERS: Final = Path("/proc/vmstat")


@dataclass(frozen=True)
class Ending:
    """How a child ended: `status` as a shell has it (128 + n for signal n), the reason in words, seconds it ran."""

    status: int
    reason: str
    seconds: float


class Child:
    """A process that runs `command`; its stdout and stderr are pipes. Not thread-safe.

    ignored: signals that it ignores from the start, which a program may undo. guard: ends what the process has started
    if this one is killed, as the kernel does with the process itself.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        ignored: Sequence[int] = (),
        stdin: int = subprocess.DEVNULL,
        guard: Guard | None = None,
    ) -> None:
        self._guard = guard
        self._out_of_memory = out_of_memory_kills()
        self._begun = time.monotonic()
        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=end_with_parent(ignored),
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self.stdout, self.stderr = self._process.stdout, self._process.stderr
        self.pid = self._process.pid
        if guard is not None:
            guard.watch_group(self.pid)
        self.ending: Ending | None = None

    def look(self) -> Ending | None:
        """How it ended, or None while it runs; what it had started itself is ended with it."""
        if self.ending is not None:
            return self.ending
        # Looked at before it is reaped: until then nobody else can have its number.
        if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None
        self.send(signal.SIGKILL)
        if self._guard is not None:
            self._guard.forget_group(self.pid)
        _, status, usage = os.wait4(self.pid, 0)
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        killed = out_of_memory_kills() - self._out_of_memory
        reason = reason_of(code, killed, usage.ru_maxrss << (10 if sys.platform == "linux" else 0))
        self.ending = Ending(code if code >= 0 else 128 - code, reason, time.monotonic() - self._begun)
        return self.ending

    def send(self, number: int) -> None:
        """Sends a signal to it and to what it has started."""
        if self.ending is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def close(self) -> None:
        """Closes the pipes."""
        self.stdout.close()
        self.stderr.close()


class FarChild(Child):
    """A process of ssh with the far side of a task (far_side.py): `order` goes to its standard input, signals too.

    SIGKILL ends what is here; the far side notices that its standard input has ended, and ends the task.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        order: bytes,
        guard: Guard | None = None,
    ) -> None:
        super().__init__(command, environment, stdin=subprocess.PIPE, guard=guard)
        assert self._process.stdin is not None
        self._stdin = self._process.stdin
        self._left = memoryview(order)
        os.set_blocking(self._stdin.fileno(), False)

    def fileno(self) -> int:
        """What is to be written to while `feed()` says so."""
        return self._stdin.fileno()

    def feed(self) -> bool:
        """Writes what can be written at once; whether there is more. Never waits."""
        try:
            while self._left:
                self._left = self._left[os.write(self._stdin.fileno(), self._left[: 1 << 16]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            self._left = memoryview(b"")
        return False

    def send(self, number: int) -> None:
        """Has the far side send a signal to the task; before it has its order there is no task, and ssh is ended."""
        if self.ending is not None:
            return
        if number == signal.SIGKILL or self._left:
            super().send(signal.SIGKILL)
            return
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self._stdin.fileno(), f"{int(number)}\n".encode())

    def close(self) -> None:
        """Closes the pipes."""
        super().close()
        self._stdin.close()


def end_with_parent(ignored: Sequence[int]) -> Callable[[], None] | None:
    """What a new child calls so that the kernel kills it when its parent is gone, and signals to ignore are ignored.

    None if there is no such thing.
    """
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None, use_errno=True).prctl, os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # It was gone before the kernel was asked.
            os._exit(1)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    return in_child


def out_of_memory_kills(counters: Path = _KERNEL_COUNTERS) -> int:
    """How many processes the kernel has killed for want of memory since it started; 0 if it does not say."""
    try:
        lines = counters.read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def reason_of(code: int, out_of_memory: int, peak_bytes: int) -> str:
    """An exit code (-n for signal n) in words; out_of_memory: processes the kernel killed for that meanwhile."""
    if code >= 0:
        return f"exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    text = f"killed by {name}"
    if -code == signal.SIGKILL:
        if out_of_memory:
            text += (
                f", out of memory: the kernel killed {out_of_memory} process"
                f"{'es' if out_of_memory > 1 else ''} for want of memory while it ran; it had used up to "
                f"{peak_bytes / 1e9:.1f} GB"
            )
        else:
            text += f" (not for want of memory, as far as the kernel says; it had used up to {peak_bytes / 1e9:.1f} GB)"
    return text

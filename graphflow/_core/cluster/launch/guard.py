"""A process that outlives its maker by a moment, and clears up what that one has left behind, however it ended.

The kernel ends a launcher's children when the launcher is killed, but not what these have started, and it removes no
files. A guard reads from a pipe, which the kernel closes with the launcher; then it kills and removes what it was told.
It also kills if its maker stands still for longer than that one has said.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import Final

_PROGRAM: Final = """
import os, select, signal, sys, time
if "apart" in sys.argv and os.fork():
    os._exit(0)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
kept, until, rest, data = set(), None, b"", b"\\n"

def end(word):
    try:
        if word.startswith(b"/"):
            import shutil
            shutil.rmtree(bytes.fromhex(word[1:].decode()), ignore_errors=True)
        else:
            os.killpg(int(word), signal.SIGKILL)
    except OSError:
        pass

while data:
    left = None if until is None else max(0.0, until - time.monotonic())
    if not select.select([0], [], [], left)[0]:
        until = None
        for word in [word for word in kept if not word.startswith(b"/")]:
            end(word)
        continue
    data = os.read(0, 65536)
    *lines, rest = (rest + data).split(b"\\n")
    for line in lines:
        if line[:1] == b"=":
            until = float(line[1:])
        elif line:
            (kept.add if line[:1] == b"+" else kept.discard)(line[1:].strip())
for word in sorted(kept, reverse=True):  # Digits come behind "/": it kills before it removes.
    end(word)
"""
"""A word of its input is the number of a group, or "/" and the name of a folder in hexadecimal; "=" and a time of the
clock that all processes of a machine have in common is until when it waits for the next line."""


class Guard:
    """Kills process groups and removes folders when this process is gone; a context manager. Not thread-safe.

    apart: whether it is to be nobody's child, for a process whose children are killed with it.
    """

    def __init__(self, apart: bool = False) -> None:
        self._until = 0.0
        # It has a session of its own: what a terminal or a launcher sends to groups of processes does not reach it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, *(["apart"] if apart else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        if apart:
            self._process.wait()  # Its child stays.

    def watch_group(self, group: int) -> None:
        """Has a group of processes killed at the end."""
        self._tell(b"+%d\n" % group)

    def expect_word(self, until: float) -> None:
        """Has the groups killed if no later time is said until then, by time.monotonic(): this process stands still."""
        if until != self._until:
            self._until = until
            self._tell(b"=%.6f\n" % until)

    def forget_group(self, group: int) -> None:
        """The group has ended; to be said before its leader is waited for, since then its number may be another's."""
        self._tell(b"-%d\n" % group)

    def watch_folder(self, folder: str) -> None:
        """Has a folder removed at the end."""
        self._tell(b"+/%s\n" % os.fsencode(folder).hex().encode())

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # Somebody has killed it.
            self._process.stdin.write(line)

    def close(self) -> None:
        """What is watched still ends now."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

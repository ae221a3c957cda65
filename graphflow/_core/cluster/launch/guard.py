"""A process that outlives its maker by a moment, and clears up what that one has left behind, however it ended.

The kernel ends a launcher's children when the launcher is killed, but not what these have started, and it removes no
files. A guard reads from a pipe, which the kernel closes with the launcher; then it kills and removes what it was told.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import Final

_PROGRAM: Final = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
kept = set()
for line in sys.stdin.buffer:
    (kept.add if line[:1] == b"+" else kept.discard)(line[1:].strip())
for word in sorted(kept, reverse=True):  # Digits come behind "/": it kills before it removes.
    try:
        if word.startswith(b"/"):
            import shutil
            shutil.rmtree(bytes.fromhex(word[1:].decode()), ignore_errors=True)
        else:
            os.killpg(int(word), signal.SIGKILL)
    except OSError:
        pass
"""
"""A word of its input is the number of a group, or "/" and the name of a folder in hexadecimal."""


class Guard:
    """Kills process groups and removes folders when this process is gone; a context manager. Not thread-safe."""

    def __init__(self) -> None:
        # It has a session of its own: what a terminal or a launcher sends to groups of processes does not reach it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )

    def watch_group(self, group: int) -> None:
        """Has a group of processes killed at the end."""
        self._tell(b"+%d\n" % group)

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

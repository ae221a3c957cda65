"""A disk that can run full: a small file system of its own where the machine allows that (root does).

Elsewhere the process is not allowed to write beyond a few bytes, which it sees as the same error with another text.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_SIZE: Final = "16m"
_PART: Final = 1 << 16
_ALLOWED: Final = 4096


class Disk:
    """The disk that a folder is on, which is made. A context manager."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", folder]
        self._own = subprocess.run(command, capture_output=True, check=False).returncode == 0

    def __enter__(self) -> Disk:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._own:
            subprocess.run(["umount", "--lazy", self._folder], check=True)

    @contextmanager
    def full(self, pid: int) -> Iterator[None]:
        """It is full for the time of the context, as the process with that number sees it."""
        filler = self._folder / "filler"
        if self._own:
            with suppress(OSError), open(filler, "wb", buffering=0) as file:
                while file.write(bytes(_PART)):
                    pass
            yield
            filler.unlink()
            return
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (_ALLOWED, before[1]))
        yield
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)

"""Folders of the test's own for kernels, and the compile servers that are started for them, which end with the test."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from graphflow._core.codegen.cpu.compiler import Compiler
from tests.codegen.cpu.service.servers import ended, pids_of


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for kernels; its server is killed in the end."""
    made = tmp_path / "kernels"
    made.mkdir(0o700)
    yield made
    pids = pids_of(made)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        ended(pid)


@pytest.fixture
def shared(folder: Path) -> Iterator[Callable[[], Compiler]]:
    """Makes compilers that ask the server of the folder, as those of several processes would."""
    made: list[Compiler] = []

    def make() -> Compiler:
        made.append(Compiler(folder, shared=True))
        return made[-1]

    yield make
    for compiler in made:
        compiler.close()

"""Protects what is left behind by a process that is killed: a guard removes it, also where children are killed, too."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc says whose children there are")

PROGRAM = """
import os, sys, time
from pathlib import Path
from graphflow._core.cluster.launch.guard import Guard
guard = Guard(apart=sys.argv[2] == "apart")
guard.watch_folder(sys.argv[1])
print(Path(f"/proc/self/task/{os.getpid()}/children").read_text(), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["child", "apart"])
def test_a_folder_goes_with_the_process_that_is_killed(how: str, tmp_path: Path) -> None:
    folder = tmp_path / "key"
    folder.mkdir()
    (folder / "cluster.key").write_text("secret")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), how], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        children = process.stdout.readline().split()
        assert len(children) == (how == "child")
        assert folder.exists()
        process.send_signal(signal.SIGKILL)
    limit = time.monotonic() + 60
    while folder.exists():
        assert time.monotonic() < limit
        time.sleep(0.02)

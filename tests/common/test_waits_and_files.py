"""Protects two times: how often a wait is logged, and how old a temporary file is that nobody writes any more."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

from graphflow._core.common.files.signed_files import SignedFolder
from graphflow._core.common.shown import status_line
from tests.common.clock import Clock


def test_a_wait_is_logged_a_few_times_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    monkeypatch.setattr(status_line, "time", clock)
    monkeypatch.setattr(status_line, "is_terminal", lambda stream: False)
    waiting = status_line.Waiting(math.inf)
    for _ in range(240):
        clock.now += 0.25
        waiting.update("the cluster")
    assert 3 <= caplog.text.count("Still waiting for the cluster") <= 20
    waiting.close()


def test_files_that_nobody_can_be_writing_are_removed(
    tmp_path: Path,
) -> None:
    folder = SignedFolder(tmp_path / "kept")
    assert folder.store("first", b"x")
    (place,) = {path.parent for path in tmp_path.rglob("*first*")}
    left, written = place / "left.tmp", place / "written.tmp"
    for path, age in ((left, 86_400), (written, 60)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age, time.time() - age))
    another = SignedFolder(tmp_path / "kept")
    assert another.store("fifth", b"y")  # Its folder is the same.
    assert written.exists() and not left.exists()

"""Protects docs/add-a-message.md: its steps make a message in a copy of the library, and a step left out is noticed.

The blocks "```diff FILE" of the page are applied as they stand there. A line that begins with "+" is new; the lines
around it are found in the file, where they stand once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (PROJECT / "docs" / "add-a-message.md").read_text(encoding="utf-8")
CHANGES: Final = re.findall(r"^```diff (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
((PROGRAM, PRINTED),) = re.findall(
    r"^```python threads\.py\n(.*?)^```$\n+^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)
(COMMAND,) = re.findall(r"^\$ python (.*)$", PAGE, re.MULTILINE)


def apply(root: Path, file: str, change: str) -> None:
    lines = change.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if not line.startswith("+"))
    after = "".join(line[1:] for line in lines)
    text = (root / file).read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{file} has {text.count(before)} times:\n{before}"
    (root / file).write_text(text.replace(before, after), encoding="utf-8")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the page changes and of what its test needs."""
    root = tmp_path_factory.mktemp("copied")
    shutil.copytree(PROJECT / "graphflow", root / "graphflow", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PROJECT / "docs", root / "docs")
    shutil.copytree(
        PROJECT / "tests" / "cluster",
        root / "tests" / "cluster",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (root / "benchmarks").mkdir()
    for file in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py"):
        shutil.copy(PROJECT / file, root / file)
    (root / "threads.py").write_text(PROGRAM, encoding="utf-8")
    return root


@pytest.fixture
def root(copied: Path) -> Iterator[Path]:
    """The copy without the page's changes."""
    yield copied
    for file, _ in CHANGES:
        shutil.copy(PROJECT / file, copied / file)


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=root, env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip


def test_the_steps_of_the_page_make_a_message(root: Path) -> None:
    for file, change in CHANGES:
        apply(root, file, change)
    done = run(root, *COMMAND.split(), "-q")
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr
    assert "THREADS" in run(root, *COMMAND.split(), "-q", "--collect-only").stdout
    done = run(root, "-W", "error", "threads.py")
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr


@pytest.mark.parametrize(
    "left_out", range(len(CHANGES)), ids=[f"{n} {file}" for n, (file, _) in enumerate(CHANGES)]
)
def test_a_step_that_is_left_out_is_noticed(left_out: int, root: Path) -> None:
    for file, change in [change for number, change in enumerate(CHANGES) if number != left_out]:
        apply(root, file, change)
    if "control.py" in CHANGES[left_out][0]:
        done = run(root, "threads.py")
    else:
        done = run(root, *COMMAND.split(), "-q", "-x")
    assert done.returncode != 0
    assert re.search("THREADS|threads", done.stdout + done.stderr), done.stdout + done.stderr

"""Protects the documents: every Python snippet of the README and of docs/ runs as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets() -> dict[str, str]:
    """The snippets of each page joined to one program, so that a later one may use what an earlier one made."""
    pages = [PROJECT / "README.md", *sorted(PROJECT.glob("docs/**/*.md"))]
    programs = {
        str(page.relative_to(PROJECT)): FENCE.findall(page.read_text(encoding="utf-8")) for page in pages
    }
    return {page: "\n".join(parts) for page, parts in programs.items() if parts}


@pytest.mark.parametrize("page", snippets())
def test_snippets_run(page: str, tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippets()[page]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    assert process.returncode == 0, process.stderr


def test_readme_result() -> None:
    """The README says what its program prints."""
    process = subprocess.run(
        [sys.executable, "-c", snippets()["README.md"]], capture_output=True, text=True, cwd=PROJECT
    )
    numbers = [float(n) for n in re.findall(r"\d+\.\d+", process.stdout)]
    assert numbers == pytest.approx([3.0, 1.0], abs=0.01), process.stdout + process.stderr

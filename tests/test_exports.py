"""Protects that tools see the public names: a type checker finds each with its signature, and no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import graphflow as gf
from tests import stubs

PROJECT = Path(gf.__file__).parent.parent
PROGRAM = """
import graphflow as gf

reveal_type(gf.reduce_mean)
reveal_type(gf.Session)
reveal_type(gf.float32)
reveal_type(gf.train.AdamOptimizer)
reveal_type(gf.train.Server)
reveal_type(gf.layers.dense)
reveal_type(gf.random.uniform)
gf.reduce_meen
gf.train.AdamOptimiser
gf.layers.densee
gf.random.unifrom
"""
RIGHT, WRONG = 7, ("reduce_meen", "AdamOptimiser", "densee", "unifrom")


def test_the_stubs_say_what_the_packages_offer() -> None:
    """Asked in a process of its own, in which nothing else was imported."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.stubs"], cwd=PROJECT, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert not done.stdout, f"out of date, so run python -m tests.stubs --write: {done.stdout}"


def test_every_package_that_gathers_its_names_has_a_stub() -> None:
    gathering = {
        ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")
        for path in (PROJECT / "graphflow").rglob("*.py")
        if "_core" not in path.parts and "globals().update(" in path.read_text("utf-8")
    }
    gathering.remove(
        "graphflow.flags"
    )  # Its names are those of absl, whatever its version: that stub is written.
    assert gathering and gathering <= set(stubs.GATHERED)


@pytest.mark.timeout(400)  # It looks at the whole package where the linter has not before.
def test_a_type_checker_sees_names_and_misspellings(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)],
        cwd=PROJECT, capture_output=True, text=True, timeout=380,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    shown = [line for line in lines if "Revealed type" in line]
    assert len(shown) == RIGHT and not any('"Any"' in line for line in shown), done.stdout + done.stderr
    wrong = [line for line in lines if "[attr-defined]" in line]
    assert [name for name in WRONG if any(name in line for line in wrong)] == list(WRONG), done.stdout
    assert (PROJECT / "graphflow" / "py.typed").exists()

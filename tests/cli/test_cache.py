"""Protects `graphflow cache`: what is kept is counted, removed, and made before a program needs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import graphflow
from tests.codegen.cpu.service.servers import ended, pids_of

PROGRAM = """
import sys, time
import graphflow as gf
x = gf.placeholder(gf.float32, [32])
y = gf.exp(x) * {factor} + gf.sqrt(x + 1.5)
with gf.Session() as session:
    for _ in range(6):
        session.run(y, {{x: [0.5] * 32}})
{rest}
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder for caches of the test's own, whose compile server ends with it."""
    yield tmp_path
    for pid in pids_of(tmp_path):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        ended(pid)


def command(home: Path, *arguments: str, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "graphflow.cli", "cache", *arguments],
        env=dict(os.environ, XDG_CACHE_HOME=str(home), PYTHONPATH=str(Path(graphflow.__file__).parents[1])),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def kernels(home: Path) -> int:
    return len(list((home / "graphflow").glob("*/*.o")))


def program(home: Path, factor: float, rest: str = "") -> str:
    path = home / "program.py"
    path.write_text(PROGRAM.format(factor=factor, rest=rest))
    return str(path)


def test_warm_runs_a_program_and_waits_for_its_kernels(home: Path) -> None:
    assert "kernels: 0" in command(home, "info") and "none runs" in command(home, "info")
    first = command(home, "warm", program(home, 2.25))
    made = kernels(home)
    assert made > 1 and f"{made} kernels made" in first
    shown = command(home, "info")
    assert f"kernels: {made}, " in shown and str(home / "graphflow") in shown and "0 kernels to make" in shown
    assert "0 kernels made" in command(home, "warm", program(home, 2.25))
    assert f"{made} kernels removed" in command(home, "clear")
    assert kernels(home) == 0 and (home / "graphflow" / "signing-key").exists()
    assert "kernels: 0" in command(home, "info")


def test_warm_alone_makes_what_is_made_for_no_plan_and_waits_as_long_as_it_is_told(home: Path) -> None:
    assert "kernels made" in command(home, "warm", "--seconds", "15")
    assert kernels(home) > 0
    shown = command(home, "info")
    assert "kernels to make" in shown and " 0 kernels to make" not in shown


def test_a_program_that_compiled_asks_for_what_the_next_will_want(home: Path) -> None:
    """While its own are missing; a program that found all on the machine asks for nothing when it ends."""
    rest = """
gf.random_uniform([2])  # without a seed it goes over when the kernels are there
with gf.Session() as session:
    while "compiled for" not in session.explain(y, [x]):
        session.run(y, {x: [0.5] * 32})
        time.sleep(0.05)
"""
    subprocess.run(
        [sys.executable, program(home, 4.25, rest)],
        env=dict(os.environ, XDG_CACHE_HOME=str(home), PYTHONPATH=str(Path(graphflow.__file__).parents[1])),
        check=True,
        timeout=200,
    )
    shown = command(home, "info")
    count = int(shown.split(" kernels to make")[0].split()[-1])
    assert count > 10, shown


def test_warm_ends_a_program_that_goes_on(home: Path) -> None:
    rest = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"
    assert "kernels made" in command(home, "warm", "--seconds", "8", program(home, 3.25, rest))


def test_a_programs_status_is_that_of_warm_and_mistakes_are_one_line(home: Path) -> None:
    (home / "bad.py").write_text("raise SystemExit(3)")
    command(home, "warm", str(home / "bad.py"), status=3)
    assert "cannot be run" in command(home, "warm", "/no/program", status=2)
    assert "must be positive" in command(home, "warm", "--seconds", "-1", str(home / "bad.py"), status=2)
    for words in (["info"], ["clear"], ["warm"], []):
        assert "usage: graphflow cache" in command(home, *words, "--help")

"""Protects the owner of a compiler process: it waits for no answer for ever, and leaves alone what keeps dying."""

from __future__ import annotations

import sys
import time

import pytest

from graphflow._core.codegen.cpu import helper as helper_module
from graphflow._core.codegen.cpu.helper import Helper, HelperDied, Restarts

SILENT = [sys.executable, "-c", "import time; time.sleep(100)"]


def test_a_compiler_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    assert helper_module.COMPILE_SECONDS <= 120  # A run waits for it.
    monkeypatch.setattr(helper_module, "COMPILE_SECONDS", 0.3)
    helper = Helper(SILENT)
    with pytest.raises(HelperDied, match="no answer"):
        helper.ask("key", "source")
    helper.stop()
    assert helper.process.returncode is not None


def test_one_that_reads_nothing_holds_nobody_up() -> None:
    helper = Helper(SILENT)
    began = time.monotonic()
    helper.send("key", "x" * 5_000_000)
    assert helper.is_sending and helper.receive() is None and time.monotonic() - began < 50
    with pytest.raises(HelperDied, match="no answer"):
        helper.check(time.monotonic() + 1000)
    helper.stop()


def test_how_it_ended_is_said() -> None:
    helper = Helper([sys.executable, "-c", "import sys; sys.exit('no Numba')"])
    with pytest.raises(HelperDied, match="exit status 1 no Numba"):
        helper.ask("key", "source")
    helper.stop()
    other = Helper([sys.executable, "-c", "print('hello', flush=True); input()"])
    with pytest.raises(HelperDied, match="not an answer"):
        other.ask("key", "source")
    other.stop()


def test_a_helper_that_dies_is_left_alone_ever_longer() -> None:
    restarts = Restarts()
    pauses = [restarts.died(1000.0) for _ in range(40)]
    assert pauses[:7] == [0.0, 0.0, 0.0, 10.0, 20.0, 40.0, 80.0] and pauses[-1] == max(pauses) == 600.0
    assert restarts.left_alone(1000.0) == 600.0 and restarts.left_alone(1599.0) == 1.0
    assert restarts.left_alone(1700.0) == 0.0
    restarts.deaths = 0
    assert restarts.died(2000.0) == 0.0

"""Protects runs that wait for the compiler: for as long as it takes, until they are to end, and they say so."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.compiler.compile_job import CompileJob
from graphflow._core.runtime.compiled import combination
from graphflow._core.session import executables


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Kernels come only once the event is set."""
    there, right = threading.Event(), CompileJob.wait

    def wait(self: CompileJob, timeout: float, whole: bool = False) -> None:
        if not there.wait(timeout):
            raise TimeoutError
        right(self, timeout, whole)

    monkeypatch.setattr(CompileJob, "wait", wait)
    monkeypatch.setattr(combination, "COMPILE_LOOK_SECONDS", 0.05)
    return there


def _model() -> tuple[Any, Any]:
    x = gf.placeholder(gf.float32, [3])
    return gf.tanh(x) * 2.0 + 1.0, x


def test_a_run_waits_for_late_kernels_and_says_so(
    late: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "graphflow")

    def waits() -> list[str]:
        texts = [record.getMessage() for record in caplog.records]
        return [text for text in texts if "waits for" in text]

    with gf.Graph().as_default():
        y, x = _model()
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            feed = {x: np.ones(3, "f")}
            session.run(y, feed)
            events: list[str] = []

            def come() -> None:
                """A moment after the run has said that it waits."""
                while not waits() and not events:
                    time.sleep(0.01)
                time.sleep(0.3)
                events.append("the kernels are there")
                late.set()

            comes = threading.Thread(target=come)
            comes.start()
            session.run(y, feed)
            events.append("the run returns")
            comes.join()
            assert events == ["the kernels are there", "the run returns"]
            (state,) = [s for e in executables(session) for s in e.whole._states.values()]
            assert state.compiled is not None
    lines = waits()
    assert len(lines) == 1 and "kernels" in lines[0]


def test_a_run_that_waits_ends_with_its_session(late: threading.Event) -> None:
    with gf.Graph().as_default():
        y, x = _model()
        session = gf.Session(config=gf.ConfigProto(compiled="always"))
        session.run(y, {x: np.ones(3, "f")})
        threading.Timer(0.3, session.close).start()
        with pytest.raises((gf.errors.CancelledError, RuntimeError), match="closed"):
            session.run(y, {x: np.ones(3, "f")})

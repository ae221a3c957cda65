"""Protects a run that waits for its kernels: the compiler knows of it, and so does whoever looks on.

Whoever has asked that all be compiled expects to wait.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.runtime.compiled import combination
from graphflow._core.runtime.compiled.combination import wait_for_kernels


class Job:
    """Has its kernels after some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.standing: list[bool] = []
        self._stands = False

    @contextlib.contextmanager
    def awaited(self) -> Iterator[None]:
        self._stands = True
        yield
        self._stands = False

    def wait(self, timeout: float, whole: bool) -> None:
        self.standing.append(self._stands)
        self.looks -= 1
        if self.looks > 0:
            raise TimeoutError

    def missing(self) -> int:
        return 7


class Run:
    """Checks nothing."""

    def check(self, what: Any) -> None:
        assert "7 kernels" in what()


@pytest.mark.parametrize(
    ("looks", "seconds", "whole", "told"),
    [(4, 0.0, False, 1), (1, 0.0, False, 0), (4, 100.0, False, 0), (4, 0.0, True, 0)],
)
def test_a_long_wait_for_the_compiler_is_told_once(
    looks: int,
    seconds: float,
    whole: bool,
    told: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(combination, "COMPILER_TOLD_SECONDS", seconds)
    with gf.Graph().as_default(), gf.Session() as session:
        plan, _ = session.plan(gf.constant(1.0) + 2.0, [])
    job: Any = Job(looks)
    run: Any = Run()
    with caplog.at_level(logging.WARNING, "graphflow"):
        wait_for_kernels(job, run, plan, whole)
    assert job.standing == [True] * looks and not job._stands
    assert len(caplog.messages) == told
    assert all("7 kernels" in text and "graphflow cache warm" in text for text in caplog.messages)

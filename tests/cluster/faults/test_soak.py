"""Protects long training: one task after the other is killed, nothing hangs, nothing leaks; a short `make soak`."""

from __future__ import annotations

import sys

import pytest

from tests.cluster.faults.soak import soak


@pytest.mark.skipif(sys.platform != "linux", reason="the lab needs Linux")
def test_promises_5_7_8_30_killed_tasks_again_and_again(everything: bool) -> None:
    result = soak(120.0, 10.0, 1) if everything else soak(8.0, 2.5, 3)
    assert sum(result.kills.values()) >= 3 and not result.twice

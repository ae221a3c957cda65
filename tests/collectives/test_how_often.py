"""Protects how long who waits for the members of a group waits at once, and at most if it is not told otherwise."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import graphflow as gf
from graphflow._core.collectives.progress_engine import ProgressEngine

WITHIN = 60.0


def test_who_waits_looks_at_the_time_though_nothing_comes() -> None:
    meeting = ProgressEngine()
    looked = threading.Event()

    def wait() -> None:
        with meeting:
            meeting.wait()
        looked.set()

    threading.Thread(target=wait, daemon=True).start()
    assert looked.wait(WITHIN)


class _Channels:
    """The channels of a link, at which one looks for as long as one is told to."""

    open: ClassVar = {"/job:worker/task:1": None}
    sending = False

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def look(self, seconds: float) -> None:
        self.seconds.append(seconds)

    def take(self) -> None:
        """Nothing came."""


@pytest.mark.parametrize("timeout", [None, 1000.0, 0.001])
def test_who_reads_for_all_does_so_for_a_moment_at_a_time(timeout: float | None) -> None:
    meeting = ProgressEngine()
    channels = _Channels()
    link: Any = SimpleNamespace(channels=channels)
    meeting.link = link
    with meeting:
        meeting.wait(timeout)
    (seconds,) = channels.seconds
    assert seconds == timeout if timeout == 0.001 else 0.05 <= seconds <= 5.0


@pytest.mark.parametrize("name", ["all_reduce", "all_gather", "broadcast_send"])
def test_a_collective_waits_longer_than_a_slow_member_needs_and_not_for_hours(name: str) -> None:
    make = getattr(gf.distribute, name)
    with gf.Graph().as_default():
        made = make(gf.constant([1.0]), group_size=2, group_key=1, instance_key=1)
        (op,) = [op for op in gf.get_default_graph().get_operations() if "timeout_seconds" in op.attrs]
    assert made is not None
    assert 600 <= op.get_attr("timeout_seconds") <= 4 * 3600

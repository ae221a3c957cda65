"""Protects the clock of tests whose promises are times: never faster than time, and it stands if the machine does."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from tests.machine_clock import MachineClock

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stops a process")


def test_it_goes_at_most_as_fast_as_time_and_stands_if_it_is_held_up() -> None:
    with MachineClock() as clock:
        begun, at_first = time.monotonic(), clock.seconds
        while clock.seconds < at_first + 0.4:  # It goes, however slowly.
            time.sleep(0.01)
        assert clock.seconds - at_first <= time.monotonic() - begun + 0.04  # The round that was on its way.
        os.kill(clock.pid, signal.SIGSTOP)
        time.sleep(0.2)  # A stopped process may have a round on its way for a moment.
        before = clock.seconds
        time.sleep(0.3)
        assert clock.seconds == before
        os.kill(clock.pid, signal.SIGCONT)
        while clock.seconds == before:
            time.sleep(0.01)


def test_nothing_is_left_of_it() -> None:
    with MachineClock() as clock:
        pid = clock.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

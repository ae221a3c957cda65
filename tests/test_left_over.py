"""Protects the look for what work leaves behind: a leak is found; what lasts a little or ended meanwhile is none."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.left_over import new_threads, nothing_stays, threads_and_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts what /proc shows")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def _thread(stack: ExitStack) -> threading.Event:
    """A thread that runs until the event is set."""
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait, args=(60,))
    thread.start()
    stack.callback(thread.join)
    stack.callback(ended.set)
    return ended


@pytest.mark.parametrize("every", [1, 2])
def test_a_thread_that_stays_every_turn_or_every_second_is_found(stack: ExitStack, every: int) -> None:
    turns = iter(range(1000))

    def once() -> None:
        if next(turns) % every == 0:
            _thread(stack)

    with pytest.raises(AssertionError, match="threads"):
        nothing_stays(once, seconds=0.1)


def test_a_file_that_stays_every_turn_is_found(stack: ExitStack, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(AssertionError, match="files"):
        nothing_stays(lambda: stack.enter_context(path.open()), seconds=0.1)


def test_what_was_there_before_may_end_and_what_ends_late_is_waited_for(stack: ExitStack) -> None:
    earlier = [_thread(stack) for _ in range(10)]
    nothing_stays(lambda: earlier and earlier.pop().set(), seconds=0.1)
    threads: list[threading.Timer] = []

    def once() -> None:
        threads.append(threading.Timer(0.3, threading.Event))
        threads[-1].start()

    nothing_stays(once)
    for thread in threads:
        thread.join()


def test_a_leak_is_found_though_as_many_threads_end_as_may_be_left_over(stack: ExitStack) -> None:
    earlier = [_thread(stack) for _ in range(8)]

    def once() -> None:
        _thread(stack)
        if earlier:
            earlier.pop().set()

    with pytest.raises(AssertionError, match="threads"):
        nothing_stays(once, seconds=0.1)


def test_what_is_in_a_cycle_is_collected_first(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()

    def once() -> None:
        cycle: list[Any] = [path.open("rb", buffering=0)]
        cycle.append(cycle)

    with pytest.warns(ResourceWarning):
        nothing_stays(
            once
        )  # Python collects nothing while another thread does, and it may stand still in that.


def test_new_threads_are_those_that_were_not_there_before(stack: ExitStack) -> None:
    earlier = _thread(stack)
    before = set(threading.enumerate())
    earlier.set()
    _thread(stack)
    assert len(new_threads(before)) == 1


def test_too_few_turns_are_refused() -> None:
    with pytest.raises(AssertionError, match="too few turns"):
        nothing_stays(threads_and_files, turns=10)

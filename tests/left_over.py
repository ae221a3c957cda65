"""What turns of a work leave behind: threads, open files, whatever a test counts.

One count before and one after say little: a thread of an earlier test ends meanwhile, one that lasts a little was at
the first count, what is in a cycle is closed by the next collection. What leaks grows with every turn. So the work is
done many times, and after it there must be no more than before but for a few, once what lasts a little has ended.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

TURNS: Final = 20
FEW: Final = 5
"""What may be there for other reasons: far less than one a turn."""
_FIRST_TURNS: Final = 3
"""Turns in which pools and caches get their size."""
_END_SECONDS: Final = 40.0


def open_files() -> int:
    """How many files this process has open. It is Linux that tells."""
    return len(os.listdir("/proc/self/fd"))


def threads_and_files() -> dict[str, int]:
    """How many threads and open files this process has."""
    return {"threads": threading.active_count(), "files": open_files()}


def new_threads(before: set[threading.Thread]) -> set[threading.Thread]:
    """The threads that run now and did not then: a count would be less by those that have ended since."""
    return set(threading.enumerate()) - before


def nothing_stays(
    once: Callable[[], object],
    turns: int = TURNS,
    held: Callable[[], Mapping[str, int]] = threads_and_files,
    few: int = FEW,
    seconds: float = _END_SECONDS,
) -> None:
    """Does it some times, then `turns` times more: after that nothing may have grown by more than `few`.

    Args:
        once: The work. Threads and files that it needs once a process may stay.
        turns: More than twice `few`, so that what every second turn leaves is found.
        held: Counts by name; one that is missing is 0.
        few: What there may be more of afterwards than before.
        seconds: For how long what has grown may go on to exist.

    Raises:
        AssertionError: With the counts before and after of what has grown, and the threads that are new.
    """
    assert turns > 2 * few, "too few turns to tell a leak from what lasts a little"
    for _ in range(_FIRST_TURNS):
        once()
    gc.collect()
    before, threads = held(), set(threading.enumerate())
    for _ in range(turns):
        once()
    limit = time.monotonic() + seconds
    while True:
        gc.collect()
        after = held()
        grown = {name: (before.get(name, 0), n) for name, n in after.items() if n > before.get(name, 0) + few}
        if not grown:
            return
        assert time.monotonic() < limit, (grown, new_threads(threads))
        time.sleep(0.02)

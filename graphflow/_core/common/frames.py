"""The frames of all threads, asked for so that it does not stop the process.

Before Python 3.12 sys._current_frames() makes frame objects while it holds the lock of the list of all threads. That
may begin a collection, whose finalizers let another thread run; one that begins or ends then waits for that lock and
keeps the interpreter's: nothing goes on any more (CPython's issue 106883). So no collection begins meanwhile.
"""

from __future__ import annotations

import gc
import sys
import threading
from types import FrameType

_LOCK = threading.Lock()
"""So that nobody notes that there are no collections while another has switched them off."""


def current_frames() -> dict[int, FrameType]:
    """What each thread of this process does, by the thread's number: its topmost frame, which goes on meanwhile."""
    if sys.version_info >= (3, 12):  # There collections begin between instructions alone.
        return sys._current_frames()
    with _LOCK:
        collects = gc.isenabled()
        gc.disable()
        try:
            return sys._current_frames()
        finally:
            if collects:
                gc.enable()

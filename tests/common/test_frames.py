"""Protects processes that ask what their threads do: none of them may stop the others for good."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import graphflow
from graphflow._core.common.frames import current_frames

ROOT = Path(graphflow.__file__).parents[1]
COLLECTS = """
import gc, os, threading, time
from graphflow._core.common.frames import current_frames

class Leaves:
    "Garbage whose finalizer lets other threads run, as one does that closes something."
    def __init__(self):
        self.itself = self
    def __del__(self):
        time.sleep(0)

def starts():
    while True:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()

def leaf():
    for _ in range(300):
        pass

def calls():
    while True:
        leaf()

gc.set_threshold(3, 1, 1)
for work in (starts, starts, calls, calls, calls):
    threading.Thread(target=work, daemon=True).start()
for _ in range(60):
    Leaves()
    current_frames()
print("goes on", gc.isenabled(), flush=True)
os._exit(0)
"""


def test_a_collection_as_the_frames_are_taken_does_not_stop_the_process() -> None:
    """It did for ever, with Python 3.11: the deadline of a run that had threads was the end of its program."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECTS], cwd=ROOT, capture_output=True, text=True, timeout=200
    )
    assert done.stdout == "goes on True\n", done.stderr


def test_every_thread_is_there_with_its_own_frame() -> None:
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait)
    thread.start()
    try:
        found = current_frames()
        assert found[threading.get_ident()].f_code.co_name == "current_frames"
        assert thread.ident in found
    finally:
        go_on.set()
        thread.join()

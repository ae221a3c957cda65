"""Protects what crosses something else: what a step, a session or a task still does or says when that has ended."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import graphflow as gf
from tests.cluster.serving import serve, spec_of

WITHIN = 60.0


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found, gf.Graph().as_default():
        yield found


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < deadline, "It did not happen."
        time.sleep(0.01)


def test_what_waits_on_another_device_of_a_step_that_has_failed_takes_nothing_any_more(
    stack: ExitStack, tmp_path: Path
) -> None:
    server = serve(stack, spec_of(stack, local=1), "local", config=gf.ConfigProto(device_count={"CPU": 2}))
    store = server._service.store
    with gf.device("/cpu:1"):
        queue = gf.FIFOQueue(10, [gf.float32], shapes=[[]])
        taken = queue.dequeue()

    waits = str(tmp_path / "waits")

    def fail() -> float:
        while not os.path.exists(waits):
            time.sleep(0.01)
        raise ValueError("It fails while the other device waits.")

    def watch() -> None:
        _until(lambda: bool(store.waiting()))
        Path(waits).touch()

    with gf.device("/cpu:0"):
        failing = gf.py_func(fail, [], gf.float32)
    session = stack.enter_context(gf.Session(server.target))
    watcher = threading.Thread(target=watch)
    watcher.start()
    with pytest.raises(gf.errors.InvalidArgumentError, match="the other device waits"):
        session.run([taken, failing])
    watcher.join()
    _until(lambda: not store.waiting())
    session.run(queue.enqueue([1.0]))
    assert session.run(queue.size()) == 1

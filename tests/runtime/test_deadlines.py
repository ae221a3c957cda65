"""Protects the end of runs: deadlines that name what is awaited, Ctrl-C, and that the session goes on after either."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.overdue import overdue

PROJECT = Path(__file__).resolve().parents[2]
INTERRUPT = """
import os, signal, threading, time

signal.signal(signal.SIGINT, signal.default_int_handler)  # Who runs tests in the background has it ignored.
sent = []

def interrupt():
    sent.append(True)
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def endless() -> Any:
    return gf.while_loop(lambda i: i >= 0, lambda i: i * 1, [gf.constant(0)], name="endless")


class Gate:
    """A Python function that sleeps until it is told to go on."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.begun = False
        self.times = 0

    def __call__(self) -> Any:
        self.begun = True
        self.open.wait(100)
        self.times += 1
        return np.float32(1.0)


@pytest.fixture
def gate() -> Any:
    made = Gate()
    yield made
    made.open.set()


def test_a_loop_without_end_meets_its_deadline() -> None:
    loop = endless()
    with gf.Session(config=gf.ConfigProto(operation_timeout_in_ms=100)) as session:
        for _ in range(3):
            with pytest.raises(gf.errors.DeadlineExceededError, match="endless"):
                session.run(loop)
        assert session.run(gf.constant(3) + 4) == 7


def test_a_sleeping_function_is_named_with_its_line(gate: Gate) -> None:
    sleepy = gf.py_func(gate, [], gf.float32, name="sleepy")
    with gf.Session(config=gf.ConfigProto(operation_timeout_in_ms=100)) as session:
        named = 0
        while named < 6:  # each leaves a thread behind; none of them keeps the next run waiting
            with pytest.raises(gf.errors.DeadlineExceededError) as caught:
                session.run(sleepy)
            if "Not begun: PyFunc 'sleepy'" not in caught.value.message:  # on a busy machine
                assert re.search(
                    r"Still running: PyFunc 'sleepy'.*test_deadlines\.py:\d+", caught.value.message
                )
                named += 1
        assert session.run(gf.constant(3) + 4) == 7


def test_the_part_that_waits_names_what_it_waits_for(gate: Gate) -> None:
    with gf.device("/cpu:1"):
        sleepy = gf.py_func(gate, [], gf.float32, name="sleepy")
    with gf.device("/cpu:0"):
        result = sleepy + 1.0
    config = gf.ConfigProto(device_count={"CPU": 2})
    with gf.Session(config=config) as session:
        overdue(lambda options: session.run(result, options=options), "Awaited: 'sleepy:0' from .*CPU:1")
        gate.open.set()
        assert session.run(result, options=gf.RunOptions(timeout_in_ms=60_000)) == 2.0


def test_the_deadline_of_one_run_is_its_own(gate: Gate) -> None:
    sleepy = gf.py_func(gate, [], gf.float32)
    with gf.Session() as session:
        with pytest.raises(gf.errors.DeadlineExceededError):
            session.run(sleepy, options=gf.RunOptions(timeout_in_ms=50))
        gate.open.set()
        assert session.run(sleepy) == 1.0
        assert session.run(sleepy, options=gf.RunOptions(timeout_in_ms=60_000)) == 1.0


def test_what_was_cut_off_writes_nothing_later(gate: Gate) -> None:
    v = gf.Variable(5.0)
    update = v.assign(gf.reshape(gf.py_func(gate, [], gf.float32), []))
    with gf.Session() as session:
        session.run(v.initializer)
        while not gate.begun:  # on a busy machine the deadline may be the first to come
            with pytest.raises(gf.errors.DeadlineExceededError):
                session.run(update, options=gf.RunOptions(timeout_in_ms=50))
        gate.open.set()
        while not gate.times:
            pass
        for _ in range(50):
            assert session.run(v) == 5.0


INTERRUPTED = (
    INTERRUPT
    + """
import graphflow as gf

loop = gf.while_loop(lambda i: i >= 0, lambda i: i * 1, [gf.constant(0)])
with gf.device("/cpu:%s"):
    end = gf.identity(loop)
config = gf.ConfigProto(device_count={"CPU": 2}, compiled=%r)
with gf.Session(config=config) as session:
    try:
        threading.Timer(0.3, interrupt).start()
        session.run(end)
    except KeyboardInterrupt:
        print("interrupted", bool(sent))
    print(session.run(gf.constant(3) + 4))
"""
)


@pytest.mark.parametrize("device", ["0", "1"])
@pytest.mark.parametrize("tier", ["never", "always"])
def test_an_interrupt_ends_a_loop_and_leaves_the_session_usable(device: str, tier: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED % (device, tier)],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        timeout=100,
    )
    assert process.stdout.split() == ["interrupted", "True", "7"], process.stderr


BOTH = (
    INTERRUPT
    + """
import graphflow as gf

end = gf.placeholder(gf.float32, [])
loops = []
for number in range(2):
    with gf.device("/cpu:%d" % number):
        v = gf.Variable(1.0)
        loops.append(gf.while_loop(lambda i: i < end, lambda i: i + v, [0.0]))
with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2}, compiled="TIER")) as session:
    session.run(gf.global_variables_initializer())
    for _ in range(3):
        session.run(loops, {end: 3.0})
    try:
        threading.Timer(0.5, interrupt).start()
        session.run(loops, {end: 1e30})
    except KeyboardInterrupt:
        print("interrupted", bool(sent))
    while session.store._active:  # the other device's loop ends too
        time.sleep(0.01)
    print(*session.run(loops, {end: 3.0}))
"""
)


@pytest.mark.parametrize("tier", ["never", "always"])
def test_an_interrupt_ends_the_loops_of_all_devices(tier: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", BOTH.replace("TIER", tier)],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        timeout=100,
    )
    assert process.stdout.split() == ["interrupted", "True", "3.0", "3.0"], process.stderr


FORKED = """
import os, sys
import graphflow as gf

x = gf.constant(3) + 4
session = gf.Session()
call = session.make_callable(x)
assert session.run(x) == 7
session._lock.acquire()  # a fork may come at any time
child = os.fork()
if child == 0:
    told = []
    for use in (lambda: session.run(x), call, lambda: session.run(x * 2)):
        try:
            use()
        except RuntimeError as error:
            told.append("fork" in str(error))
    with gf.Session() as own:
        told.append(own.run(x) == 7)
    os._exit(0 if told == [True] * 4 else 1)
session._lock.release()
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(status, session.run(x * 2))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_session_refuses_to_work_after_a_fork() -> None:
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        timeout=100,
    )
    assert process.stdout.split() == ["0", "14"], process.stderr


def test_a_process_ends_while_a_function_still_sleeps() -> None:
    code = """
import time
import graphflow as gf
sleepy = gf.py_func(lambda: time.sleep(300), [], [])
with gf.Session(config=gf.ConfigProto(operation_timeout_in_ms=50)) as session:
    try:
        session.run(sleepy, )
    except gf.errors.DeadlineExceededError:
        print("cut off")
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PROJECT, timeout=100
    )
    assert process.returncode == 0 and process.stdout == "cut off\n", process.stderr

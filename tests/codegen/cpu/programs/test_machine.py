"""Protects: the sequencer runs steps in order on any number of threads, stops when told, survives forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import graphflow
from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS, Machine, Step
from tests.machine_clock import MachineClock

ROOT = str(Path(graphflow.__file__).parents[1])
COUNT = """
@kernel_function
def kernel(args, begin, end):
    x = pointer_int64(args[0])
    for i in range(begin, end):
        x[i] = x[i] * 3 + args[1]
"""
FAIL = """
@kernel_function
def kernel(args, begin, end):
    pointer_int64(args[0])[0] = args[1]
"""

AWAIT_FLAG = """
@kernel_function
def kernel(args, begin, end):
    atomic_store(args[0], 1)
    while atomic_load(args[0] + 8) == 0:
        relax()
"""
LONGEST = """
@kernel_function
def kernel(args, begin, end):
    seen = pointer_int64(args[0])
    seen[0] = max(seen[0], end - begin)
"""


@pytest.fixture(scope="module")
def count(compiler: Compiler) -> int:
    return compiler.compile_async(COUNT).result(250)


@pytest.fixture(scope="module")
def fail(compiler: Compiler) -> int:
    return compiler.compile_async(FAIL).result(250)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_steps_in_order_each_unit_once(machine: Machine, count: int, threads: int) -> None:
    x = np.zeros(10_007, np.int64)
    steps = [Step(count, [x.ctypes.data, k], 0, x.size, 1 + k * 97) for k in range(30)]
    program = machine.program(steps, threads)
    want = 0
    for repetition in range(20):
        assert program.run() == 0
        for k in range(30):
            want = (want * 3 + k) % 2**64
        assert (x.view(np.uint64) == want).all(), repetition


def test_programs_of_several_threads_share_a_pool(machine: Machine, count: int) -> None:
    arrays = [np.zeros(5003, np.int64) for _ in range(4)]
    programs = [machine.program([Step(count, [a.ctypes.data, 1], 0, a.size, 100)] * 10, 3) for a in arrays]
    threads = [threading.Thread(target=lambda p=p: [p.run() for _ in range(50)]) for p in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    want = 0
    for _ in range(500):
        want = (want * 3 + 1) % 2**64
    for array in arrays:
        assert (array.view(np.uint64) == want).all()


def test_as_many_programs_as_threads_keep_each_to_its_own_thread(
    machine: Machine, compiler: Compiler
) -> None:
    """A step of a program that runs alone is shared out in pieces; while another program runs it is not."""
    await_flag = compiler.compile_async(AWAIT_FLAG).result(250)
    longest = compiler.compile_async(LONGEST).result(250)
    flags, seen = np.zeros(2, np.int64), np.zeros(1, np.int64)
    other = machine.program([Step(await_flag, [flags.ctypes.data], 0, 1)], 2)
    step = machine.program([Step(longest, [seen.ctypes.data], 0, 1000, 10)], 2)
    step.run()
    assert seen[0] == 10
    thread = threading.Thread(target=other.run)
    thread.start()
    while not flags[0]:
        pass
    try:
        step.run()
        assert seen[0] == 1000
    finally:
        flags[1] = 1
        thread.join()
    seen[0] = 0
    step.run()
    assert seen[0] == 10


def test_more_pieces_than_a_job_word_can_count(machine: Machine, count: int) -> None:
    x = np.zeros(2_500_000, np.int64)
    assert machine.program([Step(count, [x.ctypes.data, 1], 0, x.size, 1)], 2).run() == 0
    assert (x == 1).all()


def test_a_status_stops_the_program_after_that_step(machine: Machine, count: int, fail: int) -> None:
    x = np.zeros(1, np.int64)
    one = Step(count, [x.ctypes.data, 1], 0, 1)
    program = machine.program([one, Step(fail, [PROGRAM_STATUS, 5], 0, 1), one])
    assert program.run() == 5
    assert x[0] == 1 and program.stopped_at == 2
    program.arguments(1)[1] = 0
    assert program.run() == 0
    assert x[0] == 13 and program.stopped_at == 3


def test_a_long_program_can_be_interrupted(machine: Machine, count: int) -> None:
    """A signal's handler runs between steps, in the first run and in later ones, and the program can be run again."""

    class Interrupted(Exception):
        pass

    def interrupt(number: int, frame: object) -> None:
        raise Interrupted

    x = np.zeros(1 << 20, np.int64)
    program = machine.program([Step(count, [x.ctypes.data, 1], 0, x.size)] * 20_000)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(Interrupted):
                program.run()
            assert 0 < program.stopped_at < 20_000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    short = machine.program([Step(count, [x.ctypes.data, 1], 0, 1)] * 100)
    x[0] = 0
    assert [short.run() for _ in range(3)] == [0, 0, 0]
    assert short.stopped_at == 100


def test_empty_programs_and_empty_steps(machine: Machine, count: int) -> None:
    assert machine.program([]).run() == 0
    assert machine.program([Step(count, [0, 0], 0, 0, 5), Step(count, [0, 0], 3, 3)], 2).run() == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_gets_pools_of_its_own(machine: Machine, count: int) -> None:
    x = np.zeros(4000, np.int64)
    step = Step(count, [x.ctypes.data, 1], 0, x.size, 10)
    inherited = machine.program([step], 2)
    assert inherited.run() == 0
    child = os.fork()
    if child == 0:
        good = (
            inherited.run() == 0
            and (x == 4).all()
            and machine.program([step], 2).run() == 0
            and (x == 13).all()
        )
        os._exit(0 if good else 1)
    deadline = time.monotonic() + 100
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        assert time.monotonic() < deadline, "the child hangs"
        time.sleep(0.01)
    assert status == 0
    assert (x == 1).all()


def test_a_process_with_a_pool_exits_at_once(tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.programs.machine import Machine
machine = Machine(Compiler(Path({str(tmp_path)!r})), 60)
machine.pool(4)
time.sleep(0.05)
print("leaving", flush=True)
"""
    environment = dict(os.environ, PYTHONPATH=ROOT)
    with (
        MachineClock() as clock,
        subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "leaving\n"
        left = clock.seconds
        assert process.wait(100) == 0
        assert clock.seconds - left < 2  # what promise 30 asks of every process

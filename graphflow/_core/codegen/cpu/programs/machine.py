"""Native programs: a whole step of a plan as one call from Python, with the GIL released.

A program is a flat array of words, five a step (kernel, args, begin, end, grain), run by one compiled
sequencer. Steps with a grain are cut into pieces of that fixed size, which the calling thread and a pool of
threads take one after another; since kernels do not depend on where their range is cut, neither the number of
threads nor their luck changes a bit of the result. Pool threads are Python threads that stay inside a native
function without the GIL; a second program that runs at the same time finds the pool busy for a step and does
that step alone. A pool does not survive a fork: ask for it again in the child.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.programs.machine_source import (
    CONTROL_NEXT,
    CONTROL_POOL,
    CONTROL_PROGRAM,
    CONTROL_RESUME,
    CONTROL_STATUS,
    CONTROL_WORDS,
    POOL_CONSTANTS,
    POOL_STOP,
    POOL_WORDS,
    SEQUENCER_SOURCE,
    STATUS_AGAIN,
    STEP_WORDS,
    WORKER_SOURCE,
)
from graphflow._core.common.arrays import memory_address
from graphflow._core.common.denormals import flushing
from graphflow._core.common.records import dataclass

# What a machine is made of: compile it together with a program's kernels and wait for it no sooner.
MACHINE_SOURCES = (SEQUENCER_SOURCE, WORKER_SOURCE)
Words = npt.NDArray[np.int64]
KERNEL_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
# Stands for the address of the program's own status word in the arguments of a step.
PROGRAM_STATUS = -(1 << 62) - 0x67726166
_SPINS = 2000  # some 30 microseconds
_SEMAPHORE_BYTES = 64  # sizeof(sem_t) is 32 on Linux; the address is what counts
_STOP_SECONDS = 0.5
# A program's first run looks for signals every so many steps; one that takes no longer than this runs in one call then.
_FIRST_STRIDE = 16
_LONG_SECONDS = 0.2
# Threads that sleep are not woken for a program that takes less alone: if all cores are in use that takes as long.
_WAKE_SECONDS = 200e-6
_TIMED_RUNS = 4


@dataclass(frozen=True)
class Step:
    """One kernel call: `args` are copied into the program.

    `grain` units a piece, 0 for one piece on the calling thread.
    """

    kernel: int
    args: Sequence[int]
    begin: int
    end: int
    grain: int = 0


class ThreadPool:
    """`threads` - 1 native worker threads, for programs that are given this pool."""

    def __init__(self, worker_address: int, threads: int) -> None:
        library = ctypes.CDLL(None)
        self._memory = np.zeros(POOL_WORDS + 8, dtype=np.int64)
        offset = -self._memory.ctypes.data % 64 // 8
        self._words = self._memory[offset : offset + POOL_WORDS]
        self._semaphore = ctypes.create_string_buffer(_SEMAPHORE_BYTES)
        self.address = int(self._words.ctypes.data)
        self.threads = threads
        self._post = library.sem_post
        if library.sem_init(self._semaphore, 0, 0) != 0:
            raise OSError("this system has no unnamed semaphores")
        functions = (library.sem_post, library.sem_wait, library.sched_yield)
        addresses = [int(ctypes.cast(function, ctypes.c_void_p).value or 0) for function in functions]
        constants = [ctypes.addressof(self._semaphore), *addresses, _SPINS, threads]
        self._words[POOL_CONSTANTS : POOL_CONSTANTS + len(constants)] = constants
        run = flushing(KERNEL_PROTOTYPE(worker_address))
        self._threads = [
            threading.Thread(target=run, args=(0, self.address, 0), name=f"graphflow-pool-{k}", daemon=True)
            for k in range(1, threads)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the worker threads; programs given this pool then run on the calling thread alone."""
        self._words[POOL_STOP] = 1
        for _ in self._threads:
            self._post(self._semaphore)
        for thread in self._threads:
            thread.join(_STOP_SECONDS)


class Machine:
    """The sequencer and its pools, one for each number of threads.

    Made with a compiler, which holds its code.
    """

    def __init__(self, compiler: Compiler, timeout: float | None = None) -> None:
        """Wait up to `timeout` seconds for the sequencer itself (a cached one takes a few milliseconds)."""
        sequencer, worker = compiler.compile_many(MACHINE_SOURCES)
        self.sequencer_address = sequencer.result(timeout)
        self._worker_address = worker.result(timeout)
        self._pools: dict[int, ThreadPool | None] = {}
        self._process = os.getpid()
        self._lock = threading.Lock()
        atexit.register(self.stop)

    def pool(self, threads: int) -> ThreadPool | None:
        """The pool for this many threads, started at its first use.

        None for one, or if there are no semaphores.
        """
        if threads <= 1:
            return None
        if self._process != os.getpid():  # a fork copies a pool's memory, not its threads
            self._pools, self._lock, self._process = {}, threading.Lock(), os.getpid()
        with self._lock:
            if threads not in self._pools:
                try:
                    self._pools[threads] = ThreadPool(self._worker_address, threads)
                except OSError:
                    self._pools[threads] = None
            return self._pools[threads]

    def program(self, steps: Sequence[Step], threads: int = 1, seldom: bool = False) -> Program:
        """Lay a sequence of steps out as a program for `threads` threads.

        seldom: between its runs the threads fall asleep; a short program then does without them.
        """
        return Program(self.sequencer_address, steps, self.pool(threads), seldom)

    def stop(self) -> None:
        """End all worker threads (done at exit)."""
        if self._process == os.getpid():
            for pool in filter(None, self._pools.values()):
                pool.stop()
            self._pools = {}
        atexit.unregister(self.stop)


class Program:
    """Steps with their arguments in one block of memory; run() is one native call.

    Buffers belong to the caller, who keeps them alive.
    """

    def __init__(
        self, sequencer_address: int, steps: Sequence[Step], pool: ThreadPool | None, seldom: bool = False
    ) -> None:
        counts = [len(step.args) for step in steps]
        starts = np.cumsum([CONTROL_WORDS + STEP_WORDS * len(steps), *counts])
        self._starts: list[int] = starts.tolist()
        self._words: Words = np.zeros(self._starts[-1] + 1, dtype=np.int64)
        base = int(self._words.ctypes.data)
        table = []
        for step, begin, end in zip(steps, self._starts, self._starts[1:], strict=False):
            self._words[begin:end] = step.args
            table.append((step.kernel, base + 8 * begin, step.begin, step.end, step.grain))
        if table:
            end = CONTROL_WORDS + STEP_WORDS * len(steps)
            self._words[CONTROL_WORDS:end] = np.array(table, dtype=np.int64).ravel()
        self._words[CONTROL_PROGRAM] = base + 8 * CONTROL_WORDS
        self._to_time = _TIMED_RUNS if seldom and pool is not None else 0
        self._shortest = float("inf")
        self._words[CONTROL_POOL] = 0 if pool is None or self._to_time else pool.address
        of_status = np.flatnonzero(self._words == PROGRAM_STATUS)
        self._words[of_status] = base + 8 * CONTROL_STATUS
        pointers = CONTROL_WORDS + 1 + STEP_WORDS * np.arange(len(steps))
        self._own = np.concatenate([[CONTROL_PROGRAM], pointers, of_status])
        self._aborted = 0
        self._stride = _FIRST_STRIDE
        self._pool = pool
        self._count = len(steps)
        self._base = base
        self._control = (ctypes.c_int64 * CONTROL_WORDS).from_address(base)
        self._call = KERNEL_PROTOTYPE(sequencer_address)

    @property
    def address(self) -> int:
        """Where its control block lies: the sequencer's argument, for a kernel that runs this program as a part."""
        return self._base

    @property
    def control(self) -> ctypes.Array[ctypes.c_int64]:
        """The words of its control block, as they are now."""
        return self._control

    def __len__(self) -> int:
        """The number of its steps."""
        return self._count

    @property
    def words(self) -> Words:
        """Its memory: the addresses of this memory itself, the steps, and their arguments."""
        return self._words

    @property
    def places(self) -> list[tuple[int, int]]:
        """For each step where in its memory the first of its words lies, and the first of its arguments."""
        return [(CONTROL_WORDS + STEP_WORDS * k, start) for k, start in enumerate(self._starts[:-1])]

    def filled(self, places: npt.NDArray[np.int64], numbers: Sequence[int]) -> Program:
        """The same steps with other numbers in some places of their memory."""
        made = object.__new__(Program)
        made.__dict__.update(self.__dict__)
        made._words = words = self._words.copy()
        made._base = base = memory_address(words)
        words[self._own] += base - self._base
        words[places] = numbers
        made._aborted = 0
        made._control = (ctypes.c_int64 * CONTROL_WORDS).from_address(base)
        return made

    def arguments(self, step: int) -> Words:
        """The argument words of a step, to be changed between runs (another buffer, another size)."""
        return self._words[self._starts[step] : self._starts[step + 1]]

    def all_arguments(self) -> Sequence[Words]:
        """The argument words of every step."""
        return [self.arguments(step) for step in range(self._count)]

    def run(self, check: Callable[[], None] | None = None) -> int:
        """Run all steps; returns the status, 0 when nothing wrote one. One thread at a time.

        Long programs and long loops come back to Python several times a second, so that Ctrl-C works; they
        are gone on with here, unless `check` raises.
        """
        if self._to_time:
            return self._run_timed(check)
        control = self._control
        control[CONTROL_STATUS] = 0
        control[CONTROL_RESUME] = 0
        self._aborted = 0
        if self._stride < self._count:
            self._run_in_parts()
        else:
            self._call(self._base, 0, self._count)
        status = control[CONTROL_STATUS]
        if status != STATUS_AGAIN:
            return status
        while control[CONTROL_STATUS] == STATUS_AGAIN and not self._aborted:
            if check is not None:
                check()
            control[CONTROL_STATUS] = 0
            control[CONTROL_RESUME] = 1
            self._call(self._base, control[CONTROL_NEXT], self._count)
        return self._aborted or control[CONTROL_STATUS]

    def _run_timed(self, check: Callable[[], None] | None) -> int:
        """One of the first runs, which are without other threads, and show whether to wake some pays."""
        left, self._to_time = self._to_time - 1, 0
        began = time.perf_counter()
        try:
            return self.run(check)
        finally:
            self._shortest = min(self._shortest, time.perf_counter() - began)
            self._to_time = left
            if not left and self._shortest > _WAKE_SECONDS and self._pool is not None:
                self._control[CONTROL_POOL] = self._pool.address

    def time_steps(self) -> list[float]:
        """Runs the steps one by one; the seconds that each took, with the call from Python (under a microsecond)."""
        control, seconds = self._control, []
        control[CONTROL_STATUS] = control[CONTROL_RESUME] = 0
        for step in range(self._count):
            began = time.perf_counter()
            self._call(self._base, step, step + 1)
            seconds.append(time.perf_counter() - began)
        return seconds

    def _run_in_parts(self) -> None:
        """Run with a look at Python's signals every few steps, and learn how many of them may run at once."""
        began, control, position = time.monotonic(), self._control, 0
        while position < self._count and control[CONTROL_STATUS] == 0:
            self._call(self._base, position, min(position + self._stride, self._count))
            position += self._stride
        seconds = time.monotonic() - began
        allowed = self._count if seconds < _LONG_SECONDS else int(self._count * _LONG_SECONDS / seconds)
        self._stride = max(1, allowed)

    def abort(self, status: int = -1) -> None:
        """Stop the program after its current step; from any thread."""
        self._aborted = status
        self._control[CONTROL_STATUS] = status

    @property
    def stopped_at(self) -> int:
        """Index of the first step that the last run did not execute."""
        return self._control[CONTROL_NEXT]

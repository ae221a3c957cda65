"""Runs the parts of a plan: in the caller's thread where there is one part, on a pool where there are several.

A part that waits for another is a suspended generator; what it waits for resumes it. An error of a line becomes the
error of its operation, with the user's line.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphflow import errors
from graphflow.graph.elements import Operation
from graphflow.plan.ir import Instruction, walk
from graphflow.plan.partition import Partition
from graphflow.runtime.assemble import PASS_THROUGH, Assembled, KernelTable, assemble
from graphflow.runtime.context import Rendezvous, RunContext
from graphflow.runtime.resources import ResourceStore, VariableCell
from graphflow.runtime.threads import ThreadPool


class Executable:
    """A planned run that can be repeated. Thread-safe."""

    def __init__(
        self,
        partition: Partition,
        store: ResourceStore,
        kernels: KernelTable,
        pool: Callable[[], ThreadPool],
        **options: bool,
    ) -> None:
        self._parts = [assemble(part, store, kernels, **options) for part in partition.parts.values()]
        self._pool = pool
        positions: dict[str, int] = dict.fromkeys(partition.parts, 0)
        order = list(partition.parts)
        self._collect: list[tuple[int, int]] = []
        for device in partition.fetch_devices:
            self._collect.append((order.index(device), positions[device]))
            positions[device] += 1
        self._direct = len(self._parts) == 1 and not self._parts[0].waits
        self._uses_variables = any(part.cells for part in self._parts)
        self._holds_views = self._may_hold_views(partition, kernels)

    @staticmethod
    def _may_hold_views(partition: Partition, kernels: KernelTable) -> bool:
        """Whether memory of a variable may be in use, outside its kernels, while the run waits."""
        instructions = [i for part in partition.parts.values() for i in walk(part)]
        if not any(i.blocks for i in instructions):
            return False
        variables = {name for part in partition.parts.values() for name in part.variables()}
        return len(partition.parts) > 1 or any(
            name in variables and not place
            for i in instructions
            if i.bodies or i.type in PASS_THROUGH or kernels.may_view(i.type)
            for name, place in zip(i.inputs, i.places(), strict=True)
        )

    @property
    def direct(self) -> bool:
        """Whether it is one part that waits for nothing, and runs in the caller's thread."""
        return self._direct

    @property
    def uses_variables(self) -> bool:
        """Whether a run has to count as active in the store."""
        return self._uses_variables

    @property
    def parts(self) -> Sequence[Assembled]:
        """The compiled parts."""
        return self._parts

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order. Raises the error of the first operation that fails."""
        if self._holds_views:
            run.pausable = False
        if self._direct and run.deadline is None:
            part = self._parts[0]
            try:
                if not part.computes:
                    return part.function(run, *feeds)  # type: ignore[no-any-return]
                with np.errstate(all="ignore"):
                    result: tuple[Any, ...] = part.function(run, *feeds)
                return result
            except Exception as error:
                raise explain(error, part) from error
        return _Crew(self._parts, run, self._pool(), self._uses_variables).run(feeds, self._collect)


class _Crew:
    """One run of several parts."""

    def __init__(
        self, parts: Sequence[Assembled], run: RunContext, pool: ThreadPool, uses_variables: bool
    ) -> None:
        self._parts = parts
        self._run = run
        self._pool = pool
        self._uses_variables = uses_variables
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._active = 0
        self._left = len(parts)
        self._threads: dict[int, int] = {}
        self._abandoned = False
        self._results: list[tuple[Any, ...]] = [()] * len(parts)
        self._error: BaseException | None = None

    def run(self, feeds: Sequence[Any], collect: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
        self._run.rendezvous = Rendezvous()
        for number, part in enumerate(self._parts):
            generator = part.function(self._run, *feeds) if part.waits else None
            self._submit(number, generator, feeds, None)
        self._wait()
        if self._error is not None:
            raise self._error
        return tuple(self._results[part][position] for part, position in collect)

    def _wait(self) -> None:
        deadline = self._run.deadline
        try:
            while not self._ended.wait(
                0.5 if deadline is None else max(0.0, min(0.5, deadline - time.monotonic()))
            ):
                if deadline is not None and time.monotonic() >= deadline:
                    self._give_up()
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """Leaves the parts to themselves; as long as one is at work the run counts as active, for its writes' sake."""
        self._run.cancel()
        with self._lock:
            if self._active and self._uses_variables:
                self._abandoned = True
                self._run.store.enter()

    def _give_up(self) -> None:
        with self._lock:
            running = dict(self._threads)
            noticed = self._error
        if noticed is not None:  # a loop saw the deadline first, and has said where
            raise noticed
        frames = sys._current_frames()
        at_work = [
            _current(self._parts[number], frames.get(thread)) + self._awaited(thread)
            for number, thread in running.items()
        ]
        waiting = [f"{key[0]!r} from {key[1]}" for key in self._run.rendezvous.pending()]
        told = "".join(
            f" {what}: {', '.join(names)}."
            for what, names in (("Still running", at_work), ("Awaited", waiting))
            if names
        )
        raise errors.DeadlineExceededError(
            None, None, f"The run did not finish within its operation timeout.{told}"
        )

    def _awaited(self, thread: int) -> str:
        awaited = self._run.store.awaited(thread)
        return f", waiting for {awaited}" if awaited else ""

    def _submit(self, number: int, generator: Any, feeds: Sequence[Any], value: Any) -> None:
        with self._lock:
            self._active += 1
        self._pool.submit(self._advance, number, generator, feeds, value)

    def _advance(self, number: int, generator: Any, feeds: Sequence[Any], value: Any) -> None:
        part = self._parts[number]
        self._threads[number] = threading.get_ident()
        try:
            with np.errstate(all="ignore"):
                if generator is None:
                    self._results[number] = part.function(self._run, *feeds)
                else:
                    there = True
                    while there:
                        key = generator.send(value)
                        there, value = self._run.rendezvous.receive(
                            key, lambda late: self._submit(number, generator, feeds, late)
                        )
                    self._step_done(number, finished=False)
                    return
        except StopIteration as stop:
            self._results[number] = stop.value
        except BaseException as error:
            self._run.failed()
            cells = [cell for other in self._parts for cell in other.cells]
            explained = explain(error, part, cells) if isinstance(error, Exception) else error
            with self._lock:
                self._error = self._error or explained
            self._run.cancel()
        self._step_done(number, finished=True)

    def _step_done(self, number: int, finished: bool) -> None:
        with self._lock:
            if self._threads.get(number) == threading.get_ident():
                del self._threads[number]
            self._active -= 1
            self._left -= finished
            ended = self._left == 0 or (self._error is not None and self._active == 0)
            leaves = self._abandoned and self._active == 0
        if leaves:
            self._run.store.leave()
        if ended:
            self._ended.set()


def _current(part: Assembled, frame: Any) -> str:
    """The operation that a thread is at, and where it was built."""
    while frame is not None and frame.f_code.co_filename != part.filename:
        frame = frame.f_back
    instruction = None if frame is None else part.lines[frame.f_lineno - 1]
    if instruction is None:
        return "an operation"
    built = "" if instruction.op is None else " (built at {}:{})".format(*instruction.op.line)
    return f"{instruction.describe()} on {instruction.device}{built}"


def _failed_instruction(error: BaseException, part: Assembled) -> Instruction | None:
    trace = error.__traceback__
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == part.filename:
            found = part.lines[trace.tb_lineno - 1]
        trace = trace.tb_next
    return found


def explain(error: Exception, part: Assembled, cells: Sequence[VariableCell] | None = None) -> Exception:
    """The error as graphflow's, naming the operation and the line that built it.

    `cells` are the variables of the whole run, by default those of the part.
    """
    instruction = _failed_instruction(error, part)
    op = None if instruction is None else instruction.op
    if isinstance(error, errors.OpError) and error.op is not None:
        return error
    where = ""
    if instruction is not None and op is not None:
        where = f"{instruction.describe()}: "
    built = "" if op is None else "\nBuilt at {}:{}.".format(*op.line)
    if isinstance(error, errors.FailedPreconditionError) and "uninitialized" in error.message:
        return _uninitialized(error, part.cells if cells is None else cells, op, where, built)
    if isinstance(error, errors.OpError):
        return type(error)(None, op, f"{where}{error.message}{built}")
    if isinstance(error, MemoryError):
        return errors.ResourceExhaustedError(None, op, f"{where}out of memory. {error}{built}")
    if isinstance(error, ValueError | IndexError | ZeroDivisionError | OverflowError | TypeError):
        return errors.InvalidArgumentError(None, op, f"{where}{error}{built}")
    return errors.InternalError(None, op, f"{where}{type(error).__name__}: {error}{built}")


def _uninitialized(
    error: errors.OpError, cells: Sequence[VariableCell], op: Operation | None, where: str, built: str
) -> Exception:
    missing = [cell for cell in cells if cell.value is None]
    listing = "; ".join(f"{cell.name} (built at {cell.line[0]}:{cell.line[1]})" for cell in missing)
    return errors.FailedPreconditionError(
        None,
        op,
        f"{where}{error.message}. All uninitialized variables of this run: {listing}. "
        f"Run gf.global_variables_initializer() (or restore a checkpoint) in this session first.{built}",
    )

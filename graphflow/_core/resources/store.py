"""Where state lives: variables and the like, by name, in the session's process or in a task of a cluster.

The graph holds no values. A store belongs to one session here, to a task on a cluster; several runs may use it at
once, so every change of a variable happens whole, under its lock. Whatever waits for something of the store, such as
an element of a queue, waits in its `wait`, so that closing the store, cancelling a run and deadlines reach it.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.timeouts import STALL_CHECK_SECONDS, WAIT_LOOK_SECONDS
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.scopes import container_of, resource_name
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan.ir import Instruction
from graphflow._core.resources.borrowing import Memory, ProcessMemory
from graphflow._core.resources.run import Run
from graphflow._core.resources.services import AbsentTasks, CollectiveService, FunctionService, GraphService
from graphflow._core.resources.variables import VariableCell

Result = TypeVar("Result")


CLOSED = "The session was closed."


def _pause(run: Run | None) -> float:
    """How long who waits may wait before it looks again."""
    left = None if run is None else run.remaining()
    return WAIT_LOOK_SECONDS if left is None else min(left, WAIT_LOOK_SECONDS)


class Saveable(Protocol):
    """A resource whose state a checkpoint holds, such as a random state or an iterator's position."""

    def get_state(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """The state as arrays by name; it stays as it is while the resource goes on."""
        ...

    def set_state(self, state: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Goes on from what get_state returned; ValueError for what cannot have come from there."""
        ...


class ResourceStore:
    """All state of a session or a task, by name. Thread-safe.

    around: the store that this one belongs to and is closed with, such as the session's for a dataset's function.
    """

    cell_type: type[VariableCell] = VariableCell
    """What variables are made of; another if there are GPUs."""
    memory: Memory = ProcessMemory()
    """Where values lie that leave the run or its device; a task's is shared with other processes."""
    collectives: CollectiveService | None = None
    """Where the members of groups meet those of other processes, if the store is a task's."""
    planner: FunctionService | None = None
    """Makes what runs functions, set by the owner of the store."""
    graph: GraphService | None = None
    """What the session knows of its graph, if the store is a session's."""

    def __init__(self, around: ResourceStore | None = None) -> None:
        self._around = None if around is None else weakref.ref(around)
        self._lock = threading.Lock()
        self._settled = threading.Condition(self._lock)
        self._variables: dict[str, VariableCell] = {}
        self._others: dict[str, Any] = {}
        self._restored: dict[str, Mapping[str, np.ndarray[Any, Any]]] = {}
        self._active = 0
        self._in_place = 0
        self._waiters: dict[int, tuple[threading.Condition, Callable[[], str]]] = {}
        self._closed = False
        self.absent = AbsentTasks()
        """The other tasks of the cluster that are not there, if the store is a task's."""

    # ---- waiting --------------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether its session was closed: nothing waits here any more."""
        if self._closed or self._around is None:
            return self._closed
        around = self._around()
        return around is None or around.closed

    def close(self) -> None:
        """Ends every wait with CancelledError, those that begin later too, and the threads of resources.

        Frees the variables' values, now or when the last run ends that uses them; Python's collector of cycles may
        come by much later.
        """
        self._closed = True
        self.wake()
        for resource in self.others().values():
            release = getattr(resource, "release", None)
            if release is not None:
                release()
        with self._lock:
            self._free_unused()

    def _free_unused(self) -> None:
        if self._closed and not self._active:
            for cell in self._variables.values():
                cell.value = None

    def wake(self) -> None:
        """Lets everything that waits look again whether its run was cancelled or the store closed."""
        with self._lock:
            conditions = {condition for condition, _ in self._waiters.values()}
        for condition in conditions:
            with condition:
                condition.notify_all()

    def awaited(self, thread: int) -> str:
        """What a thread waits for; "" if it does not wait."""
        waiter = self._waiters.get(thread)
        return "" if waiter is None else waiter[1]()

    def waiting(self) -> list[str]:
        """What is waited for at present, once for each thread that waits."""
        with self._lock:
            waiters = list(self._waiters.values())
        return [awaited() for _, awaited in waiters]

    def wait(
        self,
        condition: threading.Condition,
        attempt: Callable[[], Result | None],
        run: Run | None,
        awaited: Callable[[], str],
        doubt: Callable[[], None] | None = None,
    ) -> Result:
        """Returns what attempt() returns as soon as that is not None.

        attempt is called with the condition held, at first, after each notification of it and now and then. `awaited`
        says, with the condition held or not, what is waited for. Raises CancelledError when the store is closed or the
        run cancelled, DeadlineExceededError at the run's deadline; `run` is None for a thread that works for the store
        and not for a run. While it waits, a run that holds no variable's memory does not count as active. `doubt` is
        called once, after it has waited for STALL_CHECK_SECONDS: it raises if it sees that the wait is in vain.
        """
        with condition:
            result = attempt()
        if result is not None:
            return result
        paused = run is not None and run.pausable
        thread = threading.get_ident()
        with self._lock:
            self._waiters[thread] = condition, awaited
            self._active -= paused
        doubtful = time.monotonic() + STALL_CHECK_SECONDS
        try:
            with condition:
                while True:
                    if self.closed:
                        raise errors.CancelledError(None, None, CLOSED)
                    if run is not None:
                        run.check(awaited)
                    if (result := attempt()) is not None:
                        return result
                    if doubt is not None and time.monotonic() > doubtful:
                        doubt()
                        doubt = None
                        continue
                    condition.wait(_pause(run))
        finally:
            with self._lock:
                del self._waiters[thread]
                if paused:  # It counts again in any case: leave() follows.
                    self._active += 1
                    self._settle(run)

    # ---- changes in place -----------------------------------------------------------------------------------------

    def running(
        self, run: Run, function: Callable[[Any, Sequence[Any]], Result], values: Sequence[Any]
    ) -> Result:
        """The result of function(run, values), while the run counts as active; if that fails, the run is told.

        First it waits for changes in place that go on: CancelledError or DeadlineExceededError if the run is to end
        meanwhile. One call and no context manager, since a small run takes a few microseconds in all.
        """
        with self._lock:
            self._active += 1
            if self._in_place:
                self._begin(run)
        try:
            return function(run, values)
        except BaseException as error:
            run.failed(error)
            raise
        finally:
            with self._lock:
                self._active -= 1
                if self._closed:
                    self._free_unused()

    def enter(self, run: Run | None = None) -> None:
        """A run begins that `running` cannot be around; leave() follows. Waits for changes in place that go on.

        A compiled plan with a long loop makes that long: if `run` is to end meanwhile, this raises as check() does.
        """
        with self._lock:
            self._active += 1
            if self._in_place:
                self._begin(run)

    def _begin(self, run: Run | None) -> None:
        """Waits for changes in place before a run that is counted already, with the lock held."""
        try:
            self._settle(run)
        except BaseException:
            self._active -= 1
            raise

    def _settle(self, run: Run | None) -> None:
        """Waits for changes in place, with the lock held."""
        while self._in_place and self._active > 1:
            self._settled.wait(_pause(run))
            if run is not None and self._in_place:
                run.check(lambda: "a run that changes variables in place")

    def leave(self) -> None:
        """Such a run ends."""
        with self._lock:
            self._active -= 1
            if self._closed:
                self._free_unused()

    def begin_in_place(self, *cells: VariableCell) -> bool:
        """Whether values may be changed in place: only one run is active, and nobody has borrowed these.

        If so, end_in_place() must follow.
        """
        with self._lock:
            if self._active > 1 or any(cell._is_borrowed() for cell in cells):
                return False
            self._in_place += 1
            for cell in cells:
                cell.changes_in_place()
            return True

    def end_in_place(self) -> None:
        """A change in place is done."""
        with self._lock:
            self._in_place -= 1
            if self._active > 1:
                self._settled.notify_all()

    # ---- what it holds --------------------------------------------------------------------------------------------

    def cell(self, instruction: Instruction) -> VariableCell:
        """The cell of the variable that an instruction of a plan stands for."""
        assert instruction.origin is not None
        name = resource_name(instruction.attrs, instruction.name)
        return self.variable(name, instruction.dtypes[0], instruction.origin.line, instruction.shapes[0])

    def variable(self, name: str, dtype: DType, line: tuple[str, int], dims: Dims = None) -> VariableCell:
        """The cell of a variable, made on first use; InvalidArgumentError if it has another dtype."""
        with self._lock:
            cell = self._variables.get(name)
            if cell is None:
                cell = self._variables[name] = self.cell_type(self, name, dtype, line, dims)
        if cell.dtype is not dtype:
            raise errors.InvalidArgumentError(
                None, None,
                f"The variable {name!r} is held as {cell.dtype.name} (built at "
                f"{cell.line[0]}:{cell.line[1]}), but is now asked "
                f"for as {dtype.name} (built at {line[0]}:{line[1]}). Give one of them another name.",
            )  # fmt: skip
        return cell

    def variables(self) -> list[VariableCell]:
        """All cells."""
        with self._lock:
            return list(self._variables.values())

    def cells(self, names: Sequence[str]) -> dict[str, VariableCell]:
        """The cells of these names that there are."""
        with self._lock:
            return {name: self._variables[name] for name in names if name in self._variables}

    def reset(self, containers: Sequence[str] | None) -> None:
        """Forgets what is in these containers, "" being the default one, or everything; what waits there ends."""
        with self._lock:
            names = {*self._variables, *self._others, *self._restored}
            gone = {name for name in names if containers is None or container_of(name) in containers}
            for name in gone & self._variables.keys():
                self._variables[name].assigned += 1  # What runs have changed there does not count any more.
            for held in (self._variables, self._others, self._restored):
                for name in gone & held.keys():
                    del held[name]
        self.wake()

    def other(self, name: str, make: Callable[[], Result]) -> Result:
        """Another resource, such as a random state or a queue, made on first use."""
        with self._lock:
            if name not in self._others:
                resource: Any = make()
                self._others[name] = resource
                restored = self._restored.pop(name, None)
                if restored is not None:
                    resource.set_state(restored)
            found: Result = self._others[name]
            return found

    def others(self) -> dict[str, Any]:
        """All other resources by name."""
        with self._lock:
            return dict(self._others)

    def get_state(self) -> dict[str, Mapping[str, np.ndarray[Any, Any]]]:
        """The states of all resources that can be saved, by the resource's name; variables are not among them."""
        with self._lock:
            found = {name: r for name, r in self._others.items() if hasattr(r, "get_state")}
            waiting = dict(self._restored)
        return waiting | {name: resource.get_state() for name, resource in found.items()}

    def set_state(self, states: Mapping[str, Mapping[str, np.ndarray[Any, Any]]]) -> None:
        """Sets the states of resources; those that are not there yet begin with theirs when they are made.

        A resource that says `begins_alike`, such as a random state, and of which nothing is said, had not been used
        when the states were taken: it goes, and is made again on its next use.
        """
        with self._lock:
            for name, resource in list(self._others.items()):
                if name not in states and getattr(resource, "begins_alike", False):
                    del self._others[name]
            here = {name: self._others[name] for name in states if name in self._others}
            self._restored = {name: state for name, state in states.items() if name not in here}
        for name, resource in here.items():
            resource.set_state(states[name])

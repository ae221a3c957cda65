"""ResourceStore: the state of a session or of a task, by name: variables, queues, readers, datasets and the like.

The graph holds no values. A store belongs to one session, or to a task of a cluster. Several runs may use it at once,
so every change of a variable happens whole, under its lock. Code that waits for something of the store, such as an
element of a queue, waits in its `wait`, so that it ends if the store is closed, the run is cancelled or its deadline
passes.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.timeouts import ROUND_SLOW_SECONDS, STALL_CHECK_SECONDS, WAIT_LOOK_SECONDS
from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.scopes import container_of, resource_name
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan.ir import Instruction
from graphflow._core.resources.borrowing import Memory, ProcessMemory
from graphflow._core.resources.run import Run
from graphflow._core.resources.services import (
    AbsentTasks,
    CollectiveService,
    FunctionService,
    GraphService,
    RunMemory,
)
from graphflow._core.resources.variables import VariableCell

Result = TypeVar("Result")


CLOSED = "The run was cancelled: the session was closed."


def _pause(run: Run | None) -> float:
    """The seconds after which a waiting thread looks again."""
    left = None if run is None else run.remaining()
    return WAIT_LOOK_SECONDS if left is None else min(left, WAIT_LOOK_SECONDS)


class _Waiter(NamedTuple):
    """A thread that waits: until `condition` is notified, for what `awaited` says, since `since` (time.monotonic())."""

    condition: Condition
    awaited: Callable[[], str]
    run: Run | None
    since: float

    def told(self) -> str:
        """What it waits for, as another thread may ask."""
        with self.condition:
            return self.awaited()


class Wait(NamedTuple):
    """What a thread waits for in a store, and since when, by time.monotonic()."""

    thread: int
    since: float
    text: str


class Saveable(Protocol):
    """A resource whose state a checkpoint holds, such as a random state or an iterator's position."""

    def get_state(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """The state as arrays by name; it stays as it is while the resource goes on."""
        ...

    def set_state(self, state: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Restores a state that get_state returned; ValueError for anything that it cannot have returned."""
        ...


class ResourceStore:
    """All state of a session or a task, by name. Thread-safe.

    around: the store that this one belongs to and is closed with: a dataset's function belongs to the session's store.
    """

    cell_type: type[VariableCell] = VariableCell
    """The class of the cells of variables; another one if there are GPUs."""
    memory: Memory = ProcessMemory()
    """The memory for values that leave the run or its device; that of a task is shared with other processes."""
    collectives: CollectiveService | None = None
    """The collectives with members in other processes, if the store is a task's."""
    planner: FunctionService | None = None
    """Makes the runners of functions; set by the owner of the store."""
    say_waits: Callable[[str, float], None] | None = None
    """Says in the log of a task what the calling thread waits for, and for how many seconds it has.

    None if the store is a session's, whose program may mean to wait."""
    runs: RunMemory | None = None
    """What is remembered of runs that may be repeated, if the store is a task's."""
    graph: GraphService | None = None
    """Answers questions about the graph, if the store is a session's."""

    def __init__(self, around: ResourceStore | None = None) -> None:
        self._around = None if around is None else weakref.ref(around)
        self._lock = self._settled = Condition()
        self._variables: dict[str, VariableCell] = {}
        self._others: dict[str, Any] = {}
        self._restored: dict[str, Mapping[str, np.ndarray[Any, Any]]] = {}
        self._active = 0
        self._in_place = 0
        self._waiters: dict[int, _Waiter] = {}
        self._closed = False
        self.absent: AbsentTasks = AbsentTasks()
        """The other tasks of the cluster that are absent, if the store is a task's."""

    @property
    def home(self) -> ResourceStore:
        """The store of the session or the task: this one, or that which it belongs to; CancelledError if it is gone."""
        if self._around is None:
            return self
        around = self._around()
        if around is None:
            raise errors.CancelledError(None, None, CLOSED)
        return around.home

    # ---- waiting --------------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether the store was closed: no wait in it lasts any longer."""
        if self._closed or self._around is None:
            return self._closed
        around = self._around()
        return around is None or around.closed

    def close(self) -> None:
        """Ends every wait with CancelledError, also those that begin later, and the threads of resources.

        Frees the variables' values at once, or when the last run that uses them ends. Python's garbage collector might
        free them much later.
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
        """Has every waiting thread check again whether its run was cancelled or the store closed."""
        with self._lock:
            conditions = {waiter.condition for waiter in self._waiters.values()}
        for condition in conditions:
            with condition:
                condition.notify_all()

    def awaited(self, thread: int) -> str:
        """What a thread waits for; "" if it does not wait."""
        waiter = self._waiters.get(thread)
        return "" if waiter is None else waiter.awaited()

    def waiting(self) -> list[str]:
        """What the waiting threads wait for, a text for each of them."""
        with self._lock:
            waiters = list(self._waiters.values())
        return [waiter.awaited() for waiter in waiters]

    def waits_of(self, run: Run) -> list[Wait]:
        """What the threads of a run wait for here."""
        with self._lock:
            waiters = list(self._waiters.items())
        return [Wait(thread, w.since, w.told()) for thread, w in waiters if w.run is run]

    def wait(
        self,
        condition: Condition,
        attempt: Callable[[], Result | None],
        run: Run | None,
        awaited: Callable[[], str],
        stall_check: Callable[[], None] | None = None,
        says_itself: bool = False,
    ) -> Result:
        """Returns what attempt() returns as soon as that is not None.

        attempt: called with the condition held: at once, after each notification of the condition, and now and then.
        awaited: returns what is waited for, as a text. run: None for a thread that works for the store and not for a
        run. stall_check: called once, after STALL_CHECK_SECONDS; it raises if it sees that the wait is in vain.
        says_itself: whether it logs what it waits for. Otherwise the store of a task does, after ROUND_SLOW_SECONDS and
        three times as late each time: a queue at which tasks are joined keeps runs waiting for hours.

        Raises CancelledError if the store is closed or the run cancelled, DeadlineExceededError at the run's deadline.
        While it waits, a run that holds no variable's memory does not count as active.
        """
        with condition:
            result = attempt()
        if result is not None:
            return result
        paused = run is not None and run.pausable
        thread, since = threading.get_ident(), time.monotonic()
        with self._lock:
            self._waiters[thread] = _Waiter(condition, awaited, run, since)
            self._active -= paused
        stall_check_due = since + STALL_CHECK_SECONDS
        say = None if says_itself or run is None else self.say_waits
        say_after = ROUND_SLOW_SECONDS
        try:
            with condition:
                while True:
                    if self.closed:
                        raise errors.CancelledError(None, None, CLOSED)
                    if run is not None:
                        run.check(awaited)
                    if (result := attempt()) is not None:
                        return result
                    if stall_check is not None and time.monotonic() > stall_check_due:
                        stall_check()
                        stall_check = None
                        continue
                    if say is not None and (waited := time.monotonic() - since) > say_after:
                        say_after = 3 * waited
                        say(awaited(), waited)
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
        """Returns function(run, values). Meanwhile the run counts as active; if it fails, its cleanups are called.

        First it waits until no variable is changed in place: CancelledError or DeadlineExceededError if the run has to
        end meanwhile. It is one call and no context manager, since a small run takes a few microseconds in all.
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
        """Counts a run as active for which `running` cannot be used; leave() must follow.

        Waits until no variable is changed in place, which takes long if a compiled plan has a long loop. If `run` has
        to end meanwhile, this raises as check() does.
        """
        with self._lock:
            self._active += 1
            if self._in_place:
                self._begin(run)

    def _begin(self, run: Run | None) -> None:
        """Waits until no variable is changed in place, with the lock held; the run is counted already."""
        try:
            self._settle(run)
        except BaseException:
            self._active -= 1
            raise

    def _settle(self, run: Run | None) -> None:
        """Waits until no variable is changed in place, with the lock held."""
        while self._in_place and self._active > 1:
            self._settled.wait(_pause(run))
            if run is not None and self._in_place:
                run.check(lambda: "a run that changes variables in place")

    def leave(self) -> None:
        """Counts a run as active no more, after enter()."""
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
        """Notes that a change in place is done."""
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
        """The cell of a variable, made on first use; InvalidArgumentError if it has another dtype.

        Variables of a function are those of the session or task that it belongs to.
        """
        home = self.home
        if home is not self:
            return home.variable(name, dtype, line, dims)
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
        """The cells of those of these names that have one."""
        with self._lock:
            return {name: self._variables[name] for name in names if name in self._variables}

    def reset(self, containers: Sequence[str] | None) -> None:
        """Forgets all state in these containers, "" being the default one, or in all; waits for it end."""
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
        """Sets the states of resources; one that is not there yet gets its state when it is made.

        A resource without a state among these was not used before they were taken. If it says `begins_alike`, such as a
        random state, it is removed here, and made anew at its next use.
        """
        with self._lock:
            for name, resource in list(self._others.items()):
                if name not in states and getattr(resource, "begins_alike", False):
                    del self._others[name]
            here = {name: self._others[name] for name in states if name in self._others}
            self._restored = {name: state for name, state in states.items() if name not in here}
        for name, resource in here.items():
            resource.set_state(states[name])

"""Sessions whose server is in their own process: the thread that calls Session.run runs plans with collectives itself.

A worker that trains together with others by allreduce has its server in its process. Its steps wait for the other
workers. If the calling thread gave each step to a thread of the server, and waited for the answer, every worker would
be slower.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.cluster.protocol.sessions import WAS_RESET
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.graph.devices import task_of
from graphflow._core.plan.ir import Plan, walk
from graphflow._core.plan.passes.collectives import SPLIT, members
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable, carry_out
from graphflow._core.runtime.planner import ExecutionOptions, Planner


@dataclass(eq=False)
class InProcessTask:
    """A task whose server is in this process. ended: says whether Session.reset() has ended the session of a name."""

    task: str
    planner: Planner
    store: ResourceStore
    ended: Callable[[str], bool]


_TASKS: Final[weakref.WeakValueDictionary[tuple[int, str], InProcessTask]] = weakref.WeakValueDictionary()
"""The tasks of this process, by the number of the process and their incarnations, as long as their servers exist."""


def add(incarnation: str, task: InProcessTask) -> None:
    """Makes a task known to the sessions of this process."""
    _TASKS[os.getpid(), incarnation] = task


def find(incarnation: str) -> InProcessTask | None:
    """The task of that incarnation; None if it is not in this process."""
    return _TASKS.get((os.getpid(), incarnation))


class InProcessRuns:
    """The runs of one session that its own process computes. Thread-safe."""

    def __init__(self, task: InProcessTask, session: str) -> None:
        self.task = task
        self.session = session
        self.closed = False
        self.active: set[RunContext] = set()
        self.kept: dict[str, Any] = {}
        """What operations keep from run to run."""
        self._members: set[tuple[int, str]] = set()

    def takes(self, plan: Plan, devices: Sequence[str]) -> bool:
        """Whether this process is to run a plan on these devices: all are its own, and the plan has collectives."""
        return all(task_of(d) == self.task.task for d in devices) and any(i.type in SPLIT for i in walk(plan))

    def executable(self, plan: Plan, options: ExecutionOptions) -> InProcessExecutable:
        """What runs a plan."""
        found = self.task.planner.executable(plan, self.task.store, options)
        self._members |= members(plan)
        return InProcessExecutable(self, found)

    def close(self, given_up: bool) -> None:
        """Ends what runs, and has the session's members leave their groups."""
        self.closed = True
        for run in list(self.active):
            run.cancel()
        collectives = self.task.store.collectives
        if collectives is not None:
            collectives.quit(self._members, given_up)


class InProcessExecutable(Executable):
    """A plan that runs on the state of a task of this process. Thread-safe."""

    uses_variables = False
    """None of the session's own store: a run counts as active in the task's."""

    def __init__(self, runs: InProcessRuns, executable: Executable) -> None:
        self._runs = runs
        self._executable = executable

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order; they belong to the caller."""
        runs = self._runs
        store = runs.task.store
        if store.closed:
            text = f"{runs.task.task}, this session's target, has ended."
            raise errors.UnavailableError(None, None, text)
        if runs.task.ended(runs.session):
            raise errors.AbortedError(None, None, WAS_RESET)
        own = RunContext(store, run.deadline)
        own.trace, own.kept = run.trace, runs.kept
        runs.active.add(own)
        try:
            if runs.closed:
                raise errors.CancelledError(None, None, "The session is closed.")
            return tuple([_own(value) for value in carry_out(self._executable, own, feeds)])
        finally:
            runs.active.discard(own)

    def describe(self) -> str:
        """The compiled plans that there are."""
        return self._executable.describe()

    def reasons(self) -> Sequence[StaysOnNumpy]:
        """Why parts of it stay on NumPy."""
        return self._executable.reasons()

    def compiled(self) -> Sequence[Any]:
        """The compiled plans that there are."""
        return self._executable.compiled()


def _own(value: Any) -> Any:
    """A value that its caller may change."""
    return value if not isinstance(value, np.ndarray) or value.flags.writeable else value.copy()

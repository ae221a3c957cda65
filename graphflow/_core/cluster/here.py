"""Plans of a session whose server is in the same process, where they hold collectives: run by the thread that asks.

A worker that trains together with others by allreduce has its server beside it. What its steps wait for are the other
workers, so each hand-over to a thread of the server's and back would make all of them slower.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.cluster.protocol.sessions import WAS_RESET
from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.graph.devices import task_of
from graphflow._core.plan.ir import Plan, walk
from graphflow._core.plan.passes.collectives import SPLIT, members
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable, carry_out
from graphflow._core.runtime.planner import ExecutionOptions, Planner


@dataclass(eq=False)
class TaskHere:
    """A task of this process. ended: whether a session, by its name, was ended by Session.reset()."""

    task: str
    planner: Planner
    store: ResourceStore
    ended: Callable[[str], bool]


_TASKS: Final[weakref.WeakValueDictionary[tuple[int, str], TaskHere]] = weakref.WeakValueDictionary()
"""The tasks of this process, by its number and their incarnations; as long as their servers are there."""


def add(incarnation: str, task: TaskHere) -> None:
    """A task begins to serve."""
    _TASKS[os.getpid(), incarnation] = task


def find(incarnation: str) -> TaskHere | None:
    """The task of that incarnation, where it is in this process."""
    return _TASKS.get((os.getpid(), incarnation))


class RunsHere:
    """The runs of one session that go on in this process. Thread-safe."""

    def __init__(self, task: TaskHere, session: str) -> None:
        self.task = task
        self.session = session
        self.closed = False
        self.active: set[RunContext] = set()
        self.kept: dict[str, Any] = {}
        """What operations keep from run to run."""
        self._members: set[tuple[int, str]] = set()

    def takes(self, plan: Plan, devices: Sequence[str]) -> bool:
        """Whether a plan on these devices is to run here."""
        return all(task_of(d) == self.task.task for d in devices) and any(i.type in SPLIT for i in walk(plan))

    def executable(self, plan: Plan, options: ExecutionOptions) -> ExecutableHere:
        """What runs a plan."""
        found = self.task.planner.executable(plan, self.task.store, options)
        self._members |= members(plan)
        return ExecutableHere(self, found)

    def close(self, given_up: bool) -> None:
        """Ends what runs, and has the session's members leave their groups."""
        self.closed = True
        for run in list(self.active):
            run.cancel()
        collectives = self.task.store.collectives
        if collectives is not None:
            collectives.quit(self._members, given_up)


class ExecutableHere(Executable):
    """A plan that runs on the state of a task of this process. Thread-safe."""

    uses_variables = False
    """None of the session's own store: a run counts as active in the task's."""

    def __init__(self, runs: RunsHere, executable: Executable) -> None:
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

"""Services: objects that the owner of a store, a session or a task, gives to the resources and kernels that use it.

A resource has a name from a program or an op, ends with Session.reset(), and is saved in checkpoints. A service has
none of these. It is an attribute of the store with a type of its own, so no name of a program can collide with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from graphflow._core.common.records import dataclass
from graphflow._core.common.request_ids import RunId


@dataclass
class AbsentTasks:
    """The absent tasks of a cluster, each with the time since when, in seconds of time.monotonic().

    lost: those that were there. unmet: those that never were. One thread changes them; any thread may read them.
    """

    lost: dict[str, float] = field(default_factory=dict)
    unmet: dict[str, float] = field(default_factory=dict)

    def expect(self, tasks: Iterable[str], now: float) -> None:
        """Adds tasks that have never been there."""
        self.unmet.update(dict.fromkeys(tasks, now))

    def leaves(self, task: str, now: float) -> None:
        """Adds a task that was there and is gone."""
        self.lost[task] = now

    def comes(self, task: str) -> None:
        """Removes a task: it is there."""
        self.lost.pop(task, None)
        self.unmet.pop(task, None)

    def since(self, also_unmet: bool) -> Mapping[str, float]:
        """The absent tasks; if `also_unmet`, also those that never were there."""
        return {**self.unmet, **self.lost} if also_unmet else dict(self.lost)


class RunMemory(Protocol):
    """What a task remembers of runs that may be repeated: cluster.server.deduplicator.Deduplicator."""

    def get_state(self, more: Iterable[tuple[RunId, str, Any]] = ()) -> Mapping[str, Any]:
        """Which runs have changed what, as arrays by name. more: runs that have changed a cell, under a name."""

    def set_state(
        self, state: Mapping[str, Any], variables: Collection[str], present: Collection[str]
    ) -> None:
        """Says what of that the values have to which some variables are about to be set; ValueError if it is none."""

    def note_assigned(self, cell: Any) -> None:
        """A variable was set as a whole; its lock is held."""

    def has_changed(self, request: Any, name: str, cell: Any) -> bool:
        """Whether the value that a cell was set to has what a run has changed under a name."""


class CollectiveService(Protocol):
    """Collectives with the members of other processes, too: collectives.arithmetic.Collectives."""

    def begin(self, run: Any, call: Any, value: Any = None, extra: Any = None) -> Any:
        """Hands in a member's value; returns the object that `end` takes."""

    def end(self, run: Any, call: Any, handle: Any) -> Any:
        """The result, once all members have handed in their values."""

    def quit(self, members: Collection[tuple[int, str]], given_up: bool = False) -> None:
        """Has members leave their groups, because their session has ended."""


class ElementFunction(Protocol):
    """A function that can be called again and again: runtime.functions.FunctionRunner.

    random: whether it draws random numbers, so that the order of the calls matters. takes_rows: whether rows() is
    worth a try.
    """

    random: bool

    @property
    def takes_rows(self) -> bool: ...

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The values of the outputs for one element."""

    def rows(self, columns: Sequence[Any], captured: Sequence[Any], count: int) -> list[Any] | None:
        """The outputs for `count` elements at once; None if that cannot be done."""

    def get_state(self) -> dict[str, Any]:
        """The states of its random ops."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""


class GraphService(Protocol):
    """Answers questions about a session's graph that plans cannot answer: session_graph.SessionGraph."""

    def lacks_queue_runner(self, queue: str, store: Any) -> bool:
        """Whether the op of that name is a queue with a runner that was not started for the session of a store."""

    def evaluate(self, tensor: str, store: Any) -> Any:
        """The value of the tensor of that name, which depends on nothing fed; KeyError if the graph has none."""


class Threads(Protocol):
    """Threads that work for a store: runtime.threads.ThreadPool."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Calls function(*arguments) in one of them."""


class FunctionService(Protocol):
    """Makes the runners of functions: runtime.planner.Planner."""

    def function(self, function: Any, store: Any) -> ElementFunction:
        """The runner of a function. The states of its random ops are its own; closing `store` ends it."""

    def threads(self) -> Threads:
        """The threads that work for the store."""

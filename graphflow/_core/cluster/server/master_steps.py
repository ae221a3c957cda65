"""What a master knows of its clients' executables and steps: events go in, instructions come out. No socket, no clock.

A step is one message to each task that takes part; the tasks send tensors to each other without the master, and tell it
when they are done. The first error ends the step: the other tasks are told to drop it, and the client gets that error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from graphflow import errors
from graphflow._core.cluster.failures import as_details

MOST_STEPS: Final = 4096
"""Steps of one session that may be on their way."""


@dataclass(frozen=True, eq=False)
class Executable:
    """A plan that tasks have registered.

    session: whose it is. feeds: for each task the positions of the fed values that it takes. fetches: for each fetched
    value the task that has it, and its place among what that task hands over.
    """

    session: str
    feeds: Mapping[str, Sequence[int]]
    fetches: Sequence[tuple[str, int]]
    takes: int = field(init=False)
    """How many fed values a run has to bring."""
    hands: Mapping[str, int] = field(init=False)
    """How many values each task hands over."""

    def __post_init__(self) -> None:
        takes = 1 + max((p for positions in self.feeds.values() for p in positions), default=-1)
        object.__setattr__(self, "takes", takes)
        holders = Counter(task for task, _ in self.fetches)
        object.__setattr__(self, "hands", {task: holders[task] for task in self.feeds})


def executable(session: str, tasks: Mapping[str, Any], fetches: Any) -> Executable:
    """The executable that a request of a client describes. ValueError or TypeError where it describes none."""
    for task, part in tasks.items():
        if len(part["positions"]) != len(part["feeds"]) or any(
            type(p) is not int or p < 0 for p in part["positions"]
        ):
            raise ValueError(f"{task} takes {len(part['feeds'])} fed values from wrong positions.")
    places: dict[str, set[int]] = {task: set() for task in tasks}
    count = 0
    for task, place in fetches:
        if type(place) is not int or task not in places:
            raise ValueError(f"A value is fetched from {task!r:.200}, which has no part in this plan.")
        places[task].add(place)
        count += 1
    if count != sum(map(len, places.values())) or any(
        places[task] != set(range(len(part["fetches"]))) for task, part in tasks.items()
    ):
        raise ValueError("What the tasks hand over is not what the plan fetches.")
    return Executable(
        session,
        {task: tuple(part["positions"]) for task, part in tasks.items()},
        [(t, p) for t, p in fetches],
    )


@dataclass(eq=False, slots=True)
class BeginStep:
    """Tell a task to begin a step."""

    task: str
    step: int
    executable: int
    feeds: Sequence[Any]
    once: Any = None
    """Which attempt of a run it is, as the client says."""


@dataclass(eq=False, slots=True)
class AbortStep:
    """Tell a task to drop a step."""

    task: str
    step: int
    back: bool = False
    """Whether its client has given up: what was taken for it goes back."""


@dataclass(eq=False, slots=True)
class Settle:
    """Tell a task that the client of a step has what was taken there, or that it goes back."""

    task: str
    step: int
    back: bool


@dataclass(eq=False, slots=True)
class Answer:
    """Tell a client the values of its run, or the error."""

    client: bytes
    request: int
    values: Sequence[Any] = ()
    error: Mapping[str, Any] | None = None
    holds: bool = False
    """Whether the values were taken from queues: the client says when it has them."""


Instructions = list[BeginStep | AbortStep | Settle | Answer]


@dataclass(eq=False, slots=True)
class _Step:
    client: bytes
    request: int
    executable: Executable
    pending: set[str]
    results: dict[str, Sequence[Any]] = field(default_factory=dict)
    took: list[str] = field(default_factory=list)
    """The tasks that have done their part, and keep in mind what they have taken from queues."""


class MasterSteps:
    """The executables and steps of one master. Not thread-safe: one thread calls it."""

    def __init__(self) -> None:
        self._executables: dict[int, Executable] = {}
        self._steps: dict[int, _Step] = {}
        self._unsettled: dict[tuple[bytes, int], tuple[int, _Step]] = {}
        """The steps that are through, and whose clients have not said that they have what was taken, by request."""
        self._of_session: dict[str, int] = {}
        """How many steps of each session are on their way."""
        self._numbers = count(1)
        self.begun = 0
        """How many steps began."""

    @property
    def in_flight(self) -> int:
        """How many steps are not at their end."""
        return len(self._steps)

    # ---- executables ----------------------------------------------------------------------------------------------

    def register(self, number: int, executable: Executable) -> None:
        """Takes an executable that all its tasks have registered."""
        self._executables[number] = executable

    def release(self, number: int) -> Sequence[str]:
        """Forgets an executable; the tasks that have it."""
        executable = self._executables.pop(number, None)
        return () if executable is None else tuple(executable.feeds)

    def has_part(self, number: int, task: str) -> bool:
        """Whether a task takes part in an executable that is there."""
        executable = self._executables.get(number)
        return executable is not None and task in executable.feeds

    def of_session(self, session: str) -> Sequence[int]:
        """The executables of a session."""
        return [number for number, e in self._executables.items() if e.session == session]

    def of_task(self, task: str) -> Sequence[int]:
        """The executables that a task takes part in."""
        return [number for number, e in self._executables.items() if task in e.feeds]

    # ---- steps ----------------------------------------------------------------------------------------------------

    def begin(
        self,
        client: bytes,
        request: int,
        session: str,
        number: int,
        feeds: Sequence[Any],
        once: Any = None,
    ) -> Instructions:
        """A client asks for a run; KeyError where its session has no such executable.

        InvalidArgumentError where it feeds too little, ResourceExhaustedError where too many of its steps are on their
        way.
        """
        executable = self._executables[number]
        if executable.session != session:
            raise KeyError(number)
        if len(feeds) < executable.takes:
            raise errors.InvalidArgumentError(
                None, None, f"The run brings {len(feeds)} fed values, and its plan takes {executable.takes}."
            )
        under_way = self._of_session.get(session, 0)
        if under_way >= MOST_STEPS:
            raise errors.ResourceExhaustedError(
                None, None, f"{MOST_STEPS} runs of this session are on their way, which is the most."
            )
        self._of_session[session] = under_way + 1
        step = next(self._numbers)
        self.begun += 1
        self._steps[step] = _Step(client, request, executable, set(executable.feeds))
        return [
            BeginStep(task, step, number, [feeds[p] for p in positions], once)
            for task, positions in executable.feeds.items()
        ]

    def done(self, task: str, step: int, values: Sequence[Any], took: bool = False) -> Instructions:
        """A task has done its part; `took`: it has taken elements from queues that may have to go back."""
        running = self._steps.get(step)
        if running is None or task not in running.pending:
            return [Settle(task, step, True)] if took else []
        if took:
            running.took.append(task)
        wanted = running.executable.hands[task]
        if len(values) != wanted:
            text = f"{task} has ended its part of a step with {len(values)} values instead of {wanted}."
            return self.failed(task, step, as_details(errors.InternalError(None, None, text)))
        running.pending.remove(task)
        running.results[task] = values
        if running.pending:
            return []
        self._drop(step)
        fetched = [running.results[task][place] for task, place in running.executable.fetches]
        if running.took:
            self._unsettled[running.client, running.request] = step, running
        return [Answer(running.client, running.request, fetched, holds=bool(running.took))]

    def settle(self, client: bytes, request: int, back: bool) -> Instructions:
        """A client has the results of a run, or will not take them."""
        found = self._unsettled.pop((client, request), None)
        return [] if found is None else [Settle(task, found[0], back) for task in found[1].took]

    def failed(self, task: str, step: int, error: Mapping[str, Any], back: bool = False) -> Instructions:
        """A task's part has failed: the step ends. back: not by what it has taken, which may go back."""
        running = self._steps.get(step)
        if running is None or task and task not in running.executable.feeds:
            return []
        self._drop(step)
        others: Instructions = [AbortStep(other, step, back) for other in running.pending if other != task]
        others += [Settle(other, step, back) for other in running.took]
        return [*others, Answer(running.client, running.request, error=error)]

    def lost(self, task: str, error: Mapping[str, Any]) -> Instructions:
        """A task is gone: the steps that wait for it end."""
        found: Instructions = []
        for step, running in list(self._steps.items()):
            if task in running.executable.feeds:
                found += self.failed(task, step, error, True)
        return found

    def dropped(self, number: int, error: Mapping[str, Any]) -> Instructions:
        """A task has dropped its part of an executable: the steps of that end. It is released by the caller."""
        found: Instructions = []
        for step, running in list(self._steps.items()):
            if running.executable is self._executables.get(number):
                found += self.failed("", step, error, True)
        return found

    def awaited(self, client: bytes, request: int) -> Sequence[str]:
        """The tasks that a run waits for."""
        steps = self._steps.values()
        return sorted({t for s in steps if (s.client, s.request) == (client, request) for t in s.pending})

    def client_of(self, step: int, task: str) -> tuple[bytes, int] | None:
        """The client of a step that a task takes part in, and the number of its request; None where it has ended."""
        running = self._steps.get(step)
        if running is None or task not in running.executable.feeds:
            return None
        return running.client, running.request

    def cancel(self, client: bytes, request: int, error: Mapping[str, Any]) -> Instructions:
        """A client wants a run ended."""
        for step, running in list(self._steps.items()):
            if running.client == client and running.request == request:
                return self.failed("", step, error, True)
        return self.settle(client, request, True)

    def client_gone(self, client: bytes, error: Mapping[str, Any]) -> Instructions:
        """A client is gone, or seems so: its steps end. Its executables are released by the caller."""
        found: Instructions = []
        for step, running in list(self._steps.items()):
            if running.client == client:
                found += self.failed("", step, error, True)
        for owner, request in [key for key in self._unsettled if key[0] == client]:
            found += self.settle(owner, request, True)
        return found

    def _drop(self, step: int) -> None:
        session = self._steps.pop(step).executable.session
        left = self._of_session[session] - 1
        if left:
            self._of_session[session] = left
        else:
            del self._of_session[session]

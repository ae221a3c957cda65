"""What a master knows of its clients' executables and steps.

A step is one message to each task that takes part. The tasks send tensors to each other without the master, and tell it
when they are done. The first error ends the step: the other tasks are told to drop it, and the client gets that error.

How the last steps ended is kept, by outcome: `StepOutcomes`. The journal of the task does not have the events of steps,
since there are thousands a second and they bring tensors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.failures import details_of
from graphflow._core.cluster.protocol.step_outcomes import MOST_ERROR, StepOutcomes
from graphflow._core.common.machine import Instruction, Machine, StepEvent, hold, step_event
from graphflow._core.common.records import dataclass

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


def executable(session: str, tasks: Mapping[str, Any], fetches: Any, master: str = "") -> Executable:
    """The executable that a request of a client describes. ValueError or TypeError if it describes none.

    master: the task whose part a step begins last, since what it begins at other tasks goes on beside it.
    """
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
        {task: tuple(tasks[task]["positions"]) for task in sorted(tasks, key=lambda task: task == master)},
        [(t, p) for t, p in fetches],
    )


# ---- events ---------------------------------------------------------------------------------------------------------


@step_event
class ExecutableAdmitted(StepEvent):
    """All tasks of a plan have registered it. number: given to it by this master."""

    number: int
    executable: Executable


@step_event
class ExecutableReleased(StepEvent):
    """Nobody wants an executable any more; its steps go on."""

    number: int


@step_event
class ExecutableDropped(StepEvent):
    """A task has dropped its part of an executable, because a task is out of its reach."""

    task: str
    number: int
    error: Mapping[str, Any]


@step_event
class RunAsked(StepEvent):
    """A client asks for a run. request_id: which attempt it is, as the client says, if it may repeat its runs."""

    client: bytes
    request: int
    session: str
    number: int
    values: Sequence[Any]
    request_id: Any


@step_event
class PartDone(StepEvent):
    """A task has done its part of a step.

    took: it has taken elements from queues, and keeps them in mind, since they may have to go back.
    """

    task: str
    step: int
    values: Sequence[Any]
    took: bool


@step_event
class PartFailed(StepEvent):
    """A task's part of a step has failed."""

    task: str
    step: int
    error: Mapping[str, Any]


@step_event
class RunCancelled(StepEvent):
    """A client wants a run ended."""

    client: bytes
    request: int
    error: Mapping[str, Any]


@step_event
class RunSettled(StepEvent):
    """A client has the results of a run, or (back) will not take them."""

    client: bytes
    request: int
    back: bool


@step_event
class RunnerGone(StepEvent):
    """A client is gone, or seems so. Its executables are released apart from this."""

    client: bytes
    error: Mapping[str, Any]


@step_event
class TaskGone(StepEvent):
    """A task is gone, and with it what it had registered."""

    task: str
    error: Mapping[str, Any]


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class BeginStep:
    """Tell a task to begin a step."""

    task: str
    step: int
    executable: int
    feeds: Sequence[Any]
    request_id: Any = None
    """Which attempt of a run it is, as the client says."""


@dataclass(eq=False, slots=True)
class AnswerRun:
    """Tell a client the values of its run, or the error."""

    client: bytes
    request: int
    values: Sequence[Any] = ()
    error: Mapping[str, Any] | None = None
    holds: bool = False
    """Whether the values were taken from queues: the client says when it has them."""


@dataclass(frozen=True, slots=True)
class AbortStep(Instruction):
    """Tell a task to drop a step. back: its client has given up, and what was taken for it goes back."""

    task: str
    step: int
    back: bool


@dataclass(frozen=True, slots=True)
class SettleStep(Instruction):
    """Tell a task that the client of a step has what was taken there, or (back) that it goes back."""

    task: str
    step: int
    back: bool


@dataclass(frozen=True, slots=True)
class ReleasePart(Instruction):
    """Tell a task to forget its part of an executable."""

    task: str
    number: int


Instructions = list[BeginStep | AnswerRun | AbortStep | SettleStep | ReleasePart]


# ---- the machine ----------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class _Step:
    """A step that has begun. number: of its executable. took: the tasks that have done their part, and keep in mind
    what they have taken from queues.
    """

    client: bytes
    request: int
    number: int
    executable: Executable
    begun: float
    pending: set[str]
    results: dict[str, Sequence[Any]]
    took: list[str]


class MasterSteps(Machine):
    """The executables and steps of one master."""

    def __init__(self) -> None:
        self.executables: dict[int, Executable] = {}
        self.steps: dict[int, _Step] = {}
        """The steps that have not ended."""
        self.unsettled: dict[tuple[bytes, int], tuple[int, _Step]] = {}
        """The steps that are through, and whose clients have not said that they have what was taken, by request."""
        self.of_sessions: dict[str, int] = {}
        """How many steps of each session are on their way."""
        self.begun = 0
        """How many steps began: the number of the last one."""
        self.outcomes = StepOutcomes()
        self.handlers = {
            ExecutableAdmitted: self._admitted, ExecutableReleased: self._released,
            ExecutableDropped: self._dropped, RunAsked: self._run_asked, PartDone: self._part_done,
            PartFailed: self._part_failed, RunCancelled: self._cancelled, RunSettled: self._settled,
            RunnerGone: self._runner_gone, TaskGone: self._task_gone,
        }  # fmt: skip

    # ---- questions, which change nothing ----

    @property
    def in_flight(self) -> int:
        """How many steps have not ended."""
        return len(self.steps)

    def has_part(self, number: int, task: str) -> bool:
        """Whether a task takes part in an executable that is there."""
        found = self.executables.get(number)
        return found is not None and task in found.feeds

    def of_session(self, session: str) -> Sequence[int]:
        """The executables of a session."""
        return [number for number, e in self.executables.items() if e.session == session]

    def awaited(self, client: bytes, request: int) -> Sequence[str]:
        """The tasks that a run waits for."""
        steps = self.steps.values()
        return sorted({t for s in steps if (s.client, s.request) == (client, request) for t in s.pending})

    def client_of(self, step: int, task: str) -> tuple[bytes, int] | None:
        """The client of a step that a task takes part in, and the number of its request; None if it has ended."""
        running = self.steps.get(step)
        if running is None or task not in running.executable.feeds:
            return None
        return running.client, running.request

    def data(self, now: float) -> dict[str, Any]:
        """The steps that are on their way, with the tasks that they wait for, and how the last ones ended."""
        running = [
            {
                "step": step, "executable": each.number, "session": each.executable.session,
                "request": each.request, "began": round(each.begun - now, 6), "awaited": sorted(each.pending),
            }
            for step, each in self.steps.items()
        ]  # fmt: skip
        return {"running": running, "ended": self.outcomes.data(now)}

    # ---- executables ----

    def _admitted(self, event: ExecutableAdmitted) -> Instructions:
        self.executables[event.number] = event.executable
        return []

    def _released(self, event: ExecutableReleased) -> Instructions:
        return self._release(event.number)

    def _release(self, number: int) -> Instructions:
        found = self.executables.pop(number, None)
        return [] if found is None else [ReleasePart(task, number) for task in found.feeds]

    def _dropped(self, event: ExecutableDropped) -> Instructions:
        if not self.has_part(event.number, event.task):
            return []
        dropped = self.executables[event.number]
        found: Instructions = []
        for step, running in list(self.steps.items()):
            if running.executable is dropped:
                found += self._fail(step, "", event.error, True, event.now)
        return found + self._release(event.number)

    # ---- steps ----

    def _run_asked(self, event: RunAsked) -> Instructions:
        number, feeds = event.number, event.values
        asked = self.executables.get(number)
        if asked is None or asked.session != event.session:
            details = details_of(errors.ABORTED, "The plan is not registered any more.")
            return [AnswerRun(event.client, event.request, error=details | {"unknown": True})]
        if len(feeds) < asked.takes:
            text = f"The run brings {len(feeds)} fed values, and its plan takes {asked.takes}."
            return [AnswerRun(event.client, event.request, error=details_of(errors.INVALID_ARGUMENT, text))]
        under_way = self.of_sessions.get(event.session, 0)
        if under_way >= MOST_STEPS:
            text = f"{MOST_STEPS} runs of this session are on their way, which is the most."
            return [AnswerRun(event.client, event.request, error=details_of(errors.RESOURCE_EXHAUSTED, text))]
        self.of_sessions[event.session] = under_way + 1
        self.begun = step = self.begun + 1
        tasks = asked.feeds
        self.steps[step] = _Step(event.client, event.request, number, asked, event.now, set(tasks), {}, [])
        request_id = event.request_id
        found: Instructions = []
        for task, positions in tasks.items():
            fed = [feeds[p] for p in positions] if positions else ()
            found.append(BeginStep(task, step, number, fed, request_id))
        return found

    def _part_done(self, event: PartDone) -> Instructions:
        task, step, values = event.task, event.step, event.values
        running = self.steps.get(step)
        if running is None or task not in running.pending:
            return [SettleStep(task, step, True)] if event.took else []
        if event.took:
            running.took.append(task)
        wanted = running.executable.hands[task]
        if len(values) != wanted:
            text = f"{task} has ended its part of a step with {len(values)} values instead of {wanted}."
            return self._fail(step, task, details_of(errors.INTERNAL, text), False, event.now)
        running.pending.remove(task)
        running.results[task] = values
        if running.pending:
            return []
        self._drop(step)
        ended = running.executable
        fetched = [running.results[task][place] for task, place in ended.fetches]
        if running.took:
            self.unsettled[running.client, running.request] = step, running
        self.outcomes.ended.append(
            (step, running.number, ended.session, running.request, running.begun, event.now, "", "")
        )
        return [AnswerRun(running.client, running.request, fetched, holds=bool(running.took))]

    def _part_failed(self, event: PartFailed) -> Instructions:
        running = self.steps.get(event.step)
        if running is None or event.task not in running.executable.feeds:
            return []
        return self._fail(event.step, event.task, event.error, False, event.now)

    def _cancelled(self, event: RunCancelled) -> Instructions:
        for step, running in self.steps.items():
            if running.client == event.client and running.request == event.request:
                return self._fail(step, "", event.error, True, event.now)
        return self._settle(event.client, event.request, True)

    def _settled(self, event: RunSettled) -> Instructions:
        return self._settle(event.client, event.request, event.back)

    def _runner_gone(self, event: RunnerGone) -> Instructions:
        found: Instructions = []
        for step, running in list(self.steps.items()):
            if running.client == event.client:
                found += self._fail(step, "", event.error, True, event.now)
        for owner, request in [key for key in self.unsettled if key[0] == event.client]:
            found += self._settle(owner, request, True)
        return found

    def _task_gone(self, event: TaskGone) -> Instructions:
        found: Instructions = []
        for step, running in list(self.steps.items()):
            if event.task in running.executable.feeds:
                found += self._fail(step, event.task, event.error, True, event.now)
        for number in [n for n, e in self.executables.items() if event.task in e.feeds]:
            found += self._release(number)
        return found

    # ---- the rest ----

    def _settle(self, client: bytes, request: int, back: bool) -> Instructions:
        found = self.unsettled.pop((client, request), None)
        return [] if found is None else [SettleStep(task, found[0], back) for task in found[1].took]

    def _fail(self, step: int, task: str, error: Mapping[str, Any], back: bool, now: float) -> Instructions:
        """Ends a step by an error. task: whose it is, "" for none. back: what was taken goes back."""
        running = self._drop(step)
        text = str(error.get("message", ""))[:MOST_ERROR]
        self.outcomes.failed.append(
            (
                step,
                running.number,
                running.executable.session,
                running.request,
                running.begun,
                now,
                task,
                text,
            )
        )
        found: Instructions = [AbortStep(other, step, back) for other in running.pending if other != task]
        found += [SettleStep(other, step, back) for other in running.took]
        found.append(AnswerRun(running.client, running.request, error=error))
        return found

    def _drop(self, step: int) -> _Step:
        running = self.steps.pop(step)
        session = running.executable.session
        left = self.of_sessions[session] - 1
        if left:
            self.of_sessions[session] = left
        else:
            del self.of_sessions[session]
        return running

    def check(self) -> None:
        """A step waits for some of its tasks, those that have answered and those that have not are all, counts fit."""
        counts: Counter[str] = Counter()
        for step, running in self.steps.items():
            tasks = running.executable.feeds.keys()
            counts[running.executable.session] += 1
            hold(0 < step <= self.begun, f"The step {step} is none of the {self.begun} that were begun.")
            hold(bool(running.pending) or not tasks, f"The step {step} has not ended, and waits for nobody.")
            hold(not running.pending & running.results.keys(), f"The step {step} waits for who has answered.")
            hold(
                running.pending | running.results.keys() == tasks,
                f"The step {step} waits for {running.pending}, and has heard of {list(running.results)}.",
            )
            hold(
                set(running.took) <= running.results.keys(),
                f"The step {step} has elements of {running.took}.",
            )
        hold(dict(counts) == self.of_sessions, f"Steps are {dict(counts)}, counted are {self.of_sessions}.")
        for step, settled in self.unsettled.values():
            hold(step not in self.steps and bool(settled.took), f"The step {step} is not to be settled.")

"""What a task knows of the steps it takes part in: events go in, instructions come out. No socket, no thread, no clock.

A step begins with what comes first, its own message or a tensor from another task. What runs of it on one device goes
through its stages in order, each when what it receives is there. A step that was aborted or has ended leaves its number
behind, so that what comes late is dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_REMEMBERED: Final = 65_536
"""Numbers of ended steps that are kept: a tensor that is later than so many steps finds none to belong to."""

StepKey = tuple[int, int]
"""The incarnation of the master that began the step, and its number there."""


@dataclass(frozen=True, eq=False)
class TaskStage:
    """A stage of a part, as a task needs it: `run` is what computes it, which is nothing to this module.

    receives: the name of the value that each edge brings. sends: edge, name of the value (None for a signal), and the
    task it goes to, "" for the own.
    """

    run: Any
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    receives: Mapping[int, str]
    sends: Sequence[tuple[int, str | None, str]]


@dataclass(frozen=True, eq=False)
class TaskParts:
    """What a task has registered of one executable: the stages by device, the names of what it is fed, its fetches."""

    stages: Mapping[str, Sequence[TaskStage]]
    feeds: tuple[str, ...]
    fetches: Sequence[tuple[str, str]]
    """Device and name of each value that goes to the master."""


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class RunStage:
    """Compute a stage, and tell `stage_done` or `stage_failed` of it."""

    key: StepKey
    device: str
    stage: TaskStage
    values: Sequence[Any]


@dataclass(frozen=True, eq=False, slots=True)
class SendTensors:
    """Send what goes along these edges to a task; a signal has no value."""

    key: StepKey
    task: str
    edges: Sequence[int]
    values: Sequence[Any]
    signals: Sequence[int]


@dataclass(frozen=True, eq=False, slots=True)
class TellDone:
    """Tell the master that the step is done here, with the values it fetches."""

    key: StepKey
    values: Sequence[Any]


@dataclass(frozen=True, eq=False, slots=True)
class TellFailed:
    """Tell the master that the step failed here."""

    key: StepKey
    error: BaseException


Instructions = list[RunStage | SendTensors | TellDone | TellFailed]


@dataclass(eq=False, slots=True)
class _Progress:
    """How far a part is: its values by name, the stage that is next, and whether that is being computed."""

    stages: Sequence[TaskStage]
    values: dict[str, Any]
    place: int = 0
    busy: bool = False


@dataclass(eq=False, slots=True)
class _Step:
    parts: TaskParts | None = None
    inbox: dict[int, Any] = field(default_factory=dict)
    progress: dict[str, _Progress] = field(default_factory=dict)


class TaskSteps:
    """The steps of one task. Not thread-safe: one thread calls it."""

    def __init__(self) -> None:
        self._parts: dict[StepKey, TaskParts] = {}
        self._steps: dict[StepKey, _Step] = {}
        self._ended: OrderedDict[StepKey, None] = OrderedDict()
        self.begun = 0
        """How many steps began here."""

    # ---- executables ----------------------------------------------------------------------------------------------

    def register(self, executable: StepKey, parts: TaskParts) -> None:
        """Takes the parts of an executable, named by its master's incarnation and a number of the master's."""
        self._parts[executable] = parts

    def release(self, executable: StepKey) -> None:
        """Forgets an executable; steps that run go on."""
        self._parts.pop(executable, None)

    def release_master(self, incarnation: int) -> None:
        """Forgets what a master that is gone had registered, and its steps."""
        for executable in [e for e in self._parts if e[0] == incarnation]:
            del self._parts[executable]
        for key in [k for k in self._steps if k[0] == incarnation]:
            self.abort(key)

    @property
    def active(self) -> Sequence[StepKey]:
        """The steps that are not at their end."""
        return list(self._steps)

    # ---- events ---------------------------------------------------------------------------------------------------

    def begin(self, key: StepKey, executable: int, feeds: Sequence[Any]) -> Instructions:
        """The master begins a step; KeyError where it has not registered the executable here."""
        parts = self._parts[key[0], executable]
        if key in self._ended:
            return []
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = _Step()
        elif step.parts is not None:
            return []
        step.parts = parts
        self.begun += 1
        fed = dict(zip(parts.feeds, feeds, strict=True))
        step.progress = {device: _Progress(stages, dict(fed)) for device, stages in parts.stages.items()}
        return self._go_on(key, step)

    def arrived(self, key: StepKey, edges: Sequence[int], values: Sequence[Any]) -> Instructions:
        """Values came from another task along edges; True stands for a signal."""
        if key in self._ended:
            return []
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = _Step()
        step.inbox.update(zip(edges, values, strict=True))
        return self._go_on(key, step)

    def stage_done(self, work: RunStage, results: Sequence[Any]) -> Instructions:
        """A stage has been computed."""
        step = self._steps.get(work.key)
        if step is None:
            return []
        progress = step.progress[work.device]
        progress.values.update(zip(work.stage.fetches, results, strict=True))
        progress.place += 1
        progress.busy = False
        outgoing: dict[str, tuple[list[int], list[Any], list[int]]] = {}
        for edge, name, task in work.stage.sends:
            if not task:
                step.inbox[edge] = True if name is None else progress.values[name]
                continue
            edges, values, signals = outgoing.setdefault(task, ([], [], []))
            if name is None:
                signals.append(edge)
            else:
                edges.append(edge)
                values.append(progress.values[name])
        sent: Instructions = [SendTensors(work.key, task, *what) for task, what in outgoing.items()]
        return sent + self._go_on(work.key, step)

    def stage_failed(self, work: RunStage, error: BaseException) -> Instructions:
        """A stage raised."""
        if work.key not in self._steps:
            return []
        self._end(work.key)
        return [TellFailed(work.key, error)]

    def abort(self, key: StepKey) -> None:
        """The step ends here whatever it is at; what comes of it later is dropped."""
        self._end(key)

    # ---- the rest -------------------------------------------------------------------------------------------------

    def _go_on(self, key: StepKey, step: _Step) -> Instructions:
        """Begins each part's next stage where what it receives is there; ends the step where all are through."""
        found: Instructions = []
        through = step.parts is not None
        for device, part in step.progress.items():
            if part.place == len(part.stages):
                continue
            through = False
            stage = part.stages[part.place]
            if part.busy or not step.inbox.keys() >= stage.receives.keys():
                continue
            for edge, name in stage.receives.items():
                part.values[name] = step.inbox.pop(edge)
            part.busy = True
            found.append(RunStage(key, device, stage, [part.values[name] for name in stage.feeds]))
        if through and step.parts is not None:
            fetched = [step.progress[device].values[name] for device, name in step.parts.fetches]
            self._end(key)
            found.append(TellDone(key, fetched))
        return found

    def _end(self, key: StepKey) -> None:
        self._steps.pop(key, None)
        self._ended[key] = None
        if len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)

"""The machines of steps as tests tell them of events: each is checked after each event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.cluster.protocol.master_steps import (
    ExecutableAdmitted,
    ExecutableDropped,
    ExecutableReleased,
    MasterSteps,
    PartDone,
    PartFailed,
    RunAsked,
    RunCancelled,
    RunnerGone,
    RunSettled,
    TaskGone,
)
from graphflow._core.cluster.protocol.task_steps import (
    MOST_EARLY_BYTES,
    MasterGone,
    PlanRegistered,
    PlanReleased,
    StageDone,
    StageFailed,
    StepAborted,
    StepBegun,
    StepFailed,
    StepStill,
    TaskSteps,
    TensorsArrived,
)
from graphflow._core.common.machine import StepEvent
from graphflow._core.runtime.progress import Parts, PartStage, Progress

KEY = (7, 1)
Key = tuple[int, int]


def stage(
    feeds: str = "", fetches: str = "", receives: dict[Any, str] | None = None, sends: Any = ()
) -> PartStage:
    return PartStage(None, tuple(feeds), tuple(fetches), receives or {}, list(sends))


class Worker:
    """The steps of a task."""

    def __init__(self, most_early_bytes: int = MOST_EARLY_BYTES) -> None:
        self.machine = TaskSteps("/job:worker/replica:0/task:0", Progress, most_early_bytes)
        self.now = 0.0

    def tell(self, event: StepEvent) -> list[Any]:
        found = self.machine.handlers[type(event)](event)
        self.machine.check()
        return found

    @property
    def active(self) -> Sequence[Key]:
        return self.machine.active

    def register(self, executable: Key, parts: Parts) -> None:
        parts.check()
        assert self.tell(PlanRegistered(self.now, executable, parts)) == []

    def release(self, executable: Key) -> None:
        assert self.tell(PlanReleased(self.now, executable)) == []

    def release_master(self, incarnation: int) -> None:
        assert self.tell(MasterGone(self.now, incarnation)) == []

    def begin(self, key: Key, executable: int, feeds: Sequence[Any]) -> list[Any]:
        return self.tell(StepBegun(self.now, key, executable, feeds))

    def arrived(self, key: Key, edges: Sequence[int], values: Sequence[Any]) -> list[Any]:
        return self.tell(TensorsArrived(self.now, key, edges, values))

    def stage_done(self, work: Any, results: Sequence[Any]) -> list[Any]:
        return self.tell(StageDone(self.now, work, results))

    def stage_failed(self, work: Any, error: BaseException) -> list[Any]:
        return self.tell(StageFailed(self.now, work, error))

    def still(self, key: Key, seconds: float) -> list[Any]:
        return self.tell(StepStill(self.now, key, seconds))

    def fail(self, key: Key, error: BaseException) -> list[Any]:
        return self.tell(StepFailed(self.now, key, error))

    def abort(self, key: Key) -> None:
        assert self.tell(StepAborted(self.now, key)) == []


class Master:
    """The steps of a master."""

    def __init__(self) -> None:
        self.machine = MasterSteps()
        self.now = 0.0

    def tell(self, event: StepEvent) -> list[Any]:
        found = self.machine.handlers[type(event)](event)
        self.machine.check()
        return found

    def register(self, number: int, executable: Any) -> None:
        assert self.tell(ExecutableAdmitted(self.now, number, executable)) == []

    def release(self, number: int) -> list[Any]:
        return self.tell(ExecutableReleased(self.now, number))

    def dropped(self, task: str, number: int, error: Any) -> list[Any]:
        return self.tell(ExecutableDropped(self.now, task, number, error))

    def begin(
        self, client: bytes, request: int, session: str, number: int, feeds: Sequence[Any], once: Any = None
    ) -> list[Any]:
        return self.tell(RunAsked(self.now, client, request, session, number, feeds, once))

    def done(self, task: str, step: int, values: Sequence[Any], took: bool = False) -> list[Any]:
        return self.tell(PartDone(self.now, task, step, values, took))

    def failed(self, task: str, step: int, error: Any) -> list[Any]:
        return self.tell(PartFailed(self.now, task, step, error))

    def lost(self, task: str, error: Any) -> list[Any]:
        return self.tell(TaskGone(self.now, task, error))

    def cancel(self, client: bytes, request: int, error: Any) -> list[Any]:
        return self.tell(RunCancelled(self.now, client, request, error))

    def settle(self, client: bytes, request: int, back: bool) -> list[Any]:
        return self.tell(RunSettled(self.now, client, request, back))

    def client_gone(self, client: bytes, error: Any) -> list[Any]:
        return self.tell(RunnerGone(self.now, client, error))

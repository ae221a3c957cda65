"""What a task knows of the steps it takes part in.

A step begins with what comes first, its own message or a tensor from another task. What runs of it on one device goes
through its stages in order, each when what it receives is there. That order is not decided here: `StepProgress` says
which stages are ready, and what they send (graphflow/_core/runtime/progress.py).

A master begins its steps here in the order of their numbers, over one connection. So what is no step now and not above
the number that it began last has ended: what comes late, or twice, is dropped. So is what came early for a step below
that number, which its master has given up. What waits for its step is limited, in bytes and in steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import graphflow.errors as errors
from graphflow._core.common.machine import Machine, StepEvent, hold, step_event
from graphflow._core.common.records import dataclass
from graphflow._core.common.waiting.wait_timeouts import WAIT_PATIENCE_SECONDS

MOST_EARLY_BYTES: Final = 8 << 30
"""Bytes of tensors that may wait for their steps to begin."""
MOST_EARLY_STEPS: Final = 4096
_MOST_REFUSED: Final = 65_536

StepKey = tuple[int, int]
"""The incarnation of the master that began the step, and its number there; or of the master, and an executable's."""


class StepProgress(Protocol):
    """How far one step is on this task: runtime.progress.Progress. It is told what came, and says what is ready."""

    ended: bool
    """Whether all of the step is through here."""
    moves: int
    """How many stages have begun or ended, of parts in which others may begin beside one that waits."""

    @property
    def may_be_overdue(self) -> bool:
        """Whether stages of a part may begin beside one that waits, after a while."""
        ...

    def arrived(self, edges: Sequence[int], values: Sequence[Any]) -> None:
        """Values came along edges; edges beyond the values are signals."""
        ...

    def ready(self) -> list[Any]:
        """Instructions to compute the stages that can begin, each with the `key` of the step."""
        ...

    def overdue(self, seconds: float, patience: float) -> list[Any]:
        """What `ready` gives when `moves` has not changed for so long.

        patience: for so long a part waits for what it receives before it does what comes after.
        """
        ...

    def done(self, work: Any, results: Sequence[Any]) -> list[Any]:
        """Takes the results of a stage; instructions to send what goes out, each with the `key` of the step."""
        ...

    def fetched(self) -> list[Any]:
        """What is handed out at the end."""
        ...


class Work(Protocol):
    """An instruction to compute a stage."""

    key: Any


BeginProgress = Callable[[Any, Sequence[Any], StepKey], StepProgress]
"""Begins a step of registered parts, with what is fed. ValueError if that is not as many values as they take."""


# ---- events ---------------------------------------------------------------------------------------------------------


@step_event
class PlanRegistered(StepEvent):
    """A master has registered its subgraph here. executable: its master's incarnation, and its number there.

    parts: what is run here, which is nothing to this module.
    """

    executable: StepKey
    parts: Any


@step_event
class PlanReleased(StepEvent):
    """A master wants an executable no more; steps that run go on."""

    executable: StepKey


@step_event
class MasterGone(StepEvent):
    """A master is gone, and what it had registered and begun with it."""

    incarnation: int


@step_event
class StepBegun(StepEvent):
    """The master begins a step of one of its executables."""

    key: StepKey
    number: int
    values: Sequence[Any]


@step_event
class TensorsArrived(StepEvent):
    """Values came from another task along edges; edges beyond the values are signals."""

    key: StepKey
    edges: Sequence[int]
    values: Sequence[Any]


@step_event
class StageDone(StepEvent):
    """A stage has been computed. work: the instruction that said so."""

    work: Work
    values: Sequence[Any]


@step_event
class StageFailed(StepEvent):
    """A stage has raised."""

    work: Work
    error: BaseException


@step_event
class StepStill(StepEvent):
    """Nothing of a step has begun or ended here for so many seconds; one operation may wait for another."""

    key: StepKey
    seconds: float


@step_event
class StepFailed(StepEvent):
    """A step cannot go on here, for a reason beside its stages: its master is told, unless it has ended here."""

    key: StepKey
    error: BaseException


@step_event
class StepAborted(StepEvent):
    """A step ends here whatever it is at, and nobody is told; what comes of it later is dropped."""

    key: StepKey


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class TellDone:
    """Tell the master that the step is done here, with the values it fetches.

    Of the values the first `along` are tensors on edges, as SendTensors would send them to the master's task.
    """

    key: StepKey
    values: Sequence[Any]
    along: int = 0


@dataclass(eq=False, slots=True)
class TellFailed:
    """Tell the master that the step failed here."""

    key: StepKey
    error: BaseException


Instructions = list[Any]
"""What is to be done, in this order; who does it may add what follows from that.

TellDone, TellFailed, and what StepProgress says: to run a stage, to send tensors.
"""


# ---- the machine ----------------------------------------------------------------------------------------------------


class TaskSteps(Machine):
    """The steps of one task.

    task: its name. begin: what makes the progress of a step.
    """

    def __init__(self, task: str, begin: BeginProgress, most_early_bytes: int = MOST_EARLY_BYTES) -> None:
        self._task = task
        self._begin = begin
        self._most_early_bytes = most_early_bytes
        self.parts: dict[StepKey, Any] = {}
        """What masters have registered here."""
        self.steps: dict[StepKey, StepProgress] = {}
        """The steps that have begun, and have not ended."""
        self.latest: dict[int, int] = {}
        """The number of the step that each master began last."""
        self.early: dict[StepKey, dict[int, Any]] = {}
        """What came for steps that have not begun, by edge."""
        self.early_bytes: dict[StepKey, int] = {}
        self.refused: dict[StepKey, None] = {}
        """Steps that had not begun when they ended, and will not; in order, the oldest first."""
        self.begun = 0
        """How often a part of a step began here."""
        self.handlers = {
            PlanRegistered: self._plan_registered, PlanReleased: self._plan_released,
            MasterGone: self._master_gone, StepBegun: self._step_begun,
            TensorsArrived: self._arrived, StageDone: self._stage_done, StageFailed: self._stage_failed,
            StepStill: self._step_still, StepFailed: self._step_failed, StepAborted: self._aborted,
        }  # fmt: skip

    # ---- questions, which change nothing ----

    def is_active(self, key: StepKey) -> bool:
        """Whether something is known of a step that has not ended."""
        return key in self.steps or key in self.early

    @property
    def active(self) -> Sequence[StepKey]:
        """The steps that something is known of, and that have not ended."""
        return [*self.steps, *self.early]

    # ---- executables ----

    def _plan_registered(self, event: PlanRegistered) -> Instructions:
        self.parts[event.executable] = event.parts
        return []

    def _plan_released(self, event: PlanReleased) -> Instructions:
        self.parts.pop(event.executable, None)
        return []

    def _master_gone(self, event: MasterGone) -> Instructions:
        for executable in [e for e in self.parts if e[0] == event.incarnation]:
            del self.parts[executable]
        for key in [k for k in self.active if k[0] == event.incarnation]:
            self._end(key)
        return []

    # ---- steps ----

    def _step_begun(self, event: StepBegun) -> Instructions:
        key = event.key
        master, number = key
        if number <= self.latest.get(master, 0) or self.refused and key in self.refused:
            return []
        parts = self.parts.get((master, event.number))
        try:
            if parts is None:
                raise ValueError(f"the executable {event.number} is not registered.")
            progress = self._begin(parts, event.values, key)
        except ValueError as error:
            self._abort(key)
            text = f"{self._task} does not know the plan: {error}"
            return [TellFailed(key, errors.AbortedError(None, None, text))]
        self.latest[master] = number
        if self.early:
            came = self.early.get(key, {})
            progress.arrived(list(came), list(came.values()))
            for early in [k for k in self.early if k[0] == master and k[1] <= number]:
                self._end(early)
        self.steps[key] = progress
        self.begun += 1
        return self._go_on(key, progress, [])

    def _arrived(self, event: TensorsArrived) -> Instructions:
        key = event.key
        progress = self.steps.get(key)
        if progress is None:
            return [] if self._is_over(key) else self._keep_early(key, event.edges, event.values)
        progress.arrived(event.edges, event.values)
        return self._go_on(key, progress, [])

    def _stage_done(self, event: StageDone) -> Instructions:
        work: Any = event.work
        progress = self.steps.get(work.key)
        sent = None if progress is None else progress.done(work, event.values)
        work.stage = work.turn = None  # The journal keeps it, and must keep neither the plan nor values.
        work.values = ()
        return [] if progress is None or sent is None else self._go_on(work.key, progress, sent)

    def _stage_failed(self, event: StageFailed) -> Instructions:
        key = event.work.key
        if key not in self.steps:
            return []
        self._end(key)
        return [TellFailed(key, event.error)]

    def _step_still(self, event: StepStill) -> Instructions:
        progress = self.steps.get(event.key)
        return [] if progress is None else progress.overdue(event.seconds, WAIT_PATIENCE_SECONDS)

    def _step_failed(self, event: StepFailed) -> Instructions:
        return self._fail(event.key, event.error)

    def _aborted(self, event: StepAborted) -> Instructions:
        self._abort(event.key)
        return []

    # ---- the rest ----

    def _is_over(self, key: StepKey) -> bool:
        """Whether a step that is not active has ended, or will not begin."""
        return key[1] <= self.latest.get(key[0], 0) or key in self.refused

    def _go_on(self, key: StepKey, progress: StepProgress, sent: list[Any]) -> Instructions:
        """Begins each part's next stage if what it receives is there; ends the step if all parts are through."""
        if progress.ended:
            self._end(key)
            return [*sent, TellDone(key, progress.fetched())]
        return [*sent, *progress.ready()]

    def _fail(self, key: StepKey, error: BaseException) -> Instructions:
        if not self.is_active(key) and self._is_over(key):
            return []
        self._abort(key)
        return [TellFailed(key, error)]

    def _abort(self, key: StepKey) -> None:
        if key[1] > self.latest.get(key[0], 0):
            self.refused[key] = None
            if len(self.refused) > _MOST_REFUSED:
                del self.refused[next(iter(self.refused))]
        self._end(key)

    def _keep_early(self, key: StepKey, edges: Sequence[int], values: Sequence[Any]) -> Instructions:
        """Keeps what came before its step has begun, if there is room."""
        size = sum(map(size_of, values))
        if (
            sum(self.early_bytes.values()) + size > self._most_early_bytes
            or len(self.early) >= MOST_EARLY_STEPS
            and key not in self.early
        ):
            held = sum(self.early_bytes.values())
            error = errors.ResourceExhaustedError(
                None,
                None,
                f"{len(self.early)} steps that have not begun hold {held} bytes, and {size} more came: at most "
                f"{MOST_EARLY_STEPS} steps and {self._most_early_bytes} bytes may wait.",
            )
            return self._fail(key, error)
        self.early_bytes[key] = self.early_bytes.get(key, 0) + size
        inbox = self.early.setdefault(key, {})
        inbox.update(dict.fromkeys(edges, True) | dict(zip(edges, values, strict=False)))
        return []

    def _end(self, key: StepKey) -> None:
        self.steps.pop(key, None)
        if self.early:
            self.early.pop(key, None)
            self.early_bytes.pop(key, None)

    def check(self) -> None:
        """A step is in one state; what waits for its step is counted, within its limits, and may begin still."""
        for key, progress in self.steps.items():
            hold(key not in self.early, f"The step {key} has begun, and waits for its beginning.")
            hold(
                key[1] <= self.latest.get(key[0], 0), f"The step {key} runs, and its master is not there yet."
            )
            hold(not progress.ended, f"The step {key} is through, and has not ended.")
        for key in self.early:
            hold(not self._is_over(key), f"The step {key} is over, and something waits for it.")
        hold(self.early.keys() == self.early_bytes.keys(), "Not all that waits for its step is counted.")
        hold(len(self.early) <= MOST_EARLY_STEPS, f"{len(self.early)} steps have not begun.")
        hold(sum(self.early_bytes.values()) <= self._most_early_bytes, "Too much waits for its step.")
        hold(len(self.refused) <= _MOST_REFUSED, "Too many steps are refused.")


def size_of(value: Any) -> int:
    """The bytes of a value that waits; of an array of strings those of the strings."""
    if getattr(getattr(value, "dtype", None), "hasobject", False):
        return sum(map(len, value.flat))
    return int(getattr(value, "nbytes", 0))

"""What a task knows of the steps it takes part in: events go in, instructions come out. No socket, no thread, no clock.

A step begins with what comes first, its own message or a tensor from another task. What runs of it on one device goes
through its stages in order, each when what it receives is there.

A master begins its steps here in the order of their numbers, over one connection. So what is no step now and not above
the number that it began last has ended: what comes late, or twice, is dropped. So is what came early for a step below
that number, which its master has given up. What waits for its step is limited, in bytes and in steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from graphflow import errors
from graphflow._core.runtime.progress import Parts, Progress, RunStage, SendTensors

MOST_EARLY_BYTES: Final = 8 << 30
"""Bytes of tensors that may wait for their steps to begin."""
MOST_EARLY_STEPS: Final = 4096
_MOST_REFUSED: Final = 65_536

StepKey = tuple[int, int]
"""The incarnation of the master that began the step, and its number there."""


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


Instruction = RunStage | SendTensors | TellDone | TellFailed
Instructions = list[Instruction]
"""What is to be done, in this order; who does it may add what follows from that."""


class TaskSteps:
    """The steps of one task. Not thread-safe: one thread calls it."""

    def __init__(self, most_early_bytes: int = MOST_EARLY_BYTES) -> None:
        self._most_early_bytes = most_early_bytes
        self._parts: dict[StepKey, Parts] = {}
        self._partners: dict[StepKey, Collection[str]] = {}
        """The tasks that a part sends to or receives from."""
        self._steps: dict[StepKey, Progress] = {}
        """The steps that have begun, and are not at their end."""
        self._latest: dict[int, int] = {}
        """The number of the step that each master began last."""
        self._registered: dict[int, int] = {}
        """The number of the executable that each master registered last."""
        self._early: dict[StepKey, dict[int, Any]] = {}
        """What came for steps that have not begun, by edge."""
        self._early_bytes: dict[StepKey, int] = {}
        self._refused: dict[StepKey, None] = {}
        """Steps that have not begun and will not; in order, the oldest first."""
        self.begun = 0
        """How many steps began here."""

    # ---- executables ----------------------------------------------------------------------------------------------

    def register(self, executable: StepKey, parts: Parts, partners: Collection[str] = ()) -> None:
        """Takes the parts of an executable, named by its master's incarnation and a number of the master's.

        partners: the tasks that they send to or receive from. ValueError where the parts do not fit together.
        """
        parts.check()
        _ = parts.program  # Now, and not while the first step waits for it.
        self._registered[executable[0]] = max(executable[1], self._registered.get(executable[0], 0))
        self._parts[executable] = parts
        if partners:
            self._partners[executable] = partners

    def had(self, executable: StepKey) -> bool:
        """Whether an executable was registered before; masters number them upwards."""
        return executable[1] <= self._registered.get(executable[0], 0)

    def release(self, executable: StepKey) -> None:
        """Forgets an executable; steps that run go on."""
        self._parts.pop(executable, None)
        self._partners.pop(executable, None)

    def separated(self, task: str) -> Sequence[StepKey]:
        """Forgets the executables whose values go to or come from a task that is out of reach, and says which.

        Values may be lost of steps that run, and of those that are to begin: their master has to end them.
        """
        found = [executable for executable, partners in self._partners.items() if task in partners]
        for executable in found:
            self.release(executable)
        return found

    def release_master(self, incarnation: int) -> None:
        """Forgets what a master that is gone had registered, and its steps."""
        for executable in [e for e in self._parts if e[0] == incarnation]:
            self.release(executable)
        for key in [k for k in self.active if k[0] == incarnation]:
            self._end(key)

    def is_active(self, key: StepKey) -> bool:
        """Whether a step is not at its end."""
        return key in self._steps or key in self._early

    @property
    def active(self) -> Sequence[StepKey]:
        """The steps that are not at their end."""
        return [*self._steps, *self._early]

    # ---- events ---------------------------------------------------------------------------------------------------

    def begin(self, key: StepKey, executable: int, feeds: Sequence[Any]) -> Instructions:
        """The master begins a step; KeyError where it has not registered the executable here.

        ValueError where it does not bring as many values as that takes.
        """
        master, number = key
        if number <= self._latest.get(master, 0) or key in self._refused:
            return []
        progress = Progress(self._parts[master, executable], feeds, key)
        self._latest[master] = number
        if self._early:
            came = self._early.get(key, {})
            progress.arrived(list(came), list(came.values()))
            for early in [k for k in self._early if k[0] == master and k[1] <= number]:
                self._end(early)
        self._steps[key] = progress
        self.begun += 1
        return self._go_on(key, progress, [])

    def arrived(self, key: StepKey, edges: Sequence[int], values: Sequence[Any]) -> Instructions:
        """Values came from another task along edges; edges beyond the values are signals."""
        progress = self._steps.get(key)
        if progress is None:
            if key[1] <= self._latest.get(key[0], 0) or key in self._refused:
                return []
            return self._keep_early(key, edges, values)
        progress.arrived(edges, values)
        return self._go_on(key, progress, [])

    def fail(self, key: StepKey, error: BaseException) -> Instructions:
        """The step cannot go on here: its master is told, where it has not ended yet."""
        if not self.is_active(key) and (key[1] <= self._latest.get(key[0], 0) or key in self._refused):
            return []
        self.abort(key)
        return [TellFailed(key, error)]

    def stage_done(self, work: RunStage, results: Sequence[Any]) -> Instructions:
        """A stage has been computed."""
        progress = self._steps.get(work.key)
        if progress is None:
            return []
        return self._go_on(work.key, progress, progress.done(work, results))

    def stage_failed(self, work: RunStage, error: BaseException) -> Instructions:
        """A stage raised."""
        if work.key not in self._steps:
            return []
        self._end(work.key)
        return [TellFailed(work.key, error)]

    def abort(self, key: StepKey) -> None:
        """The step ends here whatever it is at; what comes of it later is dropped."""
        if key[1] > self._latest.get(key[0], 0):
            self._refused[key] = None
            if len(self._refused) > _MOST_REFUSED:
                del self._refused[next(iter(self._refused))]
        self._end(key)

    # ---- the rest -------------------------------------------------------------------------------------------------

    def _go_on(self, key: StepKey, progress: Progress, sent: Sequence[SendTensors]) -> Instructions:
        """Begins each part's next stage where what it receives is there; ends the step where all are through."""
        if progress.ended:
            self._end(key)
            return [*sent, TellDone(key, progress.fetched())]
        return [*sent, *progress.ready()]

    def _keep_early(self, key: StepKey, edges: Sequence[int], values: Sequence[Any]) -> Instructions:
        """Keeps what came before its step has begun, where there is room."""
        size = sum(map(_size, values))
        if (
            sum(self._early_bytes.values()) + size > self._most_early_bytes
            or len(self._early) >= MOST_EARLY_STEPS
            and key not in self._early
        ):
            held = sum(self._early_bytes.values())
            error = errors.ResourceExhaustedError(
                None,
                None,
                f"{len(self._early)} steps that have not begun hold {held} bytes, and {size} more came: at most "
                f"{MOST_EARLY_STEPS} steps and {self._most_early_bytes} bytes may wait.",
            )
            return self.fail(key, error)
        self._early_bytes[key] = self._early_bytes.get(key, 0) + size
        inbox = self._early.setdefault(key, {})
        inbox.update(dict.fromkeys(edges, True) | dict(zip(edges, values, strict=False)))
        return []

    def _end(self, key: StepKey) -> None:
        self._steps.pop(key, None)
        if self._early:
            self._early.pop(key, None)
            self._early_bytes.pop(key, None)


def _size(value: Any) -> int:
    """The bytes of a value that waits."""
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return sum(map(len, value.flat))
    return int(getattr(value, "nbytes", 0))

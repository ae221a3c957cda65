"""What happens to rounds of synchronous training, and what is to be done about it: machine.py decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphflow._core.common.machine import Instruction, Shared, StepEvent, step_event
from graphflow._core.common.records import dataclass
from graphflow._core.common.request_ids import RunId
from graphflow.errors import OpError

Number = tuple[int, int]
"""What choices are ordered by: their rounds' epoch, and a count from one.

An epoch is a random number that rounds have for as long as their task lives, and no clock is asked which of two is the
later one: it is the one that is heard of later.
"""


@dataclass(frozen=True)
class Ticket(Shared):
    """A run's part in a round.

    round: the global step that it has read. epoch: of its rounds, see Number. attempt: its number, from one, or 0
    if its gradients were given before, by an earlier attempt of the same run. floor: earlier attempts of the same
    replica that are above this are void.
    """

    round: int
    epoch: int
    attempt: int
    floor: int

    def array(self) -> np.ndarray[Any, Any]:
        """As a tensor."""
        return np.array([self.round, self.epoch, self.attempt, self.floor], np.int64)

    @staticmethod
    def of(array: Any) -> Ticket:
        """From a tensor."""
        return Ticket(*(int(n) for n in array))


@dataclass(frozen=True)
class Choice(Shared):
    """The gradients of a round: the attempts that made them, in the order in which they are added.

    number: see Number; (epoch, 0) if there is nothing to apply. horizon: attempts below it are settled.
    counted: whether the gradients of the run that has this are among them.
    """

    round: int
    number: Number
    horizon: int = 0
    counted: bool = False
    attempts: tuple[int, ...] = ()

    def array(self) -> np.ndarray[Any, Any]:
        """As a tensor."""
        return np.array([self.round, *self.number, self.horizon, self.counted, *self.attempts], np.int64)

    @staticmethod
    def of(array: Any) -> Choice:
        """From a tensor."""
        numbers = [int(n) for n in array]
        return Choice(numbers[0], (numbers[1], numbers[2]), numbers[3], bool(numbers[4]), tuple(numbers[5:]))


# ---- events ---------------------------------------------------------------------------------------------------------


@step_event
class ReplicaBegan(StepEvent):
    """A replica begins a step. slot: its task, "" if it has no name. run: if its program names its runs.

    step: the global step. assigned: how often that was set as a whole. settled: whether the value that it was set to
    has the gradients of this run already, as a checkpoint says.
    """

    slot: str
    run: RunId | None
    step: int
    assigned: int
    settled: bool = False


@step_event
class GradientsBrought(StepEvent):
    """All gradients of a run are in place: it waits for the choice of its round."""

    run: RunId | None
    ticket: Ticket


@step_event
class ChoiceAwaited(StepEvent):
    """A run that waits looks whether there is a choice.

    absent: the tasks that are not there, each with the time since when. patience: for how many seconds it waits for
    replicas that are absent, 0 if it has not said so.
    """

    attempt: int
    absent: Mapping[str, float]
    patience: float


@step_event
class WaitEnded(StepEvent):
    """A run waits no more. failed: its step has come to an end, without a choice."""

    attempt: int
    failed: bool


@step_event
class RoundApplied(StepEvent):
    """A replica has applied a choice to all variables. step, assigned: as the global step is now."""

    choice: Choice
    step: int
    assigned: int


@step_event
class HoldAsked(StepEvent):
    """A checkpoint is about to be read, and wants a moment between two rounds; said again at each look.

    holder: its number. step, assigned: as the global step is now.
    """

    holder: int
    step: int
    assigned: int


@step_event
class HoldEnded(StepEvent):
    """A checkpoint has been read, or nobody waits for it any more. read: whether it is the former."""

    holder: int
    read: bool = False


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GiveTicket(Instruction):
    """The run takes part with this ticket."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class GiveChoice(Instruction):
    """The wait of the run ends with this choice."""

    choice: Choice


@dataclass(frozen=True, slots=True)
class RefuseRun(Instruction):
    """The run fails with this error."""

    kind: type[OpError]
    message: str


@dataclass(frozen=True, slots=True)
class SayAwaited(Instruction):
    """Tell whoever waits for the run for whom it waits."""

    text: str


@dataclass(frozen=True, slots=True)
class WakeWaiting(Instruction):
    """All runs that wait are to look again."""


@dataclass(frozen=True, slots=True)
class CountUp(Instruction):
    """Count the global step up."""


@dataclass(frozen=True, slots=True)
class ReadCheckpoint(Instruction):
    """Every round that was chosen is applied, and none is chosen now: the checkpoint may be read."""

"""The lease of a task: whether it may serve, where an engine begins a task anew that it cannot reach.

Such an engine lets a task serve for some seconds at a time. A task whose lease was not renewed falls silent: it may be
cut off, and the engine may begin another life of it, which it does only when this one is silent. A lease that is
renewed after all lets it go on. One that another life has taken never does.
"""

from __future__ import annotations

import math
from enum import StrEnum

from graphflow._core.common.machine import Event, Instruction, Machine, Tick, hold, task_event
from graphflow._core.common.records import dataclass


class LeaseState(StrEnum):
    """Whether a task may serve."""

    UNLIMITED = "unlimited"
    """No engine limits it."""
    HELD = "held"
    """It may serve until its lease lapses."""
    LAPSED = "lapsed"
    """It may not serve unless the engine renews the lease."""
    TAKEN = "taken"
    """Another life of the task has its place: it may not serve any more."""


# ---- events ---------------------------------------------------------------------------------------------------------


@task_event
class LeaseRenewed(Event):
    """The engine lets the task serve until a moment of the same clock, which it was asked early enough before.

    With a moment that is over a task that no engine limited before has one, and waits for its first lease.
    """

    until: float


@task_event
class LeaseTaken(Event):
    """The engine says that another life of the task has its place."""


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ServeUntil(Instruction):
    """See at that moment, before any message, whether the lease has lapsed."""

    moment: float


@dataclass(frozen=True, slots=True)
class FallSilent(Instruction):
    """End all that goes on here, take no message any more, and refuse who asks. why: a sentence."""

    why: str
    for_good: bool


@dataclass(frozen=True, slots=True)
class ServeAgain(Instruction):
    """Take messages again, from those who say hello."""


# ---- the machine ----------------------------------------------------------------------------------------------------


class Lease(Machine):
    """Whether one task may serve. task: its name."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.state = LeaseState.UNLIMITED
        self.until = math.inf
        """When the lease lapses."""
        self.handlers = {LeaseRenewed: self._renewed, LeaseTaken: self._taken, Tick: self._tick}

    @property
    def silent(self) -> bool:
        """Whether the task may not serve."""
        return self.state in (LeaseState.LAPSED, LeaseState.TAKEN)

    def _renewed(self, event: LeaseRenewed) -> list[Instruction]:
        if self.state is LeaseState.TAKEN or event.until <= event.now:  # The answer was too long on its way.
            if self.state is LeaseState.UNLIMITED:
                self.state, self.until = LeaseState.HELD, event.until
            return self._tick(event)
        again = self.state is LeaseState.LAPSED
        self.state = LeaseState.HELD
        self.until = event.until if again else max(event.until, self.until if self.until < math.inf else 0.0)
        return [ServeUntil(self.until), *([ServeAgain()] if again else [])]

    def _taken(self, event: LeaseTaken) -> list[Instruction]:
        if self.state is LeaseState.TAKEN:
            return []
        self.state, self.until = LeaseState.TAKEN, math.inf
        return [FallSilent(f"{self.task} was started again elsewhere, and this life of it has ended.", True)]

    def _tick(self, event: Event) -> list[Instruction]:
        if self.state is not LeaseState.HELD or event.now < self.until:
            return []
        self.state, self.until = LeaseState.LAPSED, math.inf
        text = f"The lease of {self.task} has lapsed, since its engine does not answer: it does not serve."
        return [FallSilent(text, False)]

    def check(self) -> None:
        """There is a moment at which it lapses exactly while it is held."""
        held = self.state is LeaseState.HELD
        hold(held == (self.until < math.inf), f"The lease is {self.state}, until {self.until}.")

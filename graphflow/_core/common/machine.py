"""What state machines have in common: events in, instructions out, a check of the state.

A machine changes its state in its handlers alone, and each handler takes one kind of event. The handlers are a table by
the class of the event, so that a message is followed from its entry to its meaning by one search for that class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, dataclass_transform

from graphflow._core.common.records import dataclass

_Kind = TypeVar("_Kind")


@dataclass_transform(frozen_default=True)
def task_event(kind: type[_Kind]) -> type[_Kind]:
    """A dataclass for what happens to a task.

    It is frozen for the type checker alone: one that is frozen at run time too takes four times as long to make, and a
    request comes with every run.
    """
    return dataclass(slots=True)(kind)


@task_event
class Event:
    """Something that has happened outside of the machines. now: when, in seconds of a clock that never goes back."""

    now: float


@task_event
class Tick(Event):
    """Some time has passed; comes a few times a second.

    A machine that has nothing to say to a tick does not change its state by it either: such ticks are not kept in the
    journal, and a replay does without them.
    """


@dataclass_transform(frozen_default=True, eq_default=False)
def step_event(kind: type[_Kind]) -> type[_Kind]:
    """As `task_event`, for what happens several times in each step: two of them are not compared."""
    return dataclass(slots=True, eq=False)(kind)


@step_event
class StepEvent:
    """Something that has happened to a step. now: when, as in `Event`.

    It may bring tensors, as `values`, and there are thousands a second: `TaskProtocol.handle_step` takes it, and keeps
    it in a journal of its own, with the number of its values in their place.
    """

    now: float


@dataclass(frozen=True, slots=True)
class Instruction:
    """Something that the server is to do; what it needs for that is in the fields."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Fields that an event and an instruction have in common, as what one task says and another one hears."""


class BrokenInvariant(AssertionError):
    """The state of a machine contradicts itself: an error of the machine's own, which `Machine.check` finds."""


class Machine:
    """A part of a task's state. For one thread.

    handlers: for each class of event that the machine takes, what it does with it.
    """

    handlers: Mapping[type[Any], Callable[[Any], list[Any]]]

    def check(self) -> None:
        """BrokenInvariant if the state contradicts itself. Tests call it after each event."""
        raise NotImplementedError


def hold(true: bool, text: str) -> None:
    """BrokenInvariant with that text unless `true`."""
    if not true:
        raise BrokenInvariant(text)

"""A record of the events of a task's steps, without their values, from which the machines can be driven again.

A task has none: its steps are too many, and its `StepOutcomes` say how the last ones ended. A test gives a `StepRecord`
to a `TaskProtocol`, and `replay_steps` plays it again. What a step does depends on how large values are, and on nothing
else of them, so a value is stood for by its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from graphflow._core.cluster.protocol.task_steps import StageDone, StageFailed, size_of
from graphflow._core.common.machine import StepEvent
from graphflow._core.common.records import dataclass

_OF_VALUES: Final = frozenset({"feeds", "values", "results"})


@dataclass(frozen=True, slots=True)
class StandIn:
    """What stands for a value in a record."""

    nbytes: int


@dataclass(frozen=True, slots=True)
class WorkName:
    """What stands for the instruction to compute a stage: a step computes one stage at a time on each device."""

    key: Any
    device: str


class StepRecord:
    """All events that the steps of a task had, with what came of each."""

    def __init__(self) -> None:
        self.entries: list[tuple[StepEvent, list[Any]]] = []

    def add(self, event: StepEvent, instructions: Sequence[Any]) -> None:
        """Keeps an event and its instructions, without values. It is called once the event was handled."""
        self.entries.append((_without_values(event), [described(i) for i in instructions]))


def _without_values(event: StepEvent) -> StepEvent:
    own = {field.name: getattr(event, field.name) for field in fields(event)}
    for name in own:
        if name in _OF_VALUES:
            own[name] = _stand_ins(own[name])
        elif name == "work":
            own[name] = WorkName(own[name].key, own[name].device)
    return type(event)(**own)


def _stand_ins(values: Sequence[Any]) -> tuple[StandIn, ...]:
    return tuple(StandIn(size_of(value)) for value in values)


def described(instruction: Any) -> tuple[Any, ...]:
    """An instruction as data that can be compared; an error is its text, a value its size."""
    found: list[Any] = [type(instruction).__name__]
    for name in (field.name for field in fields(instruction)):
        value = getattr(instruction, name)
        if name in _OF_VALUES:
            found.append(_stand_ins(value))
        elif isinstance(value, BaseException):
            found.append(repr(value))
        elif name not in ("stage", "turn"):  # They are those of the device, in order.
            found.append(value)
    return tuple(found)


def replay_steps(record: StepRecord, protocol: Any) -> None:
    """Gives all events of a record to a new protocol, whose machines are checked after each.

    Raises:
        AssertionError: an event has other instructions than in the record, or leaves a state that contradicts itself.
    """
    at_work: dict[WorkName, Any] = {}
    for place, (event, expected) in enumerate(record.entries):
        if isinstance(event, StageDone | StageFailed):
            own = {field.name: getattr(event, field.name) for field in fields(event)}
            if own["work"] not in at_work:
                raise AssertionError(f"Event {place} of steps, {event}: that stage was not to be computed.")
            event = type(event)(**{**own, "work": at_work[own["work"]]})
        found = protocol.handle_step(event)
        at_work.update({WorkName(i.key, i.device): i for i in found if type(i).__name__ == "RunStage"})
        got = [described(i) for i in found]
        if got != expected:
            raise AssertionError(f"Event {place} of steps, {event}: expected {expected}, got {got}.")
        protocol.check_steps()

"""The journal of a task's steps: the last events of steps that it has handled, from which they can be played again.

There are thousands a second, so nothing is made for the journal: it keeps the events themselves, in a ring. An event
must not hold on to tensors or plans, which it would for as long as it is in the ring, and who sent a tensor may wait
for its memory: so what an event has brought is replaced by how many values that were, or by a text. What came of an
event is not kept: a replay works it out again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from graphflow._core.cluster.protocol import master_steps, task_steps
from graphflow._core.cluster.protocol.journal import from_data, to_data
from graphflow._core.cluster.protocol.master_steps import Executable, ExecutableAdmitted, PartDone, RunAsked
from graphflow._core.cluster.protocol.task_steps import (
    PlanRegistered,
    StageDone,
    StageFailed,
    StepBegun,
    StepFailed,
    StepKey,
    TensorsArrived,
)
from graphflow._core.common.machine import StepEvent

MOST_STEP_EVENTS: Final = 256
"""Events of steps that are kept."""
WITH_VALUES: Final = frozenset({RunAsked, PartDone, StepBegun, TensorsArrived, StageDone})
"""Events that bring values, which are kept as their number."""
WITH_MORE: Final = frozenset({StageFailed, StepFailed, PlanRegistered})
"""Events that `lighten` takes something from; they are rare."""
_CLASSES: Final = {
    name: value
    for module in (master_steps, task_steps)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, StepEvent)
}
_MOST_TEXT: Final = 200


def lighten(event: Any) -> None:
    """Takes the plan, the code or the error from an event that was handled: a name or a text is left."""
    if type(event) is not PlanRegistered:
        event.error = f"{type(event.error).__name__}: {event.error}"[:_MOST_TEXT]
    else:
        kept: Any = event
        kept.parts = None
    if type(event) is StageFailed:
        work: Any = event.work
        work.stage = work.turn = None
        work.values = ()


class StepJournal:
    """The last events of the steps of one task. For one thread.

    most: how many are kept; None for all, as a test may want.
    """

    __slots__ = ("events", "handled")

    def __init__(self, most: int | None = MOST_STEP_EVENTS) -> None:
        self.events: deque[StepEvent] = deque(maxlen=most)
        self.handled = 0
        """How many events there were."""

    def data(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "forgotten": self.handled - len(self.events),
            "events": [_data(event) for event in self.events],
        }


def _data(event: StepEvent) -> dict[str, Any]:
    own = {field.name: getattr(event, field.name) for field in fields(event)}
    if isinstance(event, ExecutableAdmitted):
        e = event.executable
        own["executable"] = {"session": e.session, "feeds": dict(e.feeds), "fetches": list(e.fetches)}
    elif "work" in own:
        own["work"] = own["work"].key, own["work"].device
    return {"type": type(event).__name__, **{name: to_data(value) for name, value in own.items()}}


def step_lines(data: Mapping[str, Any], now: float) -> list[tuple[float, str]]:
    """The events of a journal's data, each with its time, a line each; times are seconds before `now`."""
    found = []
    for event in data["events"]:
        own = {name: from_data(value) for name, value in event.items() if name not in ("type", "now")}
        text = ", ".join(f"{name}={value!r}" for name, value in own.items())[:_MOST_TEXT]
        found.append((event["now"] - now, f"{event['now'] - now:.6f} s: {event['type']}({text})"))
    return found


class _Value:
    """What stands for a value in a replay."""

    nbytes = 0


def replay_step_data(
    data: Mapping[str, Any], protocol: Any, parts: Mapping[StepKey, Any]
) -> list[Sequence[Any]]:
    """Plays again the events of steps that a journal's data has, from the task's beginning; what came of each.

    protocol: a new one, which is checked after each event. parts: what each executable runs on the task, which is code
    and not in the journal. ValueError if the beginning is forgotten.
    """
    if data["forgotten"]:
        raise ValueError(f"The first {data['forgotten']} events of steps are not in the journal.")
    at_work: dict[tuple[StepKey, str], Any] = {}
    found = []
    for event in data["events"]:
        own = {name: from_data(value) for name, value in event.items() if name != "type"}
        kind = _CLASSES[event["type"]]
        if kind is ExecutableAdmitted:
            own["executable"] = Executable(**own["executable"])
        elif kind is PlanRegistered:
            own["parts"] = parts[own["executable"]]
        elif "work" in own:
            own["work"] = at_work.pop(own["work"])
        if kind in WITH_VALUES:
            own["values"] = [_Value()] * own["values"]
        if kind in (StageFailed, StepFailed):
            own["error"] = RuntimeError(own["error"])
        instructions = protocol.handle_step(kind(**own))
        at_work.update({(i.key, i.device): i for i in instructions if type(i).__name__ == "RunStage"})
        protocol.check_steps()
        found.append(instructions)
    return found

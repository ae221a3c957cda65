"""What a task tells clients of their steps while these go on: what operations printed, and when they ran.

A step that prints nothing and is not traced costs nothing here. What is told goes from the task to the step's master,
which passes it on. It is sent before the word of the step's end, on the same connections, so it comes to the client
before the result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from graphflow._core.cluster.protocol.master_steps import BeginStep, MasterSteps
from graphflow._core.cluster.protocol.task_steps import StepKey, TaskSteps
from graphflow._core.cluster.server.links import Links
from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.cluster.server.step_trace import StepTrace, clock
from graphflow._core.transport.frames.message import Kind, Message

_MOST_SENT: Final = 64
"""Steps that are traced at once, whose times are kept."""
_MOST_TRACED: Final = 1024


class StepReports:
    """What steps tell, at one task. All methods but those named so are for the thread of the sockets."""

    def __init__(self, links: Links, master: MasterSteps, worker: TaskSteps) -> None:
        self._links = links
        self._master = master
        self._worker = worker
        self.traced: dict[StepKey, None] = {}
        """The plans that are traced; in order, the oldest first."""
        self.traces: dict[StepKey, StepTrace] = {}
        self._sent: dict[int, dict[str, int]] = {}
        """When the steps of this master that are traced were sent, by step and task."""

    # ---- what operations print ------------------------------------------------------------------------------------

    def has_output(self, context: StepContext) -> None:
        """A step has something to tell; from any thread."""
        self._links.sockets.call(lambda: self.send_output(context))

    def send_output(self, context: StepContext, last: bool = False) -> None:
        """Sends what a step has printed; `last`: nothing will follow."""
        details = context.take_output(last)
        if details:
            self._report(Kind.OUTPUT, context.key, details)

    def _report(self, kind: Kind, key: StepKey, details: Mapping[str, Any]) -> None:
        """Tells the client of a step."""
        if key[0] == self._links.incarnation:
            self.pass_on(kind, self._links.task, key[1], details)
        else:
            self._links.to_master(key[0], Message(kind, *key, details=details))

    def pass_on(self, kind: Kind, task: str, step: int, details: Mapping[str, Any]) -> None:
        """Passes on what a task tells of a step, as long as its client waits for that."""
        owner = self._master.client_of(step, task)
        if owner is None:
            return
        passed = {**details, "task": task}
        if kind is Kind.TRACE:
            now = time.perf_counter_ns()
            sent = self._sent.get(step, {})
            passed |= {"sent": sent.get(task, now), "received": now, "master": self._links.task,
                       "master_begun": min(sent.values(), default=now), "master_clock": clock()}  # fmt: skip
        self._links.reply(owner[0], Message(kind, owner[1], details=passed))

    # ---- when they ran --------------------------------------------------------------------------------------------

    def trace_plan(self, executable: StepKey) -> None:
        """The steps of a plan are traced from now on."""
        self.traced[executable] = None
        if len(self.traced) > _MOST_TRACED:
            del self.traced[next(iter(self.traced))]

    def begin_trace(self, key: StepKey, executable: int) -> None:
        """A step of a plan begins here; if the plan is traced, so is the step."""
        if (key[0], executable) in self.traced:
            active = set(self._worker.active)
            self.traces = {k: trace for k, trace in self.traces.items() if k in active}
            self.traces[key] = StepTrace()

    def end_trace(self, key: StepKey) -> None:
        """A step has come to its end here: if it was traced, its times are sent."""
        trace = self.traces.pop(key, None)
        if trace is not None:
            self._report(Kind.TRACE, key, trace.details())

    def note_sent(self, i: BeginStep) -> None:
        """A step that may be traced is about to be sent to a task, or begins here."""
        incarnation = self._links.incarnation
        if (incarnation, i.executable) in self.traced:
            self._sent.setdefault(i.step, {})[i.task] = time.perf_counter_ns()
            while len(self._sent) > _MOST_SENT:
                del self._sent[next(iter(self._sent))]
            if i.task == self._links.task:
                self.begin_trace((incarnation, i.step), i.executable)

    def note_arrived(self, key: StepKey, edges: Sequence[int]) -> None:
        """Values came for a step, along these edges."""
        trace = self.traces.get(key)
        if trace is not None:
            trace.arrived(edges)

    def note_instruction(self, i: Any) -> None:
        """An instruction of a step is about to be carried out."""
        trace = self.traces.get(i.key)
        if trace is not None:
            trace.note(i)

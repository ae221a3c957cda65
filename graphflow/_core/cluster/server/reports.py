"""The side of a task that tells clients what happened in their steps: what operations printed, and when they ran.

A part of `Service`, which has the state. A step that prints nothing and is not traced costs nothing here. What is told
goes from the task to the step's master, which passes it on; it is sent before the word of the step's end, on the same
connections, so it comes to the client before the result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from graphflow._core.cluster.protocol import master_steps
from graphflow._core.cluster.protocol.task_steps import StepKey
from graphflow._core.cluster.server.registrations import Registrations
from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.cluster.server.step_trace import StepTrace, clock
from graphflow._core.transport.message import Kind, Message

_MOST_SENT: Final = 64
"""Steps that are traced at once, whose times are kept."""


class Reports(Registrations):
    """What `Service` does with what steps tell. All methods but those named so are for the thread of the sockets."""

    _contexts: dict[StepKey, StepContext]

    def __init__(self) -> None:
        super().__init__()
        self._traces: dict[StepKey, StepTrace] = {}
        self._sent: dict[int, dict[str, int]] = {}
        """When the steps of this master that are traced were sent, by step and task."""

    def _context(self, key: StepKey) -> StepContext:
        """The context of a step, made when its first stage is about to run."""
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = StepContext(self._store, key, self._has_output)
            if self._traces:
                context.trace = self._traces.get(key)
        return context

    def _ended(self, key: StepKey) -> None:
        """A step has come to its end here: what it has to tell goes out before the word of that."""
        context = self._contexts.pop(key, None)
        if context is not None and context.has_written:
            self._send_output(context, last=True)
        if self._traces:
            trace = self._traces.pop(key, None)
            if trace is not None:
                self._report(Kind.TRACE, key, trace.details())

    # ---- what operations print ------------------------------------------------------------------------------------

    def _has_output(self, context: StepContext) -> None:
        """A step has something to tell; from any thread."""
        self.sockets.call(lambda: self._send_output(context))

    def _send_output(self, context: StepContext, last: bool = False) -> None:
        details = context.take_output(last)
        if details:
            self._report(Kind.OUTPUT, context.key, details)

    def _report(self, kind: Kind, key: StepKey, details: Mapping[str, Any]) -> None:
        """Tells the client of a step."""
        if key[0] == self._incarnation:
            self._pass_on(kind, self._task, key[1], details)
        elif key[0] in self._tasks_by_incarnation:
            self._to_peer(self._tasks_by_incarnation[key[0]], Message(kind, *key, details=details))

    def _pass_on(self, kind: Kind, task: str, step: int, details: Mapping[str, Any]) -> None:
        """Passes on what a task tells of a step, as long as its client waits for that."""
        owner = self._master.client_of(step, task)
        if owner is None:
            return
        passed = {**details, "task": task}
        if kind is Kind.TRACE:
            now = time.perf_counter_ns()
            sent = self._sent.get(step, {})
            passed |= {"sent": sent.get(task, now), "received": now, "master": self._task,
                       "master_begun": min(sent.values(), default=now), "master_clock": clock()}  # fmt: skip
        self.sockets.reply(owner[0], Message(kind, owner[1], details=passed).frames())

    # ---- when they ran --------------------------------------------------------------------------------------------

    def _begin_trace(self, key: StepKey, executable: int) -> None:
        """A step of a plan begins here; where the plan is traced, so is the step."""
        if (key[0], executable) in self._traced:
            active = set(self._worker.active)
            self._traces = {k: trace for k, trace in self._traces.items() if k in active}
            self._traces[key] = StepTrace()

    def _note_sent(self, i: master_steps.BeginStep) -> None:
        """A step that may be traced is about to be sent to a task, or begins here."""
        if (self._incarnation, i.executable) in self._traced:
            self._sent.setdefault(i.step, {})[i.task] = time.perf_counter_ns()
            while len(self._sent) > _MOST_SENT:
                del self._sent[next(iter(self._sent))]
            if i.task == self._task:
                self._begin_trace((self._incarnation, i.step), i.executable)

    def _note_arrived(self, key: StepKey, edges: Sequence[int]) -> None:
        trace = self._traces.get(key)
        if trace is not None:
            trace.arrived(edges)

    def _note_instruction(self, i: Any) -> None:
        trace = self._traces.get(i.key)
        if trace is not None:
            trace.note(i)

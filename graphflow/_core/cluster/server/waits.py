"""What steps wait for on one task: said in its log, in its status, and if a client asks why its run is late.

A client whose deadline has passed ends its run, and asks for the reason. Its master asks the tasks that have not done
their parts, before it tells them to drop these, and passes each answer on as it comes: a task that hangs keeps nobody
from hearing of the others. Nothing is noted while steps go on: the store knows what waits in it.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from typing import Any, Final

from graphflow._core.cluster.log import LOG
from graphflow._core.cluster.protocol.master_steps import MasterSteps
from graphflow._core.cluster.protocol.membership import Member
from graphflow._core.cluster.protocol.task_steps import StepKey, TaskSteps
from graphflow._core.cluster.server.links import Links
from graphflow._core.cluster.server.steps import Steps
from graphflow._core.common.frames import current_frames
from graphflow._core.common.timeouts import ROUND_SLOW_SECONDS, STEP_SHOWN_SECONDS
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.explain import operation_at
from graphflow._core.transport.frames.message import Kind, Message

_MOST_ASKED: Final = 256
"""Steps whose answers are passed on; those of older ones are dropped."""
_MOST_SHOWN: Final = 64
"""Steps whose waits the status shows, those that began first."""
_MOST_SAID: Final = 256
"""Operations of which it is known when their waits were logged."""
_MOST_TEXTS: Final = 8
"""Texts that a task says of one step."""


class Waits:
    """The waits of one task's steps. All methods but those named so are for the thread of the sockets."""

    def __init__(
        self, links: Links, master: MasterSteps, worker: TaskSteps, steps: Steps, store: ResourceStore
    ) -> None:
        self._links = links
        self._master = master
        self._worker = worker
        self._steps = steps
        self._store = store
        self._saying = threading.Lock()
        self._said: dict[str, tuple[float, float]] = {}
        """By operation, when its wait was last logged, and for how many seconds it is not logged again."""
        self._asked: dict[int, tuple[bytes, int, set[str]]] = {}
        """By step, the client, its request, and the tasks that were asked and have not answered."""

    def texts(self, key: StepKey) -> list[str]:
        """What a step waits for on this task: in the store, or for values of other tasks; [] if it computes."""
        context = self._steps.contexts.get(key)
        waits = []
        if context is not None:
            now, frames = time.monotonic(), current_frames()
            for wait in self._store.waits_of(context):
                waits.append(_told(wait.text, now - wait.since, frames.get(wait.thread)))
        progress: Any = self._worker.steps.get(key)
        if not waits and progress is not None:
            waits = [f"the value {name!r}, which another task makes" for name in progress.awaited_values()]
        return waits[:_MOST_TEXTS]

    def say(self, text: str, seconds: float) -> None:
        """Logs what the calling thread waits for, which is that of a step. Unlike the others for any thread.

        An operation that waits for long in every step, as one that fills a queue ahead, is logged ever less often.
        """
        operation, now = operation_at(sys._getframe()), time.monotonic()
        with self._saying:
            before, pause = self._said.get(operation, (-math.inf, ROUND_SLOW_SECONDS))
            if now - before < pause:
                return
            self._said[operation] = now, 2 * pause
            while len(self._said) > _MOST_SAID:
                del self._said[next(iter(self._said))]
        LOG.warning("%s: Still waiting for %s.", self._links.task, _told(text, seconds, sys._getframe()))

    def facts(self, now: float) -> dict[str, Any]:
        """For the status of the task, of steps that have lasted for long: its clients', and what they wait for here.

        `under_way`: the steps of this master, with the tasks that have not done their parts. `waiting`: by master and
        step, of all the parts here that wait; who has asked all tasks knows which of these have lasted for long.
        """
        late = [
            {"step": step, "session": running.executable.session, "seconds": round(now - running.begun, 3),
             "awaited": sorted(running.pending)}
            for step, running in self._master.steps.items() if now - running.begun > STEP_SHOWN_SECONDS
        ]  # fmt: skip
        waits = []
        for key in list(self._worker.steps)[:_MOST_SHOWN]:
            texts = self.texts(key)
            if texts:
                waits.append({"master": f"{key[0]:016x}", "step": key[1], "for": texts})
        return {"under_way": late[:_MOST_SHOWN], "waiting": waits}

    def ask(self, client: bytes, request: int) -> dict[str, Any]:
        """Asks the tasks that a late run waits for; the details of the answer to its client.

        `waits`: what is waited for here, if this task is one of them. `asked`: the others, whose answers follow.
        """
        found: list[str] = []
        asked: set[str] = set()
        for step, running in self._master.steps.items():
            if (running.client, running.request) == (client, request):
                others = {t for t in running.pending if t != self._links.task and self._links.is_there(t)}
                if others:
                    self._asked[step] = client, request, others
                for task in others:
                    why = Message(Kind.STATUS, self._links.incarnation, step, details={"waits": True})
                    self._links.to_peer(task, why)
                asked |= others
                found += self.texts((self._links.incarnation, step))
        while len(self._asked) > _MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        return {"waits": found, "asked": sorted(asked), "task": self._links.task}

    def asked(self, peer: Member, message: Message) -> None:
        """A master asks what a step of its waits for here."""
        texts = self.texts((message.a, message.b))
        self._links.to_peer(
            peer.task, Message(Kind.STATUS_IS, message.a, message.b, details={"waits": texts})
        )

    def answered(self, peer: Member, message: Message) -> None:
        """A task has said what a step of this master waits for: its client is told."""
        client, request, awaited = self._asked.get(message.b, (b"", 0, set()))
        if message.a != self._links.incarnation or peer.task not in awaited:
            return
        awaited.remove(peer.task)
        if not awaited:
            del self._asked[message.b]
        texts = [str(text) for text in message.details["waits"]][:_MOST_TEXTS]
        self._links.reply(
            client, Message(Kind.STATUS_IS, request, details={"task": peer.task, "waits": texts})
        )


def _told(text: str, seconds: float, frame: Any) -> str:
    """A wait with the operation that waits, if it is known, and for how long it has."""
    operation = operation_at(frame)
    return f"{text} ({f'{operation}, ' if operation else ''}for {seconds:.0f} s)"

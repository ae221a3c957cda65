"""The side of a task that registers plans: a master for its clients, with the other tasks, and each task its own parts.

A part of `Service`, which has the state: what happens here happens once a plan, not once a step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details, details_of
from graphflow._core.cluster.parts import read_parts
from graphflow._core.cluster.peers import Peer
from graphflow._core.cluster.protocol import master_steps
from graphflow._core.cluster.protocol.machine import StepEvent
from graphflow._core.cluster.protocol.master_steps import (
    ExecutableAdmitted,
    ExecutableDropped,
    ExecutableReleased,
    MasterSteps,
    RunnerGone,
)
from graphflow._core.cluster.protocol.registrations import (
    AdmitPlan,
    EndDroppedPlan,
    PartTaken,
    RefuseRegistration,
    RegistrantGone,
    RegistrationAsked,
    RegistrationFailed,
)
from graphflow._core.cluster.protocol.sessions import EndSocket, PlanNeeds, RefusePlan, SocketGone
from graphflow._core.cluster.protocol.task_steps import (
    PartnerSeparated,
    PlanRegistered,
    StepKey,
    TaskSteps,
)
from graphflow._core.cluster.server.admin import CarryOut
from graphflow._core.cluster.server.deduplicator import Changes
from graphflow._core.cluster.server.greetings import Greetings
from graphflow._core.plan.passes.collectives import members
from graphflow._core.plan.takings import changes_from_the_start
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.planner import ExecutionOptions
from graphflow._core.transport.message import Kind, Message

MOST_PLANS: Final = 16_384
"""Plans that one session may have registered."""
_MOST_TRACED: Final = 1024


@dataclass
class TaskStageRunner:
    """What computes a stage, and how long that takes: seconds, or more than any where it is not known yet."""

    executable: Executable
    blocks: bool
    changes: Changes
    kept: dict[str, Any]
    """What operations keep on this task for the session."""
    alone: bool
    """Whether its plan has one device here: then no two stages of a step are computed at once."""
    changes_more: bool
    """Whether its step, on this task or another, changes more than what it takes from, as far as it does not say so."""
    replica_seconds: float
    """How long a round of synchronous training waits for workers that are gone; 0 means a few seconds."""
    seconds: float = 1.0


class Registrations(Greetings):
    """What `Service` does with plans. All methods are for the thread of the sockets."""

    _store: ResourceStore
    _master: MasterSteps
    _worker: TaskSteps
    _make: Callable[[Any, ExecutionOptions], Executable]
    _to_peer: Callable[[str, Message], None]
    _step: Callable[[StepEvent], list[Any]]
    _direct: Callable[[master_steps.Instructions], None]

    def __init__(self) -> None:
        super().__init__()
        self._plans: dict[int, master_steps.Executable] = {}
        """The plans whose registration is open, by their numbers."""
        self._of_registrations: CarryOut = {
            AdmitPlan: self._admit_plan, RefuseRegistration: self._refuse_registration,
            EndDroppedPlan: self._end_dropped_plan, RefusePlan: self._refuse_plan, EndSocket: self._end_socket,
        }  # fmt: skip
        self._traced: dict[StepKey, None] = {}
        """The plans that are traced; in order, the oldest first."""
        self._kept: dict[tuple[int, str], dict[str, Any]] = {}
        """What operations keep on this task, by master and session, until the session ends."""
        self._members: dict[tuple[int, str], tuple[int, str]] = {}
        """The members of groups that sessions have here, by group and device, with the master and the session."""
        self._tasks_of: dict[str, set[str]] = {}
        """The other tasks that each session of this master has plans on."""
        self._numbers = count((self._incarnation >> 32 << 24) + 1)  # None of an earlier life of this task's.

    def _register(self, client: bytes, message: Message) -> None:
        session = self._sessions.sockets[client]
        if len(self._master.of_session(session)) >= MOST_PLANS:
            raise errors.ResourceExhaustedError(
                None, None, f"This session has registered {MOST_PLANS} plans, which is the most."
            )
        tasks: Mapping[str, Any] = message.details["tasks"]
        executable = master_steps.executable(session, tasks, message.details["fetches"])
        arrays = {task: slice(*part["arrays"]) for task, part in tasks.items()}
        number = next(self._numbers)
        if any(part.get("traced") is True for part in tasks.values()):
            self._is_traced((self._incarnation, number))
        self._plans[number] = executable
        now = time.monotonic()
        self._tell(RegistrationAsked(now, client, message.a, number, tuple(tasks)), message)
        absent = [self._peers[t] for t in tasks if t != self._task and not self._peers[t].incarnation]
        if absent:
            for peer in absent:
                if not peer.greeted:
                    self._greet(peer, True)
            names = ", ".join(map(self._where, absent))
            error = errors.UnavailableError(None, None, f"These tasks are gone: {names}.")
            self._tell(RegistrationFailed(now, number, as_details(error)), message)
            return
        lives = {task: self._peers[task].incarnation for task in tasks if task != self._task}
        self._tell(PlanNeeds(now, client, number, lives), message)
        if number not in self._plans:  # It was refused.
            return
        partners = _partners(tasks)
        for task, part in tasks.items():
            details = {**part, "session": session, "partners": sorted(partners[task])}
            order = Message(
                Kind.REGISTER, self._incarnation, number, 0, details, message.tensors[arrays[task]]
            )
            if task != self._task:
                self._tasks_of.setdefault(session, set()).add(task)
                self._to_peer(task, order)
                continue
            try:
                self._take_parts(order)
            except Exception as error:
                self._tell(RegistrationFailed(now, number, as_details(error)), message)
                return
            self._tell(PartTaken(now, task, number), message)

    def _admit_plan(self, i: AdmitPlan, message: Message | None) -> None:
        self._step(ExecutableAdmitted(time.monotonic(), i.number, self._plans.pop(i.number)))
        if i.client in self._sessions.sockets:
            self.sockets.reply(i.client, Message(Kind.REGISTERED, i.request, i.number).frames())
        else:
            self._release(i.number)

    def _refuse_registration(self, i: RefuseRegistration, message: Message | None) -> None:
        self._step(ExecutableAdmitted(time.monotonic(), i.number, self._plans.pop(i.number)))
        self._release(i.number)
        self._fail(i.client, i.request, i.error)

    def _end_dropped_plan(self, i: EndDroppedPlan, message: Message | None) -> None:
        self._direct(self._step(ExecutableDropped(time.monotonic(), i.task, i.number, i.error)))

    def left(self, sender: bytes) -> None:
        """The thread of a client has ended that had this socket, or its process has; its session may go on."""
        if sender in self._sessions.sockets:  # It is called for other tasks' connections as well.
            self._tell(SocketGone(time.monotonic(), sender), None)

    def _end_socket(self, i: EndSocket, message: Message | None) -> None:
        self.sockets.close_local_channel(i.socket)
        text = f"{self._task} has ended this step: the client is gone that asked for it."
        self._client_gone(i.socket, details_of(errors.ABORTED, text))

    def _refuse_plan(self, i: RefusePlan, message: Message | None) -> None:
        self._tell(RegistrationFailed(time.monotonic(), i.number, details_of(i.code, i.message)), message)

    def _client_gone(self, client: bytes, error: Mapping[str, Any]) -> None:
        self._tell(RegistrantGone(time.monotonic(), client, None, error), None)
        self._greeting[:] = [waiting for waiting in self._greeting if waiting.client != client]
        self._sharing.gone(client)
        # Its thread may be there, and wait.
        self._direct(self._step(RunnerGone(time.monotonic(), client, error)))

    def _separate(self, peer: Peer, what: str) -> None:
        """Drops the plans whose values go to or come from a task that is out of reach: the master may reach it still.

        What was on its way is lost, of steps too that have not begun here.
        """
        text = f"The task {peer.task} at {peer.address} {what}, as {self._task} sees it."
        details = as_details(errors.UnavailableError(None, None, text)) | {"registration": True}
        for i in self._step(PartnerSeparated(time.monotonic(), peer.task, details)):
            master, number = i.executable
            task = self._tasks_by_incarnation.get(master)
            if task is not None:
                self._to_peer(task, Message(Kind.FAILED, master, 0, number, details=i.error))

    def _release(self, number: int) -> None:
        self._direct(self._step(ExecutableReleased(time.monotonic(), number)))

    def _forget_session(self, session: str, given_up: bool) -> None:
        """Frees what operations have kept for a session of this master."""
        self._drop_kept(self._incarnation, session, given_up)
        for task in self._tasks_of.pop(session, ()):
            if self._peers[task].incarnation:
                details = {"session": session, "given_up": given_up}
                self._to_peer(task, Message(Kind.RELEASE, self._incarnation, details=details))

    def _drop_kept(self, incarnation: int, session: str | None = None, given_up: bool = True) -> None:
        """Frees what operations have kept for a session, or all of a master that is gone; it leaves its groups."""

        def ended(owner: tuple[int, str]) -> bool:
            return owner[0] == incarnation and session in (None, owner[1])

        self._kept = {owner: kept for owner, kept in self._kept.items() if not ended(owner)}
        self._quit([member for member, owner in self._members.items() if ended(owner)], given_up)

    def _quit(self, members: Collection[tuple[int, str]], given_up: bool) -> None:
        """Members leave their groups, since the session is not there any more that they took part for."""
        for member in members:
            del self._members[member]
        self._groups.collectives.quit(members, given_up)

    def _take_seats(self, owner: tuple[int, str], members: Collection[tuple[int, str]]) -> None:
        """Members take part for a session from now on; if they did for another one, that one is through with them."""
        self._quit([m for m in members if self._members.get(m, owner) != owner], True)
        self._members.update(dict.fromkeys(members, owner))

    def _take_parts_of(self, peer: Peer, message: Message) -> None:
        if self._worker.had((message.a, message.b)):
            return
        try:
            self._take_parts(message)
        except Exception as error:
            details = as_details(error) | {"registration": True}
            self._to_peer(peer.task, Message(Kind.FAILED, message.a, 0, message.b, details=details))
            return
        self._to_peer(peer.task, Message(Kind.REGISTERED, message.a, message.b))

    def _is_traced(self, executable: StepKey) -> None:
        self._traced[executable] = None
        if len(self._traced) > _MOST_TRACED:
            del self._traced[next(iter(self._traced))]

    def _take_parts(self, message: Message) -> None:
        if message.details.get("traced") is True:
            self._is_traced((message.a, message.b))

        owner = message.a, str(message.details["session"])
        kept = self._kept.setdefault(owner, {})
        found: set[tuple[int, str]] = set()
        alone = len(message.details["stages"]) == 1
        more = message.details.get("changes_more") is True

        def runner(plan: Any, options: ExecutionOptions, blocks: bool) -> TaskStageRunner:
            def make(plan: Any) -> Any:
                return self._make(plan, options)

            found.update(members(plan))
            changes, wait = Changes(self._store, plan, make), options.replica_wait_in_ms / 1000
            return TaskStageRunner(
                make(plan), blocks, changes, kept, alone, more or changes_from_the_start(plan), wait
            )

        parts = read_parts(message, self._task, self._peers, runner)
        if found:
            self._take_seats(owner, found)
        partners = self._peers.keys() & set(message.details.get("partners") or ())
        for peer in [self._peers[task] for task in partners]:
            if peer.left and not peer.greeted:  # It may be there again.
                self._greet(peer, True)
        parts.check()
        _ = parts.program  # Now, and not while the first step waits for it.
        self._step(PlanRegistered(time.monotonic(), (message.a, message.b), parts, partners))


def _partners(tasks: Mapping[str, Any]) -> dict[str, set[str]]:
    """For each task of a plan those that it sends to or receives from."""
    found: dict[str, set[str]] = {task: set() for task in tasks}
    for task, part in tasks.items():
        receivers = {to for stages in part["stages"].values() for s in stages for _, _, to in s["sends"]}
        for to in receivers & found.keys() - {task}:
            found[task].add(to)
            found[to].add(task)
    return found

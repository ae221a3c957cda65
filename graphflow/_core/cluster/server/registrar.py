"""Plans of a master's clients: each task of a plan registers its subgraph, and is told when the plan is not needed.

Which registrations are open, and how they end, is in graphflow/_core/cluster/protocol/registrations.py. What happens
here happens once a plan, not once a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details, details_of
from graphflow._core.cluster.protocol import master_steps
from graphflow._core.cluster.protocol.master_steps import (
    ExecutableAdmitted,
    ExecutableDropped,
    ExecutableReleased,
    RunnerGone,
    TaskGone,
)
from graphflow._core.cluster.protocol.registrations import (
    AdmitPlan,
    EndDroppedPlan,
    RefuseRegistration,
    RegistrationAsked,
    RegistrationFailed,
)
from graphflow._core.cluster.protocol.sessions import PlanNeeds, RefusePlan
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.server.admin import CarryOut, Tell
from graphflow._core.cluster.server.links import Links
from graphflow._core.cluster.server.steps import Steps
from graphflow._core.cluster.server.subgraphs import Subgraphs
from graphflow._core.transport.frames.message import Kind, Message

MOST_PLANS: Final = 16_384
"""Plans that one session may have registered."""


class Registrar:
    """The plans of one master. For the thread of the sockets.

    tell: gives an event to the task's protocol, and carries out what comes of it. subgraphs: what this task itself
    takes of plans. clock: seconds that never go back.
    """

    def __init__(
        self,
        links: Links,
        protocol: TaskProtocol,
        steps: Steps,
        subgraphs: Subgraphs,
        tell: Tell,
        clock: Callable[[], float],
    ) -> None:
        self._links = links
        self._sessions = protocol.sessions
        self._master = protocol.master
        self._step = protocol.handle_step
        self._steps = steps
        self._subgraphs = subgraphs
        self._tell = tell
        self._clock = clock
        self.plans: dict[int, master_steps.Executable] = {}
        """The plans whose registration is open, by their numbers."""
        self.tasks_of: dict[str, set[str]] = {}
        """The other tasks that each session of this master has plans on."""
        self._numbers = count((links.incarnation >> 32 << 24) + 1)  # None of an earlier life of this task's.
        self.carry_out: CarryOut = {
            AdmitPlan: self._admit, RefuseRegistration: self._refuse, EndDroppedPlan: self._end_dropped,
            RefusePlan: self._refuse_plan,
        }  # fmt: skip

    def register(self, client: bytes, message: Message) -> None:
        """A client registers a plan. It is answered when all tasks have registered their subgraphs."""
        session = self._sessions.sockets[client]
        if len(self._master.of_session(session)) >= MOST_PLANS:
            raise errors.ResourceExhaustedError(
                None, None, f"This session has registered {MOST_PLANS} plans, which is the most."
            )
        own, members = self._links.task, self._links.members
        tasks: Mapping[str, Any] = message.details["tasks"]
        executable = master_steps.executable(session, tasks, message.details["fetches"], own)
        arrays = {task: slice(*part["arrays"]) for task, part in tasks.items()}
        number = next(self._numbers)
        if any(part.get("traced") is True for part in tasks.values()):
            self._steps.reports.trace_plan((self._links.incarnation, number))
        self.plans[number] = executable
        now = self._clock()
        self._tell(RegistrationAsked(now, client, message.a, number, tuple(tasks)), message)
        absent = [t for t in tasks if t != own and not members[t].incarnation]
        if absent:
            for task in absent:
                self._links.want(task)
            names = ", ".join(map(self._links.where, absent))
            error = errors.UnavailableError(None, None, f"These tasks are gone: {names}.")
            self._tell(RegistrationFailed(now, number, as_details(error)), message)
            return
        lives = {task: members[task].incarnation for task in tasks if task != own}
        self._tell(PlanNeeds(now, client, number, lives), message)
        if number not in self.plans:  # It was refused.
            return
        partners = _partners(tasks)
        for task, part in tasks.items():
            details = {**part, "session": session, "partners": sorted(partners[task])}
            tensors = message.tensors[arrays[task]]
            order = Message(Kind.REGISTER, self._links.incarnation, number, 0, details, tensors)
            if task != own:
                self.tasks_of.setdefault(session, set()).add(task)
                self._links.to_peer(task, order)
                continue
            self._subgraphs.offered(order)
            if number not in self.plans:  # It was refused, or is admitted.
                return

    def _admit(self, i: AdmitPlan, message: Message | None) -> None:
        self._step(ExecutableAdmitted(self._clock(), i.number, self.plans.pop(i.number)))
        if i.client in self._sessions.sockets:
            self._links.reply(i.client, Message(Kind.REGISTERED, i.request, i.number))
        else:
            self.release(i.number)

    def _refuse(self, i: RefuseRegistration, message: Message | None) -> None:
        self._step(ExecutableAdmitted(self._clock(), i.number, self.plans.pop(i.number)))
        self.release(i.number)
        self._links.fail(i.client, i.request, i.error)

    def _end_dropped(self, i: EndDroppedPlan, message: Message | None) -> None:
        self._steps.direct(self._step(ExecutableDropped(self._clock(), i.task, i.number, i.error)))

    def _refuse_plan(self, i: RefusePlan, message: Message | None) -> None:
        self._tell(RegistrationFailed(self._clock(), i.number, details_of(i.code, i.message)), message)

    def release(self, number: int) -> None:
        """Frees a plan, here and on the other tasks that have subgraphs of it."""
        self._steps.direct(self._step(ExecutableReleased(self._clock(), number)))

    def task_ended(self, task: str, error: Mapping[str, Any]) -> None:
        """A task is not there any more, or its state was reset: steps and plans that it takes part in end."""
        self._steps.direct(self._step(TaskGone(self._clock(), task, error)))

    def client_gone(self, client: bytes, error: Mapping[str, Any]) -> None:
        """A client is not there any more, or seems so: its steps end. Its thread may be there, and wait."""
        self._steps.direct(self._step(RunnerGone(self._clock(), client, error)))

    def session_ended(self, session: str, given_up: bool) -> None:
        """Frees the plans of a session, and what operations have kept for it."""
        for number in self._master.of_session(session):
            self.release(number)
        incarnation = self._links.incarnation
        self._subgraphs.forget_session(incarnation, session, given_up)
        for task in self.tasks_of.pop(session, ()):
            if self._links.is_there(task):
                details = {"session": session, "given_up": given_up}
                self._links.to_peer(task, Message(Kind.RELEASE, incarnation, details=details))


def _partners(tasks: Mapping[str, Any]) -> dict[str, set[str]]:
    """For each task of a plan those that it sends to or receives from."""
    found: dict[str, set[str]] = {task: set() for task in tasks}
    for task, part in tasks.items():
        receivers = {to for stages in part["stages"].values() for s in stages for _, _, to in s["sends"]}
        for to in receivers & found.keys() - {task}:
            found[task].add(to)
            found[to].add(task)
    return found

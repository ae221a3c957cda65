"""The subgraphs of plans that one task has registered for its masters, and what operations keep there for sessions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details
from graphflow._core.cluster.protocol.membership import Member, SeparateTask
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.protocol.task_steps import PartnerSeparated, PlanRegistered
from graphflow._core.cluster.server.admin import CarryOut
from graphflow._core.cluster.server.collectives import CollectiveLink
from graphflow._core.cluster.server.computing import TaskStageRunner
from graphflow._core.cluster.server.deduplicator import Changes
from graphflow._core.cluster.server.links import Links
from graphflow._core.cluster.server.read_subgraphs import read_subgraphs
from graphflow._core.cluster.server.reports import StepReports
from graphflow._core.plan.passes.collectives import members
from graphflow._core.plan.takings import changes_from_the_start
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.planner import ExecutionOptions
from graphflow._core.transport.frames.message import Kind, Message

Owner = tuple[int, str]
"""The incarnation of a master, and a session of it."""
Make = Callable[[Any, ExecutionOptions], Executable]
"""What makes an executable of a plan."""


class Subgraphs:
    """What one task has registered. For the thread of the sockets: it happens once a plan, not once a step."""

    def __init__(
        self,
        links: Links,
        protocol: TaskProtocol,
        reports: StepReports,
        groups: CollectiveLink,
        store: ResourceStore,
        make: Make,
        clock: Callable[[], float],
    ) -> None:
        self._links = links
        self._protocol = protocol
        self._clock = clock
        self._reports = reports
        self._groups = groups
        self._store = store
        self._make = make
        self.kept: dict[Owner, dict[str, Any]] = {}
        """What operations keep on this task, by master and session, until the session ends."""
        self._members: dict[tuple[int, str], Owner] = {}
        """The members of groups that sessions have here, by group and device, with the master and the session."""
        self.carry_out: CarryOut = {SeparateTask: self._separate_task}

    def received(self, peer: Member, message: Message) -> None:
        """Another task registers a subgraph for its client; it is told whether that is possible."""
        if self._protocol.worker.had((message.a, message.b)):
            return
        try:
            self.register(message)
        except Exception as error:
            details = as_details(error) | {"registration": True}
            self._links.to_peer(peer.task, Message(Kind.FAILED, message.a, 0, message.b, details=details))
            return
        self._links.to_peer(peer.task, Message(Kind.REGISTERED, message.a, message.b))

    def register(self, message: Message) -> None:
        """Registers what a REGISTER message of an authenticated task brings; raises whatever is wrong with it."""
        if message.details.get("traced") is True:
            self._reports.trace_plan((message.a, message.b))
        owner = message.a, str(message.details["session"])
        kept = self.kept.setdefault(owner, {})
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

        others = self._links.members
        parts = read_subgraphs(message, self._links.task, others, runner)
        if found:
            self._take_members(owner, found)
        partners = others.keys() & set(message.details.get("partners") or ())
        for task in partners:
            if others[task].was_there:  # It may be there again.
                self._links.want(task)
        parts.check()
        _ = parts.program  # Now, and not while the first step waits for it.
        self._protocol.handle_step(PlanRegistered(self._clock(), (message.a, message.b), parts, partners))

    def _separate_task(self, i: SeparateTask, message: Message | None) -> None:
        self.separate(i.task, "is gone")

    def separate(self, partner: str, why: str) -> None:
        """Drops the plans whose values go to or come from a task that is out of reach: the master may reach it still.

        What was on its way is lost, of steps too that have not begun here.
        """
        address = self._links.members[partner].address
        text = f"The task {partner} at {address} {why}, as {self._links.task} sees it."
        details = as_details(errors.UnavailableError(None, None, text)) | {"registration": True}
        for i in self._protocol.handle_step(PartnerSeparated(self._clock(), partner, details)):
            master, number = i.executable
            self._links.to_master(master, Message(Kind.FAILED, master, 0, number, details=i.error))

    def forget_session(self, incarnation: int, session: str | None = None, given_up: bool = True) -> None:
        """Frees what operations have kept for a session, or all of a master that is gone; it leaves its groups."""

        def ended(owner: Owner) -> bool:
            return owner[0] == incarnation and session in (None, owner[1])

        self.kept = {owner: kept for owner, kept in self.kept.items() if not ended(owner)}
        self._quit([member for member, owner in self._members.items() if ended(owner)], given_up)

    def _quit(self, members: Collection[tuple[int, str]], given_up: bool) -> None:
        """Members leave their groups, since the session is not there any more that they took part for."""
        for member in members:
            del self._members[member]
        self._groups.collectives.quit(members, given_up)

    def _take_members(self, owner: Owner, members: Collection[tuple[int, str]]) -> None:
        """Members take part for a session from now on; if they did for another one, that one is through with them."""
        self._quit([m for m in members if self._members.get(m, owner) != owner], True)
        self._members.update(dict.fromkeys(members, owner))

"""The subgraphs that masters register at one task, carried out: read, and kept; and what operations keep for sessions.

Which subgraphs are there, and which members of groups take part for whom, is in
graphflow/_core/cluster/protocol/subgraphs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details
from graphflow._core.cluster.protocol.membership import SeparateTask
from graphflow._core.cluster.protocol.registrations import RegistrationFailed, SubgraphRegistered
from graphflow._core.cluster.protocol.subgraphs import (
    DropSubgraph,
    FreeKept,
    GroupMember,
    KeepSubgraph,
    LeaveGroups,
    Owner,
    OwnerGone,
    PartnerUnreachable,
    ReadSubgraph,
    RefuseSubgraph,
    SubgraphOffered,
    SubgraphRead,
    SubgraphUnreadable,
)
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.protocol.task_steps import PlanRegistered, PlanReleased, StepKey
from graphflow._core.cluster.server.admin import CarryOut, Tell
from graphflow._core.cluster.server.collectives.link import CollectiveLink
from graphflow._core.cluster.server.computing import TaskStageRunner
from graphflow._core.cluster.server.deduplicator import Changes
from graphflow._core.cluster.server.links import Links
from graphflow._core.cluster.server.read_subgraphs import read_subgraphs
from graphflow._core.cluster.server.reports import StepReports
from graphflow._core.plan.passes.collectives import members
from graphflow._core.plan.passes.repeated import is_snapshot
from graphflow._core.plan.takings import changes_from_the_start
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.compiled.cores import calls_blas
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.planner import ExecutionOptions
from graphflow._core.runtime.progress import Parts
from graphflow._core.transport.frames.message import Kind, Message

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
        tell: Tell,
        clock: Callable[[], float],
        crowded: bool,
    ) -> None:
        self._links = links
        self._protocol = protocol
        self._clock = clock
        self._crowded = crowded
        """Whether the tasks of this machine leave no core over."""
        self._reports = reports
        self._groups = groups
        self._store = store
        self._make = make
        self._tell = tell
        self._read: dict[StepKey, Parts] = {}
        """What was read and is not kept yet."""
        self.kept: dict[Owner, dict[str, Any]] = {}
        """What operations keep on this task, by master and session, until the session ends."""
        self.carry_out: CarryOut = {
            SeparateTask: self._separate_task, ReadSubgraph: self._read_subgraph, KeepSubgraph: self._keep,
            RefuseSubgraph: self._refuse, DropSubgraph: self._drop, LeaveGroups: self._leave_groups,
            FreeKept: self._free_kept,
        }  # fmt: skip

    def offered(self, message: Message) -> None:
        """A master, maybe this task, registers a subgraph for its client by a REGISTER message; it is answered."""
        session = str(message.details.get("session", ""))
        self._tell(SubgraphOffered(self._clock(), (message.a, message.b), session), message)

    def _read_subgraph(self, i: ReadSubgraph, message: Message | None) -> None:
        assert message is not None
        try:
            parts, found, partners = self._made(i, message)
        except Exception as error:
            self._tell(SubgraphUnreadable(self._clock(), i.executable, as_details(error)), message)
            return
        self._read[i.executable] = parts
        self._tell(
            SubgraphRead(self._clock(), i.executable, tuple(sorted(found)), tuple(sorted(partners))), message
        )
        self._read.pop(i.executable, None)

    def _made(self, i: ReadSubgraph, message: Message) -> tuple[Parts, set[GroupMember], set[str]]:
        """What a REGISTER message of an authenticated task brings, the members of groups in it, and the other tasks
        that it exchanges values with; raises whatever is wrong with it.
        """
        if message.details.get("traced") is True:
            self._reports.trace_plan(i.executable)
        kept = self.kept.setdefault((i.executable[0], str(message.details["session"])), {})
        found: set[GroupMember] = set()
        alone = len(message.details["stages"]) == 1
        more = message.details.get("changes_more") is True

        def runner(plan: Any, options: ExecutionOptions, blocks: bool) -> TaskStageRunner:
            def make(plan: Any) -> Any:
                return self._make(plan, options)

            found.update(members(plan))
            changes, wait = Changes(self._store, plan, make, blocks), options.replica_wait_in_ms / 1000
            return TaskStageRunner(
                make(plan),
                blocks,
                changes,
                kept,
                alone,
                more or changes_from_the_start(plan),
                wait,
                is_snapshot(plan),
                self._crowded and calls_blas(plan),
            )

        others = self._links.members
        parts = read_subgraphs(message, self._links.task, others, runner)
        partners = others.keys() & set(message.details.get("partners") or ())
        for task in partners:
            if others[task].was_there:  # It may be there again.
                self._links.want(task)
        parts.check()
        _ = parts.program  # Now, and not while the first step waits for it.
        return parts, found, partners

    def _keep(self, i: KeepSubgraph, message: Message | None) -> None:
        self._protocol.handle_step(PlanRegistered(self._clock(), i.executable, self._read.pop(i.executable)))
        master, number = i.executable
        if master == self._links.incarnation:
            self._tell(SubgraphRegistered(self._clock(), self._links.task, number), message)
        else:
            self._links.to_master(master, Message(Kind.REGISTERED, master, number))

    def _refuse(self, i: RefuseSubgraph, message: Message | None) -> None:
        master, number = i.executable
        if master == self._links.incarnation:
            self._tell(RegistrationFailed(self._clock(), number, i.error), message)
        else:
            self._fail(i.executable, i.error)

    def _fail(self, executable: StepKey, error: Mapping[str, Any]) -> None:
        """Tells another task that its subgraph cannot be run here, or not any more."""
        master, number = executable
        details = {**error, "registration": True}
        self._links.to_master(master, Message(Kind.FAILED, master, 0, number, details=details))

    def _drop(self, i: DropSubgraph, message: Message | None) -> None:
        self._protocol.handle_step(PlanReleased(self._clock(), i.executable))
        self._fail(i.executable, i.error)

    def _separate_task(self, i: SeparateTask, message: Message | None) -> None:
        self.separate(i.task, "is gone")

    def separate(self, partner: str, why: str) -> None:
        """Drops the plans whose values go to or come from a task that is out of reach: the master may reach it still.

        What was on its way is lost, of steps too that have not begun here.
        """
        address = self._links.members[partner].address
        text = f"The task {partner} at {address} {why}, as {self._links.task} sees it."
        error = as_details(errors.UnavailableError(None, None, text))
        self._tell(PartnerUnreachable(self._clock(), partner, error))

    def forget_session(self, incarnation: int, session: str | None = None, given_up: bool = True) -> None:
        """Frees what operations have kept for a session, or all of a master that is gone; it leaves its groups."""
        self._tell(OwnerGone(self._clock(), incarnation, session, given_up))

    def _free_kept(self, i: FreeKept, message: Message | None) -> None:
        for owner in [o for o in self.kept if o[0] == i.incarnation and i.session in (None, o[1])]:
            del self.kept[owner]

    def _leave_groups(self, i: LeaveGroups, message: Message | None) -> None:
        self._groups.collectives.quit(i.members, i.given_up)

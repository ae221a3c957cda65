"""The rendezvous of launchers: which nodes are there, which group their workers form, and when it forms anew.

A launcher says again and again what it does, in a report, and hears each time what to do, in an order. Both are states
and no events: one that is lost on the way changes nothing, as the next one says the same.

A group of workers stays as it is until a node comes, leaves, is lost, or has a worker that fails. Then it ends, the
chief first, which saves the step that it is at if it can; when nobody of it is left, the next one begins from the
newest checkpoint. So there are never two groups. A node that is not heard any more has ended its workers before it
counts as lost: its lease is shorter.

It does no input or output and reads no clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, field
from enum import StrEnum
from typing import Any, Final

from graphflow._core.common.records import dataclass

MARGIN: Final = 0.1
"""The part of a lease by which it is taken to last longer here than at the node."""
_MOST_WORKERS: Final = 1024
_MOST_TEXT: Final = 4000


class NodeState(StrEnum):
    """What a launcher does."""

    WAITING = "waiting"
    """None of its workers is there; it can take part in the next group, at the addresses in its report."""
    RUNNING = "running"
    FAILED = "failed"
    """A worker of its has failed; those that are left run."""
    ENDED = "ended"
    """The chief, which was its, has ended well."""
    LEAVING = "leaving"
    """Its workers run, and it is to leave."""
    LEFT = "left"


class Do(StrEnum):
    """What a launcher is to do."""

    WAIT = "wait"
    RUN = "run"
    STOP = "stop"
    END = "end"


@dataclass(frozen=True)
class Report:
    """What a node does. generation: the group that its workers are in, or were in last; 0 for none.

    node: a name that no other has. host: for people. nodes: how many it was told to be, the least and the most.
    reason: of a failure.
    """

    node: str
    host: str
    state: NodeState
    nodes: tuple[int, int]
    generation: int = 0
    addresses: tuple[str, ...] = ()
    reason: str = ""

    @classmethod
    def of(cls, found: Any) -> Report:
        """A report as it came; ValueError if it is none."""
        try:
            least, most = (int(number) for number in found["nodes"])
            addresses = tuple(str(address)[:300] for address in found["addresses"])
            if not 0 < len(addresses) <= _MOST_WORKERS:
                raise ValueError(f"{len(addresses)} workers")
            return cls(
                str(found["node"])[:100], str(found["host"])[:300], NodeState(found["state"]), (least, most),
                int(found["generation"]), addresses, str(found["reason"])[:_MOST_TEXT],
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"A report of a node is wrong: {error!r}.") from None

    def details(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Order:
    """What a node is to do. text: why, for people. status: of the job, with END.

    nodes: with RUN, the name of each node of the group and the addresses of its workers, in the order of their ranks.
    """

    do: Do
    text: str = ""
    generation: int = 0
    nodes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    status: int = 0

    @classmethod
    def of(cls, found: Any) -> Order:
        """An order as it came; ValueError if it is none."""
        try:
            nodes = tuple((str(name), tuple(map(str, addresses))) for name, addresses in found["nodes"])
            return cls(
                Do(found["do"]), str(found["text"]), int(found["generation"]), nodes, int(found["status"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"An order of the rendezvous is wrong: {error!r}.") from None

    def details(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass
class _Node:
    report: Report
    heard: float


@dataclass
class _Group:
    """Workers that train together. members: the nodes in the order of ranks, and their workers' addresses."""

    generation: int
    members: Mapping[str, tuple[str, ...]]
    out: set[str] = field(default_factory=set)
    """The members of which no worker is there any more."""
    ends: str = ""
    """Why it ends, if it does."""
    then: Order | None = None
    """How the job ends with it, if it does."""

    @property
    def chief(self) -> str:
        """The node of the chief."""
        return next(iter(self.members))


class Rendezvous:
    """The state of a rendezvous. For one thread; times are seconds of a clock that never goes back.

    least, most: nodes of a group. restarts: how often a group may begin anew because a worker has failed.
    lease_seconds: a node ends its workers if it was not answered for so long. settle_seconds: how long a group waits
    for more nodes if the least are there. wait_seconds: how long it waits for those. pause_seconds: between a failure
    and the next group.
    """

    def __init__(
        self,
        least: int,
        most: int,
        restarts: int,
        *,
        lease_seconds: float,
        settle_seconds: float,
        wait_seconds: float,
        pause_seconds: float,
    ) -> None:
        self._least, self._most, self._restarts = least, most, restarts
        self._lost_after = lease_seconds * (1 + MARGIN)
        self._settle_seconds, self._wait_seconds = settle_seconds, wait_seconds
        self._pause_seconds = pause_seconds
        self._nodes: dict[str, _Node] = {}
        """The nodes that are there, in the order in which they came."""
        self._group: _Group | None = None
        self._generation = 0
        self._failures = 0
        self._since: float | None = None
        """Since when there is no group."""
        self._enough_since = math.inf
        """Since when there are enough nodes for one."""
        self._not_before = -math.inf
        self._why = ""
        """Why the last group has ended."""
        self._over: Order | None = None
        self._told: set[str] = set()
        """The nodes that know that it is over."""

    @property
    def over(self) -> bool:
        """Whether the job has ended, and all nodes know."""
        return self._over is not None and self._told >= self._nodes.keys()

    def heard_by_all(self, own: str, quiet_seconds: float, now: float) -> bool:
        """Whether the job has ended, and all nodes have heard it: they have said nothing for so long since.

        The word may be lost on its way, or answer a report that its node has replaced: then the node says something
        again. own: a node that is known to have heard it.
        """
        others = [node for name, node in list(self._nodes.items()) if name != own]
        return self.over and all(now > node.heard + quiet_seconds for node in others)

    # ---- what comes in --------------------------------------------------------------------------------------------

    def heard(self, report: Report, now: float) -> Order:
        """Takes a report; what its node is to do."""
        self.tick(now)
        if report.state is NodeState.LEFT:
            self._gone(report.node, f"{report.host} has left", now)
            return Order(Do.END)
        if report.node not in self._nodes and report.nodes != (self._least, self._most):
            own, others = _range(*report.nodes), _range(self._least, self._most)
            return Order(Do.END, f"{report.host} has --nnodes {own}, and the others {others}", status=2)
        node = self._nodes.setdefault(report.node, _Node(report, now))
        node.report, node.heard = report, now
        self._generation = max(self._generation, report.generation)
        if self._over is None:
            self._take(report, now)
            self.tick(now)
        if self._over is not None:
            self._told.add(report.node)
            return self._over
        return self._order(report, now)

    def tick(self, now: float) -> None:
        """Some time has passed."""
        for name, node in list(self._nodes.items()):
            silent = now - node.heard
            if silent > self._lost_after:
                self._gone(
                    name, f"{node.report.host} is lost: nothing was heard of it for {silent:.1f} s", now
                )
        if self._over is None and self._group is None:
            self._gather(now)

    def end(self, status: int, text: str, now: float) -> None:
        """Ends the job, in order: the group that there is ends first."""
        if self._over is None:
            over = Order(Do.END, text, status=status)
            if self._group is None:
                self._over = over
            else:
                self._group.then = over
                self._break(text, now)

    # ---- groups ---------------------------------------------------------------------------------------------------

    def _take(self, report: Report, now: float) -> None:
        """What a report means for the group that there is."""
        group = self._group
        if report.state is NodeState.ENDED and report.generation == self._generation:
            self._over = Order(Do.END)
        if group is None:
            return
        if report.node not in group.members:
            if report.state is NodeState.WAITING and len(group.members) < self._most:
                self._break(f"{report.host} joins", now)
            return
        if report.generation != group.generation:
            return  # It has not begun yet.
        if report.state is NodeState.WAITING:
            group.out.add(report.node)
            self._break(f"the workers on {report.host} have ended", now)
        elif report.state is NodeState.LEAVING:
            self._break(f"{report.host} leaves", now)
        elif report.state is NodeState.FAILED and not group.ends:
            self._failures += 1
            self._not_before = now + self._pause_seconds
            if self._failures > self._restarts:
                self._over = Order(Do.END, report.reason, status=1)
            else:
                again = f"{report.reason}; the group begins anew, {self._failures} of {self._restarts}"
                self._break(again, now)

    def _break(self, why: str, now: float) -> None:
        """The group that there is ends; or has ended, if none of its workers is left."""
        group = self._group
        if group is None:
            return
        group.ends = group.ends or why
        if group.out >= group.members.keys():
            self._group, self._since, self._enough_since = None, now, math.inf
            self._why = group.ends
            self._over = group.then

    def _gone(self, name: str, why: str, now: float) -> None:
        self._nodes.pop(name, None)
        group = self._group
        if group is not None and name in group.members:
            group.out.add(name)
            self._break(why, now)

    def _waiting(self) -> list[_Node]:
        return [node for node in self._nodes.values() if node.report.state is NodeState.WAITING]

    def _gather(self, now: float) -> None:
        """Begins a group if enough nodes are there, and have been for a moment."""
        here = self._waiting()
        if self._since is None:
            self._since = now
        if len(here) < self._least:
            self._enough_since = math.inf
            if now > self._since + self._wait_seconds:
                self._over = Order(
                    Do.END, f"{self._lack(here)} came within {self._wait_seconds:g} s", status=1
                )
            return
        self._enough_since = min(self._enough_since, now)
        settled = len(here) >= self._most or now >= self._enough_since + self._settle_seconds
        if settled and now >= self._not_before:
            self._generation += 1
            members = {node.report.node: node.report.addresses for node in here[: self._most]}
            self._group = _Group(self._generation, members)
            self._since = None

    def _lack(self, here: list[_Node]) -> str:
        hosts = ", ".join(node.report.host for node in here)
        return f"{len(here)} of at least {self._least} nodes{f' ({hosts})' if hosts else ''}"

    # ---- what goes out --------------------------------------------------------------------------------------------

    def _order(self, report: Report, now: float) -> Order:
        group = self._group
        if group is None or report.node not in group.members:
            if report.state is not NodeState.WAITING:  # Of a group that another rendezvous had formed.
                return Order(Do.STOP, "the rendezvous was begun anew", report.generation)
            return Order(Do.WAIT, self._waits_for())
        if report.node in group.out:
            return Order(Do.WAIT, self._waits_for())
        # The others run on as the chief saves: it may be at a step of all.
        if group.ends and (report.node == group.chief or group.chief in group.out):
            return Order(Do.STOP, group.ends, group.generation)
        return Order(Do.RUN, self._why, group.generation, tuple(group.members.items()))

    def _waits_for(self) -> str:
        """On whom a node waits, in words."""
        group = self._group
        if group is None:
            here = self._waiting()
            if len(here) < self._least:
                return f"{self._lack(here)} are there: waits for {self._least - len(here)} more"
            return f"{len(here)} of at most {self._most} nodes are there: waits a moment for more"
        left = [self._nodes[name].report.host for name in group.members if name not in group.out]
        if group.ends:
            return f"waits for the workers on {', '.join(left)} to end: {group.ends}"
        return f"the group has {len(group.members)} nodes, as many as it may: this one stands by"


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least}:{most}"

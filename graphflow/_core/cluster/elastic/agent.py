"""A launcher of a group: runs the workers of this node in one group after the other, as the rendezvous says.

Each group has processes of its own, since a graph is built for a number of workers. A program that keeps checkpoints
goes on from the newest one, as after any loss.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from graphflow._core.cluster.elastic.group_timeouts import (
    GROUP_WAIT_SECONDS,
    NODE_GOODBYE_SECONDS,
    NODE_LEASE_SECONDS,
    NODE_SAY_SECONDS,
)
from graphflow._core.cluster.elastic.meeting import Attendance, Meeting
from graphflow._core.cluster.elastic.rendezvous import Do, NodeState, Order, Report
from graphflow._core.cluster.launch.children import Ending
from graphflow._core.cluster.launch.launcher import Launcher, Role, Task, roles
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.cluster.server.task_output import Lines, prefix
from graphflow._core.common.timeouts import (
    LAUNCHER_CHIEF_SECONDS,
    LAUNCHER_POLL_SECONDS,
    LAUNCHER_RESTART_SECONDS,
)

_CHIEF = "worker 0"


class Agent:
    """The launcher of one node. For the main thread.

    attendance: its connection to the rendezvous. meeting: the rendezvous, if it is this launcher's. meet: begins one,
    if the address is this machine's and free; None otherwise. host: the address of this node's workers. nodes: how many
    nodes a group has, the least and the most. command: what a worker runs.
    """

    def __init__(
        self,
        attendance: Attendance,
        meet: Callable[[], Meeting | None],
        meeting: Meeting | None,
        host: str,
        nodes: tuple[int, int],
        workers: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        local_devices: int = 1,
        grace: float = 2.0,
        coloured: bool | None = None,
    ) -> None:
        self.attendance = attendance
        self._meet = meet
        self.meeting = meeting
        self._host = host
        self._nodes = nodes
        self._workers = workers
        self._command, self._environment = command, environment
        self._local_devices = local_devices
        self.grace = grace
        self.coloured = coloured
        self._name = secrets.token_hex(8)
        self._place = f"{socket.gethostname()} (process {os.getpid()})"
        self._addresses: tuple[str, ...] = ()
        self.state = NodeState.WAITING
        self.generation = 0
        self.reason = ""
        """Of the failure of a worker."""
        self.left_by = 0
        """The signal because of which this node leaves."""
        self._signals: list[int] = []
        plain = sys.stderr.isatty() if coloured is None else coloured
        self._lines = Lines(prefix("launch", workers, len(_CHIEF), plain), sys.stderr)

    # ---- from the first group to the last -------------------------------------------------------------------------

    def run(self) -> int:
        """Takes part in groups until the job ends; its status, or 128 + n if signal n has ended it here."""
        caught = {n: signal.signal(n, self._catch) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            order = self._run_groups()
            if order.text:
                self.tell(order.text)
            return order.status
        finally:
            for number, handler in caught.items():
                signal.signal(number, handler)
            self.attendance.close()
            if self.meeting is not None:
                self._let_all_know(self.meeting)

    def _run_groups(self) -> Order:
        while True:
            with ReservedPorts(self._workers) as ports:
                self._addresses = tuple(f"{self._host}:{port}" for port in ports.ports)
                order = self._await(Do.RUN, Do.END)
                if order.do is Do.END:
                    return order
                self.generation, self.state = order.generation, NodeState.RUNNING
                group = self._group(order)
                group.run()
            order = group.order or self._await(Do.STOP, Do.END)
            if order.do is Do.END:
                return order
            if self.left_by:
                return self._leave()
            self.state = NodeState.WAITING

    def _group(self, order: Order) -> Group:
        """The workers of this node in a group."""
        addresses = {"worker": [address for _, addresses in order.nodes for address in addresses]}
        first = 0
        for name, others in order.nodes:
            if name == self._name:
                break
            first += len(others)
        all_roles = roles(addresses, self._command, None, self._environment, self._local_devices)
        own = all_roles[first : first + self._workers]
        why = f" ({order.text})" if order.text else ""
        self.tell(f"group {order.generation}: {len(all_roles)} workers on {len(order.nodes)} nodes{why}")
        return Group(self, own, addresses)

    def report(self) -> Report:
        """What this node does."""
        return Report(
            self._name, self._place, self.state, self._nodes, self.generation, self._addresses, self.reason
        )

    def tell(self, text: str) -> None:
        """Says something to who has begun this launcher."""
        self._lines.feed(f"{text}\n".encode())

    # ---- without workers ------------------------------------------------------------------------------------------

    def _await(self, *wanted: Do) -> Order:
        """Waits for one of these orders; says on whom it waits, and ends the job if nobody answers for too long."""
        told, told_at, heard, meet_at = "", 0.0, time.monotonic(), 0.0
        while True:
            if self._signals and (order := self._interrupted(self._signals.pop(0))) is not None:
                return order
            order = self.attendance.turn(self.report())
            now = time.monotonic()
            if order is not None:
                heard = now
                if order.do in wanted:
                    return order
            elif self.attendance.lapsed:
                if Do.STOP in wanted:  # None of its workers is there any more.
                    return Order(Do.END if self.state is NodeState.ENDED else Do.STOP)
                if self.meeting is None and now >= meet_at:
                    self.meeting, meet_at = self._meet(), now + LAUNCHER_RESTART_SECONDS
            silent = now - heard
            text = "" if order is None else order.text
            if order is not None and order.do is Do.RUN:
                text = f"the workers of this node have ended: waits for {_CHIEF}, which decides"
            if silent > NODE_LEASE_SECONDS:
                text = f"the rendezvous does not answer: {self.attendance.trouble or 'it is not known why'}"
                if silent > GROUP_WAIT_SECONDS:
                    return Order(Do.END, f"{text}, for {GROUP_WAIT_SECONDS:g} s", status=1)
            if text and (text != told or now - told_at > NODE_SAY_SECONDS):
                told, told_at = text, now
                self.tell(text)
            time.sleep(LAUNCHER_POLL_SECONDS)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def _interrupted(self, number: int) -> Order | None:
        """A signal has come while this node has no workers, or none that is at work."""
        again, self.left_by = self.left_by, number
        if self.meeting is None or again:
            return self._leave()
        self.end_all(number)
        return None

    def end_all(self, number: int) -> None:
        """Ends the job, in order, since a signal has ended the launcher at which the others meet."""
        assert self.meeting is not None
        name = signal.Signals(number).name
        self.tell(f"{name}: ending all workers, {_CHIEF} first")
        self.meeting.end(128 + number, f"{name} at {self._place}, where the launchers meet")

    def _leave(self) -> Order:
        """Says goodbye, for as long as that takes at most."""
        self.state = NodeState.LEFT
        limit = time.monotonic() + NODE_GOODBYE_SECONDS
        while time.monotonic() < limit and self.attendance.turn(self.report()) is None:
            time.sleep(LAUNCHER_POLL_SECONDS)
        return Order(Do.END, status=128 + self.left_by)

    def _let_all_know(self, meeting: Meeting) -> None:
        """Goes on answering until all nodes know that the job has ended, or count as lost."""
        limit = time.monotonic() + 2 * NODE_LEASE_SECONDS
        while not meeting.heard_by_all(self._name) and time.monotonic() < limit and not self._signals:
            time.sleep(LAUNCHER_POLL_SECONDS)
        meeting.close()


class Group(Launcher):
    """The workers of one node in one group, which the rendezvous ends."""

    def __init__(self, agent: Agent, own: Sequence[Role], addresses: Mapping[str, Sequence[str]]) -> None:
        super().__init__(
            own, addresses, _CHIEF, grace=agent.grace, coloured=agent.coloured, life=f"{agent.generation}."
        )
        self._agent = agent
        self.order: Order | None = None
        """What has ended it; None if its workers have ended by themselves."""

    def _start(self, task: Task) -> None:
        self._say_lease()
        super()._start(task)

    def _say_lease(self) -> None:
        """Has the workers killed when the lease lapses, also if this process stands still by then."""
        assert self._guard is not None
        self._guard.expect_word(self._agent.attendance.lapses)

    def _look_around(self) -> None:
        agent = self._agent
        order = agent.attendance.turn(agent.report())
        self._say_lease()
        if self._status is not None:
            return
        if agent.attendance.lapsed:
            self._tell(
                f"the rendezvous has not answered for {NODE_LEASE_SECONDS:g} s: killing all workers here, "
                "since others may go on without them"
            )
            self.order = Order(Do.STOP)
            self._break_off(128 + signal.SIGKILL, signal.SIGKILL)
        elif order is not None and order.do is Do.STOP and order.generation == agent.generation:
            self._tell(f"group {agent.generation} ends: {order.text}")
            self.order = order
            self._end_in_order()
        elif order is not None and order.do is Do.END:
            self.order = order
            if order.status:
                self._break_off(order.status, signal.SIGTERM)
            else:
                super()._end_well()

    def _end_in_order(self) -> None:
        """Ends the workers, the chief first, which may save."""
        if self._chief_elsewhere:
            self._break_off(128 + signal.SIGTERM, signal.SIGTERM)
            return
        self._status = 128 + signal.SIGTERM
        self._saving = time.monotonic() + LAUNCHER_CHIEF_SECONDS, signal.SIGTERM
        for task in self._tasks:
            if task.role.name == self._chief and task.child is not None:
                task.child.send(signal.SIGTERM)

    def _end_well(self) -> None:
        """The chief, a worker of this node, has ended well: so has the job."""
        super()._end_well()
        self._agent.state = NodeState.ENDED

    def _failed(self, task: Task, ending: Ending) -> None:
        """The group cannot go on without a worker; the rendezvous says whether there is another one."""
        self._agent.state = NodeState.FAILED
        self._agent.reason = f"{task.role.name} failed ({ending.reason})"

    def _interrupted(self, number: int) -> None:
        """The first signal ends the workers in order, of all nodes if they meet here; the second kills those here."""
        again, self._agent.left_by = self._agent.left_by, number
        if again:
            self._tell(f"{signal.Signals(number).name}: killing all workers of this node")
            self.order = Order(Do.STOP)
            self._break_off(128 + number, signal.SIGKILL)
        elif self._agent.meeting is not None:
            self._agent.end_all(number)
        else:
            self._tell(f"{signal.Signals(number).name}: this node leaves")
            self._agent.state = NodeState.LEAVING

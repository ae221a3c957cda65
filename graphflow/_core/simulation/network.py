"""The hosts, tasks and links of a simulated cluster, and messages between tasks.

A message is handled by the thread of the sockets at either end, one after the other, as on a real task. Between hosts
its bytes then flow: through a thread of the sender that brings them to the network, over the sender's link and the
receiver's, and through a thread there. All these are at work at once, each shares itself among the messages that it
has, and the slowest says how long a message takes. On one host a large value stays where it is, and the receiver reads
it there.

Threads and processors are shared evenly. Connections share a link as TCP has them, one of them with more than another:
each message has a weight by chance. Without that simulated workers fall into a rhythm in which none waits for another,
which real ones do not keep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from graphflow._core.simulation.engine import Clock, Cores, Then, Thread, Wire
from graphflow._core.simulation.machine import SimulatedCluster
from graphflow._core.simulation.planned import job_of

_SMALL: Final = 4 << 10
"""Bytes of a message that goes between others without holding them up."""


class Host:
    """A machine: its cores, and its link. crowded: whether its tasks outnumber its cores, and take turns."""

    def __init__(self, clock: Clock, cluster: SimulatedCluster, number: int, tasks: int) -> None:
        self.number = number
        self.cores = Cores(clock, cluster.cores)
        self.crowded = tasks > cluster.cores


class Link:
    """What carries bytes to and from a host."""

    def __init__(self, clock: Clock, rate: float) -> None:
        self.rate = rate
        self.out = Wire(clock)
        self.into = Wire(clock)


class Task:
    """A task of the cluster: the thread of its sockets, the one that brings bytes to the network, and its link.

    computed: core-seconds of its stages.
    """

    def __init__(self, clock: Clock, cluster: SimulatedCluster, name: str, host: Host, link: Link) -> None:
        self.name = name
        self.job = job_of(name)
        self.host = host
        self.speed = cluster.speed_of(self.job)
        self.sockets = Thread(host.cores)
        self.network = Cores(clock, 1)
        self.link = link
        self.computed = 0.0
        self.gpus: dict[str, Cores] = {}


class Network:
    """The tasks of a cluster, and what brings messages from one to the other."""

    def __init__(self, clock: Clock, cluster: SimulatedCluster, random: Random) -> None:
        self.clock = clock
        self.costs = cluster.costs
        self._random = random
        self.watch: Callable[[Task, Task, int, float, float], None] | None = None
        """Is told of what goes over links: the sender, the receiver, bytes, from when to when."""
        self._shares = cluster.shares_memory
        self._threads = cluster.most_threads
        self._latency = cluster.latency_seconds
        self.hosts: dict[int, Host] = {}
        self.tasks: dict[str, Task] = {}
        links: dict[int, Link] = {}
        rate = cluster.link_rate * cluster.costs.payload
        names = cluster.tasks()
        counts = Counter(map(cluster.host_of, range(len(names))))
        for number, name in enumerate(names):
            at = cluster.host_of(number)
            host = self.hosts.setdefault(at, Host(clock, cluster, at, counts[at]))
            link = links.setdefault(at if self._shares else number, Link(clock, rate))
            self.tasks[name] = Task(clock, cluster, name, host, link)

    def near(self, sender: Task, receiver: Task) -> bool:
        """Whether two tasks hand values over in memory."""
        return sender.host is receiver.host and (self._shares or sender is receiver)

    def tell(self, sender: Task, receiver: Task, size: int, then: Then, *arguments: object) -> None:
        """Sends a message of so many bytes; then(*arguments) when the receiver has taken it."""
        sender.sockets.work(
            self.costs.send / sender.speed,
            self._leave,
            sender,
            receiver,
            size,
            self.costs.receive,
            then,
            arguments,
        )

    def bring(self, sender: Task, receiver: Task, size: int, then: Then, *arguments: object) -> None:
        """As `tell`, over a channel of an allreduce, which another thread reads than that of the sockets."""
        sender.host.cores.work(
            self.costs.contribution / sender.speed, self._leave, sender, receiver, size, -1.0, then, arguments
        )

    def exchange(self, task: Task, others: int, size: int, then: Then, *arguments: object) -> None:
        """A task gives so many others `size` bytes each and gets as many of each of them, as one flow either way."""
        begun, costs = self.clock.now, self.costs
        there, messages = size * others / task.link.rate, 2 * max(1, others) * costs.contribution
        by_cores, interrupts = self._by_cores(size, task)
        back = 2 * others * by_cores
        ways = (
            (task.link.out, there),
            (task.link.into, there),
            (task.network, back),
            (task.host.cores, back + 2 * others * interrupts + messages / task.speed),
        )
        left = [len(ways)]

        def through() -> None:
            left[0] -= 1
            if not left[0]:
                if self.watch is not None and size:
                    self.watch(task, task, size * others, begun, self.clock.now)
                self.clock.after(self._latency if others else 0.0, then, *arguments)

        for way, seconds in ways:
            way.work(seconds, through)

    def _leave(
        self,
        sender: Task,
        receiver: Task,
        size: int,
        receive: float,
        then: Then,
        arguments: tuple[object, ...],
    ) -> None:
        if self.near(sender, receiver):
            wake = 0.0 if sender is receiver else self.costs.wake
            self.clock.after(wake, self._arrive, receiver, size, receive, then, arguments)
            return
        self.clock.after(self._latency, self._flow, sender, receiver, size, receive, then, arguments)

    def _flow(
        self,
        sender: Task,
        receiver: Task,
        size: int,
        receive: float,
        then: Then,
        arguments: tuple[object, ...],
    ) -> None:
        """The bytes of a message go through all that brings them to the receiver."""
        begun = self.clock.now
        (sending, sent), (receiving, received) = (self._by_cores(size, t) for t in (sender, receiver))
        there, back = size / sender.link.rate, size / receiver.link.rate
        arrive = receiver, 0, receive, then, arguments
        if size <= _SMALL:
            takes = self._by_thread, receiver, receiving, received, self._arrive, *arrive
            self._by_thread(sender, sending, sent, self.clock.after, there + back, *takes)
            return
        ways = (
            (sender.network, sending),
            (receiver.network, receiving),
            (sender.host.cores, sending + sent),
            (receiver.host.cores, receiving + received),
        )
        left = [len(ways) + 2]

        def through() -> None:
            left[0] -= 1
            if not left[0]:
                if self.watch is not None:
                    self.watch(sender, receiver, size, begun, self.clock.now)
                self._arrive(*arrive)

        of_allreduce = (
            receive < 0
        )  # All members wait for all messages of one: who gets more first makes no difference.
        weight = 1.0 if of_allreduce else self._random.lognormvariate(0.0, self.costs.unevenness)
        sender.link.out.carry(there, weight, through)
        receiver.link.into.carry(back, weight, through)
        for way, seconds in ways:
            way.work(seconds, through)

    @staticmethod
    def _by_thread(task: Task, own: float, interrupts: float, then: Then, *arguments: object) -> None:
        """A short message goes through a task's thread of the network, on a core of its host."""
        left = [2]

        def one() -> None:
            left[0] -= 1
            if not left[0]:
                then(*arguments)

        task.network.work(own, one)
        task.host.cores.work(own + interrupts, one)

    def _by_cores(self, size: int, task: Task) -> tuple[float, float]:
        """Core-seconds that a message takes of a task for the network, and of its host in interrupts."""
        costs = self.costs
        own = costs.network_message + size / costs.network_rate
        return own / task.speed, size / costs.interrupt_rate / task.speed

    def _arrive(
        self, receiver: Task, near: int, receive: float, then: Then, arguments: tuple[object, ...]
    ) -> None:
        """`near`: bytes that lie in the memory of the sender."""
        taking = near / self.costs.shared_rate
        if receive < 0:
            receiver.host.cores.work((self.costs.contribution + taking) / receiver.speed, then, *arguments)
        else:
            receiver.sockets.work((receive + taking) / receiver.speed, then, *arguments)

    def compute(
        self, task: Task, device: str, seconds: float, shared: float, then: Then, *arguments: object
    ) -> None:
        """Computes on a device of a task, in a thread of its own; others take their part of `shared` core-seconds."""
        task.computed += seconds
        if "/device:GPU:" in device:
            gpu = task.gpus.setdefault(device, Cores(self.clock, 1))
            gpu.work(seconds / task.speed, then, *arguments)
        else:
            cores = task.host.cores
            pieces = self._threads if shared else 1
            alone = (seconds - shared) / task.speed
            cores.work(alone, cores.divided, shared / task.speed, pieces, then, *arguments)

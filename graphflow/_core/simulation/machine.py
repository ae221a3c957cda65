"""The cluster that is simulated: how many tasks of which jobs, hosts and links there are, and what messages cost.

A figure may be a number, in seconds or bytes a second, or a text with a unit: "50us", "10Gbit", "100MB/s".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from random import Random
from typing import Final

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.common.records import dataclass

_TIME_UNITS: Final = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PREFIXES: Final = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NUMBER: Final = re.compile(r"([0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?)\s*([a-zA-Z/]*)")
_RATE: Final = re.compile(r"([kKMGT]?)(bit|B)(/s)?")

Stragglers = Callable[[Random], float]
"""Gives by what factor a worker is slower in one step: 1 for a worker that is as fast as was measured."""


def seconds(value: float | str, what: str) -> float:
    """A time in seconds; ValueError if it is none, which names `what`."""
    number, unit = _parts(value, what, "a time such as '50us' or '2ms'")
    if unit not in _TIME_UNITS:
        raise ValueError(
            f"{what} is {value!r}: its unit must be one of {', '.join(filter(None, _TIME_UNITS))}."
        )
    return number * _TIME_UNITS[unit]


def rate(value: float | str | None, what: str) -> float:
    """Bytes a second, infinite for None; ValueError if it is none, which names `what`."""
    if value is None:
        return math.inf
    number, unit = _parts(value, what, "a rate such as '10Gbit' or '100MB/s'")
    match = _RATE.fullmatch(unit or "B")
    if match is None:
        raise ValueError(f"{what} is {value!r}: write it in bits or bytes, as '10Gbit' or '100MB/s'.")
    if not number:
        raise ValueError(f"{what} is {value!r}: it must be above 0.")
    return number * _PREFIXES[match[1]] / (8 if match[2] == "bit" else 1)


def _parts(value: float | str, what: str, wanted: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"{what} is {value!r}: it must be {wanted}, or a number.")
    return float(match[1]), match[2]


def stragglers(value: Stragglers | str | float | None) -> Stragglers:
    """The distribution that a text or a function means: None, "lognormal:SIGMA", "exponential:MEAN" of what is added.

    Raises:
        ValueError: It is no distribution.
    """
    if value is None:
        return _as_measured
    if callable(value):
        return value
    kind, _, text = str(value).partition(":")
    try:
        size = float(text)
    except ValueError:
        size = -1.0
    if kind == "lognormal" and size >= 0:
        return lambda random: random.lognormvariate(0.0, size)
    if kind == "exponential" and size >= 0:
        return lambda random: 1.0 + size * random.expovariate(1.0)
    raise ValueError(
        f"stragglers is {value!r}: it must be 'lognormal:SIGMA', 'exponential:MEAN', or a function of a random.Random."
    )


def _as_measured(random: Random) -> float:
    return 1.0


@dataclass(frozen=True)
class MessageCosts:
    """What it costs to run a step and to bring its values to other tasks, apart from computing it.

    The defaults were measured with graphflow on two cores of an AMD EPYC; `make bench-simulate` measures them anew.

    Args:
        step: Core-seconds of a run of a session on a cluster, in the program and at its server.
        own_step: Core-seconds of a run that its own process computes, as of a plan with an allreduce.
        stage: Core-seconds of a stage beside its instructions.
        send: Core-seconds of a message in the thread of the task that sends it.
        receive: Core-seconds in the thread that receives it.
        thread_switch: Core-seconds of a stage that may wait or takes long: another thread computes it.
        wake: Seconds until a process has noticed a message from another one of its host.
        contribution: Core-seconds, at either end, of one message of an allreduce.
        network_message: Core-seconds, at either end, of a message between hosts beside its bytes and what one within a
            host costs: system calls, and with keys what goes around the text.
        interrupt_rate: Bytes of the network that a core handles in interrupts in a second, at either end; of virtual
            cables on one machine.
        network_rate: Bytes that a core brings to a network, or takes from it, in a second; with keys, which also
            encrypts them.
        shared_rate: Bytes that a task takes over from another one of its host in a second.
        reduce_rate: Bytes of gradients that are added up in a second.
        payload: The part of what a link carries that are bytes of values; the others are the headers of TCP, IP and
            Ethernet, 66 bytes of 1,514.
        unevenness: How unevenly connections share a link: the standard deviation of the logarithm of what a message
            gets of it; 0 if all get the same. Within 8 ms that of TCP's CUBIC was 0.55, over a message it evens out.
    """

    step: float = 60e-6
    own_step: float = 20e-6
    stage: float = 10e-6
    send: float = 20e-6
    receive: float = 25e-6
    thread_switch: float = 60e-6
    wake: float = 12e-6
    contribution: float = 15e-6
    network_message: float = 70e-6
    interrupt_rate: float = 3.4e9
    network_rate: float = 0.8e9
    shared_rate: float = 10e9
    reduce_rate: float = 10e9
    payload: float = 1448 / 1514
    unevenness: float = 0.25


@dataclass(frozen=True)
class SimulatedCluster:
    """A cluster that is to be simulated, as gf.distribute.simulate takes it.

    Args:
        ps: How many parameter servers there are.
        workers: How many workers there are, the chief among them.
        link: What each host's link carries in either direction, such as "10Gbit"; None for no limit.
        latency: How long a byte is on its way between two hosts, such as "50us".
        cores: Processors of a host.
        hosts: How many hosts there are, to which the tasks go in turn; None for one each.
        shares_memory: Whether tasks of one host hand values over in memory. If not, each has a link of its own, as
            containers do.
        threads: How many processors the computations of one stage are divided among at most; None for all of a host,
            as sessions do it. As much of a stage is divided as was measured here, all of it where costs are given and
            `threads` is said.
        speed: How fast a processor is, beside one of this machine; or by job, such as {"worker": 2.0}.
        stragglers: By what factor a worker is slower in one step: "lognormal:SIGMA", "exponential:MEAN" of what is
            added, or a function of a random.Random.
        costs: What messages cost.

    Raises:
        ValueError: A figure cannot be.
    """

    ps: int = 0
    workers: int = 1
    link: float | str | None = None
    latency: float | str = 0.0
    cores: float = 1
    hosts: int | None = None
    shares_memory: bool = True
    threads: int | None = None
    speed: float | Mapping[str, float] = 1.0
    stragglers: Stragglers | str | None = None
    costs: MessageCosts = field(default_factory=MessageCosts)

    def __post_init__(self) -> None:
        if self.workers < 1 or self.ps < 0:
            raise ValueError(
                f"A cluster of {self.ps} ps and {self.workers} workers: it needs a worker at least."
            )
        if self.hosts is not None and self.hosts < 1:
            raise ValueError(f"hosts is {self.hosts}: it must be at least 1, or None for one a task.")
        if self.cores <= 0 or (self.threads is not None and self.threads < 1):
            raise ValueError(f"cores is {self.cores} and threads {self.threads}: they must be at least 1.")
        if any(self.speed_of(job) <= 0 for job in ("ps", "worker")):
            raise ValueError(f"speed is {self.speed}: it must be above 0.")
        _ = self.link_rate, self.latency_seconds, stragglers(self.stragglers)

    @property
    def link_rate(self) -> float:
        """Bytes a second of a link, in either direction."""
        return rate(self.link, "link")

    @property
    def latency_seconds(self) -> float:
        """The seconds that a byte is on its way between two hosts."""
        return seconds(self.latency, "latency")

    @property
    def most_threads(self) -> int:
        """How many processors one stage is divided among at most."""
        return self.threads or max(1, math.ceil(self.cores))

    def speed_of(self, job: str) -> float:
        """How fast the processors of a job's hosts are.

        Args:
            job: "ps" or "worker".

        Returns:
            A factor.
        """
        return self.speed.get(job, 1.0) if isinstance(self.speed, Mapping) else float(self.speed)

    def spec(self) -> ClusterSpec:
        """The cluster as strategies and device setters take it; nobody listens at its addresses."""
        jobs = {"ps": self.ps, "worker": self.workers}
        return ClusterSpec({
            job: [f"{job}{index}.simulated:2222" for index in range(count)]
            for job, count in jobs.items()
            if count
        })  # fmt: skip

    def tasks(self) -> list[str]:
        """The full names of all tasks, parameter servers first."""
        jobs = {"ps": self.ps, "worker": self.workers}
        return [f"/job:{job}/replica:0/task:{i}" for job, count in jobs.items() for i in range(count)]

    def host_of(self, number: int) -> int:
        """The host of a task.

        Args:
            number: The task's position in `tasks()`.

        Returns:
            The number of the host.
        """
        return number if self.hosts is None else number % self.hosts

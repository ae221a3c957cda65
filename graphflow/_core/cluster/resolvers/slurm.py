"""The cluster of a job step of Slurm, from the variables that srun gives to each of its tasks.

What srun says is read without asking the controller: the hosts of the step, how many of its tasks are on each, and
which of them this process is. So a thousand tasks that start at once ask nobody anything. Lists are in Slurm's short
form: n[01-03,07] stands for four hosts, 2(x3),1 for the numbers 2, 2, 2 and 1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Final

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.cluster.resolvers.base import (
    INCARNATION_VARIABLE,
    JOBS_VARIABLE,
    PORT_VARIABLE,
    RPC_LAYER,
    ClusterResolver,
    count_in,
    jobs_in,
)
from graphflow._core.transport.addresses import MOST_PORT

_FIRST_PORT: Final = 12000
_PORTS_OF_A_JOB: Final = 64
_JOBS_WITH_PORTS: Final = 312
"""The ports of a job begin at one of so many places, all below those that the kernel gives to outgoing connections."""
_MOST: Final = 1 << 17
"""Hosts and tasks of a list: one that says more is wrong, and must not fill the memory."""
_MOST_LETTERS: Final = 253
"""Of a host's name, as the DNS has it."""
_PART: Final = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_RANGE: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_COUNT: Final = re.compile(r"(\d{1,6})(?:\(x(\d{1,6})\))?", re.ASCII)


def hosts_in(text: str, what: str = "The list of hosts") -> list[str]:
    """The hosts of a list such as n[1-3],m[01-03,07]-x: in order, numbers as long as they stand there.

    ValueError if it is no such list; `what` names it.
    """
    hosts: list[str] = []
    parts = _PART.findall(text)
    if ",".join(parts) != text or not parts:
        raise ValueError(f"{what} must be like n[1-3],m7, got {text[:200]!r}.")
    for part in parts:
        pieces = re.split(r"\[([^\[\]]*)\]", part)  # Every other one stood in brackets.
        choices = [_numbers(piece, what, text) if at % 2 else [piece] for at, piece in enumerate(pieces)]
        if len(hosts) + prod(map(len, choices)) > _MOST:
            raise ValueError(f"{what} has more than {_MOST} hosts: {text[:200]!r}.")
        if sum(max(map(len, choice)) for choice in choices) > _MOST_LETTERS:
            raise ValueError(f"{what} has a host of more than {_MOST_LETTERS} letters: {text[:200]!r}.")
        hosts += ["".join(choice) for choice in product(*choices)]
    return hosts


def _numbers(text: str, what: str, whole: str) -> list[str]:
    """The numbers of 01-03,07."""
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if int(last) < int(first) or int(last) - int(first) + len(found) >= _MOST:
            raise ValueError(f"{what} must be like n[1-3],m7, got {whole[:200]!r}.")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found


def counts_in(text: str, what: str = "The list of numbers") -> list[int]:
    """The numbers of a list such as 2(x3),1; ValueError if it is no such list, `what` naming it."""
    found: list[int] = []
    for part in text.split(","):
        match = _COUNT.fullmatch(part)
        times = int(match[2] or 1) if match else _MOST
        if match is None or len(found) + times > _MOST:
            raise ValueError(f"{what} must be like 2(x3),1, got {text[:200]!r}.")
        found += [int(match[1])] * times
    return found


def places_of(counts: Sequence[int], distribution: str) -> list[tuple[int, int]]:
    """Of each task of a step the node and its place there; counts: the tasks of each node.

    Distribution: "block" fills one node after the other, "cyclic" goes round.
    """
    if distribution == "cyclic":
        rounds = range(max(counts, default=0))
        return [(node, local) for local in rounds for node, count in enumerate(counts) if local < count]
    return [(node, local) for node, count in enumerate(counts) for local in range(count)]


class SlurmClusterResolver(ClusterResolver):
    """The tasks of a step of Slurm as a cluster (tf.distribute.cluster_resolver.SlurmClusterResolver).

    The tasks of the step are those of the jobs in the order of their names: of chief=1,ps=2,worker=4 task 0 is the
    chief, tasks 1 and 2 are the ps. A task listens at the port `port_base` and its place among the step's tasks on its
    node; without `port_base` at the ports that `srun --resv-ports` has reserved, else at ports that follow from the
    number of the job, which jobs on one node seldom share.

    Args:
        jobs: The number of tasks of each job, by default what GRAPHFLOW_JOBS says.
        port_base: The first port on each node, by default what GRAPHFLOW_PORT says.
        gpus_per_node: What `num_accelerators()` answers; not asked if None.
        gpus_per_task: If given, and `auto_set_gpu`, cluster_spec() sets CUDA_VISIBLE_DEVICES to so many devices for
            each task of a node. Without it that is left to Slurm's own --gpus-per-task.
        tasks_per_node: The tasks of each node, by default as Slurm says.
        auto_set_gpu: See gpus_per_task.
        rpc_layer: What stands before :// in targets.
        variables: The environment to read, by default that of this process.
    """

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int | None = None,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = RPC_LAYER,
        *,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(rpc_layer, variables)
        self._jobs = None if jobs is None else dict(jobs)
        self._port_base = port_base
        self._gpus_per_node = gpus_per_node
        self._gpus_per_task = gpus_per_task
        self._tasks_per_node = tasks_per_node
        self._auto_set_gpu = auto_set_gpu

    @staticmethod
    def is_told(variables: Mapping[str, str]) -> bool:
        """Whether an environment is that of a task of a step, whose jobs are named.

        Args:
            variables: The environment.
        """
        return all(variables.get(name) for name in ("SLURM_STEP_NODELIST", "SLURM_PROCID", JOBS_VARIABLE))

    def _wanted(self) -> dict[str, int]:
        if self._jobs is not None:
            return jobs_in(",".join(f"{job}={count}" for job, count in self._jobs.items()))
        text = self.variables.get(JOBS_VARIABLE)
        if not text:
            raise ValueError(
                f"Which jobs the tasks of the step are, {JOBS_VARIABLE} must say: ps=1,worker=2."
            )
        return jobs_in(text)

    def _first(self, *names: str) -> tuple[str, str]:
        """The first of these variables that is set, and its name; ValueError if none is."""
        for name in names:
            if self.variables.get(name):
                return name, self.variables[name]
        raise ValueError(
            f"{names[0]} is not set: this process is no task of a step of Slurm; start it with srun."
        )

    def _places(self) -> tuple[list[str], list[tuple[int, int]]]:
        """The hosts of the step, and of each task the host's number and its place there."""
        if (count_in(self.variables, "SLURM_HET_SIZE") or 1) > 1:
            raise ValueError(
                "A job of several components (SLURM_HET_SIZE) has several lists of hosts: use TF_CONFIG."
            )
        name, text = self._first("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST")
        hosts = hosts_in(text, name)
        if self._tasks_per_node is not None:
            counts = [self._tasks_per_node] * len(hosts)
        else:
            name, text = self._first("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
            counts = counts_in(text, name)
        if len(counts) != len(hosts):
            raise ValueError(f"{name} has {len(counts)} nodes, but the step has {len(hosts)}: {hosts[:10]}.")
        distribution = self.variables.get("SLURM_DISTRIBUTION", "block").partition(":")[0].partition(",")[0]
        places = places_of(counts, distribution)
        rank = self._rank()
        if rank >= len(places):
            raise ValueError(f"SLURM_PROCID is {rank}, but the step has {len(places)} tasks.")
        for variable, expected in zip(("SLURM_NODEID", "SLURM_LOCALID"), places[rank], strict=True):
            said = count_in(self.variables, variable)
            if said is not None and said != expected:
                raise ValueError(
                    f"{variable} is {said}, where {expected} was expected of task {rank} of {len(places)}: the tasks "
                    "are spread in another way. Use `srun --distribution=block` or `=cyclic`."
                )
        return hosts, places

    def _rank(self) -> int:
        for name in ("OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
            found = count_in(self.variables, name)
            if found is not None:
                return found
        raise ValueError(
            "SLURM_PROCID is not set: this process is no task of a step of Slurm; start it with srun."
        )

    def _ports(self, most: int) -> Sequence[int]:
        """The ports of a node, at least as many as the tasks of one."""
        base = self._port_base
        if base is None:
            base = count_in(self.variables, PORT_VARIABLE, lowest=1, most=MOST_PORT)
        reserved = self.variables.get("SLURM_STEP_RESV_PORTS") or self.variables.get("SLURM_RESV_PORTS")
        if base is None and reserved:
            ports = [int(number) for number in _numbers(reserved, "SLURM_STEP_RESV_PORTS", reserved)]
            if len(ports) < most:
                raise ValueError(
                    f"SLURM_STEP_RESV_PORTS has {len(ports)} ports, but a node has {most} tasks: srun "
                    f"--resv-ports={most}."
                )
            return ports
        if base is None:
            job = int(re.sub(r"[^0-9]", "", self.variables.get("SLURM_JOB_ID", ""))[-9:] or 0)
            base = _FIRST_PORT + _PORTS_OF_A_JOB * (job % _JOBS_WITH_PORTS)
        if base + most - 1 > MOST_PORT:
            raise ValueError(
                f"{most} ports from {base} on are beyond {MOST_PORT}: choose another {PORT_VARIABLE}."
            )
        return range(base, base + most)

    def _tasks(self) -> tuple[dict[str, int], list[tuple[int, int]]]:
        """The jobs, and the places of all tasks."""
        jobs, (_, places) = self._wanted(), self._places()
        if sum(jobs.values()) != len(places):
            wanted = ",".join(f"{job}={count}" for job, count in jobs.items())
            raise ValueError(
                f"The jobs {wanted} have {sum(jobs.values())} tasks, but the step has {len(places)}: srun "
                f"--ntasks={sum(jobs.values())}."
            )
        return jobs, places

    def _own(self) -> tuple[str | None, int | None]:
        jobs, _ = self._tasks()
        rank = self._rank()
        for job, count in jobs.items():
            if rank < count:
                return job, rank
            rank -= count
        return None, None

    def cluster_spec(self) -> ClusterSpec:
        """The tasks of the step by job, at their hosts and ports.

        Returns:
            The cluster.

        Raises:
            ValueError: If a variable of Slurm's is missing or no list, or jobs and step have different numbers of
                tasks.
        """
        hosts, _ = self._places()
        jobs, places = self._tasks()
        ports = self._ports(max(local for _, local in places) + 1)
        addresses = iter([f"{hosts[node]}:{ports[local]}" for node, local in places])
        if self._gpus_per_task is not None and self._auto_set_gpu:
            _, local = places[self._rank()]
            devices = range(local * self._gpus_per_task, (local + 1) * self._gpus_per_task)
            if self._gpus_per_node is not None and devices.stop > self._gpus_per_node:
                raise ValueError(f"A node has {self._gpus_per_node} GPUs: not enough for its tasks.")
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, devices))
        return ClusterSpec({job: [next(addresses) for _ in range(count)] for job, count in jobs.items()})

    def get_task_info(self) -> tuple[str | None, int | None]:
        """The job and the index of this process's task."""
        return self.task_type, self.task_id

    def incarnation(self) -> str | None:
        """How often Slurm has put the job into its queue again; behind a point how often a launcher began the task."""
        requeued = count_in(self.variables, "SLURM_RESTART_COUNT") or 0
        begun = self.variables.get(INCARNATION_VARIABLE) or ""
        if begun.startswith(f"{requeued}."):  # Of a launcher that has asked this.
            return begun
        return f"{requeued}.{begun}" if begun else str(requeued)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> Mapping[str, int]:
        """The GPUs of a node, as it was told, else those of the task.

        Args:
            task_type: The job.
            task_id: The task.
            config_proto: A gf.ConfigProto.
        """
        if self._gpus_per_node is not None:
            return {"GPU": self._gpus_per_node}
        return super().num_accelerators(task_type, task_id)

"""RayCluster: the tasks of a cluster as actors on Ray, from the first to the last, and what happens to them."""

from __future__ import annotations

import logging
import math
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, Final

from graphflow._core.cluster.on_ray.registry import NAMESPACE, Registry, TaskEvent, registry_name
from graphflow._core.cluster.on_ray.resolver import JOB_VARIABLE, LEASE_VARIABLE, RAY_VARIABLE, TASK_VARIABLE
from graphflow._core.cluster.on_ray.task import Outcome, Program, TaskActor
from graphflow._core.cluster.resolvers.base import JOBS_VARIABLE, LOCAL_DEVICES_VARIABLE
from graphflow._core.common.timeouts import (
    ENGINE_ANSWER_SECONDS,
    LAUNCHER_POLL_SECONDS,
    REGISTRY_ANSWER_SECONDS,
)

_LOG: Final = logging.getLogger("graphflow")


class TaskFailed(RuntimeError):
    """A task of a cluster on Ray has failed, and is not started again.

    Args:
        job: its job.
        index: its index in the job.
        host: the address of the node on which it ran last.
        traceback: that of its program, or what is known of the end of its process.
    """

    def __init__(self, job: str, index: int, host: str, traceback: str) -> None:
        super().__init__(job, index, host, traceback)
        self.job = job
        self.index = index
        self.host = host
        self.traceback = traceback

    def __str__(self) -> str:
        """The task, and why."""
        return f"{self.job} {self.index} on {self.host} failed:\n{self.traceback.rstrip()}"


class RayCluster:
    """A cluster on Ray, as long as the `with` statement lasts. Each task is an actor with a process of its own.

    Ray puts the tasks on different nodes as far as it can, and begins one anew that has ended without being asked to,
    elsewhere if its node is lost. Training goes on then as it does when a process dies.

    Args:
        ps: tasks of the job ps, which serve.
        workers: tasks of the job worker, which run the program. Worker 0 is the chief.
        address: of the Ray to use, as ray.init takes it; "" for the one that is there, or one on this machine.
        name: of the cluster, by default one that no other has.
        cpus: cores of each task by job, by default 1.
        gpus: GPUs of each task by job, by default none.
        max_restarts: how often each task is begun anew.
        lease_seconds: a task that Ray does not reach falls silent after so long, and another life of it begins a little
            later.
        grace: seconds that the other workers have to end by themselves after the chief.
        local_devices: CPU devices of each task.
        imports: modules that a ps imports first, which define ops of one's own.

    Raises:
        ImportError: if Ray is not installed.
        ValueError: if there is no worker, the cores of another job are named, or lease_seconds is not above 0.
    """

    def __init__(
        self,
        ps: int = 1,
        workers: int = 2,
        *,
        address: str = "",
        name: str = "",
        cpus: Mapping[str, float] | None = None,
        gpus: Mapping[str, float] | None = None,
        max_restarts: int = 10,
        lease_seconds: float = 10.0,
        grace: float = 2.0,
        local_devices: int = 1,
        imports: Sequence[str] = (),
    ) -> None:
        try:
            self._ray: Any = import_module("ray")
        except ImportError as error:
            raise ImportError("Ray is not installed: pip install 'graphflow-engine[ray]'.") from error
        if workers < 1 or ps < 0:
            raise ValueError(f"There must be a worker, got ps={ps} and workers={workers}.")
        if not 0.0 < lease_seconds < math.inf:
            raise ValueError(f"lease_seconds must be above 0 and finite, got {lease_seconds}.")
        self.jobs: dict[str, int] = {job: count for job, count in (("ps", ps), ("worker", workers)) if count}
        self._cpus, self._gpus = dict(cpus or {}), dict(gpus or {})
        for job in {*self._cpus, *self._gpus} - {"ps", "worker"}:
            raise ValueError(
                f"There is no job {job!r} on Ray, whose cores are given: the jobs are ps and worker."
            )
        self.name: str = name or f"graphflow-{secrets.token_hex(4)}"
        self._address = address
        self._max_restarts = max_restarts
        self._lease_seconds = lease_seconds
        self._grace = grace
        self._local_devices = local_devices
        self._imports = tuple(imports)
        self._group: Any = None
        self._registry: Any = None
        self._actors: dict[str, Any] = {}
        self._killed: set[tuple[str, int]] = set()
        self._began_ray = False
        self._ended = threading.Event()
        self._events: list[TaskEvent] = []

    # ---- begin and end --------------------------------------------------------------------------------------------

    def __enter__(self) -> RayCluster:
        """Begins the tasks; returns at once, as a task that is not there yet is waited for by the others.

        Returns:
            The cluster.

        Raises:
            RuntimeError: if Ray has no room for the tasks.
        """
        ray = self._ray
        if not ray.is_initialized():
            options: dict[str, Any] = {"address": self._address} if self._address else {}
            ray.init(namespace=NAMESPACE, log_to_driver=True, **options)
            self._began_ray = True
        try:
            self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends all tasks."""
        self._end()

    def _begin(self) -> None:
        ray = self._ray
        group_of = import_module("ray.util.placement_group").placement_group
        strategies = import_module("ray.util.scheduling_strategies")
        tasks = [(job, index) for job, count in self.jobs.items() for index in range(count)]
        needs = [{"CPU": self._cpus.get(job, 1), "GPU": self._gpus.get(job, 0)} for job, _ in tasks]
        bundles = [{kind: count for kind, count in need.items() if count} for need in needs]
        self._group = group_of(bundles, strategy="SPREAD", name=f"{self.name}/tasks")
        if not self._group.wait(ENGINE_ANSWER_SECONDS):
            there = {kind: count for kind, count in ray.cluster_resources().items() if kind in ("CPU", "GPU")}
            raise RuntimeError(
                f"Ray has no room for the {len(tasks)} tasks within {ENGINE_ANSWER_SECONDS:g} s, which need {bundles}: "
                f"it has {there} in all, some of which others may use."
            )
        here = strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._registry = ray.remote(Registry).options(
            name=registry_name(self.name), namespace=NAMESPACE, num_cpus=0, scheduling_strategy=here,
        ).remote(self._lease_seconds, str(ray.util.get_node_ip_address()))  # fmt: skip
        ray.get(self._registry.events.remote(), timeout=ENGINE_ANSWER_SECONDS)
        actor = ray.remote(TaskActor)
        for place, (job, index) in enumerate(tasks):
            variables = {
                RAY_VARIABLE: self.name, JOBS_VARIABLE: ",".join(f"{j}={n}" for j, n in self.jobs.items()),
                JOB_VARIABLE: job, TASK_VARIABLE: str(index), LEASE_VARIABLE: str(self._lease_seconds),
                LOCAL_DEVICES_VARIABLE: str(self._local_devices),
            }  # fmt: skip
            self._actors[f"{job}-{index}"] = actor.options(
                name=f"{self.name}/{job}-{index}", namespace=NAMESPACE,
                num_cpus=needs[place]["CPU"], num_gpus=needs[place]["GPU"], max_restarts=self._max_restarts,
                scheduling_strategy=strategies.PlacementGroupSchedulingStrategy(self._group, place),
            ).remote(variables, job == "ps", self._imports if job == "ps" else ())  # fmt: skip
        threading.Thread(target=self._look_after, name="graphflow on ray", daemon=True).start()

    def _end(self) -> None:
        ray = self._ray
        self._ended.set()
        with suppress(Exception):  # Ray may be gone.
            self.events()
        for actor in [*self._actors.values(), *([self._registry] if self._registry is not None else [])]:
            with suppress(Exception):
                ray.kill(actor)
        if self._group is not None:
            with suppress(Exception):
                import_module("ray.util.placement_group").remove_placement_group(self._group)
        if self._began_ray:
            ray.shutdown()

    def _look_after(self) -> None:
        """Ends the processes of tasks that have fallen silent, so that Ray begins them anew."""
        while not self._ended.wait(self._lease_seconds / 4):
            with suppress(Exception):  # Ray is asked again.
                for task, life in self._ask("lapsed"):
                    if (task, life) not in self._killed:
                        self._killed.add((task, life))
                        _LOG.warning("%s of %s is silent: it is begun anew", task, self.name)
                        self._ray.kill(self._actors[task], no_restart=False)

    def _ask(self, question: str, *arguments: Any) -> Any:
        return self._ray.get(
            getattr(self._registry, question).remote(*arguments), timeout=REGISTRY_ANSWER_SECONDS
        )

    # ---- what a user asks -----------------------------------------------------------------------------------------

    def events(self) -> list[TaskEvent]:
        """What has happened to the tasks, in order.

        Returns:
            An event for each life of a task that has started, was lost, was restarted, or has moved to another node.
        """
        if self._registry is not None:
            with suppress(Exception):  # After the end of the cluster: what was known then.
                self._events = [TaskEvent(**event) for event in self._ask("events")]
        return list(self._events)

    def actor(self, job: str, index: int) -> Any:
        """The handle of the actor that is a task.

        Args:
            job: the job of the task.
            index: its index in the job.

        Returns:
            Ray's handle, whatever life of the task there is.
        """
        return self._actors[f"{job}-{index}"]

    def run(self, main: Callable[[], Any] | Program) -> Any:
        """Runs a program in all workers, to the end of worker 0.

        A worker whose process is lost begins the program anew, as often as `max_restarts` says; so it is to be one that
        goes on from where the others are, as with MonitoredTrainingSession. In it `gf.train.Server.from_environment()`
        and the strategies' `from_environment()` find the cluster.

        Args:
            main: a function without arguments, which Ray hands to the workers.

        Returns:
            What the function has returned in worker 0.

        Raises:
            TaskFailed: if a program raises an error, or the process of a task is lost too often.
        """
        pending = {self._submit(task, main): task for task in self._actors}
        ends: dict[str, Outcome] = {}
        while "worker-0" not in ends:
            self._wait(pending, ends, main)
        waited = 0.0
        while waited < self._grace and any(task.startswith("worker") for task in pending.values()):
            self._wait(pending, ends, main)
            waited += LAUNCHER_POLL_SECONDS
        return ends["worker-0"].result

    def _submit(self, task: str, main: Callable[[], Any] | Program) -> Any:
        return self._actors[task].run.remote(None if task.startswith("ps") else main)

    def _wait(
        self, pending: dict[Any, str], ends: dict[str, Outcome], main: Callable[[], Any] | Program
    ) -> None:
        """Waits a moment for the end of a task, and begins its program anew if its process was lost.

        Ray counts the losses, and says of an actor that it has died when there were too many. Until one is there again
        each call of it fails at once, which counts for nothing.
        """
        ray = self._ray
        for ref in ray.wait(list(pending), timeout=LAUNCHER_POLL_SECONDS)[0]:
            task = pending.pop(ref)
            job, _, index = task.rpartition("-")
            try:
                outcome: Outcome = ray.get(ref)
            except ray.exceptions.RayActorError as error:
                if isinstance(error, ray.exceptions.ActorDiedError):
                    host = str(self._ask("host", task))
                    raise TaskFailed(job, int(index), host, f"Its process is lost: {error}") from None
                time.sleep(LAUNCHER_POLL_SECONDS)
                pending[self._submit(task, main)] = task
                continue
            if outcome.error:
                raise TaskFailed(job, int(index), outcome.host, outcome.error)
            ends[task] = outcome


def launch(cluster: RayCluster, path: str, arguments: Sequence[str]) -> None:
    """Runs a Python file in the workers of a cluster, to the end of worker 0; TaskFailed if it fails."""
    with cluster:
        cluster.run(Program(os.path.abspath(path), tuple(arguments), os.getcwd()))

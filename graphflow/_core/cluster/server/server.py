"""Server: a task of a cluster in this process (tf.train.Server)."""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import field, replace
from errno import EACCES, EADDRINUSE, EADDRNOTAVAIL, ENODEV

import graphflow.errors as errors
from graphflow._core.cluster import in_process, log
from graphflow._core.cluster.cluster_spec import ClusterDef, ClusterLike, ClusterSpec
from graphflow._core.cluster.environment import BIND_VARIABLE, EVALUATOR
from graphflow._core.cluster.in_process import InProcessTask
from graphflow._core.cluster.protocol.lease import LeaseState
from graphflow._core.cluster.resolvers.found import find_resolver, resolver_from_environment
from graphflow._core.cluster.resolvers.moving import MovingClusterResolver, Place
from graphflow._core.cluster.resolvers.pod_lives import next_life
from graphflow._core.cluster.server.tenure import Tenure
from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import STOP_ANSWER_SECONDS, TICK_SECONDS
from graphflow._core.graph.this_process import OfThisProcess
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.devices import device_names
from graphflow._core.runtime.planner import Planner
from graphflow._core.transport import keys
from graphflow._core.transport.addresses import split
from graphflow._core.transport.routes import own_endpoint
from graphflow.config import ConfigProto
from graphflow.protos.plain import PlainMessage


@dataclass
class ServerDef(PlainMessage):
    """A server as a message.

    Args:
        cluster: The cluster that it belongs to.
        job_name: Its job there.
        task_index: The index of its task in the job.
        protocol: What it speaks: "zmq".
        default_session_config: The gf.ConfigProto of the server, if it is given none itself.
    """

    _protobuf = ("tensorflow_server_pb2", "ServerDef")
    cluster: ClusterDef = field(default_factory=ClusterDef)
    job_name: str = ""
    task_index: int = 0
    protocol: str = "zmq"
    default_session_config: ConfigProto = field(default_factory=ConfigProto)


def _reason(error: OSError) -> str:
    """Why a server cannot listen, in words."""
    return {
        EACCES: "this user may not listen at that port; use one from 1024 on",
        EADDRINUSE: "the address is in use by another program",
        EADDRNOTAVAIL: "it is no address of this machine",
        ENODEV: "it is no address of this machine",
    }.get(error.errno or 0, error.strerror or str(error))


def task_name(job: str, index: int) -> str:
    """The full name of a task."""
    return f"/job:{job}/replica:0/task:{index}"


def _here(config: ConfigProto) -> ConfigProto:
    """For a server that only this process is to use: it listens at this machine, whatever GRAPHFLOW_BIND says."""
    return replace(config, server_bind=config.server_bind or "localhost")


def _check_address(task: str, address: str) -> None:
    """ValueError if the address of a task in a cluster is none."""
    try:
        split(address, any_port=True)
    except ValueError as error:
        raise ValueError(f"{task} in the ClusterSpec: {error}") from None


class Server(OfThisProcess):
    """A task of a cluster (tf.train.Server): it holds variables, runs its part of steps, and is a master for sessions.

    It ends by `stop`, by gf.train.stop_cluster, or with its process; a program that has nothing else to do waits for
    that in `join`.

    It listens at its address in the cluster, or where ConfigProto.server_bind says.

    Args:
        server_or_cluster_def: A ServerDef, a ClusterSpec, or what one is made from; or a resolver of tasks
            that move, whose own task this is then. job_name and task_index say which task this is; they may
            be left out if the cluster has one task.
        job_name: The task's job; not needed if the cluster has one.
        task_index: The task's index; not needed if the job has one task.
        protocol: Accepted: it is always "zmq".
        config: A gf.ConfigProto for the session.
        start: Whether it listens at once.

    Raises:
        ValueError: For a task that is not in the cluster.
        OSError: If its port is taken.
        PermissionError: For an address beyond this machine without keys of the cluster
            (ConfigProto.cluster_keys).
    """

    _instead = "Send its `target`, to which sessions of other processes connect."

    def __init__(
        self,
        server_or_cluster_def: ServerDef | ClusterLike | MovingClusterResolver,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: ConfigProto | None = None,
        start: bool = True,
    ) -> None:
        from graphflow._core.cluster.server.service import (
            Service,  # ZeroMQ is imported if there is a cluster.
        )

        if protocol not in (None, "zmq", "grpc"):
            raise ValueError(f"protocol must be 'zmq', got {protocol!r}.")
        if isinstance(server_or_cluster_def, ServerDef):
            job_name = server_or_cluster_def.job_name if job_name is None else job_name
            task_index = server_or_cluster_def.task_index if task_index is None else task_index
            config = config or server_or_cluster_def.default_session_config
            server_or_cluster_def = server_or_cluster_def.cluster
        self._resolver: MovingClusterResolver | None = None
        if isinstance(server_or_cluster_def, MovingClusterResolver):
            self._resolver = server_or_cluster_def
            server_or_cluster_def, job_name, task_index = self._resolver.task()
        self._cluster = ClusterSpec(server_or_cluster_def)
        self._job, self._index = self._which(job_name, task_index)
        if self._resolver is None:
            # A program may take the cluster apart that it was told, and put it together again.
            told = find_resolver()
            if isinstance(told, MovingClusterResolver) and told.task() == (
                self._cluster,
                self._job,
                self._index,
            ):
                self._resolver = told
        self._config = config or ConfigProto()
        task = task_name(self._job, self._index)
        access = keys.access(self._config.cluster_keys)
        bind = self._config.server_bind or os.environ.get(BIND_VARIABLE, "")
        if self._resolver is not None:
            bind = bind or f"{self._resolver.host}:0"
        devices = device_names(task, self._config)
        store = ResourceStore()
        planner = store.planner = Planner(self._config, devices, task)
        addresses = {
            task_name(job, i): self._cluster.task_address(job, i)
            for job in self._cluster.jobs
            for i in self._cluster.task_indices(job)
        }
        for each, address in addresses.items():
            _check_address(each, address)
        self._tenure: Tenure | None = None
        self._unfollow = self._resolver.follow() if self._resolver is not None else lambda: None
        incarnation = int.from_bytes(secrets.token_bytes(8), "little")
        self._service = Service(
            task,
            devices,
            addresses,
            incarnation,
            store,
            lambda plan, options: planner.executable(plan, store, options, borrows=True),
            access,
            self._told_to_stop,
            self._config.tcp_only,
        )
        service = self._service
        service.handshake.operation_timeout_in_ms = self._config.operation_timeout_in_ms
        if self._resolver is None:
            service.links.life = next_life(os.environ)
        else:
            service.links.life = self._resolver.life
            self._tenure = Tenure(
                task,
                self._resolver,
                lambda make: service.sockets.call(lambda: service.heard(make)),
            )
        self._in_process = InProcessTask(task, planner, store, self._service.protocol.sessions.was_reset)
        in_process.add(f"{incarnation:x}", self._in_process)
        self._started = False
        self._stopped = threading.Event()
        self._stopping = threading.Lock()
        self._pid = os.getpid()
        try:
            endpoint = own_endpoint(
                addresses[task], access.keys, bind, self._config.connect_timeout_in_ms / 1000
            )
            host, port = split(addresses[task], any_port=True)
            bound = self._service.sockets.bind(endpoint, port)
        except BaseException as error:
            self.stop()
            if isinstance(error, OSError) and error.errno is not None:
                where = f"{bind} (for {addresses[task]})" if bind else addresses[task]
                text = f"{task} cannot listen at {where}: {_reason(error)}"
                raise OSError(error.errno, text) from None
            raise
        if self._resolver is not None:
            host = self._resolver.host
        shown = f"[{host}]" if ":" in host else host
        at = f"{shown}:{bound.rpartition(':')[2]}"
        life = 0 if self._resolver is None else self._resolver.life
        self._place = Place(at, life, f"{incarnation:x}")
        self._address = addresses[task] if port else at
        self._service.serves_at(self._address)
        if start:
            self.start()

    def _which(self, job_name: str | None, task_index: int | None) -> tuple[str, int]:
        jobs = self._cluster.jobs
        if job_name is None:
            if len(jobs) != 1:
                raise ValueError(f"job_name must be given: the cluster has the jobs {', '.join(jobs)}.")
            job_name = jobs[0]
        indices = self._cluster.task_indices(job_name)
        if task_index is None:
            if len(indices) != 1:
                raise ValueError(f"task_index must be given: the job {job_name!r} has {len(indices)} tasks.")
            task_index = indices[0]
        self._cluster.task_address(job_name, task_index)
        return job_name, task_index

    @property
    def target(self) -> str:
        """What a Session takes to use this server as its master."""
        return f"zmq://{self._address}"

    @property
    def server_def(self) -> ServerDef:
        """What this server is, as data."""
        cluster = self._cluster.as_cluster_def()
        return ServerDef(cluster, self._job, self._index, default_session_config=self._config)

    def start(self) -> None:
        """Begins to serve; nothing if it does already."""
        if not self._started:
            self._started = True
            atexit.register(
                self.stop
            )  # So that the other tasks know that this one has ended, and is not lost.
            if self._tenure is not None:
                self._tenure.begin()
            self._service.sockets.start()
            if self._resolver is not None:
                self._resolver.publish(self._place)
            log.set_up()
            log.LOG.info(
                "%s serves at %s, in the cluster %s",
                task_name(self._job, self._index),
                f"{self.target} ({self._place.address})" if self._resolver else self.target,
                self._cluster.as_dict(),
            )

    def join(self) -> None:
        """Blocks until the server is stopped, here or by gf.train.stop_cluster.

        Raises:
            DeadlineExceededError: If for ConfigProto.server_idle_minutes, and since `join` was called,
                neither a client nor another task with a client was heard of: nobody is left to stop it.
            AbortedError: If its engine has started the task again elsewhere.
        """
        limit = 60 * self._config.server_idle_minutes
        begun = time.monotonic()
        while not self._stopped.wait(TICK_SECONDS):
            now = time.monotonic()
            if limit and min(self._service.protocol.sessions.idle_seconds(now), now - begun) > limit:
                self.stop()
                raise errors.DeadlineExceededError(
                    None, None,
                    f"{task_name(self._job, self._index)} has ended: it heard of no client and of no task with a "
                    f"client for {self._config.server_idle_minutes:g} minutes "
                    "(ConfigProto.server_idle_minutes, 0 for no limit).",
                )  # fmt: skip
        if self._service.protocol.lease.state is LeaseState.TAKEN:
            task = task_name(self._job, self._index)
            raise errors.AbortedError(
                None, None, f"{task} was started again elsewhere: this life of it has ended."
            )

    def stop(self) -> None:
        """Ends serving; `join` returns. What runs here ends with an error."""
        if self._pid != os.getpid():
            return
        with self._stopping:
            if not self._stopped.is_set():
                if self._tenure is not None:
                    self._tenure.end()
                self._service.close()
                self._stopped.set()
                self._unfollow()
                if self._resolver is not None and self._started:
                    with suppress(Exception):  # Whatever its engine raises: the lease lapses by itself.
                        self._resolver.release()
                atexit.unregister(self.stop)

    def _told_to_stop(self) -> None:
        """Stops in a moment, when the answer to who asked for it is out."""
        threading.Timer(STOP_ANSWER_SECONDS, self.stop).start()

    @staticmethod
    def from_environment(config: ConfigProto | None = None, start: bool = True) -> Server:
        """The server of this process's task, as the engine that has started it tells: TF_CONFIG, Slurm, Kubernetes.

        An evaluator gets a server of its own, which is a cluster of one task.

        Args:
            config: By default one with as many CPU devices as "local_devices" in TF_CONFIG says, or what else the
                engine has for it.
            start: Whether it serves at once.

        Returns:
            The server. See `gf.train.task_from_environment`, and `graphflow launch`, which tells programs their
            tasks.

        Raises:
            ValueError: If the environment names no cluster, or something in it is wrong; it says what.
        """
        resolver = resolver_from_environment()
        if isinstance(resolver, MovingClusterResolver):
            config = config or ConfigProto(device_count={"CPU": resolver.local_devices()})
            return Server(resolver, config=config, start=start)
        cluster, job, index = resolver.task()
        config = config or ConfigProto(device_count={"CPU": resolver.local_devices()})
        if job == EVALUATOR:
            cluster = ClusterSpec({job: {index: "localhost:0"}})
            config = _here(config)
        return Server(cluster, job, index, config=config, start=start)

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> Server:
        """A server that is a cluster of one task, on a free port of this machine, whatever GRAPHFLOW_BIND says.

        Args:
            config: A gf.ConfigProto for the session.
            start: Whether it starts at once.

        Returns:
            The server.
        """
        return Server({"local": ["localhost:0"]}, config=_here(config or ConfigProto()), start=start)

"""One task of a cluster on Ray: an actor, which is a process. It begins a life of the task, serves, and runs a program.

Tensors go from server to server as in any cluster; through Ray go the program, its result, and where a task is.
"""

from __future__ import annotations

import os
import runpy
import secrets
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from graphflow._core.cluster.launch.guard import Guard
from graphflow._core.cluster.on_ray.handout import fetch_key, new_pair
from graphflow._core.cluster.on_ray.resolver import HOST_VARIABLE, RayClusterResolver
from graphflow._core.cluster.resolvers.base import INCARNATION_VARIABLE
from graphflow._core.cluster.server.server import Server
from graphflow._core.cluster.server.tenure import RENEWALS
from graphflow._core.common.records import dataclass
from graphflow._core.transport import keys
from graphflow.config import ConfigProto


@dataclass(frozen=True)
class Program:
    """A Python file and its arguments, as a command line has them. folder: where it runs, if that is there."""

    path: str
    arguments: tuple[str, ...]
    folder: str


@dataclass(frozen=True)
class Outcome:
    """How a program of a task has ended. error: "" if well, else the traceback. host: where it ran."""

    result: Any
    error: str
    host: str


def begun_at(pid: int) -> str:
    """When the kernel has begun a process; "" if it is not there, or is only still to be reaped."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        return "" if words[0] in "ZX" else words[19]
    return ""


class TaskActor:
    """The process of one task. Ray makes one again after its end, as often as it is allowed to.

    variables: what the environment of the process gets, the name of the cluster and of the task among them. serves:
    whether the task serves alone, and runs no program. imports: modules that are imported first.
    """

    def __init__(self, variables: Mapping[str, str], serves: bool, imports: tuple[str, ...] = ()) -> None:
        ray: Any = import_module("ray")
        host = str(ray.util.get_node_ip_address())
        os.environ.update(variables)
        os.environ[HOST_VARIABLE] = host
        pair = new_pair()
        at, server = RayClusterResolver().ask("hand_out", pair.public)
        key = fetch_key(at, server, pair)
        folder = Path(tempfile.mkdtemp(prefix="graphflow-ray-"))
        self._guard = Guard(apart=True)  # Ray ends this process by SIGKILL, and its children with it.
        self._guard.watch_folder(str(folder))
        keys.write(folder, key)
        os.environ[keys.VARIABLE] = str(folder)
        self._resolver = self._begin(str(ray.get_runtime_context().get_node_id()), host)
        self._host = host
        os.environ[INCARNATION_VARIABLE] = str(self._resolver.life)
        threading.Thread(target=self._stay, name="graphflow life", daemon=True).start()
        for module in imports:
            import_module(module)
        self._server: Server | None = None
        if serves:
            self._serve()

    def __repr__(self) -> str:
        """How Ray calls the process in what it prints of it."""
        return self._resolver.own_name if hasattr(self, "_resolver") else "task"

    def _begin(self, node: str, host: str) -> RayClusterResolver:
        """Waits until the life of the task before this one is silent, and is the next one."""
        resolver = RayClusterResolver()
        own, who, pid = resolver.own_name, secrets.token_hex(8), os.getpid()
        while True:
            number, wait = resolver.ask("begin", own, who, node, host, pid, begun_at(pid))
            if number:
                resolver.life = int(number)
                return resolver
            before = resolver.ask("process", own)
            if before is not None and before[1] == node and begun_at(before[2]) != before[3]:
                resolver.ask("release", own, before[0])  # Here one can see that its process is gone.
            else:
                time.sleep(min(float(wait), 1.0))

    def _stay(self) -> None:
        """Keeps the life of the task, and ends the process once another one has its place."""
        while True:
            time.sleep(self._resolver.lease_seconds / RENEWALS)
            granted = True
            with suppress(Exception):  # Whatever Ray raises: the server falls silent by itself.
                granted = self._resolver.renew()
            if not granted:
                print(
                    "Another life of this task has begun elsewhere: this process ends.",
                    file=sys.stderr,
                    flush=True,
                )
                os._exit(1)

    def _serve(self) -> None:
        """Serves the task, as a process without a program does."""
        self._server = Server(
            self._resolver,
            config=ConfigProto(
                device_count={"CPU": self._resolver.local_devices()},
                server_idle_minutes=0,
            ),
        )

    def pid(self) -> int:
        """The number of the process."""
        return os.getpid()

    def run(self, program: Program | Callable[[], Any] | None) -> Outcome:
        """Runs a program to its end; without one, serves until the server is stopped."""
        result: Any = None
        try:
            if program is None:
                assert self._server is not None
                self._server.join()
            elif isinstance(program, Program):
                _run(program)
            else:
                graphs: Any = import_module("graphflow")
                with graphs.Graph().as_default():
                    result = program()
        except SystemExit as error:
            if error.code not in (None, 0):
                return Outcome(None, traceback.format_exc(), self._host)
        except Exception:
            return Outcome(None, traceback.format_exc(), self._host)
        return Outcome(result, "", self._host)


def _run(program: Program) -> None:
    """Runs a file as `python FILE` does."""
    if os.path.isdir(program.folder):
        os.chdir(program.folder)
    sys.path.insert(0, os.path.dirname(os.path.abspath(program.path)))
    sys.argv = [program.path, *program.arguments]
    runpy.run_path(program.path, run_name="__main__")

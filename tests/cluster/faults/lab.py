"""The lab: starts the processes of a cluster, stops them at moments, does things to them, and notes what happened when.

Real processes on this machine's loopback interface, forked from one that has imported everything. All that they say
comes over one Unix socket in the lab's folder.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.transport import keys
from tests.cluster.faults.network import ROLES, Network

_ROOT = Path(__file__).parents[3]
_LISTEN = "0A"
_LEAVING_SECONDS = 60.0
"""In which children end whose parents are gone: the compilers of tasks, which look for that twice a second."""


@dataclass
class Event:
    """What a process has said, and when."""

    at: float
    who: str
    words: list[str]

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join(self.words)


@dataclass
class Process:
    """A process of the lab: role.life."""

    role: str
    life: int
    name: str
    pid: int = 0
    status: int | None = None
    link: socket.socket | None = None
    may_fail: bool = False
    acknowledged: list[tuple[float, int, int]] = field(default_factory=list)
    """Time, tag and global step of each step that succeeded."""


class Late(AssertionError):
    """Something did not happen in time."""


class Lab:
    """A cluster in processes, whose first worker is the chief; one ps, two workers on a network. A context manager."""

    def __init__(self, network: Network | None = None, ps: int = 1, workers: int = 2) -> None:
        self.folder = tempfile.mkdtemp(prefix="faults-")
        self.network = network
        self._ports = ReservedPorts(0 if network else ps + workers)
        addresses = [f"127.0.0.1:{port}" for port in self._ports.ports]
        self.cluster = (
            network.cluster("client") if network else {"ps": addresses[:ps], "worker": addresses[ps:]}
        )
        """As a client sees it."""
        self.events: list[Event] = []
        self.processes: dict[str, Process] = {}
        self.latest: dict[str, Process] = {}
        self._partial: dict[Any, bytes] = {}
        self._selector = selectors.DefaultSelector()
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(f"{self.folder}/lab")
        self._door.listen(16)
        self._selector.register(self._door, selectors.EVENT_READ, "door")
        os.mkdir(f"{self.folder}/tmp")
        environment = {
            **os.environ, "PYTHONPATH": str(_ROOT), "OPENBLAS_NUM_THREADS": "1", "TMPDIR": f"{self.folder}/tmp"
        }  # fmt: skip
        if network is not None and network.needs_keys:
            keys.make(Path(self.folder, "keys"))
            environment[keys.VARIABLE] = f"{self.folder}/keys"
        self._zygote = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py")), self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
        )  # fmt: skip
        assert self._zygote.stdout is not None and self._zygote.stdin is not None
        self._selector.register(self._zygote.stdout, selectors.EVENT_READ, "zygote")

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *exc: object) -> None:
        for process in self.processes.values():
            if process.pid and process.status is None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        assert self._zygote.stdin is not None and self._zygote.stdout is not None
        self._zygote.stdin.close()
        self._zygote.wait(60)
        self._zygote.stdout.close()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        self._ports.close()
        shutil.rmtree(self.folder)

    # ---- processes ------------------------------------------------------------------------------------------------

    def start(self, role: str, *moments: str, **arguments: Any) -> Process:
        """Starts a process, which will stop at these moments; it takes the place of the last one of its role."""
        life = self.latest[role].life + 1 if role in self.latest else 0
        process = Process(role, life, f"{role}.{life}")
        self.processes[process.name] = self.latest[role] = process
        place = role if role in ROLES else "client"
        order = {"moments": moments, "cluster": self.cluster, "life": life, **arguments}
        if self.network is not None:
            order |= {
                "cluster": self.network.cluster(place),
                "door": self.network.door(place),
                "tcp_only": True,
            }
        assert self._zygote.stdin is not None
        self._zygote.stdin.write(f"{json.dumps([process.name, role, order])}\n".encode())
        self._zygote.stdin.flush()
        self.wait(lambda: process.pid and process.link, f"{process.name} to start")
        return process

    def tell(self, process: Process, word: str) -> None:
        """Tells a process to go on or to finish."""
        if process.link is not None:
            with suppress(OSError):
                process.link.sendall(f"{word}\n".encode())

    def log(self, process: Process) -> str:
        """What a process has written to its standard error."""
        path = Path(self.folder, f"{process.name}.log")
        return path.read_text() if path.exists() else ""

    # ---- waiting --------------------------------------------------------------------------------------------------

    def wait(self, until: Callable[[], Any], what: str, seconds: float = 100.0) -> Any:
        """Takes in events until something is so, and returns it; Late after a time."""
        end = time.monotonic() + seconds
        while True:
            found = until()
            if found:
                return found
            left = end - time.monotonic()
            if left <= 0:
                raise Late(f"waited {seconds:g} s for {what}\n{self.story()}")
            for process in self.processes.values():
                if not process.may_fail and (process.status or 0) > 0:
                    raise Late(f"{process.name} failed while the lab waited for {what}\n{self.story()}")
            self._take(min(left, 0.2))

    def said(self, role: str, start: str, since: float = 0.0) -> Event | None:
        """The first thing said by any process of a role, since a time, that begins so."""
        for event in self.events:
            if event.at >= since and event.who.startswith(f"{role}.") and event.text.startswith(start):
                return event
        return None

    def heard(self, role: str, start: str, since: float = 0.0, seconds: float = 100.0) -> Event:
        """Waits for that."""
        return self.wait(lambda: self.said(role, start, since), f"{role} to say {start!r}", seconds)  # type: ignore[no-any-return]

    def ended(self, process: Process, seconds: float = 100.0) -> int:
        """Waits for the end of a process: its status, -n for signal n."""
        self.wait(lambda: process.status is not None, f"the end of {process.name}", seconds)
        assert process.status is not None
        return process.status

    def left(self) -> list[str]:
        """What is left of the lab's processes some seconds after all have ended: processes, files, open ports."""
        end = time.monotonic() + _LEAVING_SECONDS
        while (found := self._left()) and time.monotonic() < end:
            self._take(0.2)
        return found

    def _left(self) -> list[str]:
        mark = f"TMPDIR={self.folder}/tmp".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                pid = int(path.parent.name)
                if mark in path.read_bytes().split(b"\0") and pid != self._zygote.pid:
                    found.append(f"process {pid}: {path.with_name('cmdline').read_bytes()!r}")
        found += [f"file {path}" for path in Path(self.folder, "tmp").iterdir()]
        found += [f"file {path}" for path in Path(self.folder).glob("**/*.tmp")]
        found += [f"file {path}" for path in Path("/dev/shm").glob("*graphflow*")]
        addresses = [] if self.network else [a for tasks in self.cluster.values() for a in tasks]
        listening = {int(address.rpartition(":")[2]) for address in addresses}
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            if state == _LISTEN and int(local.rpartition(":")[2], 16) in listening:
                found.append(f"socket {local}")
        return found

    def holds(self, process: Process) -> dict[str, int]:
        """How many threads, sockets, files in memory and other files a process has; nothing where it has ended."""
        folder = Path(f"/proc/{process.pid}")
        found = dict.fromkeys(("threads", "sockets", "memory", "files"), 0)
        with suppress(OSError):
            found["threads"] = len(os.listdir(folder / "task"))
            for path in list((folder / "fd").iterdir()):
                target = os.readlink(path)
                kind = (
                    "sockets" if target.startswith("socket:") else "memory" if "memfd:" in target else "files"
                )
                found[kind] += 1
        return found

    def story(self) -> str:
        """All that was said but acknowledgements, for a failure's text."""
        begin = self.events[0].at if self.events else 0.0
        lines = [f"{e.at - begin:7.2f} {e.who:10} {e.text}" for e in self.events if e.words[0] != "ACK"]
        logs = [f"--- {p.name}:\n{self.log(p)[-1500:]}" for p in self.processes.values() if self.log(p)]
        return "\n".join([*lines[-60:], *logs])

    def _take(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if key.data == "door":
                link, _ = self._door.accept()
                self._selector.register(link, selectors.EVENT_READ, "task")
                continue
            try:
                data = os.read(key.fd, 65536)
            except ConnectionResetError:
                data = b""
            if not data:
                self._selector.unregister(key.fileobj)
                if isinstance(key.fileobj, socket.socket):
                    key.fileobj.close()
                continue
            *lines, rest = (self._partial.pop(key.fd, b"") + data).split(b"\n")
            if rest:
                self._partial[key.fd] = rest
            for line in lines:  # The first says who it is, which changes the key.
                self._line(self._selector.get_key(key.fileobj), line.decode().split())

    def _line(self, key: selectors.SelectorKey, words: list[str]) -> None:
        now = time.monotonic()
        if key.data == "zygote":
            process = self.processes[words[1]]
            if words[0] == "started":
                process.pid = int(words[2])
            else:
                process.status = int(words[2])
                self.events.append(Event(now, process.name, ["(ended", f"{process.status})"]))
            return
        if key.data == "task":
            process = self.processes[words[0]]
            process.link = key.fileobj  # type: ignore[assignment]
            self._selector.modify(key.fileobj, selectors.EVENT_READ, process)
            return
        process = key.data
        self.events.append(Event(now, process.name, words))
        if words[0] == "ACK":
            process.acknowledged.append((now, int(words[1]), int(float(words[2]))))

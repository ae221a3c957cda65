"""Clusters over ssh: where tasks go, what each host is asked beforehand, and the command and the order of each task.

Each task is a process of ssh here, which the launcher watches as it does a task of this machine, and the far side there
(far_side.py). The key of the cluster is made for the one run, and goes to each host by the standard input of ssh.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from graphflow._core.cluster.launch.far_side import MOST_BYTES
from graphflow._core.cluster.launch.launcher import Role
from graphflow._core.common.distribution import VERSION
from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import HOST_LOOK_SECONDS
from graphflow._core.transport.addresses import is_loopback

SSH: Final = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3"
"""It asks nobody for a password, and ends when the host does not answer any more."""
_FAR: Final = "from graphflow._core.cluster.launch.far_side import main; main()"
_LEFT_OUT: Final = frozenset({".git", ".venv", "__pycache__", "node_modules"})


class HostError(Exception):
    """A host cannot take part; the text says why and what to do."""


@dataclass(frozen=True)
class Host:
    """A host as ssh takes it, how many tasks it takes, and whether that was said."""

    name: str
    slots: int
    counted: bool

    @property
    def address(self) -> str:
        """Its name without the user."""
        return self.name.rpartition("@")[2]


@dataclass(frozen=True)
class Place:
    """The tasks' addresses by job, and the host of each task by its name."""

    addresses: Mapping[str, Sequence[str]]
    hosts: Mapping[str, Host]


def hosts_in(text: str) -> list[Host]:
    """The hosts of a,user@b:4,c; ValueError for anything else."""
    found: list[Host] = []
    for part in text.split(","):
        name, colon, count = part.strip().partition(":")
        good = (
            name and not name.startswith("-") and name.isprintable() and not set(name) & set(" /\\'\"[];&|$`")
        )
        if not good or (colon and not (count.isascii() and count.isdigit() and 0 < int(count[:6]) < 10000)):
            raise ValueError(
                f"--hosts is HOST or HOST:TASKS, with commas between them, got {part!r} in {text[:200]!r}."
            )
        if any(host.name == name for host in found):
            raise ValueError(f"--hosts names {name!r} twice; {name}:2 has two tasks there.")
        found.append(Host(name, int(count) if colon else 1, bool(colon)))
    return found


def spread(hosts: Sequence[Host], jobs: Mapping[str, int]) -> list[tuple[str, int, Host]]:
    """The job, index and host of each task: round by round over the hosts that have room.

    If no host says how many tasks it takes, each takes as many as are needed. ValueError if there is no room.
    """
    tasks = [(job, index) for job in sorted(jobs) for index in range(jobs[job])]
    if not any(host.counted for host in hosts):
        hosts = [replace(host, slots=-(-len(tasks) // len(hosts))) for host in hosts]
    room = sum(host.slots for host in hosts)
    if len(tasks) > room:
        raise ValueError(
            f"There are {len(tasks)} tasks, but --hosts has room for {room}: HOST:TASKS says how many."
        )
    rounds = [host for at in range(max(host.slots for host in hosts)) for host in hosts if at < host.slots]
    return [(job, index, host) for (job, index), host in zip(tasks, rounds)]


def find_places(
    tasks: Sequence[tuple[str, int, Host]], ssh: str, python: str, folder: str, program: str, copied: bool
) -> Place:
    """Asks every host at once for free ports, and whether it has what is needed; HostError if one has not."""
    counts: dict[Host, int] = {}
    for _, _, host in tasks:
        counts[host] = counts.get(host, 0) + 1
    with ThreadPoolExecutor(min(32, len(counts))) as pool:
        order = {"do": "look", "folder": folder, "program": program}
        looks = [pool.submit(_look, host, ssh, python, {**order, "ports": n}) for host, n in counts.items()]
        found = {host: look.result() for host, look in zip(counts, looks, strict=True)}
    for host, said in found.items():
        if said["version"] != VERSION:
            raise HostError(f"{host.name} has graphflow {said['version']}, this machine {VERSION}.")
        if not copied and not (said["folder"] and said["program"]):
            missing = folder if not said["folder"] else program
            raise HostError(
                f"{host.name} has no {missing}: put it there, or have the folder copied with --copy."
            )
    numbers = {host: (said["address"] or [""])[0] or host.address for host, said in found.items()}
    inner = [host.name for host, number in numbers.items() if is_loopback(number) or number == "localhost"]
    if inner and len(counts) > len(inner):
        raise HostError(f"{inner[0]} is this machine by a name that the others cannot use: give its address.")
    ports = {host: iter(said["ports"]) for host, said in found.items()}
    addresses: dict[str, list[str]] = {}
    for job, _, host in tasks:
        number = numbers[host]
        shown = f"[{number}]" if ":" in number else number
        addresses.setdefault(job, []).append(f"{shown}:{next(ports[host])}")
    return Place(addresses, {f"{job} {index}": host for job, index, host in tasks})


def _command(host: Host, ssh: str, python: str) -> list[str]:
    return [*shlex.split(ssh), host.name, shlex.join([python, "-P", "-c", _FAR])]


def _look(host: Host, ssh: str, python: str, order: Mapping[str, Any]) -> dict[str, Any]:
    try:
        done = subprocess.run(
            _command(host, ssh, python),
            input=f"{json.dumps(order)}\n",
            capture_output=True,
            text=True,
            timeout=HOST_LOOK_SECONDS,
            check=False,
        )
        lines = done.stdout.splitlines()
        found: dict[str, Any] = json.loads(lines[-1]) if lines and not done.returncode else {}
    except subprocess.TimeoutExpired:
        raise HostError(f"{host.name} has not answered for {HOST_LOOK_SECONDS:g} s.") from None
    except OSError as error:
        raise HostError(f"{shlex.split(ssh)[0]} cannot be run: {error.strerror}.") from None
    except ValueError:
        found = {}
    if "version" not in found:
        words = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise HostError(
            f"{host.name} does not answer as it should: {words}. `ssh {host.name} {python} -m graphflow --version` "
            "has to work without a password; --python names the Python there."
        )
    return found


def far_role(role: Role, host: Host, ssh: str, python: str, folder: str, key: str, archive: bytes) -> Role:
    """The role as a process of ssh here, with what goes to its standard input: all that it was, and the key."""
    order = {"do": "run", "command": list(role.command), "folder": folder, "key": key, "bytes": len(archive)}

    def written(life: Mapping[str, str]) -> bytes:
        return f"{json.dumps({**order, 'environment': {**role.environment, **life}})}\n".encode() + archive

    return replace(role, command=_command(host, ssh, python), environment=os.environ, order=written)


def archive_of(folder: str) -> bytes:
    """A folder as an archive, without what tools make beside a program; HostError if it is too large."""
    buffer = io.BytesIO()

    def chosen(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if os.path.basename(entry.name) in _LEFT_OUT or not (entry.isreg() or entry.isdir()):
            return None
        if buffer.tell() > MOST_BYTES:
            raise HostError(
                f"{folder} is larger than {MOST_BYTES >> 20} MB: put it on the hosts, without --copy."
            )
        return entry

    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        archive.add(folder, arcname=".", filter=chosen)
    if buffer.tell() > MOST_BYTES:
        raise HostError(
            f"{folder} is larger than {MOST_BYTES >> 20} MB: put it on the hosts, without --copy."
        )
    return buffer.getvalue()

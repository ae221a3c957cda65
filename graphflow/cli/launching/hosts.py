"""graphflow launch --hosts: a cluster on machines that ssh reaches."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from graphflow._core.cluster.launch import hosts
from graphflow._core.cluster.launch.guard import Guard
from graphflow._core.cluster.launch.launcher import Launcher, roles
from graphflow._core.transport import keys
from graphflow.cli.launching.engines import jobs_of, key_text
from graphflow.cli.main import UsageError


def add_hosts(parser: argparse.ArgumentParser) -> None:
    """Adds the options of hosts to `graphflow launch`."""
    group = parser.add_argument_group("on machines that ssh reaches")
    group.add_argument(
        "--hosts", metavar="HOST[:TASKS],...", default="",
        help="start the tasks on these machines, by turns; TASKS says how many one takes",
    )  # fmt: skip
    group.add_argument(
        "--ssh", metavar="COMMAND", default=hosts.SSH,
        help="what runs a command on a host, which is its last but one argument (default: ssh, without passwords)",
    )  # fmt: skip
    group.add_argument(
        "--copy", action="store_true",
        help="copy PROGRAM's folder to each host, for this run; otherwise it must be at the same path there",
    )  # fmt: skip


def workers_on(text: str, others: int) -> int:
    """How many workers there are if nobody says: one a host, or as many as there is room for beside `others`."""
    found = _hosts(text)
    if not any(host.counted for host in found):
        return len(found)
    return max(0, sum(host.slots for host in found) - others)


def _hosts(text: str) -> list[hosts.Host]:
    try:
        return hosts.hosts_in(text)
    except ValueError as error:
        raise UsageError(str(error)) from error


def launch_on_hosts(arguments: argparse.Namespace, serve: Sequence[str]) -> int:
    """Runs `graphflow launch` with --hosts; serve: what runs a ps, in the program's folder."""
    folder, program = os.getcwd(), arguments.program
    if arguments.copy:
        whole = os.path.abspath(program)
        folder, program = (whole, ".") if os.path.isdir(whole) else os.path.split(whole)
    python = arguments.python or sys.executable
    try:
        tasks = hosts.spread(_hosts(arguments.hosts), jobs_of(arguments))
        place = hosts.find_places(tasks, arguments.ssh, python, folder, program, arguments.copy)
        archive = hosts.archive_of(folder) if arguments.copy else b""
    except (ValueError, hosts.HostError) as error:
        raise UsageError(str(error)) from error
    is_python = program.endswith(".py") or os.path.isdir(arguments.program)
    found = roles(
        place.addresses,
        [*([python] if is_python else []), program, *arguments.arguments],
        [python, *serve] if arguments.ps_program == "serve" else None,
        {"PYTHONUNBUFFERED": "1"},
        arguments.local_devices,
    )
    found.sort(key=lambda role: role.job != "ps")
    # The launcher stops servers at the end, so it needs the key as well.
    own = tempfile.mkdtemp(prefix="graphflow-")  # Of mode 700.
    with Guard() as guard:
        guard.watch_folder(own)
        key = _key(arguments.keys, Path(own))
        far = [
            hosts.far_role(role, place.hosts[role.name], arguments.ssh, python, folder, key, archive)
            for role in found
        ]
        return Launcher(
            far,
            place.addresses,
            "chief 0" if arguments.chief else "worker 0",
            restarts=arguments.restart,
            grace=arguments.grace,
            out=sys.stdout,
            err=sys.stderr,
            coloured=False if os.environ.get("NO_COLOR") else None,
            guard=guard,
        ).run()


def _key(folder: str, own: Path) -> str:
    """The text of the key in a folder, or of a new one for this run, which this process then has too."""
    text = key_text(folder)
    keys.write(own, text)
    os.environ[keys.VARIABLE] = str(own)
    return text

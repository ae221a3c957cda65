"""graphflow launch --standalone and --nnodes: workers that train by allreduce, in a group that forms anew."""

from __future__ import annotations

import argparse
import errno
import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Final

from graphflow._core.cluster.elastic.agent import Agent
from graphflow._core.cluster.elastic.group_timeouts import (
    GROUP_SETTLE_SECONDS,
    GROUP_WAIT_SECONDS,
    NODE_LEASE_SECONDS,
)
from graphflow._core.cluster.elastic.meeting import Attendance, Meeting
from graphflow._core.cluster.elastic.rendezvous import Rendezvous
from graphflow._core.common.shown.terminal import tell
from graphflow._core.common.timeouts import LAUNCHER_RESTART_SECONDS, LOOK_UP_SECONDS
from graphflow._core.transport import keys
from graphflow._core.transport.addresses import is_loopback, is_number, split
from graphflow._core.transport.names import resolve
from graphflow._core.transport.routes import check_reach
from graphflow.cli.main import UsageError

_LOOPBACK: Final = "127.0.0.1"
_ELSEWHERE: Final = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.ENODEV, errno.EHOSTUNREACH)
"""Why one cannot listen at an address that is not this machine's, or where another launcher does."""


def add_groups(parser: argparse.ArgumentParser) -> None:
    """Adds the options of groups to `graphflow launch`."""
    group = parser.add_argument_group(
        "workers that train by allreduce", "a group without ps, which begins anew from the newest checkpoint"
    )
    group.add_argument(
        "--standalone",
        action="store_true",
        help="a group on this machine: --workers processes, and nothing else",
    )
    group.add_argument(
        "--nnodes", metavar="MIN[:MAX]", type=_nodes,
        help="a group of so many nodes, each with its own launcher and --workers processes: it begins when MIN are "
        "there, takes in others up to MAX, and goes on without those that are lost",
    )  # fmt: skip
    group.add_argument(
        "--rendezvous", metavar="HOST:PORT", default="",
        help="with --nnodes: where the launchers meet, an address of one of the nodes (default: at this one, which "
        "says where)",
    )  # fmt: skip


def _nodes(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,5})(?::([0-9]{1,5}))?", text, re.ASCII)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 0 < least <= most:
        raise argparse.ArgumentTypeError(f"it must be MIN or MIN:MAX, with 0 < MIN <= MAX, not {text!r}")
    return least, most


def in_group(arguments: argparse.Namespace) -> bool:
    """Whether `graphflow launch` is to begin a group; UsageError for what cannot be with one."""
    if not arguments.standalone and arguments.nnodes is None:
        if arguments.rendezvous:
            raise UsageError("--rendezvous is for --nnodes.")
        return False
    if arguments.standalone and (arguments.nnodes is not None or arguments.rendezvous):
        raise UsageError("--standalone is for this machine alone: without --nnodes and --rendezvous.")
    if arguments.ps or arguments.chief or arguments.ps_program == "same" or arguments.hosts or arguments.on:
        raise UsageError(
            "--standalone and --nnodes begin workers that train by allreduce, of which worker 0 is the chief: without "
            "--ps, --chief, --ps-program, --hosts and --on. On each machine of Slurm or ssh, run this command with "
            "--nnodes and --rendezvous."
        )
    return True


def launch_group(
    arguments: argparse.Namespace, command: Sequence[str], environment: Mapping[str, str]
) -> int:
    """Runs `graphflow launch` for a group, on this node."""
    least, most = nodes = arguments.nnodes or (1, 1)
    try:
        access = keys.access("")
        address = arguments.rendezvous or f"{arguments.bind or _LOOPBACK}:0"
        host, port = split(address, any_port=not arguments.rendezvous)
        check_reach(address, access.keys, LOOK_UP_SECONDS)
        own = _own_host(host, port, arguments.bind)
    except (OSError, ValueError) as error:
        raise UsageError(str(error)) from error

    def meet() -> Meeting | None:
        rendezvous = Rendezvous(
            least, most, arguments.restart, lease_seconds=NODE_LEASE_SECONDS, settle_seconds=GROUP_SETTLE_SECONDS,
            wait_seconds=GROUP_WAIT_SECONDS, pause_seconds=LAUNCHER_RESTART_SECONDS,
        )  # fmt: skip
        try:
            return Meeting(rendezvous, address, access)
        except OSError as error:
            if error.errno in _ELSEWHERE:
                return None
            raise

    try:
        meeting = meet()
    except OSError as error:
        raise UsageError(str(error)) from error
    if meeting is not None and not arguments.rendezvous:
        address = meeting.address
        if most > 1:
            again = f"--nnodes {least}:{most} --rendezvous {address}"
            tell(f"graphflow: the other nodes join with {again}", sys.stderr)
    return Agent(
        Attendance(address, access), meet, meeting, own, nodes, arguments.workers,
        command, environment, arguments.local_devices, arguments.grace,
        False if os.environ.get("NO_COLOR") else None,
    ).run()  # fmt: skip


def _own_host(host: str, port: int, bind: str) -> str:
    """The address of this node's workers: that from which it reaches the rendezvous, unless it is given."""
    number = next(iter(resolve(host)[0]), "") if not is_number(host) else host
    if is_loopback(number) and not is_number(host) and host != "localhost":
        raise ValueError(f"{host} is this machine by a name that others cannot use: give its address.")
    if bind:
        return f"[{bind}]" if ":" in bind and not bind.startswith("[") else bind
    if not number or is_loopback(number):
        return _LOOPBACK
    family = socket.AF_INET6 if ":" in number else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
        probe.connect((number, port or 1))  # Nothing is sent.
        own = str(probe.getsockname()[0])
    return f"[{own}]" if ":" in own else own

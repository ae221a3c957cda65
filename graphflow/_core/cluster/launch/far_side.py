"""One task on another machine, at the far end of ssh: everything comes by standard input, and ends with it.

Nothing secret is on a command line, where all users of a machine see it. Standard input first has a line, an order as
JSON: what to run, where, in which environment, the key of the cluster; then as many bytes as it says, the program's
folder as an archive; then a line for each signal that the task shall get. When it ends, so does the task, at once, and
what was written for it is removed: whoever started it is gone, however that went.

It is run as `python -P -c "from graphflow._core.cluster.launch.far_side import main; main()"`.
"""

from __future__ import annotations

import io
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from graphflow._core.cluster.launch.children import end_with_parent
from graphflow._core.cluster.launch.guard import Guard
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.common.distribution import VERSION
from graphflow._core.common.timeouts import LAUNCHER_POLL_SECONDS
from graphflow._core.transport import keys

MOST_BYTES: Final = 256 << 20
"""Of an archive of the program's folder."""
_LONGEST_ORDER: Final = 16 << 20


def main() -> None:
    """Carries out the order that comes by standard input; ends the process with the status of what it ran."""
    # Unbuffered: what is read must not be missing from what the selector sees.
    channel = os.fdopen(0, "rb", buffering=0, closefd=False)
    try:
        order = json.loads(_line(channel))
    except ValueError:
        sys.exit("graphflow: the far side got no order: it is started by `graphflow launch --hosts`.")
    if order["do"] == "look":
        _look(order)
        return
    folder = tempfile.mkdtemp(prefix="graphflow-")  # Of mode 700.
    with Guard() as guard:  # Also if this process is killed, and not only what has started it.
        guard.watch_folder(folder)
        status = _run(order, folder, channel, guard)
    sys.stdout.flush()
    os._exit(status)


def _line(channel: io.RawIOBase) -> bytes:
    found = bytearray()
    while not found.endswith(b"\n"):
        data = channel.read(1)
        if not data or len(found) > _LONGEST_ORDER:
            break
        found += data
    return bytes(found)


def _look(order: Mapping[str, Any]) -> None:
    """Says what is here: the version, whether the program is there, free ports, the address that ssh has reached."""
    os.chdir(os.path.expanduser("~"))
    there = os.path.isdir(order["folder"])
    if there:
        os.chdir(order["folder"])
    with ReservedPorts(order["ports"]) as reserved:
        found = {
            "version": VERSION,
            "folder": there,
            "program": os.path.exists(order["program"]) or shutil.which(order["program"]) is not None,
            "ports": reserved.ports,
            "address": (os.environ.get("SSH_CONNECTION", "").split() or [""] * 4)[2:3],
        }
    print(json.dumps(found), flush=True)


def _run(order: Mapping[str, Any], folder: str, channel: io.RawIOBase, guard: Guard) -> int:
    environment = {**os.environ, **order["environment"]}
    if order["key"]:
        place = Path(folder, "key")
        place.mkdir(mode=0o700)
        keys.write(place, order["key"])
        environment[keys.VARIABLE] = str(place)
    where = order["folder"]
    if order["bytes"]:
        where = os.path.join(folder, "program")
        data = bytearray()
        while len(data) < order["bytes"]:
            more = channel.read(min(1 << 20, order["bytes"] - len(data)))
            if not more:
                return 128 + signal.SIGHUP
            data += more
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            archive.extractall(where, filter="data")
        environment["PWD"] = where
    try:
        process = subprocess.Popen(
            order["command"],
            cwd=where,
            env=environment,
            stdin=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=end_with_parent(()),
        )
    except OSError as error:
        print(f"graphflow: {error}", file=sys.stderr, flush=True)
        return 127
    guard.watch_group(process.pid)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, frame: _send(process.pid, got))
    return _watch(process, channel, guard)


def _watch(process: subprocess.Popen[bytes], channel: io.RawIOBase, guard: Guard) -> int:
    """Passes signals on until the task has ended; its status as a shell has it."""
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        words = b""
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            for _ in selector.select(LAUNCHER_POLL_SECONDS):
                data = os.read(0, 4096)
                *lines, words = (words + data).split(b"\n")
                for line in lines:
                    if line.isdigit():
                        _send(process.pid, int(line))
                if not data:
                    selector.unregister(channel)
                    _send(process.pid, signal.SIGKILL)
    _send(process.pid, signal.SIGKILL)  # What it has started itself.
    guard.forget_group(process.pid)
    code = process.wait()
    return code if code >= 0 else 128 - code


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError, ValueError, OSError):
        os.killpg(pid, number)

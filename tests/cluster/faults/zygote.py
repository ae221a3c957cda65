"""Starts the tasks of the lab by forking: what takes a second to import is imported once.

Reads one JSON list a line, [name, role, arguments]; writes "started NAME PID" and "ended NAME STATUS", where that is -n
for signal n. Ends with its standard input. It is started by its path, with the project on PYTHONPATH, so that modules
have the names here that the tests know them by.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import select
import signal
import sys
import traceback
from contextlib import suppress
from typing import Any

from tests.cluster.faults import hosts

_PR_SET_PDEATHSIG = 1
_MODULES = (
    "numpy",
    "zmq.utils.monitor",
    "cloudpickle",
    "graphflow._core.cluster.server.server",
    "graphflow._core.cluster.server.service",
    "graphflow._core.cluster.client.remote",
    "graphflow.train.saving.saver",
)


def main(folder: str, program: str = "tests.cluster.faults.task") -> None:
    """Serves until its standard input ends; files of tasks are in `folder`, what they do in a module's `run`."""
    task = importlib.import_module(program)

    for module in _MODULES:
        with suppress(ModuleNotFoundError):
            importlib.import_module(module)
    names: dict[int, str] = {}
    waking, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    rest = b""
    while True:
        ready, _, _ = select.select([0, waking], [], [])
        if waking in ready:
            os.read(waking, 64)
            with suppress(ChildProcessError):
                while True:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                    if not pid:
                        break
                    print("ended", names.pop(pid), os.waitstatus_to_exitcode(status), flush=True)
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                name, role, arguments = json.loads(line)
                pid = os.fork()
                if not pid:
                    _child(task, folder, name, role, arguments)
                names[pid] = name
                print("started", name, pid, flush=True)
    for pid in names:
        os.kill(pid, signal.SIGKILL)


def _child(task: Any, folder: str, name: str, role: str, arguments: dict[str, Any]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.setpgid(0, 0)
    log = os.open(f"{folder}/{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    status = 1
    try:
        if door := arguments.pop("door", None):
            hosts.enter(door)
        task.run(folder, name, role, **arguments)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if status:
            os._exit(status)
    sys.exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

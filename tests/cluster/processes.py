"""The processes of one run of a test: tasks and clients, forked from a process that has imported everything.

What a process does is the function `run(folder, name, role, **arguments)` of a module, such as
tests.cluster.once_role. It writes its log to FOLDER/NAME.log, and what it acknowledges to a file
FOLDER/acknowledged_NAME, a number a line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from graphflow._core.cluster.ports import ReservedPorts

_PROJECT = Path(__file__).parents[2]


class Processes:
    """Starts, kills and awaits processes. A context manager, at whose end none is left.

    counts: the tasks of the cluster, by job.
    """

    def __init__(self, folder: Path, program: str, counts: Mapping[str, int]) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._ports = ReservedPorts(sum(counts.values()))
        addresses = iter(f"127.0.0.1:{port}" for port in self._ports.ports)
        self.spec = {job: [next(addresses) for _ in range(n)] for job, n in counts.items()}
        self._lives: dict[str, int] = {}
        self._pids: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._news = threading.Condition()
        self._zygote = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("faults") / "zygote.py"), str(folder), program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(_PROJECT), "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        assert self._zygote.stdout is not None
        for line in self._zygote.stdout:
            word, name, number = line.split()
            with self._news:
                (self._pids if word == "started" else self._ends)[name] = int(number)
                self._news.notify_all()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._zygote.stdin is not None and self._zygote.stdout is not None
        self._zygote.stdin.close()  # It kills what is left, and ends.
        self._zygote.wait(60)
        self._reader.join(60)
        self._zygote.stdout.close()
        self._ports.close()

    # ---- doing ----------------------------------------------------------------------------------------------------

    def start(self, role: str, index: int, **arguments: Any) -> str:
        """Starts ROLE INDEX, or starts it again; the name of the process."""
        key = f"{role}_{index}"
        life = self._lives[key] = self._lives.get(key, -1) + 1
        name = f"{key}_{life}"
        order = {"index": index, "life": life, "spec": self.spec, **arguments}
        assert self._zygote.stdin is not None
        self._zygote.stdin.write(f"{json.dumps([name, role, order])}\n")
        self._zygote.stdin.flush()
        self._await(lambda: name in self._pids, f"{name} to start", 120)
        return name

    def signal(self, role: str, index: int, number: signal.Signals) -> None:
        """Sends a signal to the latest process of a role; returns once a killed one is gone."""
        name = self.latest(role, index)
        os.kill(self._pids[name], number)
        if number == signal.SIGKILL:
            self._await(lambda: name in self._ends, f"the end of {name}", 60)

    def latest(self, role: str, index: int) -> str:
        """The name of the latest process of a role."""
        return f"{role}_{index}_{self._lives[f'{role}_{index}']}"

    # ---- waiting --------------------------------------------------------------------------------------------------

    def _await(self, there: Callable[[], bool], what: str, seconds: float) -> None:
        with self._news:
            assert self._news.wait_for(there, seconds), f"waited for {what}\n{self.text()}"

    def ended(self, role: str, index: int, seconds: float = 120) -> int:
        """Waits for the end of the latest process of a role: its status."""
        name = self.latest(role, index)
        self._await(lambda: name in self._ends, f"the end of {name}", seconds)
        return self._ends[name]

    def acknowledged(self, name: str = "*") -> list[int]:
        """All that the processes have acknowledged, or one of them."""
        files = sorted(self.folder.glob(f"acknowledged_{name}"))
        return [int(line) for file in files for line in file.read_text().split("\n")[:-1]]

    def wait_until(self, count: int, name: str = "*", seconds: float = 120) -> None:
        """Until so much is acknowledged, in all or by one process."""
        limit = time.monotonic() + seconds
        while len(self.acknowledged(name)) < count:
            assert time.monotonic() < limit, f"{len(self.acknowledged(name))} of {count}\n{self.text()}"
            time.sleep(0.005)

    def log(self, name: str) -> str:
        """What a process has written."""
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def text(self) -> str:
        """The ends of all logs, for a failure's text."""
        return "\n".join(f"--- {path.stem}\n{path.read_text()[-2500:]}" for path in self.folder.glob("*.log"))

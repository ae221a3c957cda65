"""An allreduce between processes of one machine, by graphflow or by PyTorch's gloo.

Serves `collectives.py`: run as `PYTHON collectives_workloads.py MODULE RANKS`, it starts the ranks as processes, prints
"ready", and answers each line on its input: "measure WORKLOAD" with the seconds of an allreduce, the ranks being in
step and the slowest counting; "quit". For graphflow an allreduce is one call of a session on the rank's own server,
made by Session.make_callable, with an array fed and the sum fetched; "chain WORKLOAD" answers with the seconds of one
of the ten that follow each other in a single step. For PyTorch it is torch.distributed.all_reduce, in place.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

WORKLOADS = {"40 B": 10, "1 MB": 250_000, "100 MB": 25_000_000}
"""Elements of float32."""
SECONDS = 0.3
"""Of one measurement, about."""
WARM = 4
"""Calls before each measurement, which are not timed: memory that was not used for seconds has been given back."""
CHAIN = 10
MOST_CHAINED = 1 << 20
"""Elements up to which allreduces are chained: each result is kept for the next."""


def graphflow_steps(rank: int, addresses: list[str]) -> dict[str, Callable[[], Any]]:
    """What each measurement calls, in one rank of graphflow's."""
    import graphflow as gf

    server = gf.train.Server({"worker": addresses}, "worker", rank)
    session = gf.Session(server.target)
    steps: dict[str, Callable[[], Any]] = {}
    key = 0
    for name, size in WORKLOADS.items():
        with gf.device(f"/job:worker/task:{rank}"):
            fed = gf.placeholder(gf.float32, [size])
            value = fed
            for place in range(CHAIN if size <= MOST_CHAINED else 1):
                key += 1
                value = gf.distribute.all_reduce(value, len(addresses), 1, key)
                if place == 0:
                    steps[name] = _fed(session.make_callable(value, [fed]), size)
        if size <= MOST_CHAINED:
            steps[f"chain {name}"] = _fed(session.make_callable(value.op, [fed]), size)
    return steps


def _fed(step: Callable[[Any], Any], size: int) -> Callable[[], Any]:
    array = np.zeros(size, np.float32)
    return lambda: step(array)


def torch_steps(rank: int, addresses: list[str]) -> dict[str, Callable[[], Any]]:
    """What each measurement calls, in one rank of PyTorch's."""
    import torch
    import torch.distributed

    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://{addresses[0]}", rank=rank, world_size=len(addresses)
    )

    def step_of(size: int) -> Callable[[], Any]:
        tensor = torch.zeros(size)
        return lambda: torch.distributed.all_reduce(tensor)

    return {name: step_of(size) for name, size in WORKLOADS.items()}


def be_rank(module: str, rank: int, addresses: list[str]) -> None:
    """Answers "WORKLOAD CALLS" with the seconds of a call."""
    steps = (graphflow_steps if module == "graphflow" else torch_steps)(rank, addresses)
    print("ready", flush=True)
    for line in sys.stdin:
        name, _, calls = line.strip().rpartition(" ")
        step = steps[name]
        for _ in range(WARM):
            step()
        start = time.perf_counter()
        for _ in range(int(calls)):
            step()
        print((time.perf_counter() - start) / int(calls), flush=True)


class Ranks:
    """The processes of one module."""

    def __init__(self, module: str, count: int) -> None:
        sockets = [socket.socket() for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
        for s in sockets:
            s.close()
        self.processes = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-W",
                    "ignore",
                    __file__,
                    "--rank",
                    module,
                    str(rank),
                    json.dumps(addresses),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(count)
        ]
        self._lines("ready")

    def _lines(self, what: str) -> list[str]:
        found = [process.stdout.readline().strip() for process in self.processes if process.stdout]
        if not all(found) or (what and set(found) != {what}):
            raise RuntimeError(f"a rank ended: {found}")
        return found

    def seconds(self, name: str, calls: int) -> float:
        """The seconds of a call, at the slowest rank."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(f"{name} {calls}\n")
            process.stdin.flush()
        return max(map(float, self._lines("")))

    def measure(self, name: str) -> float:
        """The seconds of a call, over about SECONDS."""
        calls = max(2, int(SECONDS / max(1e-6, self.seconds(name, 3))))
        return self.seconds(name, min(calls, 3000))

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def main(module: str, count: int) -> None:
    """Answers the lines of the input."""
    ranks = Ranks(module, count)
    try:
        for name in [*WORKLOADS] * 2:
            ranks.measure(name)
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            what, _, name = line.strip().partition(" ")
            if what == "quit":
                break
            chained = what == "chain"
            seconds = ranks.measure(f"chain {name}" if chained else name)
            print(json.dumps({"seconds": seconds / CHAIN if chained else seconds}), flush=True)
    finally:
        ranks.close()


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        be_rank(sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
    else:
        main(sys.argv[1], int(sys.argv[2]))

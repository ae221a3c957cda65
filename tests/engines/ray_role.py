"""What the workers of test_ray.py run. Ray hands these functions over by their names."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import graphflow as gf
from tests.cluster import collective_role, once_role


def who() -> tuple[str, int, int]:
    """Which task this is, and how large its cluster."""
    cluster, job, index = gf.train.task_from_environment()
    return job, index, sum(map(cluster.num_tasks, cluster.jobs))


def key_of_process(actor: object) -> str:
    """The text of the key that a task has."""
    (path,) = Path(os.environ["GRAPHFLOW_KEYS"]).iterdir()
    return path.read_text()


def folder_of_key(actor: object) -> str:
    """Where a task has its key."""
    return os.environ["GRAPHFLOW_KEYS"]


class Fails:
    """A program that raises an error in worker 1, for which the others wait."""

    def __call__(self) -> None:
        if who()[1] == 1:
            raise ArithmeticError("worker 1 cannot count")
        time.sleep(600)


class Reduces:
    """A training by allreduce: see collective_role.py."""

    def __init__(self, folder: Path, steps: int) -> None:
        self.folder = folder
        self.steps = steps

    def __call__(self) -> None:
        spec, _, index = gf.train.task_from_environment()
        name = f"worker_{index}_{os.environ['GRAPHFLOW_INCARNATION']}"
        collective_role.train(str(self.folder), name, index, spec, self.steps)


class Trains:
    """A training in which each run has a tag, until there is a file "finish": see once_role.py."""

    def __init__(self, folder: Path, save_steps: int) -> None:
        self.folder = folder
        self.save_steps = save_steps

    def __call__(self) -> Any:
        _, index, _ = who()
        server = gf.train.Server.from_environment()
        life = int(os.environ["GRAPHFLOW_INCARNATION"]) - 1
        name = f"trainer_{index}_{life}"
        (self.folder / f"pid_{index}").write_text(str(os.getpid()))
        once_role.train(self.folder, name, server, index, self.save_steps)
        return server.target

"""A training of two ps and two workers on a Kubernetes of this machine, as `graphflow launch --print` writes it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tests.engines.kubernetes_here import IMAGE, PROJECT, Kubernetes, volume

TRAINS: Final = """
import os, sys
from pathlib import Path
import graphflow as gf
from tests.cluster import once_role
folder = Path(sys.argv[1])
cluster, job, index = gf.train.task_from_environment()
life = gf.distribute.cluster_resolver.resolver_from_environment().incarnation()
printed = (folder / f"printed_{index}_{life}").open("w")  # What a pod has printed goes with it.
os.dup2(printed.fileno(), 1)
os.dup2(printed.fileno(), 2)
server = gf.train.Server.from_environment()
once_role.train(folder, f"trainer_{index}_{life}", server, index, 10)
"""
SAVE_STEPS: Final = 10
FILES: Final = {"train.py": TRAINS}
TASKS: Final = ("ps-0", "ps-1", "worker-0", "worker-1")
FORCED: Final = ("--force", "--grace-period=0", "--wait=false")
"""How a user says that a pod which is not heard of has ended."""


class Job:
    """A context manager, at whose end the API has nothing of it. folder: the volume at /checkpoints."""

    def __init__(self, cluster: Kubernetes, folder: Path, name: str = "train") -> None:
        self.cluster, self.folder, self.name = cluster, folder, name

    def __enter__(self) -> Job:
        words = [
            sys.executable, "-P", "-m", "graphflow.cli", "launch", "--on", "kubernetes", "--print", "--image", IMAGE,
            "--python", sys.executable, "--name", self.name, "--ps", "2", "--workers", "2", "train.py", "/checkpoints",
        ]  # fmt: skip
        printed = subprocess.run(
            words, capture_output=True, text=True, timeout=300, check=True,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
        ).stdout  # fmt: skip
        asked = self.cluster.asked("create", "--dry-run=client", "-o", "json", "-f", "-", text=printed)
        manifests = [self.cluster.mounted(one) for one in _documents(asked)]
        listed = {"apiVersion": "v1", "kind": "List", "items": [volume(self.name, self.folder), *manifests]}
        self.cluster.asked("apply", "-f", "-", text=json.dumps(listed))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours = ["-l", f"app.kubernetes.io/instance={self.name}"]
        self.cluster.asked("delete", "statefulset,service,secret", *ours, "--wait=false", check=False)
        self.cluster.asked("delete", "pods", *ours, *FORCED, check=False)
        self.cluster.asked("delete", "pvc", *ours, "--wait=false", check=False)
        self.cluster.asked("delete", "pv", self.name, "--wait=false", check=False)
        if error is None:
            self.until(lambda: not any(self.processes(task) for task in TASKS), "the end of all tasks")

    def until(self, there: Callable[[], object], what: str) -> None:
        """Waits for a state."""
        self.cluster.until(there, what, self.text)

    def text(self) -> str:
        """The ends of what the tasks have printed."""
        found = {task: self.log(task) for task in TASKS} | self.printed()
        return "\n".join(f"=== {name}\n{text[-3000:]}" for name, text in found.items())

    def printed(self) -> dict[str, str]:
        """What each life of each worker's program has printed."""
        return {path.name: path.read_text(errors="replace") for path in sorted(self.folder.glob("printed_*"))}

    def log(self, task: str) -> str:
        """What a task's container has printed, and the one before in the same pod."""
        return "".join(
            self.cluster.asked("logs", f"{self.name}-{task}", *more, check=False)
            for more in (["--previous"], [])
        )

    def pod(self, task: str) -> dict[str, Any]:
        """A task's pod, as the API knows it."""
        return self.cluster.object("pod", f"{self.name}-{task}")

    def place(self, task: str) -> tuple[str, str, str, int]:
        """Its pod's identity, address and node, and how often its container was begun anew."""
        pod = self.pod(task)
        status = pod.get("status", {})
        restarts = sum(one["restartCount"] for one in status.get("containerStatuses", ()))
        return (
            pod.get("metadata", {}).get("uid", ""),
            status.get("podIP", ""),
            pod.get("spec", {}).get("nodeName", ""),
            restarts,
        )

    def processes(self, task: str) -> dict[int, list[str]]:
        """Its processes, by their numbers on this machine."""
        return self.cluster.processes(f"{self.name}-{task}")

    def kill(self, task: str) -> None:
        """Kills the process that serves, or that is the program, as `kill -9` in the container would."""
        found = self.processes(task)
        word = "serve" if task.startswith("ps") else "train.py"
        program = min(n for n, words in found.items() if word in words and "--stay" not in words)
        os.kill(program, signal.SIGKILL)

    def delete(self, task: str, *how: str) -> None:
        """Deletes a pod."""
        self.cluster.asked("delete", "pod", f"{self.name}-{task}", *(how or ("--wait=false",)))

    def acknowledged(self, name: str = "*") -> list[int]:
        """The tags of the steps that a worker, or all of them, knows to be done."""
        files = sorted(self.folder.glob(f"acknowledged_trainer_{name}"))
        return [int(line) for file in files for line in file.read_text().split("\n")[:-1]]

    def later(self, steps: int = 30) -> None:
        """Until there were more steps of each worker."""
        for index in range(2):
            before = len(self.acknowledged(f"{index}_*"))
            self.until(
                lambda index=index, before=before: len(self.acknowledged(f"{index}_*")) >= before + steps,
                f"steps of worker {index}",
            )

    def saved(self) -> bool:
        """Whether there is a checkpoint of a step that was trained."""
        return any(
            not path.name.endswith("-0.safetensors") for path in self.folder.glob("model/*-*.safetensors")
        )

    def begun(self) -> None:
        """Until both workers train, and there is a checkpoint."""
        self.until(
            lambda: self.saved() and all(self.acknowledged(f"{n}_*") for n in range(2)), "a checkpoint"
        )

    def finish(self) -> dict[str, Any]:
        """Ends the training, and says what it ended with."""
        (self.folder / "finish").touch()
        self.until((self.folder / "result").exists, "the result")
        found: dict[str, Any] = json.loads((self.folder / "result").read_text())
        return found

    def gone_back(self) -> dict[int, int]:
        """The steps from which training went on after a loss, and the latest before it, as any worker has said."""
        found: dict[int, int] = {}
        for text in self.printed().values():
            told = re.findall(r"Training goes back from step (\d+) to step (\d+)", text)
            told += re.findall(r"at step (\d+); they are restored to step (\d+)", text)
            told += [(step, step) for step in re.findall(r"Training goes on from step (\d+)", text)]
            for before, after in told:
                found[int(after)] = max(int(before), found.get(int(after), 0))
        return found


def _documents(text: str) -> list[dict[str, Any]]:
    """The objects that kubectl prints as JSON, one after the other."""
    decoder, found = json.JSONDecoder(), []
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        found += value["items"] if value["kind"] == "List" else [value]
        text = text[end:]
    return found

"""Measures how long a training stands still when a process or a host of it is lost, on each engine that runs here.

    make recovery

writes the table of docs/engines.md. A training of two ps and two workers saves every ten steps. "Stands still" is the
longest pause between two steps that were acknowledged, by whichever worker, around the loss.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import graphflow as gf
from tests.cluster.processes import Processes
from tests.engines.kubernetes_here import Kubernetes, lack
from tests.engines.kubernetes_job import FILES, FORCED, TASKS
from tests.engines.kubernetes_job import Job as KubernetesJob
from tests.engines.ray_role import Trains
from tests.engines.slurm_here import Job, Slurm
from tests.engines.ssh_here import TRAINS, Hosts

PAGE: Final = Path(__file__).parents[2] / "docs" / "engines.md"
LEASE: Final = 10.0
_BEGIN, _END = "<!-- recovery, written by `make recovery` -->\n", "<!-- end -->\n"
_STEPS: Final = 30
CUT: Final = 30.0
"""Seconds for which a cable is pulled."""
NOT_READY_AFTER: Final = 40
"""Seconds after which Kubernetes takes a silent node for lost, if nobody says otherwise."""


class Pauses:
    """When steps were acknowledged by the workers of a training."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.times: list[tuple[float, int]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def count(self) -> int:
        """How many steps there were."""
        return sum(path.read_text().count("\n") for path in self.folder.glob("acknowledged_*"))

    def _look(self) -> None:
        while not self._ended.wait(0.02):
            count = self.count()
            if not self.times or count > self.times[-1][1]:
                self.times.append((time.monotonic(), count))

    def later(self) -> None:
        """Until there were some steps more."""
        wanted, limit = self.count() + _STEPS, time.monotonic() + 300
        while self.count() < wanted:
            assert time.monotonic() < limit, "the training does not go on"
            time.sleep(0.02)

    def around(self, loss: float) -> float:
        """The longest pause that ended after a moment."""
        times = [moment for moment, _ in self.times]
        return max(after - before for before, after in pairwise(times) if after > loss)

    def end(self) -> None:
        """Notes no more."""
        self._ended.set()
        self._thread.join()


def measured(folder: Path, lose: Callable[[], object]) -> float:
    """How long a training in a folder stands still when something is lost."""
    pauses = Pauses(folder)
    try:
        pauses.later()
        lost = time.monotonic()
        lose()
        pauses.later()
        time.sleep(2.0)  # A worker alone may have gone on for a moment.
        pauses.later()
        return pauses.around(lost)
    finally:
        pauses.end()


def on_this_machine(role: str) -> float:
    """`graphflow launch --restart`, which begins a process anew after half a second: here, the same by hand."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Processes(Path(folder), "tests.cluster.once_role", {"ps": 2, "worker": 2}) as run,
    ):
        for index in range(2):
            run.start("ps", index)
        for index in range(2):
            run.start("trainer", index, save_steps=10)

        def lose() -> None:
            run.signal(role, 1, signal.SIGKILL)
            time.sleep(0.5)
            run.start(role, 1, **({"save_steps": 10} if role == "trainer" else {}))

        found = measured(Path(folder), lose)
        (Path(folder) / "finish").touch()
        run.ended("trainer", 0)
        return found


def on_ray(what: str) -> float:
    """On a Ray of three nodes, which are processes of this machine."""
    ray: Any = import_module("ray")
    nodes = import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    nodes.add_node(num_cpus=1)
    nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, namespace="graphflow", log_to_driver=False)
    try:
        small = {"ps": 0.25, "worker": 0.25}
        with (
            tempfile.TemporaryDirectory() as text,
            gf.cluster.RayCluster(2, 2, cpus=small, lease_seconds=LEASE) as cluster,
        ):
            folder = Path(text)
            thread = threading.Thread(target=cluster.run, args=(Trains(folder, 10),))
            thread.start()

            def process(task: str) -> tuple[int, str, int, str]:
                return cluster._ask("process", task)

            def lose() -> None:
                if what == "host":
                    others = {node.node_id: node for node in nodes.worker_nodes}
                    host = next(others[process(ps)[1]] for ps in ("ps-1", "ps-0") if process(ps)[1] in others)
                    nodes.remove_node(host, allow_graceful=False)
                else:
                    number = signal.SIGSTOP if what == "stopped" else signal.SIGKILL
                    os.kill(process("worker-1" if what == "worker" else "ps-1")[2], number)

            found = measured(folder, lose)
            if what == "host":
                print(
                    [f"{event.kind} {event.job} {event.index}" for event in cluster.events()], file=sys.stderr
                )
            (folder / "finish").touch()
            thread.join(120)
            return found
    finally:
        ray.shutdown()
        nodes.shutdown()


def on_ssh(what: str) -> float:
    """Over ssh to two hosts, which are namespaces of this machine; a cable that is pulled is put back after a while."""
    with (
        tempfile.TemporaryDirectory(prefix="gf-ssh-") as own,
        Hosts(Path(own), 2) as hosts,
        tempfile.TemporaryDirectory() as text,
    ):
        folder = Path(text)
        (folder / "train.py").write_text(TRAINS)
        words = [
            "--hosts",
            ",".join(hosts.addresses),
            "--restart",
            "10",
            "--ps",
            "2",
            "--workers",
            "2",
            "train.py",
        ]
        process = hosts.launch(*words, text, folder=folder)
        limit = time.monotonic() + 120
        while not all(any(folder.glob(f"acknowledged_trainer_{index}_*")) for index in range(2)):
            assert time.monotonic() < limit and process.poll() is None, (folder / "printed").read_text()
            time.sleep(0.05)

        def lose() -> None:
            if what == "host":
                hosts.plug(1, False)
                time.sleep(CUT)
                hosts.plug(1, True)
            else:
                hosts.kill(1, "serve" if what == "ps" else "train.py")

        try:
            found = measured(folder, lose)
            (folder / "finish").touch()
            process.wait(120)
            return found
        finally:
            process.kill()
            process.wait()


_TRAINS_ON_SLURM: Final = TRAINS.replace("incarnation())", "incarnation().replace('.', ''))")
"""The life of a task is how often its job was begun anew, and how often the task within the job."""


def on_slurm(what: str) -> float:
    """On a Slurm of one node, which is this machine; a lost node has its job put into the queue again."""
    with (
        tempfile.TemporaryDirectory(prefix="gf-slurm-") as own,
        Slurm(Path(own)) as slurm,
        tempfile.TemporaryDirectory() as text,
    ):
        folder = Path(text)
        options = ["--ps", "2", "--workers", "2", "--restart", "10", "--sbatch=--requeue"]
        job = Job(slurm, folder, _TRAINS_ON_SLURM, *options)
        job.until(
            lambda: (
                job.has_saved() and all(any(folder.glob(f"acknowledged_trainer_{n}_*")) for n in range(2))
            ),
            "a checkpoint",
        )

        def lose() -> None:
            if what == "host":
                slurm.asked("scontrol", "requeue", job.number)
            else:
                os.kill(_task(folder, what), signal.SIGKILL)

        found = measured(folder, lose)
        (folder / "finish").touch()
        job.ended()
        return found


def _task(folder: Path, what: str) -> int:
    """The process of ps 1, or of worker 1's program, of the job in a folder."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            own = (path / "environ").read_bytes().split(b"\0")
            place = b'"type": "' + what.encode() + b'", "index": 1'
            here = f"HOME={folder}".encode() in own and any(
                word.startswith(b"TF_CONFIG=") and place in word for word in own
            )
            if here and (b"serve" in words if what == "ps" else str(folder / "program.py").encode() in words):
                return int(path.name)
    raise AssertionError(f"there is no {what} 1 of {folder}")


def on_kubernetes(what: str) -> float:
    """On a Kubernetes of two nodes, which are namespaces here; the pods of a lost one are deleted by force."""
    with (
        tempfile.TemporaryDirectory(prefix="gf-k8s-") as own,
        Kubernetes(Path(own), FILES, NOT_READY_AFTER) as cluster,
        tempfile.TemporaryDirectory() as text,
        KubernetesJob(cluster, Path(text)) as job,
    ):
        job.begun()
        node = job.place("ps-1")[2]

        def lose() -> None:
            if what == "host":
                there = [task for task in TASKS if job.place(task)[2] == node]
                cluster.end(node)
                job.until(lambda: not cluster.ready(node), "the node to count as lost")
                for task in there:
                    job.delete(task, *FORCED)
            elif what == "pod":
                before = job.place("ps-1")[0]
                job.delete("ps-1")
                job.until(lambda: job.place("ps-1")[0] not in ("", before), "the next pod")
            else:
                job.kill(f"{what}-1")

        found = measured(job.folder, lose)
        (job.folder / "finish").touch()
        return found


ROWS: Final[dict[str, tuple[str, Callable[[], float]]]] = {
    "this machine, a worker is killed": (
        "others go on; begun anew after 0.5 s",
        lambda: on_this_machine("trainer"),
    ),
    "this machine, a ps is killed": ("begun anew after 0.5 s", lambda: on_this_machine("ps")),
    "Ray, a worker is killed": ("others go on", lambda: on_ray("worker")),
    "Ray, a ps is killed": ("begun anew on its node", lambda: on_ray("ps")),
    "Ray, a ps stands still": (f"killed when its lease of {LEASE:g} s has lapsed", lambda: on_ray("stopped")),
    "Ray, the host of a ps is lost": (
        f"elsewhere, when its lease of {LEASE:g} s has lapsed",
        lambda: on_ray("host"),
    ),
    "Slurm, a worker is killed": ("others go on; begun anew after 0.5 s", lambda: on_slurm("worker")),
    "Slurm, a ps is killed": ("begun anew after 0.5 s, on its node", lambda: on_slurm("ps")),
    "Slurm, the job is put into the queue again, as when a node is lost": (
        "all tasks begin anew where there is room",
        lambda: on_slurm("host"),
    ),
    "ssh, a worker is killed": ("others go on; begun anew after 0.5 s", lambda: on_ssh("worker")),
    "ssh, a ps is killed": ("begun anew after 0.5 s", lambda: on_ssh("ps")),
    "ssh, the host of a ps is cut off": (
        f"its tasks end after 15 s, and begin anew when it is there again, here after {CUT:g} s",
        lambda: on_ssh("host"),
    ),
    "Kubernetes, a worker is killed": (
        "others go on; begun anew in its pod",
        lambda: on_kubernetes("worker"),
    ),
    "Kubernetes, a ps is killed": ("begun anew in its pod", lambda: on_kubernetes("ps")),
    "Kubernetes, the pod of a ps is deleted": (
        "it serves on while the chief could save, and is made anew, at another address",
        lambda: on_kubernetes("pod"),
    ),
    "Kubernetes, the node of a ps is lost": (
        f"counts as lost after {NOT_READY_AFTER} s; its pods are deleted by force, here at once, and made elsewhere",
        lambda: on_kubernetes("host"),
    ),
}


def main() -> None:
    """Measures all of it, or what has one of the given words in its name, and writes the table."""
    page, wanted = PAGE.read_text(), sys.argv[1:]
    lines = ["| engine, and what is lost | what happens | training stands still |", "|--|--|--|"]
    for name, (what, measure) in ROWS.items():
        before = re.search(rf"^\| {re.escape(name)} \|.*$", page, re.MULTILINE)
        absent = name.startswith("Kubernetes") and lack()
        if absent:
            print(f"{name}: {absent}", file=sys.stderr)
        if before is not None and (absent or (wanted and not any(word in name for word in wanted))):
            lines.append(before[0])
            continue
        seconds = measure()
        print(f"{name}: {seconds:.1f} s", flush=True)
        lines.append(f"| {name} | {what} | {seconds:.1f} s |")
    where = (
        f"Measured once on {os.cpu_count()} cores, Python {platform.python_version()}, Ray {version('ray')}:"
    )
    table = "\n".join(["", where, "", *lines, "", ""])
    PAGE.write_text(re.sub(f"{_BEGIN}.*?{_END}", lambda _: _BEGIN + table + _END, page, flags=re.DOTALL))


if __name__ == "__main__":
    main()

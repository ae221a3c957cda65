"""Protects clusters on Ray, with the real one: who is who, what is told of failures, what is lost and comes back."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.on_ray import cluster as on_ray
from tests.cluster import collective_role
from tests.cluster.test_collective_kills import STEPS, alone
from tests.engines.conftest import missing
from tests.engines.ray_role import Fails, Reduces, Trains, folder_of_key, key_of_process, who

# As `ray start` has it where there is a token: one who uses the address "auto" shows it, and so the cluster is to ask.
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
try:
    ray: Any = import_module("ray")
except ImportError:
    missing("Ray is not installed")

WITHIN = 240.0
SMALL = {"ps": 0.25, "worker": 0.25}
LEASE = 6.0


@pytest.fixture(scope="module", autouse=True)
def one_ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A Ray of this machine with two nodes, so that there is another one to move to."""
    path = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{Path(__file__).parents[2]}{os.pathsep}{path}"
    with tempfile.TemporaryDirectory(prefix="gf-ray-") as folder:  # Short, since Unix sockets lie in it.
        os.environ["RAY_TMPDIR"] = folder
        found = import_module("ray.cluster_utils").Cluster(
            initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
        )
        found.add_node(num_cpus=2)
        ray.init(address=found.address, namespace="graphflow", log_to_driver=False)
        NODES.append(found)
        yield
        ray.shutdown()
        found.shutdown()


NODES: list[Any] = []


def until(there: Callable[[], bool], what: str, also: Callable[[], object] = str) -> None:
    limit = time.monotonic() + WITHIN
    while not there():
        assert time.monotonic() < limit, f"waited for {what}: {also()}"
        time.sleep(0.05)


def begin(**options: Any) -> gf.cluster.RayCluster:
    return gf.cluster.RayCluster(cpus=SMALL, lease_seconds=LEASE, **options)


def kinds(cluster: gf.cluster.RayCluster, job: str, index: int) -> list[str]:
    return [event.kind for event in cluster.events() if (event.job, event.index) == (job, index)]


def send(number: int, name: Callable[[], int]) -> None:
    """Sends a signal to the process that is named, or, if it has just ended, to the one that is named next."""

    def done() -> bool:
        try:
            os.kill(name(), number)
        except ProcessLookupError:  # A busy machine: the engine took it to be silent, and has begun it anew.
            return False
        return True

    until(done, "a process that takes a signal")


def comes_back(cluster: gf.cluster.RayCluster, job: str, index: int, lose: Callable[[], object]) -> None:
    """Loses a task, and waits until it was begun anew since."""
    before = len(kinds(cluster, job, index))
    lose()
    until(
        lambda: not {"restarted", "moved"}.isdisjoint(kinds(cluster, job, index)[before:]),
        f"{job} {index} to come back",
        cluster.events,
    )


class Training:
    """A training on a cluster, in a thread."""

    def __init__(self, cluster: gf.cluster.RayCluster, folder: Path, program: Any = None) -> None:
        self.cluster, self.folder = cluster, folder
        self._program = program or Trains(folder, 10)
        self.result: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self.cluster.run(self._program)
        except BaseException as error:
            self.error = error

    def acknowledged(self) -> list[int]:
        files = sorted(self.folder.glob("acknowledged_*"))
        return [int(line) for file in files for line in file.read_text().split("\n")[:-1]]

    def later(self, steps: int = 30) -> None:
        """Until so many steps more are acknowledged."""
        wanted = len(self.acknowledged()) + steps
        until(
            lambda: self.error is not None or len(self.acknowledged()) >= wanted,
            f"{wanted} steps",
            lambda: self.cluster.events(),
        )
        assert self.error is None, self.error

    def wait(self) -> None:
        """Waits for its end."""
        self._thread.join(WITHIN)
        assert self.error is None and not self._thread.is_alive(), (self.error, self.cluster.events())

    def end(self) -> None:
        """Ends it, and sees that each update counts once, and that what was acknowledged is there or logged as lost."""
        (self.folder / "finish").touch()
        self.wait()
        found = json.loads((self.folder / "result").read_text())
        ledgers = [{int(tag): count for tag, count in ledger.items()} for ledger in found["ledgers"]]
        assert {count for ledger in ledgers for count in ledger.values()} == {1.0}, (
            "an update was applied twice"
        )
        assert self.acknowledged()[-1] in ledgers[0].keys() & ledgers[1].keys()


@pytest.fixture(scope="module")
def small(one_ray: None) -> Iterator[gf.cluster.RayCluster]:
    """A cluster for tests that lose nothing."""
    with begin(ps=1, workers=2) as cluster:
        yield cluster
    assert len(cluster.events()) == 3, "after its end it has forgotten what has happened"


def test_a_function_runs_in_each_worker_and_the_chiefs_result_comes_back(
    small: gf.cluster.RayCluster,
) -> None:
    assert small.run(who) == ("worker", 0, 3)
    until(lambda: len(small.events()) == 3, "three starts")
    assert {event.kind for event in small.events()} == {"started"}


def test_the_key_of_a_cluster_is_in_nothing_that_ray_writes(small: gf.cluster.RayCluster) -> None:
    text = ray.get(small.actor("worker", 0).__ray_call__.remote(key_of_process))
    halves = [line.split()[1] for line in text.splitlines() if line.split()[0] in ("server", "client")]
    assert len(halves) == 2
    looked = 0
    for path in Path(os.environ["RAY_TMPDIR"]).rglob("*"):
        if path.is_file():
            looked += 1
            data = path.read_bytes()
            assert not any(half.encode() in data for half in halves), path
    assert looked > 5


def test_no_key_is_left_of_a_task_that_ray_has_killed() -> None:
    with begin(ps=1, workers=1) as cluster:
        tasks = [cluster.actor(job, 0) for job in ("ps", "worker")]
        folders = [Path(ray.get(task.__ray_call__.remote(folder_of_key))) for task in tasks]
        assert all(folder.is_dir() for folder in folders)
    until(lambda: not any(folder.exists() for folder in folders), "the removal of keys")


def test_a_registry_that_stands_still_is_not_waited_for_for_ever(
    small: gf.cluster.RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "REGISTRY_ANSWER_SECONDS", 1.0)
    until(lambda: len(small.events()) == 3, "three starts")
    registry = ray.get(
        ray.get_actor(f"{small.name}/registry", namespace="graphflow").__ray_call__.remote(
            lambda self: os.getpid()
        )
    )
    os.kill(registry, signal.SIGSTOP)
    begun = time.monotonic()
    assert [event.kind for event in small.events()] == ["started"] * 3, "what was known is forgotten"
    assert time.monotonic() - begun < 60
    os.kill(registry, signal.SIGCONT)


def test_a_program_that_fails_is_named_with_its_host_and_traceback(small: gf.cluster.RayCluster) -> None:
    with pytest.raises(gf.cluster.TaskFailed) as failed:
        small.run(Fails())
    error = failed.value
    assert (error.job, error.index) == ("worker", 1) and error.host == ray.util.get_node_ip_address()
    assert "ArithmeticError: worker 1 cannot count" in error.traceback and "ray_role.py" in error.traceback


def test_what_is_killed_or_stands_still_comes_back_what_is_on_a_lost_host_elsewhere_and_each_update_counts_once(
    tmp_path: Path,
) -> None:
    (nodes,) = NODES
    lost = nodes.add_node(num_cpus=1, resources={"third": 1})
    with begin(ps=2, workers=2) as cluster:
        training = Training(cluster, tmp_path)
        training.later()
        comes_back(
            cluster, "worker", 1, lambda: send(signal.SIGKILL, lambda: int((tmp_path / "pid_1").read_text()))
        )
        assert kinds(cluster, "worker", 1)[:2] == ["started", "lost"]
        training.later()
        comes_back(cluster, "ps", 1, lambda: ray.kill(cluster.actor("ps", 1), no_restart=False))
        training.later()
        stopped = time.monotonic()
        comes_back(cluster, "ps", 0, lambda: send(signal.SIGSTOP, lambda: _process(cluster, "ps-0")[2]))
        assert time.monotonic() - stopped > LEASE / 2
        training.later()
        tasks = ("ps-0", "ps-1", "worker-0", "worker-1")
        there = [name for name in tasks if _process(cluster, name)[1] == lost.node_id]
        assert there, "no task is on the third node"
        nodes.remove_node(lost, allow_graceful=False)
        for name in there:
            job, _, index = name.rpartition("-")
            until(
                lambda job=job, index=index: kinds(cluster, job, int(index))[-1:] == ["moved"],
                f"{name} to move",
                cluster.events,
            )
        training.later()
        training.end()


def _process(cluster: gf.cluster.RayCluster, task: str) -> tuple[int, str, int, str]:
    """The life, node, process and start of a task."""
    return cluster._ask("process", task)


def test_a_killed_worker_of_an_allreduce_comes_back_and_no_bit_differs(tmp_path: Path) -> None:
    with begin(ps=0, workers=collective_role.WORKERS, grace=WITHIN) as cluster:
        training = Training(cluster, tmp_path, Reduces(tmp_path, STEPS))
        training.later(4 * 12)
        send(signal.SIGKILL, lambda: _process(cluster, "worker-2")[2])
        training.wait()
        assert kinds(cluster, "worker", 2)[:2] == ["started", "lost"]
    found = [
        json.loads((tmp_path / f"result_{index}").read_text()) for index in range(collective_role.WORKERS)
    ]
    assert [worker["model"] for worker in found] == [alone()] * collective_role.WORKERS


def test_a_cluster_for_which_there_is_no_room_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray, "ENGINE_ANSWER_SECONDS", 1.0)
    with (
        pytest.raises(RuntimeError, match="Ray has no room for the 2 tasks"),
        gf.cluster.RayCluster(ps=1, workers=1, cpus={"worker": 1000}),
    ):
        pass


PROGRAM = """
import sys
import ray
import graphflow as gf
cluster, job, index = gf.train.task_from_environment()
open(f"{sys.argv[1]}/{job}-{index}", "w").write(ray.get_runtime_context().get_node_id() + " " + " ".join(sys.argv[2:]))
if sys.argv[2:] == ["--fail"]: sys.exit("this is why")
"""


def test_the_command_runs_a_program_on_the_nodes_of_the_ray_that_is_there_and_says_how_it_failed(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = [sys.executable, "-m", "graphflow.cli", "launch", "--on", "ray", "--address", "auto", "--ps", "0"]
    words += ["--workers", "2", "--cpus", "worker=0.25", "--grace", str(WITHIN), "--max-restarts", "1"]
    words += [str(program), "--", str(tmp_path)]
    found = subprocess.run([*words, "--lr", "0.1"], capture_output=True, text=True, timeout=WITHIN)
    assert found.returncode == 0, found.stderr
    nodes, arguments = zip(
        *((tmp_path / f"worker-{k}").read_text().split(" ", 1) for k in range(2)), strict=True
    )
    assert arguments == ("--lr 0.1",) * 2 and len(set(nodes)) == 2, "both workers are on one node"
    found = subprocess.run([*words, "--fail"], capture_output=True, text=True, timeout=WITHIN)
    assert (
        found.returncode == 1 and re.search("worker [01] on", found.stderr) and "this is why" in found.stderr
    )


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    (nodes,) = NODES
    page = (Path(__file__).parents[2] / "docs" / "ray.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```python run_on_ray.py\n(.*?)```", page, re.DOTALL)
    (tmp_path / "run_on_ray.py").write_text(text)
    found = subprocess.run(
        [sys.executable, "run_on_ray.py"], cwd=tmp_path, capture_output=True, text=True, timeout=WITHIN,
        env={**os.environ, "RAY_ADDRESS": nodes.address},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert "3.000" in lines and {"started ps 0", "started worker 0", "started worker 1"} <= set(lines)

"""Protects promise 26: a task may come back on another address; its name is resolved again at each reconnect.

A mount namespace of its own gives the program below an /etc/hosts that it may rewrite.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]

_BEGIN = """
import subprocess, sys
from pathlib import Path
import graphflow as gf
from graphflow._core.cluster.ports import ReservedPorts

hosts = Path(sys.argv[1])

def resolve(address):
    hosts.write_text(f"127.0.0.1 localhost\\n{address} moving.test\\n")

resolve("127.0.0.2")
subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)
"""

_PROGRAM = """
with ReservedPorts(2) as reserved:
    a, b = reserved.ports
    cluster = {"ps": [f"moving.test:{a}"], "worker": [f"localhost:{b}"]}
    worker, ps = gf.train.Server(cluster, "worker", 0), gf.train.Server(cluster, "ps", 0)
    with gf.device("/job:ps/task:0"):
        step = gf.train.get_or_create_global_step()
        more = step.assign_add(1)
    model = str(hosts.with_name("model"))
    with gf.train.MonitoredTrainingSession(
        worker.target, checkpoint_dir=model, save_checkpoint_steps=1, save_summaries_steps=None, progress=False,
        max_wait_secs=20,
    ) as session:
        print("first", session.run(more))
        ps.stop()
        resolve("127.0.0.3")
        ps = gf.train.Server(cluster, "ps", 0)
        print("second", session.run(more), len(session.recoveries))
    ps.stop()
    worker.stop()
"""

_WORKER_PROGRAM = """
with ReservedPorts(3) as reserved:
    a, b, c = reserved.ports
    cluster = {"ps": [f"localhost:{a}"], "worker": [f"localhost:{b}", f"moving.test:{c}"]}
    ps, chief, worker = (gf.train.Server(cluster, *task) for task in (("ps", 0), ("worker", 0), ("worker", 1)))
    with gf.device("/job:ps/task:0"):
        step = gf.train.get_or_create_global_step()
    with gf.device("/job:worker/task:1"):
        more = step + 1
    with gf.device("/job:ps/task:0"):
        more = step.assign(more)
    own = gf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:1"])
    with gf.train.MonitoredTrainingSession(chief.target, progress=False, max_wait_secs=20) as session:
        print("first", session.run(more))
        worker.stop()
        resolve("127.0.0.3")
        worker = gf.train.Server(cluster, "worker", 1)
        print("second", session.run(more), len(session.recoveries))
        with gf.Session(worker.target, config=own) as other:
            print("its own", other.run(step))
    for server in (worker, chief, ps):
        server.stop()
"""


def _may_unshare() -> bool:
    try:
        done = subprocess.run([*_UNSHARE, "true"], capture_output=True, timeout=10, check=False)
    except OSError:
        return False
    return not done.returncode


@pytest.mark.skipif(not _may_unshare(), reason="needs a mount namespace")
@pytest.mark.parametrize(
    ("text", "expected"),
    [(_PROGRAM, ["first 1", "second 2 1"]), (_WORKER_PROGRAM, ["first 1", "second 2 1", "its own 2"])],
    ids=["ps", "worker"],
)
def test_promise_26_a_task_comes_back_on_another_address(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(_BEGIN + text)
    done = subprocess.run(
        [*_UNSHARE, sys.executable, str(program), str(tmp_path / "hosts")],
        capture_output=True, text=True, timeout=60, check=False,
        cwd=Path(__file__).parents[3], env={"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stdout.splitlines() == expected, done.stdout + done.stderr

"""Protects allreduce groups on machines of their own: a node is cut off and comes back, a worker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphflow._core.transport import keys
from tests.cluster.elastic.test_groups import Trail, finish
from tests.engines.conftest import missing
from tests.engines.ssh_here import PROJECT, Hosts, lack

if why := lack():
    missing(why)


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with tempfile.TemporaryDirectory(prefix="gf-ssh-") as folder, Hosts(Path(folder), 2) as found:
        yield found


class Nodes:
    """A launcher on each host, which meet at the first one."""

    def __init__(self, hosts: Hosts, folder: Path, *options: str) -> None:
        self.hosts, self.folder = hosts, folder
        keys.make(folder / "keys")
        self._words = [
            "--nnodes", "1:2", "--rendezvous", f"{hosts.addresses[0]}:29500", *options, "--keys", str(folder / "keys"),
            str(PROJECT / "tests" / "cluster" / "elastic" / "worker_of_group.py"), str(folder),
        ]  # fmt: skip
        self.launchers = [self.begin(host) for host in range(2)]

    def begin(self, host: int) -> subprocess.Popen[str]:
        with (self.folder / f"printed {host}").open("a") as out:
            return self.hosts.on_host(
                host, sys.executable, "-P", "-m", "graphflow.cli", "launch", *self._words, cwd=self.folder, stdout=out,
                stderr=subprocess.STDOUT,
            )  # fmt: skip

    def text(self, host: int) -> str:
        return (self.folder / f"printed {host}").read_text()

    def until(self, there: Callable[[], object], what: str) -> None:
        limit = time.monotonic() + 120
        while not there():
            said = "\n".join(f"--- {host}\n{self.text(host)[-3000:]}" for host in range(2))
            assert time.monotonic() < limit, f"waited for {what}\n{said}"
            time.sleep(0.05)

    def workers(self, host: int) -> list[int]:
        """The processes of the program on a host."""
        found = []
        for number in self.hosts.processes(host):
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
            if b"graphflow.cli" not in words and any(word.endswith(b"worker_of_group.py") for word in words):
                found.append(number)
        return found

    def close(self) -> None:
        for process in self.launchers:
            process.kill()  # What it has started ends with it.
            process.wait()


def test_a_node_is_cut_off_and_comes_back_and_a_worker_is_killed(hosts: Hosts, tmp_path: Path) -> None:
    nodes, trail = Nodes(hosts, tmp_path, "--restart", "3"), Trail(tmp_path)
    try:
        nodes.until(lambda: len(trail.steps_with(2)) > 12, "steps of two nodes")
        both = max(trail.read())
        hosts.plug(1, False)
        try:
            nodes.until(lambda: len(trail.steps_with(1, both)) > 3, "steps of the node that is left")
            nodes.until(lambda: not nodes.workers(1), "the end of the workers that are cut off")
        finally:
            hosts.plug(1, True)
        alone = max(trail.read())
        nodes.until(lambda: len(trail.steps_with(2, alone)) > 3, "steps of two nodes again")
        again = max(trail.read())
        (worker,) = nodes.workers(1)
        os.kill(worker, signal.SIGKILL)
        nodes.until(lambda: len(trail.steps_with(2, again)) > 3, "steps of the group that has begun anew")
        finish(tmp_path, trail)
        nodes.until(lambda: all(p.poll() is not None for p in nodes.launchers), "the end of the job")
        assert [process.returncode for process in nodes.launchers] == [0, 0], nodes.text(0) + nodes.text(1)
        trail.check()
        assert "is lost: nothing was heard of it for" in nodes.text(0)
        assert "the rendezvous has not answered for" in nodes.text(1)
        nodes.until(lambda: not any(hosts.processes(host) for host in range(2)), "the end of all processes")
    finally:
        nodes.close()

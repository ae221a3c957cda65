"""Protects clusters over ssh, with a real sshd on hosts of their own: tasks are killed, a host is cut off, all ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engines.conftest import missing
from tests.engines.ssh_here import TRAINS, Hosts, lack

if why := lack():
    missing(why)


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with tempfile.TemporaryDirectory(prefix="gf-ssh-") as folder, Hosts(Path(folder), 2) as found:
        yield found


class Job:
    """A training of two ps and two workers, one of each on each host."""

    def __init__(self, hosts: Hosts, folder: Path, *options: str) -> None:
        self.hosts, self.folder = hosts, folder
        (folder / "train.py").write_text(TRAINS)
        self.process = hosts.launch(
            "--hosts", ",".join(hosts.addresses), *options, "--ps", "2", "--workers", "2", "train.py", str(folder),
            folder=folder,
        )  # fmt: skip

    def text(self) -> str:
        return (self.folder / "printed").read_text()

    def until(self, there: Callable[[], object], what: str) -> None:
        limit = time.monotonic() + 120
        while not there():
            assert time.monotonic() < limit, f"waited for {what}\n{self.text()[-6000:]}"
            time.sleep(0.05)

    def acknowledged(self, name: str = "*") -> list[int]:
        files = sorted(self.folder.glob(f"acknowledged_trainer_{name}"))
        return [int(line) for file in files for line in file.read_text().split("\n")[:-1]]

    def later(self, name: str = "*") -> None:
        """Until there were more steps."""
        before = len(self.acknowledged(name))
        self.until(lambda: len(self.acknowledged(name)) > before + 20, f"steps of {name}")

    def saved(self) -> bool:
        return any(
            not path.name.endswith("-0.safetensors") for path in self.folder.glob("model/*-*.safetensors")
        )

    def nothing_left(self) -> None:
        self.until(
            lambda: not any(self.hosts.processes(host) for host in range(2)), "the end of all processes"
        )
        kept = tempfile.gettempdir()
        assert not list(Path(kept).glob("gf-ssh-*/graphflow-*")), "a key or a copy of the program is left"


def test_what_is_killed_comes_back_and_each_update_after_that_counts_once(
    hosts: Hosts, tmp_path: Path
) -> None:
    job = Job(hosts, tmp_path, "--restart", "3", "--copy")
    job.until(lambda: job.saved() and all(job.acknowledged(f"{n}_0") for n in range(2)), "a checkpoint")
    hosts.kill(1, "serve")  # The ps of the other host.
    job.until(
        lambda: "ps 1 failed (exit status 137) and is started again, 1 of 3" in job.text(), "word of it"
    )
    job.later("0_*")
    hosts.kill(1, "train.py")
    job.until(lambda: "worker 1 failed" in job.text(), "word of the worker")
    job.later("1_1")
    (tmp_path / "finish").touch()
    assert job.process.wait(120) == 0, job.text()
    found = json.loads((tmp_path / "result").read_text())
    later = {str(tag) for tag in job.acknowledged("1_1")}
    assert later and all({ledger.get(tag) for tag in later} == {1.0} for ledger in found["ledgers"]), (
        "not each counts once"
    )
    assert re.search(r"^\[worker 0\] ", job.text(), re.MULTILINE)
    job.nothing_left()


def test_a_host_whose_cable_is_pulled_ends_its_tasks_and_the_job_says_whom_it_has_lost(
    hosts: Hosts, tmp_path: Path
) -> None:
    job = Job(hosts, tmp_path)
    job.until(lambda: all(job.acknowledged(f"{n}_0") for n in range(2)), "steps")
    hosts.plug(1, False)
    try:
        job.until(lambda: job.process.poll() is not None, "the end of the job")
        assert "ps 1 failed" in job.text() and "the job cannot go on without it" in job.text()
        job.nothing_left()  # The other host's sshd has noticed as well.
    finally:
        hosts.plug(1, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_on_the_hosts_when_the_launcher_ends(
    hosts: Hosts, tmp_path: Path, number: signal.Signals
) -> None:
    job = Job(hosts, tmp_path)
    job.until(lambda: job.saved() and all(job.acknowledged(f"{n}_0") for n in range(2)), "steps")
    launcher = subprocess.run(
        ["pgrep", "-f", f"graphflow.cli launch .*{tmp_path}$"], capture_output=True, text=True, check=True
    )
    (pid,) = {int(line) for line in launcher.stdout.split()}
    assert pid == job.process.pid, "`ip netns exec` has become the launcher"
    before = len(job.acknowledged())
    job.process.send_signal(number)
    assert job.process.wait(120) == (130 if number == signal.SIGINT else -signal.SIGKILL), job.text()
    job.nothing_left()
    assert len(job.acknowledged()) >= before

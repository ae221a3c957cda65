"""Protects clusters on Slurm, with a real one: a job trains, is begun anew, fails, is cancelled."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.conftest import missing
from tests.engines.slurm_here import Job, Slurm, lack

if lack():
    missing(lack())

TRAINS = """
import os, sys
from pathlib import Path
import graphflow as gf
from tests.cluster import once_role
folder = Path(sys.argv[1])
cluster, job, index = gf.train.task_from_environment()
life = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
server = gf.train.Server.from_environment()
print("incarnation", gf.distribute.cluster_resolver.SlurmClusterResolver().incarnation(), flush=True)
once_role.train(folder, f"trainer_{index}_{life}", server, index, 10)
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    with tempfile.TemporaryDirectory(prefix="gf-slurm-") as folder, Slurm(Path(folder)) as found:
        yield found


def test_a_job_trains_is_put_into_the_queue_again_and_goes_on_from_its_checkpoint(
    slurm: Slurm, tmp_path: Path
) -> None:
    job = Job(
        slurm, tmp_path, TRAINS, "--ps", "2", "--workers", "2", "--sbatch=--requeue", "--sbatch=--time=10:00"
    )
    job.until(lambda: len(job.acknowledged()) > 40 and job.has_saved(), "a checkpoint")
    (keys,) = job.keys()
    assert keys.stat().st_mode & 0o777 == 0o700
    slurm.asked("scontrol", "requeue", job.number)
    job.until(lambda: len(job.acknowledged(1)) > 30, "steps after the job was begun anew")
    assert slurm.job(job.number)["Restarts"] == "1"
    (tmp_path / "finish").touch()
    assert job.ended() == "COMPLETED", job.text()
    assert {"incarnation 0.0", "incarnation 1.0"} <= set(re.findall(r"incarnation \S+", job.text()))
    found = json.loads((tmp_path / "result").read_text())
    assert {count for ledger in found["ledgers"] for count in ledger.values()} == {1.0}, (
        "an update counts twice"
    )
    there = {int(tag) for tag in found["ledgers"][0]} & {int(tag) for tag in found["ledgers"][1]}
    assert set(job.acknowledged(1)) <= there, "an update after the restart is lost"
    lost = set(job.acknowledged(0)) - there
    assert len(lost) < len(job.acknowledged(0)), "nothing was restored"
    assert not job.keys(), "the key of the job is left"


def test_a_chief_that_fails_ends_the_job_and_its_error_is_in_the_output(slurm: Slurm, tmp_path: Path) -> None:
    text = (
        "import os, sys, time\nif os.environ['TASK_INDEX'] == '0': sys.exit('this is why')\ntime.sleep(600)\n"
    )
    job = Job(slurm, tmp_path, text, "--ps", "1", "--workers", "2")
    assert job.ended() == "FAILED" and "this is why" in job.text()
    job.until(lambda: not job.keys(), "the key to be deleted")


def test_a_job_that_is_cancelled_ends_and_leaves_no_key(slurm: Slurm, tmp_path: Path) -> None:
    job = Job(slurm, tmp_path, TRAINS, "--ps", "1", "--workers", "2")
    job.until(lambda: len(job.acknowledged()) > 20, "steps")
    job.until(job.has_saved, "a checkpoint")
    slurm.asked("scancel", job.number)
    assert job.ended() == "CANCELLED"
    job.until(lambda: not job.keys(), "the key to be deleted")
    assert job.has_saved()


def test_the_key_of_a_job_that_was_killed_at_once_is_its_users_alone_and_is_removed_by_the_next_one(
    slurm: Slurm, tmp_path: Path
) -> None:
    waits = "import pathlib, sys, time\npathlib.Path(sys.argv[1], 'up').touch()\ntime.sleep(600)\n"
    killed = Job(slurm, tmp_path, waits, "--workers", "1")
    killed.until((tmp_path / "up").exists, "the program")
    (script,) = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if f"job{killed.number.zfill(5)}/slurm_script" in path.read_text(errors="replace")
    ]
    os.kill(script, signal.SIGKILL)  # Its trap does not run; what else there is of the job is ended by Slurm.
    killed.ended()
    (left,) = killed.keys()
    assert left.name == f"slurm-graphflow-{killed.number}"
    assert left.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in left.iterdir()] == [0o600]
    other = Job(slurm, tmp_path, "", "--workers", "1")
    assert other.ended() == "COMPLETED", other.text()
    other.until(lambda: not other.keys(), "both keys to be deleted")

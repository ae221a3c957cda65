"""A Slurm of one node on this machine, with ports and a configuration of its own: munged, slurmctld, slurmd."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from graphflow._core.cluster.launch.children import end_with_parent
from graphflow._core.cluster.ports import ReservedPorts

PROJECT: Final = Path(__file__).resolve().parents[2]
PROGRAMS: Final = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol", "squeue")
WITHIN: Final = 120.0
_CONFIGURATION: Final = """\
ClusterName=graphflow
SlurmctldHost=localhost
SlurmctldPort={controller}
SlurmUser=root
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPort={node}
SlurmdPidFile={folder}/slurmd.pid
SlurmdLogFile={folder}/slurmd.log
SlurmdSpoolDir={folder}/spool
SlurmdParameters=config_overrides
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
MpiDefault=none
KillWait=5
NodeName=localhost CPUs=16 State=UNKNOWN
PartitionName=main Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


def lack() -> str:
    """Why there cannot be a Slurm here; "" if there can."""
    if os.geteuid():
        return "Slurm's programs have to be run by root here"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"Slurm is not installed: there is no {', '.join(absent)}" if absent else ""


class Slurm:
    """A context manager, at whose end none of its processes is left.

    folder: short, since Unix sockets lie in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ports = ReservedPorts(2)
        self._daemons: list[subprocess.Popen[bytes]] = []
        self.environment: Mapping[str, str] = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> Slurm:
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(mode=0o755)
        controller, node = self._ports.ports
        text = _CONFIGURATION.format(folder=self.folder, controller=controller, node=node)
        (self.folder / "slurm.conf").write_text(text)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        try:
            self._begin_all(key)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _begin_all(self, key: Path) -> None:
        munge = self.folder / "munge"
        self._begin(
            "munged", "--foreground", "--force", f"--socket={munge / 'socket'}", f"--key-file={key}",
            f"--pid-file={munge / 'pid'}", f"--seed-file={munge / 'seed'}", f"--log-file={munge / 'log'}",
        )  # fmt: skip
        self.until((munge / "socket").exists, "munged")
        self._begin("slurmctld", "-D", "-c")
        self._begin("slurmd", "-D", "-N", "localhost")
        self.until(lambda: "State=IDLE" in self.asked("scontrol", "show", "node", "localhost"), "the node")

    def __exit__(self, *error: object) -> None:
        if len(self._daemons) == 3:  # What a test that has failed has left.
            self.asked("scancel", "--user=root")
            limit = time.monotonic() + WITHIN
            while self.asked("squeue", "--noheader") and time.monotonic() < limit:
                time.sleep(0.1)
        for process in reversed(self._daemons):
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._ports.close()

    def _begin(self, *command: str) -> None:
        words = [str(shutil.which(command[0])), *command[1:]]
        with (self.folder / f"{command[0]}.out").open("wb") as out:
            process = subprocess.Popen(
                words, env=dict(self.environment), stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                preexec_fn=end_with_parent(()),
            )  # fmt: skip
        self._daemons.append(process)

    def asked(self, *command: str) -> str:
        """What a program of Slurm's says."""
        done = subprocess.run(
            command, env=dict(self.environment), capture_output=True, text=True, timeout=WITHIN, check=False
        )
        return done.stdout

    def job(self, number: str) -> dict[str, str]:
        """What the controller knows of a job."""
        words = self.asked("scontrol", "--oneliner", "show", "job", number).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def until(self, there: Callable[[], object], what: str) -> None:
        """Waits for a state."""
        limit = time.monotonic() + WITHIN
        while not there():
            ended = [process.args for process in self._daemons if process.poll() is not None]
            assert not ended and time.monotonic() < limit, f"waited for {what}; ended: {ended}\n{self.text()}"
            time.sleep(0.1)

    def text(self) -> str:
        """The ends of all logs."""
        logs = [*self.folder.glob("*.log"), *self.folder.glob("*.out"), *self.folder.glob("munge/log")]
        return "\n".join(f"--- {path}\n{path.read_text(errors='replace')[-3000:]}" for path in logs)


class Job:
    """A job that `graphflow launch --on slurm` has submitted, in a folder that is its user's home as well."""

    def __init__(self, slurm: Slurm, folder: Path, text: str, *options: str) -> None:
        self.slurm, self.folder = slurm, folder
        program = folder / "program.py"
        program.write_text(text)
        words = [
            sys.executable,
            "-m",
            "graphflow.cli",
            "launch",
            "--on",
            "slurm",
            *options,
            str(program),
            str(folder),
        ]
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, timeout=300,
            env={**slurm.environment, "PYTHONPATH": str(PROJECT), "HOME": str(folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (self.number,) = re.findall(r"job (\d+) is submitted", done.stdout)
        self.output = Path(re.findall(r"its output is in (.*)", done.stdout)[0])

    def text(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def until(self, there: Callable[[], object], what: str) -> None:
        limit = time.monotonic() + 240
        while not there():
            assert time.monotonic() < limit, f"waited for {what}\n{self.text()[-6000:]}\n{self.slurm.text()}"
            time.sleep(0.1)

    def ended(self) -> str:
        """Waits for the end of the job: its state."""
        over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
        self.until(lambda: self.slurm.job(self.number).get("JobState") in over, "the end of the job")
        return self.slurm.job(self.number)["JobState"]

    def acknowledged(self, life: int = 0) -> list[int]:
        files = sorted(self.folder.glob(f"acknowledged_trainer_*_{life}"))
        return [int(line) for file in files for line in file.read_text().split("\n")[:-1]]

    def has_saved(self) -> bool:
        """Whether there is a checkpoint of a step that was trained."""
        return any(
            not path.name.endswith("-0.safetensors") for path in self.folder.glob("model/*-*.safetensors")
        )

    def keys(self) -> list[Path]:
        return list((self.folder / ".graphflow").glob("slurm-*"))

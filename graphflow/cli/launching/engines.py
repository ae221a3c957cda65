"""graphflow launch --on ENGINE: clusters that an engine starts, and one task of such a cluster."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Final

from graphflow._core.cluster.launch import kubernetes, slurm
from graphflow._core.cluster.launch.launcher import Launcher, roles, stop_others
from graphflow._core.cluster.on_ray.cluster import RayCluster, TaskFailed, launch
from graphflow._core.cluster.resolvers.found import resolver_from_environment
from graphflow._core.common.shown.terminal import tell
from graphflow._core.common.timeouts import ENGINE_ANSWER_SECONDS
from graphflow._core.transport import keys
from graphflow.cli.imports import import_words
from graphflow.cli.main import UsageError

ENGINES: Final = ("ray", "slurm", "kubernetes", "environment")
_CHIEFS: Final = ("chief", "master", "worker")


def add_engines(parser: argparse.ArgumentParser) -> None:
    """Adds the options of engines to `graphflow launch`."""
    group = parser.add_argument_group(
        "on several machines", "see docs/engines.md, which says which engine to take"
    )
    group.add_argument(
        "--on", choices=ENGINES, default="",
        help="have an engine start the tasks: ray makes actors, and this process stays; slurm submits a job, "
        "kubernetes makes StatefulSets. environment is what "
        "an engine runs: this process is one task, and the environment says which",
    )  # fmt: skip
    group.add_argument(
        "--print", action="store_true", help="with --on: write what the engine would get, and end"
    )
    group.add_argument(
        "--name", metavar="NAME", default="", help="with --on: of the job (default: of PROGRAM)"
    )
    group.add_argument(
        "--address", metavar="ADDRESS", default="",
        help="with --on ray: of the Ray to use, auto for one that runs on this machine (default: that of RAY_ADDRESS, "
        "or one that is begun here for the run)",
    )  # fmt: skip
    for what in ("cpus", "gpus"):
        group.add_argument(
            f"--{what}", metavar="JOB=N,...", type=_amounts, default={},
            help=f"with --on ray: {what.upper()[:-1]}s of each task of a job, as in ps=1,worker=4 "
            f"(default: {'1' if what == 'cpus' else 'none'})",
        )  # fmt: skip
    group.add_argument(
        "--max-restarts", metavar="N", type=int, default=10,
        help="with --on ray: how often each task is begun anew (default: 10)",
    )  # fmt: skip
    group.add_argument(
        "--sbatch", metavar="OPTION", action="append", default=[],
        help="with --on slurm: an option for sbatch, as in --sbatch=--time=1:00:00; may be given several times",
    )  # fmt: skip
    group.add_argument(
        "--image", metavar="IMAGE", default="",
        help="with --on kubernetes: of the containers, which has graphflow, and PROGRAM in its working directory",
    )  # fmt: skip
    group.add_argument(
        "--storage", metavar="SIZE", default="10Gi",
        help="with --on kubernetes: of the volume at /checkpoints (default: 10Gi)",
    )  # fmt: skip
    group.add_argument(
        "--access", choices=("ReadWriteMany", "ReadWriteOnce"), default="ReadWriteMany",
        help="with --on kubernetes: how many nodes share the volume (default: ReadWriteMany)",
    )  # fmt: skip
    group.add_argument("--stay", action="store_true", help=argparse.SUPPRESS)
    group.add_argument(
        "--python", metavar="PATH", default="",
        help="the Python of the tasks elsewhere, which has graphflow (default: the path of this one; "
        "on kubernetes `python`)",
    )  # fmt: skip


def launch_on(arguments: argparse.Namespace, serve: Sequence[str], command: Sequence[str]) -> int:
    """Runs `graphflow launch` with --on: serve is what runs a ps, command what runs the program, here."""
    if arguments.on == "environment":
        return _one_task(arguments, serve, command)
    if arguments.on == "ray":
        return _on_ray(arguments)
    return _on_kubernetes(arguments) if arguments.on == "kubernetes" else _on_slurm(arguments)


def _name(arguments: argparse.Namespace) -> str:
    """The name of the job: letters, digits and hyphens, since engines make file names and names in the DNS of it."""
    if arguments.name:
        if not re.fullmatch(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", arguments.name):
            raise UsageError("--name has small letters, digits and hyphens, a letter first, 40 at most.")
        return str(arguments.name)
    found = re.sub(r"[^a-z0-9]+", "-", os.path.basename(arguments.program).removesuffix(".py").lower())
    found = found.strip("-")[:40].strip("-")
    return found if found[:1].isalpha() else f"job-{found}".strip("-")


def task_command(arguments: argparse.Namespace, python: str) -> list[str]:
    """The command line of one task elsewhere, which is told by its environment which one it is."""
    words = [python, "-P", "-m", "graphflow.cli", "launch", "--on", "environment"]
    words += ["--restart", str(arguments.restart), "--ps-program", arguments.ps_program]
    words += import_words(arguments)
    return [*words, arguments.program, *arguments.arguments]


def jobs_of(arguments: argparse.Namespace) -> dict[str, int]:
    """How many tasks each job has, those without any left out."""
    counts = {"chief": int(arguments.chief), "ps": arguments.ps, "worker": arguments.workers}
    return {job: count for job, count in counts.items() if count}


def _amounts(text: str) -> dict[str, float]:
    """The numbers of "ps=1,worker=0.5"."""
    try:
        pairs = [part.partition("=") for part in text.split(",")]
        return {job.strip(): float(number) for job, _, number in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(f"it must be like ps=1,worker=4, not {text!r}") from None


def _on_ray(arguments: argparse.Namespace) -> int:
    """Runs the program in the workers of a cluster on Ray; this process stays until the chief's end."""
    if arguments.print:
        raise UsageError("--print has nothing to write for --on ray: actors are made by this process.")
    if arguments.chief or arguments.ps_program == "same" or arguments.keys:
        raise UsageError(
            "With --on ray worker 0 is the chief, a ps serves, and the key is made for the run: without --chief, "
            "--ps-program and --keys."
        )
    if not arguments.program.endswith(".py"):
        raise UsageError(f"With --on ray PROGRAM is a Python file, not {arguments.program}.")
    try:
        cluster = RayCluster(
            arguments.ps, arguments.workers, address=arguments.address, name=arguments.name, cpus=arguments.cpus,
            gpus=arguments.gpus, max_restarts=arguments.max_restarts, grace=arguments.grace,
            local_devices=arguments.local_devices, imports=arguments.imports or (),
        )  # fmt: skip
        words = arguments.arguments
        launch(cluster, arguments.program, words[1:] if words[:1] == ["--"] else words)
    except TaskFailed as failed:
        tell(str(failed), sys.stderr)
        return 1
    except (ImportError, ValueError, RuntimeError, ConnectionError) as error:
        raise UsageError(str(error)) from error
    except KeyboardInterrupt:
        return 130
    return 0


def _on_slurm(arguments: argparse.Namespace) -> int:
    python = arguments.python or sys.executable
    name = _name(arguments)
    try:
        text = slurm.script(
            name,
            jobs_of(arguments),
            task_command(arguments, python),
            [python, "-P", "-m", "graphflow.cli", "keygen"],
            os.getcwd(),
            os.path.abspath(arguments.keys) if arguments.keys else "",
            arguments.local_devices,
            arguments.sbatch,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    if arguments.print:
        tell(text.removesuffix("\n"))
        return 0
    job = _submitted(["sbatch", "--parsable"], text, "where jobs of Slurm are submitted")
    number = job.partition(";")[0]
    tell(f"job {number} is submitted; its output is in {os.path.join(os.getcwd(), f'{name}-{number}.log')}")
    return 0


def _on_kubernetes(arguments: argparse.Namespace) -> int:
    if not arguments.image:
        raise UsageError("--on kubernetes needs --image, the image of the containers.")
    if not re.fullmatch(r"[1-9][0-9]{0,9}([KMGTP]i?)?", arguments.storage):
        raise UsageError(f"--storage is a size such as 10Gi, not {arguments.storage!r}.")
    python = arguments.python or "python"
    task = task_command(arguments, python)
    at = task.index("environment") + 1
    found = kubernetes.manifests(
        _name(arguments),
        jobs_of(arguments),
        [*task[:at], "--stay", *task[at:]],
        [python, "-P", "-m", "graphflow.cli", "status", "--alone", "--seconds", "10"],
        arguments.image,
        key_text(arguments.keys),
        arguments.ps_program == "serve",
        arguments.local_devices,
        arguments.storage,
        arguments.access,
    )
    text = kubernetes.as_yaml(found)
    if not arguments.print:
        tell(_submitted(["kubectl", "apply", "-f", "-"], text, "where kubectl reaches the cluster"))
        return 0
    _only_for_its_user(sys.stdout)
    tell(text.removesuffix("\n"))
    return 0


def key_text(folder: str) -> str:
    """The text of the key in a folder, or of a new one; UsageError if there is none that nobody else can read."""
    if not folder:
        return keys.new_text()
    place = Path(folder).expanduser()
    try:
        keys.read(place)
        return (place / keys.FILE).read_text("ascii")
    except (OSError, ValueError) as error:
        raise UsageError(str(error)) from error


def _only_for_its_user(file: IO[str]) -> None:
    """Takes others' rights to a file in which a key is about to be written, as a shell has made it."""
    try:
        status = os.fstat(file.fileno())
    except (OSError, ValueError):  # It is none of the system's.
        return
    if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
        os.fchmod(file.fileno(), 0o600)
        tell(
            "graphflow: the manifests hold the cluster's key: now their file is readable for you alone",
            sys.stderr,
        )


def _submitted(command: Sequence[str], text: str, where: str) -> str:
    """What an engine's own program says that takes a text; UsageError if it is not there or refuses."""
    program = shutil.which(command[0])
    if program is None:
        raise UsageError(f"There is no {command[0]} here: run this {where}, or see the text with --print.")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            input=text,
            capture_output=True,
            text=True,
            timeout=ENGINE_ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"{command[0]} has not answered for {ENGINE_ANSWER_SECONDS:g} s.") from None
    if done.returncode:
        raise UsageError(f"{command[0]}: {done.stderr.strip() or f'exit status {done.returncode}'}")
    return done.stdout.strip()


def _one_task(arguments: argparse.Namespace, serve: Sequence[str], command: Sequence[str]) -> int:
    """Runs the one task that this process is; the engine runs the others."""
    try:
        resolver = resolver_from_environment()
        cluster, job, index = resolver.task()
        devices = max(arguments.local_devices, resolver.local_devices())
        life = resolver.incarnation()
    except ValueError as error:
        raise UsageError(str(error)) from error
    addresses = cluster.as_dict()
    chief = next((f"{found} 0" for found in _CHIEFS if found in addresses), "")
    found = roles(
        addresses,
        [*command, *arguments.arguments],
        serve if arguments.ps_program == "serve" else None,
        {**os.environ, "PYTHONUNBUFFERED": "1"},
        devices,
    )
    own = f"{job} {index}"
    launcher = Launcher(
        [role for role in found if role.name == own],
        addresses,
        chief,
        restarts=arguments.restart,
        grace=0.0,
        out=sys.stdout,
        err=sys.stderr,
        coloured=False if os.environ.get("NO_COLOR") else None,
        life=f"{life}." if life else "",
        passes_on="SLURM_STEP_ID" not in os.environ,  # It tells all processes of a step.
    )
    if own != chief and "SLURM_STEP_ID" in os.environ:
        # The word that the chief has ended comes to all of the step: also to a ps that it stopped, and that ends.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    status = launcher.run()
    if arguments.stay:
        return launcher.failure or status or _stay(own)
    if own == chief:
        stop_others(addresses, job, index)
        if not status:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            slurm.end_step()
    return status


def _stay(own: str) -> int:
    """Waits to be ended: an engine that starts again whatever ends would have the program run once more."""
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
        tell(f"{own} has ended well, and waits to be deleted")
        while True:
            signal.pause()
    except _Deleted:
        return 0


class _Deleted(BaseException):
    """The engine ends this task."""


def _leave(number: int, frame: FrameType | None) -> None:
    raise _Deleted

"""graphflow launch: a cluster on this machine, its tasks as processes that begin and end together."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from ipaddress import ip_address
from typing import Final

import graphflow
from graphflow._core.cluster.environment import BIND_VARIABLE
from graphflow._core.cluster.launch.launcher import Launcher, roles, task_command
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.common.timeouts import LOOK_UP_SECONDS
from graphflow._core.transport import keys
from graphflow._core.transport.addresses import is_number, split_bind
from graphflow._core.transport.routes import check_reach
from graphflow.cli.imports import add_imports, import_words
from graphflow.cli.keygen import add_keys
from graphflow.cli.launching.engines import add_engines, jobs_of, launch_on
from graphflow.cli.launching.groups import add_groups, in_group, launch_group
from graphflow.cli.launching.hosts import add_hosts, launch_on_hosts, workers_on
from graphflow.cli.main import UsageError

_EPILOG: Final = """\
examples:
  graphflow launch --ps 1 --workers 2 train.py --steps 1000
  graphflow launch --ps 2 --workers 4 --ps-program same trainer.py \\
      --ps_hosts={ps_hosts} --worker_hosts={worker_hosts} --job_name={job_name} --task_index={task_index}

Every worker runs PROGRAM; a ps runs `graphflow serve`, or PROGRAM too with --ps-program same. Which task it is, a
program learns from the environment: TF_CONFIG (gf.train.Server.from_environment() reads it), JOB_NAME, TASK_INDEX,
PS_HOSTS, WORKER_HOSTS, CHIEF_HOSTS; or from its arguments, where these names stand in braces, in small letters.
Unless they are set, OMP_NUM_THREADS and OPENBLAS_NUM_THREADS share the cores among the tasks that compute.

The chief is worker 0, or the task of the job chief with --chief. When it has ended well the others have --grace
seconds to end too; then servers are stopped, and within 3 s nothing is left. A worker that fails is reported and the
others go on; when the chief or a ps fails, all are ended. The first failure comes last, with its traceback.
The exit status is the chief's (that of a ps if that failed, 128 + n for signal n).
"""
_SERVE: Final = """
import json, sys
folders = json.loads(sys.argv.pop(1))
from graphflow.cli.main import main
sys.path.extend(folders)
raise SystemExit(main())
"""
_LOOPBACK: Final = "127.0.0.1"
_BLAS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = (
        "Starts a cluster of processes on this machine, on free ports, and runs a program in its tasks."
    )
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "graphflow launch [options] PROGRAM [arguments ...]"
    parser.add_argument(
        "--ps",
        metavar="N",
        type=_count,
        help="tasks of the job ps (default: 1, none with --standalone and --nnodes)",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=_count,
        help="tasks of the job worker (default: 2; with --hosts one a host, or as many as there is room; with --nnodes "
        "1 on this node)",
    )
    parser.add_argument("--chief", action="store_true", help="add a job chief with one task")
    parser.add_argument(
        "--ps-program", choices=("serve", "same"), default="serve",
        help="what a ps runs: `graphflow serve`, or the same PROGRAM as the workers (default: serve)",
    )  # fmt: skip
    parser.add_argument(
        "--local-devices", metavar="N", type=_count, default=1, help="CPU devices of each task (default: 1)"
    )
    parser.add_argument(
        "--restart", metavar="N", type=_count, default=0,
        help="start a task that fails again, up to N times (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--grace", metavar="SECONDS", type=float, default=2.0,
        help="how long the others have to end by themselves after the chief (default: 2)",
    )  # fmt: skip
    parser.add_argument(
        "--bind", metavar="HOST", default="",
        help="where the tasks listen, 0.0.0.0 for all addresses of this machine, so that others reach them; needs "
        "--keys (default: this machine alone)",
    )  # fmt: skip
    add_groups(parser)
    add_hosts(parser)
    add_engines(parser)
    add_imports(parser)
    add_keys(parser)
    parser.add_argument("program", metavar="PROGRAM", help="a Python file, or a command")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=_launch)


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"it must be a number of at least 0, not {text!r}")
    return int(text)


def _launch(arguments: argparse.Namespace) -> int:
    grouped = in_group(arguments)
    if arguments.ps is None:
        arguments.ps = 0 if grouped else 1
    if arguments.workers is None and arguments.nnodes is not None:
        arguments.workers = 1
    if arguments.workers is None:
        others = arguments.ps + arguments.chief
        arguments.workers = workers_on(arguments.hosts, others) if arguments.hosts else 2
    if not arguments.workers and not arguments.chief:
        raise UsageError("There must be a worker or a chief: --workers 1.")
    if arguments.local_devices < 1 or arguments.grace < 0:
        raise UsageError("--local-devices must be at least 1, and --grace must not be negative.")
    if arguments.imports and arguments.ps_program == "same":
        raise UsageError(
            "--import is for the ps that `graphflow serve` serves; PROGRAM imports what it uses by itself."
        )
    command = task_command(arguments.program)
    in_an_image = arguments.on == "kubernetes"
    if len(command) > 1 and not os.path.exists(arguments.program) and not in_an_image:
        raise UsageError(f"There is no file {arguments.program}.")
    extensions = import_words(arguments)
    serve = [*_serve_command(arguments.program), *extensions]
    if arguments.hosts:
        if arguments.on or arguments.bind:
            raise UsageError("--hosts is for ssh alone: without --on, and without --bind.")
        inner = "." if arguments.copy else os.path.dirname(arguments.program) or "."
        return launch_on_hosts(
            arguments, ["-P", "-c", _SERVE, json.dumps([inner, "."]), "serve", *extensions]
        )
    if arguments.print and not arguments.on:
        raise UsageError("--print is for --on.")
    if arguments.on:
        if arguments.bind:
            raise UsageError(
                "--bind is for a cluster on this machine: with --on, tasks listen at all addresses."
            )
        return launch_on(arguments, serve, command)
    if len(command) == 1 and shutil.which(arguments.program) is None:
        raise UsageError(f"There is no command {arguments.program}; a Python program ends in .py.")
    if arguments.keys:
        os.environ[keys.VARIABLE] = os.path.abspath(
            arguments.keys
        )  # The tasks, and who stops them, take it from there.
    environment = _environment(arguments.workers + arguments.chief)
    if grouped:
        return launch_group(arguments, [*command, *arguments.arguments], environment)
    host = _host(arguments.bind)
    if arguments.bind and host == _LOOPBACK:
        environment[BIND_VARIABLE] = arguments.bind
    try:
        counts = jobs_of(arguments)
        ports = ReservedPorts(sum(counts.values()))
    except OSError as error:
        raise UsageError(str(error)) from error
    with ports:
        free = iter(ports.ports)
        addresses = {job: [f"{host}:{next(free)}" for _ in range(count)] for job, count in counts.items()}
        found = roles(
            addresses,
            [*command, *arguments.arguments],
            serve if arguments.ps_program == "serve" else None,
            environment,
            arguments.local_devices,
        )
        # A ps is there before those who look for it, and among ends at the same moment its own comes first.
        found.sort(key=lambda role: role.job != "ps")
        return Launcher(
            found,
            addresses,
            "chief 0" if arguments.chief else "worker 0",
            restarts=arguments.restart,
            grace=arguments.grace,
            coloured=False if os.environ.get("NO_COLOR") else None,
        ).run()


def _environment(computing: int) -> dict[str, str]:
    """The environment of the tasks, of which so many share the cores."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    for name in _BLAS:
        environment.setdefault(name, str(max(1, (os.cpu_count() or 1) // computing)))
    return environment


def _host(bind: str) -> str:
    """The host of the tasks' addresses if they listen at `bind`; UsageError if they cannot."""
    if not bind:
        return _LOOPBACK
    try:
        host, port = split_bind(bind, 0)
        if port:
            raise ValueError("each task has a port of its own.")
        shown = f"[{host}]" if ":" in host else host
        check_reach(f"{shown}:0", keys.access("").keys, LOOK_UP_SECONDS)
    except (OSError, ValueError) as error:
        raise UsageError(f"--bind {bind}: {error}") from error
    return _LOOPBACK if is_number(host) and ip_address(host).is_unspecified else shown


def _serve_command(program: str) -> list[str]:
    """The command line that serves a ps.

    Modules of the working directory do not take the place of those that graphflow imports, as they would with
    `python -m`. Those of the program's folder come after all others, since functions of a graph may lie there.
    """
    if os.path.realpath(graphflow.__path__[0]) == os.path.realpath("graphflow"):
        return [sys.executable, "-m", "graphflow.cli", "serve"]  # That is where graphflow itself comes from.
    folder = program if os.path.isdir(program) else os.path.dirname(program)
    folders = [os.path.abspath(folder)] if program.endswith(".py") or os.path.isdir(program) else []
    return [sys.executable, "-P", "-c", _SERVE, json.dumps([*folders, os.getcwd()]), "serve"]

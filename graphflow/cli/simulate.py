"""graphflow simulate: how fast a program would train on a cluster that is not there."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from graphflow._core.cluster.launch.launcher import roles
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.common.shown.terminal import tell
from graphflow._core.simulation.client import EnoughMeasured, simulated_sessions, trained_step
from graphflow._core.simulation.machine import SimulatedCluster
from graphflow._core.simulation.report import Simulation, simulated
from graphflow.cli.main import UsageError
from graphflow.cli.run import run_program

_EPILOG: Final = """\
examples:
  graphflow simulate train.py --ps 16 --workers 100 --link 10Gbit --latency 50us
  graphflow simulate train.py --ps 2 --workers 8 --over 1,2,4,8,16 --html cluster.html -- --steps=1000 \\
      --job_name={job_name} --task_index={task_index} --ps_hosts={ps_hosts} --worker_hosts={worker_hosts}

PROGRAM runs here as worker 0 of the cluster, as `graphflow launch` starts it, until it has run its training step
--measure times; nobody else is there. So it is measured what the parts of a step cost, and then the cluster is
simulated. The values that the program computes are those of a worker that trains alone. What stands behind -- is the
program's alone; so are options that are not these.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Simulates the training of a program on a cluster, of which one worker runs here."
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "graphflow simulate [options] [-m] PROGRAM [options] [-- arguments ...]"
    _add_options(parser)
    parser.add_argument("-m", action="store_true", dest="as_module", help="PROGRAM is the name of a module")
    parser.add_argument(
        "program", metavar="PROGRAM", help="a Python file, or a folder or archive with __main__.py"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=_simulate, py2=False)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """The options, which may stand before the program and behind it."""
    parser.add_argument("--ps", type=int, metavar="N", help="tasks of the job ps (default: 1)")
    parser.add_argument("--workers", type=int, metavar="N", help="tasks of the job worker (default: 2)")
    parser.add_argument("--link", metavar="RATE", help="of each host, such as 10Gbit (default: no limit)")
    parser.add_argument("--latency", metavar="TIME", help="between hosts, such as 50us (default: 0s)")
    parser.add_argument("--cores", type=float, metavar="N", help="processors of a host (default: 1)")
    parser.add_argument(
        "--hosts", type=int, metavar="N", help="hosts, to which tasks go in turn (default: one each)"
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", help="processors that a stage is divided among (default: --cores)"
    )
    parser.add_argument("--speed", type=float, metavar="X", help="of a processor, beside one of this machine")
    parser.add_argument(
        "--stragglers", metavar="D", help="lognormal:SIGMA, or exponential:MEAN of what is added"
    )
    parser.add_argument("--steps", type=int, metavar="N", help="steps of each worker (default: 20 or fewer)")
    parser.add_argument("--measure", type=int, metavar="N", help="runs of the step here (default: 30)")
    parser.add_argument("--over", metavar="N,N,...", help="numbers of workers to plot")
    parser.add_argument("--trace", metavar="FILE", help="a file for chrome://tracing or Perfetto")
    parser.add_argument("--html", metavar="FILE", help="a page with the figures and the plot")


_DEFAULTS: Final = {
    "ps": 1, "workers": 2, "latency": "0s", "cores": 1, "speed": 1.0, "measure": 30, "over": "",
}  # fmt: skip


def _take_options(arguments: argparse.Namespace) -> None:
    """Takes the options that stand behind the program, up to "--"; the rest is left as the program's arguments."""
    words: list[str] = arguments.arguments
    until = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(prog="graphflow simulate", allow_abbrev=False, add_help=False)
    _add_options(parser)
    given, others = parser.parse_known_args(words[:until])
    for name, value in vars(given).items():
        if value is not None:
            setattr(arguments, name, value)
        elif getattr(arguments, name) is None:
            setattr(arguments, name, _DEFAULTS.get(name))
    arguments.arguments = [*others, *words[until + 1 :]]


def _simulate(arguments: argparse.Namespace) -> int:
    _take_options(arguments)
    try:
        cluster = SimulatedCluster(
            arguments.ps, arguments.workers, arguments.link, arguments.latency, arguments.cores, arguments.hosts,
            threads=arguments.threads, speed=arguments.speed, stragglers=arguments.stragglers,
        )  # fmt: skip
        over = [int(text) for text in arguments.over.split(",") if text]
    except ValueError as error:
        raise UsageError(str(error)) from error
    if (arguments.steps or 2) < 2 or arguments.measure < 2 or min(over, default=1) < 1:
        raise UsageError(
            "--steps and --measure must be at least 2, and --over takes numbers of workers from 1 on."
        )
    # The program may change the folder.
    trace, html = (os.path.abspath(path) if path else "" for path in (arguments.trace, arguments.html))
    for path in filter(None, (trace, html)):
        if not os.path.isdir(os.path.dirname(path)):
            raise UsageError(f"There is no folder {os.path.dirname(path)} for {os.path.basename(path)}.")
    planned = _measured(arguments, cluster)
    if planned is None:
        raise UsageError(
            "The program has run nothing twice in a session of the cluster: it must open its sessions with the target "
            "of its server, as gf.train.Server.from_environment().target."
        )
    workers = {task for task in planned.stages if task != planned.own and "/job:worker/" in task}
    found = simulated(planned, cluster, not workers, arguments.steps)
    _tell(found, over, trace, html)
    return 0


def _measured(arguments: argparse.Namespace, cluster: SimulatedCluster) -> Any:
    """The step of the program, which runs as the first worker of the cluster."""
    with ReservedPorts(1) as ports:
        addresses = {
            job: [f"127.0.0.1:{1 + index}" for index in range(count)]
            for job, count in (("ps", cluster.ps), ("worker", cluster.workers))
            if count
        }  # Nobody listens at those ports, and nobody is called there.
        addresses["worker"][0] = f"127.0.0.1:{ports.ports[0]}"
        (role,) = [r for r in roles(addresses, arguments.arguments, None, {}) if r.name == "worker 0"]
        arguments.arguments = list(role.command)
        with _told(role.environment), simulated_sessions(cluster, arguments.measure) as planners:
            try:
                status = run_program(arguments)
                if status:
                    raise UsageError(
                        f"The program has ended with status {status} before its step was measured."
                    )
            except EnoughMeasured:
                pass
        return trained_step(planners)


@contextmanager
def _told(variables: Mapping[str, str]) -> Iterator[None]:
    """The environment of a task, as long as it runs."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _tell(found: Simulation, over: Sequence[int], trace: str, html: str) -> None:
    """Shows the figures, and writes the files whose names are given."""
    sys.stdout.flush()
    tell(found.text())
    points = found.over_workers(over)
    if points:
        tell(found.plot(points))
    if trace:
        _write(trace, found.chrome_trace())
    if html:
        _write(html, found.html(points))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    tell(f"Written: {path}.")

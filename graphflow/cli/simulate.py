"""graphflow simulate: how fast a program would train on a cluster that is not there."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.cluster.launch.launcher import roles
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.common.shown.terminal import tell
from graphflow._core.simulation.client import EnoughMeasured, longest_step, simulated_sessions
from graphflow._core.simulation.machine import SimulatedCluster
from graphflow._core.simulation.report import Simulation, simulated
from graphflow.cli.main import UsageError
from graphflow.cli.run import run_program

_EPILOG: Final = """\
examples:
  graphflow simulate --ps 16 --workers 100 --link 10Gbit --latency 50us train.py
  graphflow simulate --ps 2 --workers 8 --over 1,2,4,8,16 --html cluster.html train.py --job_name={job_name} \\
      --task_index={task_index} --ps_hosts={ps_hosts} --worker_hosts={worker_hosts}

PROGRAM runs here as worker 0 of the cluster, as `graphflow launch` starts it, until it has run its training step
--measure times; nobody else is there. So it is measured what the parts of a step cost, and then the cluster is
simulated. The values that the program computes are those of a worker that trains alone.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Simulates the training of a program on a cluster, of which one worker runs here."
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "graphflow simulate [options] [-m] PROGRAM [arguments ...]"
    parser.add_argument("--ps", type=int, metavar="N", default=1, help="tasks of the job ps (default: 1)")
    parser.add_argument(
        "--workers", type=int, metavar="N", default=2, help="tasks of the job worker (default: 2)"
    )
    parser.add_argument("--link", metavar="RATE", help="of each host, such as 10Gbit (default: no limit)")
    parser.add_argument(
        "--latency", metavar="TIME", default="0s", help="between hosts, such as 50us (default: 0s)"
    )
    parser.add_argument(
        "--cores", type=float, metavar="N", default=1, help="processors of a host (default: 1)"
    )
    parser.add_argument(
        "--hosts", type=int, metavar="N", help="hosts, to which tasks go in turn (default: one each)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        default=1,
        help="processors that a stage is divided among (default: 1)",
    )
    parser.add_argument(
        "--speed", type=float, metavar="X", default=1.0, help="of a processor, beside one of this machine"
    )
    parser.add_argument(
        "--stragglers", metavar="D", help="lognormal:SIGMA, or exponential:MEAN of what is added"
    )
    parser.add_argument("--steps", type=int, metavar="N", help="steps of each worker (default: 20 or fewer)")
    parser.add_argument(
        "--measure", type=int, metavar="N", default=30, help="runs of the step here (default: 30)"
    )
    parser.add_argument("--over", metavar="N,N,...", default="", help="numbers of workers to plot")
    parser.add_argument("--trace", metavar="FILE", help="a file for chrome://tracing or Perfetto")
    parser.add_argument("--html", metavar="FILE", help="a page with the figures and the plot")
    parser.add_argument("-m", action="store_true", dest="as_module", help="PROGRAM is the name of a module")
    parser.add_argument(
        "program", metavar="PROGRAM", help="a Python file, or a folder or archive with __main__.py"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=_simulate)


def _simulate(arguments: argparse.Namespace) -> int:
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
    files = [os.path.abspath(path) for path in (arguments.trace, arguments.html) if path]
    for path in files:  # The program may change the folder.
        if not os.path.isdir(os.path.dirname(path)):
            raise UsageError(f"There is no folder {os.path.dirname(path)} for {os.path.basename(path)}.")
    trace, html = (path and os.path.abspath(path) for path in (arguments.trace, arguments.html))
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
        environment: dict[str, str] = {}
        (role,) = [
            r for r in roles(addresses, arguments.arguments, None, environment) if r.name == "worker 0"
        ]
        os.environ.update(role.environment)
        arguments.arguments = list(role.command)
        with simulated_sessions(cluster, arguments.measure) as planners:
            try:
                status = run_program(arguments)
                if status:
                    raise UsageError(
                        f"The program has ended with status {status} before its step was measured."
                    )
            except EnoughMeasured:
                pass
        return longest_step(planners)


def _tell(found: Simulation, over: Sequence[int], trace: str | None, html: str | None) -> None:
    sys.stdout.flush()
    tell(found.text())
    points = found.over_workers(over) if over else []
    if points:
        tell(found.plot(points))
    for path, text in (
        (trace, found.chrome_trace if trace else None),
        (html, (lambda: found.html(points)) if html else None),
    ):
        if path and text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text())
            tell(f"Written: {path}.")

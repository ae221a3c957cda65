"""graphflow serve: one task of a cluster, by hand."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
from importlib import import_module
from types import FrameType
from typing import Final

import graphflow.errors as errors
from graphflow._core.cluster import metrics
from graphflow._core.cluster.client.control import cluster_status
from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.cluster.environment import (
    BIND_VARIABLE,
    EVALUATOR,
    VARIABLE,
    cluster_in,
    cluster_of,
)
from graphflow._core.cluster.log import LOG
from graphflow._core.cluster.resolvers.found import local_devices_from_environment, task_from_environment
from graphflow._core.cluster.server.server import Server
from graphflow._core.common.shown.terminal import tell
from graphflow._core.common.timeouts import METRICS_SECONDS
from graphflow.cli import imports
from graphflow.cli.keygen import add_keys
from graphflow.cli.main import UsageError
from graphflow.config import ConfigProto

_EPILOG: Final = """\
examples:
  graphflow serve --cluster 'ps=localhost:2222;worker=localhost:2223,localhost:2224' --job ps --task 0
  graphflow serve --cluster cluster.json --job worker --task 1
  graphflow serve                         the task that the environment variable TF_CONFIG names

It serves until SIGTERM, Ctrl-C or a stop of the cluster (gf.train.stop_cluster), which end it with status 0, or until
it was alone for --idle-minutes, which ends it with status 1. Port 0 takes a free port; the line that it prints has it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = (
        "Serves one task of a cluster: it holds variables and runs what sessions place on it."
    )
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--cluster", metavar="CLUSTER",
        help="JOB=HOST:PORT,HOST:PORT;JOB=... or a JSON file of jobs and addresses (default: from TF_CONFIG)",
    )  # fmt: skip
    parser.add_argument("--job", metavar="JOB", help="the job of this task")
    parser.add_argument(
        "--task", metavar="N", type=int, help="the index of this task in its job (default: 0)"
    )
    parser.add_argument(
        "--local-devices", metavar="N", type=int, help="CPU devices of this task (default: 1)"
    )
    parser.add_argument(
        "--idle-minutes", metavar="MINUTES", type=float, default=10.0,
        help="end when no client was heard of for so long; 0 means never (default: 10)",
    )  # fmt: skip
    parser.add_argument(
        "--bind", metavar="HOST[:PORT]", default="",
        help="listen here, and not at the task's address, by which the others reach it: 0.0.0.0 in a container "
        f"(default: from {BIND_VARIABLE}, or that address)",
    )  # fmt: skip
    parser.add_argument(
        "--metrics-port", metavar="[HOST:]PORT", default="",
        help=f"serve this task's counts at http://HOST:PORT{metrics.PATH} for Prometheus, to everybody who reaches it "
        "(default: not; HOST is 127.0.0.1)",
    )  # fmt: skip
    imports.add_imports(parser)
    add_keys(parser)
    parser.set_defaults(run=_serve)


def _serve(arguments: argparse.Namespace) -> int:
    import_module("graphflow.logging")  # So that warnings have their level and time.
    imports.load(arguments)
    cluster, job, index, devices = _task(arguments)
    if devices < 1 or arguments.idle_minutes < 0:
        raise UsageError("--local-devices must be at least 1, --idle-minutes must not be negative.")
    config = ConfigProto(
        device_count={"CPU": devices},
        server_idle_minutes=arguments.idle_minutes,
        cluster_keys=arguments.keys,
        server_bind=arguments.bind,
    )
    # Before the server listens: whoever sees its line may send a signal at once.
    for number in (signal.SIGTERM, signal.SIGINT):
        # Who started it may have it wait for the chief's end. (Shells ignore SIGINT for what runs in the background.)
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    try:
        try:
            LOG.setLevel(logging.WARNING)  # It would say that it serves; the line below does.
            server = Server(cluster, job, index, config=config)
            LOG.setLevel(logging.INFO)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise UsageError(f"{where}{error.strerror or error}") from error
        except ValueError as error:
            raise UsageError(str(error)) from error
        tell(f"{job} {index} listens at {server.target}")
        page = None
        try:
            page = _metrics(arguments, server.target)
            server.join()
        except errors.DeadlineExceededError as error:
            raise Ended(error.message) from error
        finally:
            if page is not None:
                page.close()
            server.stop()
    except _Asked:
        pass
    tell(f"{job} {index} has stopped")
    return 0


def _metrics(arguments: argparse.Namespace, target: str) -> metrics.MetricsPage | None:
    """The page of the task's counts, if one is asked for."""
    if not arguments.metrics_port:
        return None
    host, _, text = arguments.metrics_port.rpartition(":")
    if not text.isdecimal() or int(text) > 65535:
        raise UsageError(f"--metrics-port is PORT or HOST:PORT, not {arguments.metrics_port!r}.")
    try:
        page = metrics.MetricsPage(
            lambda: cluster_status(target, METRICS_SECONDS, arguments.keys, True),
            host.strip("[]") or "127.0.0.1",
            int(text),
        )
    except OSError as error:
        raise UsageError(
            f"--metrics-port {arguments.metrics_port}: it cannot listen there: {error.strerror or error}."
        ) from error
    tell(f"metrics are at {page.url}")
    return page


class _Asked(BaseException):
    """A signal asks for the end."""


class Ended(UsageError):
    """The server has ended by itself."""

    status = 1


def _leave(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # A second one would end the orderly end.
    raise _Asked


def _task(arguments: argparse.Namespace) -> tuple[ClusterSpec, str, int, int]:
    """The cluster, the job, the index of the task, and its number of devices."""
    given = arguments.local_devices
    try:
        if arguments.cluster is None:
            cluster, job, index = task_from_environment()
            devices = local_devices_from_environment() if given is None else given
            if job == EVALUATOR and arguments.job in (None, job):
                raise ValueError(
                    f"{VARIABLE} makes this process an evaluator, which serves nothing: start the program there, "
                    "which evaluates checkpoints."
                )
            if arguments.job is not None:
                job, index = arguments.job, 0
            return cluster, job, index if arguments.task is None else arguments.task, devices
        cluster = _cluster(arguments.cluster)
    except (OSError, ValueError, TypeError) as error:
        hint = " Or give --cluster." if arguments.cluster is None and VARIABLE not in os.environ else ""
        raise UsageError(f"{error}{hint}") from error
    if arguments.job is None and len(cluster.jobs) > 1:
        raise UsageError(f"--job must be one of {', '.join(cluster.jobs)}.")
    return cluster, arguments.job or cluster.jobs[0], arguments.task or 0, 1 if given is None else given


def _cluster(text: str) -> ClusterSpec:
    """The cluster of ps=host:port;worker=host:port,host:port, or of a JSON file."""
    if "=" not in text:
        with open(text, encoding="utf-8") as file:
            found = json.load(file)
        if not isinstance(found, dict) or not found:
            raise ValueError(f"{text} must hold an object from jobs to lists of host:port.")
        return cluster_in(found, text) if "cluster" in found else cluster_of(found, text)
    jobs: dict[str, list[str]] = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        job, sign, addresses = part.partition("=")
        if not sign or not job.strip():
            raise ValueError(f"--cluster is JOB=HOST:PORT,HOST:PORT;JOB=..., not {text!r}.")
        jobs[job.strip()] = [a.strip() for a in addresses.split(",") if a.strip()]
    return cluster_of(jobs, "--cluster")

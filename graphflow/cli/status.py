"""graphflow status: the tasks of a cluster, what they hold and what they do."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from graphflow import errors
from graphflow.cli.keygen import add_keys
from graphflow.cli.main import UsageError
from graphflow.cli.tables import readable_size, table
from graphflow.cluster.control import cluster_status

_EPILOG: Final = """\
example:
  graphflow status zmq://localhost:2222

Any task of the cluster can be asked; it asks the others. The exit status is 1 where one of them does not answer.
"""
_MOST_VARIABLES: Final = 20


def add_parser(subparsers: Any) -> None:
    """Adds `status`."""
    parser = subparsers.add_parser(
        "status",
        help="show the tasks of a cluster: state, sessions, variables, traffic, steps",
        description="Shows the tasks of a cluster: state, sessions, variables with their bytes, traffic, steps.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="TARGET", help="any task of the cluster: zmq://host:port")
    add_keys(parser)
    parser.add_argument("--json", action="store_true", help="everything that is known, as JSON")
    parser.add_argument("--watch", action="store_true", help="again every two seconds, until Ctrl-C")
    parser.add_argument(
        "--seconds",
        metavar="N",
        type=float,
        default=2.0,
        help="how long the tasks have to answer (default: 2)",
    )
    parser.set_defaults(run=_status)


def _status(arguments: argparse.Namespace) -> int:
    clear = "\033[H\033[J" if arguments.watch and sys.stdout.isatty() else ""
    while True:
        tasks = _ask(arguments)
        text = json.dumps({"tasks": tasks}, indent=2) if arguments.json else shown(tasks)
        print(f"{clear}{text}", flush=True)
        if not arguments.watch:
            return int(any(task["state"] == "unreachable" for task in tasks))
        time.sleep(2.0)


def _ask(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    try:
        return cluster_status(arguments.target, arguments.seconds, arguments.keys)
    except errors.OpError as error:
        raise UsageError(error.message) from error
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error


def shown(tasks: Sequence[Mapping[str, Any]]) -> str:
    """The answers of the tasks as tables."""
    rows = [("task", "address", "state", "incarnation", "up", "sessions", "steps", "a second", "in", "out")]
    for task in tasks:
        name, address, state = _short(task["task"]), task["address"], task["state"]
        if state == "unreachable":
            rows.append((name, address, state, *[""] * 7))
            continue
        steps, traffic = task["steps"], task["traffic"]
        rows.append((
            name, address, state, task["incarnation"][:8], _duration(task["uptime_seconds"]),
            str(len(task["sessions"])), str(steps["taken_part_in"]), f"{steps['per_second']:.1f}",
            _traffic(traffic, "in"), _traffic(traffic, "out"),
        ))  # fmt: skip
    parts = [table(rows)]
    for task in tasks:
        variables = sorted(task.get("variables", ()), key=lambda v: (-v["bytes"], v["name"]))
        if variables:
            total = sum(variable["bytes"] for variable in variables)
            count = f"{len(variables)} variable{'s' if len(variables) > 1 else ''}"
            parts.append(f"{_short(task['task'])} holds {count}, {readable_size(total)}")
            parts[-1] += "\n" + table([_variable(v) for v in variables[:_MOST_VARIABLES]], "  ")
            if len(variables) > _MOST_VARIABLES:
                parts[-1] += f"\n  and {len(variables) - _MOST_VARIABLES} more"
    return "\n\n".join(parts)


def _variable(variable: Mapping[str, Any]) -> tuple[str, ...]:
    shape = variable["shape"]
    dims = "not initialized" if shape is None else f"[{', '.join(map(str, shape))}]"
    return variable["name"], variable["dtype"], dims, readable_size(variable["bytes"])


def _short(task: str) -> str:
    """ps 0 for /job:ps/replica:0/task:0."""
    job, _, index = task.removeprefix("/job:").partition("/replica:0/task:")
    return f"{job} {index}"


def _traffic(traffic: Mapping[str, int], way: str) -> str:
    return f"{traffic[f'messages_{way}']:,} / {readable_size(traffic[f'bytes_{way}'])}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds) // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"

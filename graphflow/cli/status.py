"""graphflow status: the tasks of a cluster, what they hold and what they do."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.client.control import cluster_journals, cluster_status
from graphflow._core.cluster.machine_journals import task_blocks
from graphflow._core.cluster.metrics import prometheus_text
from graphflow._core.cluster.protocol.journal import Journal, read
from graphflow._core.cluster.protocol.step_journal import step_lines
from graphflow._core.cluster.protocol.step_outcomes import lines_of_running, lines_of_steps
from graphflow._core.common.printable import printable
from graphflow._core.common.shown.tables import readable_size, table
from graphflow._core.common.shown.terminal import tell
from graphflow._core.common.timeouts import WATCH_SECONDS
from graphflow.cli.keygen import add_keys
from graphflow.cli.main import UsageError

_EPILOG: Final = """\
example:
  graphflow status zmq://localhost:2222

Any task of the cluster can be asked; it asks the others. The exit status is 1 if one of them does not answer.
"""
_MOST_VARIABLES: Final = 20
_KINDS: Final = ("Queue", "Iterator", "Reader")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = (
        "Shows the tasks of a cluster: state, sessions, variables with their bytes, traffic, parts of steps."
    )
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("target", metavar="TARGET", help="any task of the cluster: zmq://host:port")
    add_keys(parser)
    parser.add_argument(
        "--alone", action="store_true", help="ask the task for itself alone, and not for the others"
    )
    parser.add_argument("--json", action="store_true", help="everything that is known, as JSON")
    parser.add_argument(
        "--prometheus",
        action="store_true",
        help="counts, bytes and times as Prometheus reads them",
    )
    parser.add_argument(
        "--journal",
        action="store_true",
        help="what each task has last heard of and done about it; with --json as data that can be replayed",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="with --journal: the events of all tasks in the order of time, and each step that runs with what it waits "
        "for on every task that takes part",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="again every two seconds, until Ctrl-C; if the task that was asked is gone, another one is",
    )
    parser.add_argument(
        "--seconds",
        metavar="N",
        type=float,
        default=2.0,
        help="how long the tasks have to answer (default: 2)",
    )
    parser.set_defaults(run=_status)


def _status(arguments: argparse.Namespace) -> int:
    if arguments.all and not arguments.journal:
        raise UsageError("--all says how --journal is shown: give both.")
    if arguments.alone and (arguments.journal or arguments.watch):
        raise UsageError("--alone is for the state of a task, once: without --journal and --watch.")
    if arguments.prometheus and (arguments.json or arguments.journal or arguments.watch):
        raise UsageError("--prometheus is a form of its own, once: without --json, --journal and --watch.")
    targets = [arguments.target]
    tasks = _ask(arguments, arguments.target)
    text = _text(arguments, tasks)
    if not arguments.watch:
        tell(text)
        return int(any(task["state"] == "unreachable" for task in tasks))
    clear = "\033[H\033[J" if sys.stdout.isatty() else ""
    while True:
        targets += [target for task in tasks if (target := f"zmq://{task['address']}") not in targets]
        sys.stdout.write(clear)
        tell(text)
        time.sleep(WATCH_SECONDS)
        try:
            tasks = _ask_any(arguments, targets)
            text = _text(arguments, tasks)
        except UsageError as error:
            text = str(error)


def _text(arguments: argparse.Namespace, tasks: Sequence[Mapping[str, Any]]) -> str:
    if arguments.prometheus:
        return prometheus_text(tasks).removesuffix("\n")
    show = timeline if arguments.all else journals if arguments.journal else shown
    return json.dumps({"tasks": tasks}, indent=2) if arguments.json else show(tasks)


def _ask_any(arguments: argparse.Namespace, targets: list[str]) -> list[dict[str, Any]]:
    """The answers that the first of these targets has which is there: it is then the first of them.

    What a watch is for is a cluster of which tasks are lost; the task that was asked may be one.
    """
    missing: list[str] = []
    for target in list(targets):
        try:
            tasks = _ask(arguments, target)
        except UsageError as error:
            missing.append(str(error))
            continue
        targets.remove(target)
        targets.insert(0, target)
        return tasks
    raise UsageError("\n".join(missing))


def _ask(arguments: argparse.Namespace, target: str) -> list[dict[str, Any]]:
    try:
        if arguments.journal:
            return cluster_journals(target, arguments.seconds, arguments.keys)
        return cluster_status(target, arguments.seconds, arguments.keys, arguments.alone)
    except errors.OpError as error:
        raise UsageError(error.message) from error
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error


def shown(tasks: Sequence[Mapping[str, Any]]) -> str:
    """The answers of the tasks as tables."""
    heads = "task,address,state,pid,up,sessions,parts,parts/s,received (messages),sent (messages)"
    rows = [tuple(heads.split(","))]
    for task in tasks:
        name, address, state = _short(task["task"]), task["address"], task["state"]
        if state == "unreachable":
            rows.append((name, address, state, *[""] * 7))
            continue
        steps, traffic = task["steps"], task["traffic"]
        rows.append((
            name, address, state, str(task["pid"]), _duration(task["uptime_seconds"]),
            str(len(task["sessions"])), f"{steps['taken_part_in']:,}", f"{steps['per_second']:,.1f}",
            _traffic(traffic, "in"), _traffic(traffic, "out"),
        ))  # fmt: skip
    parts = [table(rows, right=range(3, 10)), *_sessions(tasks)]
    balance = _balance(tasks)
    if balance:
        parts.append("\n".join(balance))
    parts += _under_way(tasks)
    parts += [_strangers(task) for task in tasks if task.get("strangers", {}).get("refused")]
    parts += [_holds(task) for task in tasks if task.get("variables") or _others(task)]
    return "\n\n".join(parts)


def journals(tasks: Sequence[Mapping[str, Any]]) -> str:
    """The journals of the tasks: a line for each event, for each thing that was done about it, and for each step."""
    parts = []
    for task in tasks:
        name, data = _short(task["task"]), task.get("journal")
        if data is None:
            parts.append(f"{name} at {task['address']}: {task['state']}, no journal")
            continue
        journal = read(data)
        forgotten = _forgotten(journal, data)
        before = f", {forgotten:,} before them" if forgotten else ""
        machines = data.get("machines", ())  # A task of an earlier version has none.
        count = len(journal.entries) + sum(len(machine["entries"]) for machine in machines)
        head = f"{name} at {task['address']}: {count:,} events{before}"
        of_steps = [line for _, line in step_lines(data["step_events"], data["now"])]
        of_events = [line for _, lines in task_blocks(journal, machines, data["now"]) for line in lines]
        lines = [*of_events, *of_steps, *lines_of_steps(data["steps"])]
        parts.append("\n".join([head, *(f"  {printable(line)}" for line in lines)]))
    return "\n\n".join(parts)


def _forgotten(journal: Journal, data: Mapping[str, Any]) -> int:
    """How many events a task's journal and those of its rounds and groups have not kept."""
    return journal.forgotten + sum(int(machine["forgotten"]) for machine in data.get("machines", ()))


def timeline(tasks: Sequence[Mapping[str, Any]]) -> str:
    """The journals of all tasks as one, in the order of time, then the steps that run, with every task of each.

    Times are seconds before the task's own answer: tasks that answer later are behind by that.
    """
    events: list[tuple[float, str, list[str]]] = []
    parts: list[str] = []
    steps: list[str] = []
    waits = _waits(tasks)
    for task in tasks:
        name, data = _short(task["task"]), task.get("journal")
        if data is None:
            parts.append(f"{name} at {task['address']}: {task['state']}, no journal")
            continue
        journal = read(data)
        forgotten = _forgotten(journal, data)
        if forgotten:
            parts.append(f"{name} at {task['address']}: {forgotten:,} events before these")
        blocks = task_blocks(journal, data.get("machines", ()), data["now"])
        events += [(age, name, lines) for age, lines in blocks]
        events += [(age, name, [line]) for age, line in step_lines(data["step_events"], data["now"])]
        for step, line in zip(data["steps"]["running"], lines_of_running(data["steps"]), strict=True):
            hops = [hop for other in step["awaited"] for hop in _hops(other, waits, task, step["step"])]
            steps.append("\n".join([f"{name}: {printable(line)}", *hops]))
    lines = [
        f"{name}: {printable(line)}"
        for _, name, found in sorted(events, key=lambda event: event[0])
        for line in found
    ]
    return "\n\n".join(part for part in ("\n".join(parts), "\n".join(lines), *steps) if part)


def _waits(tasks: Sequence[Mapping[str, Any]]) -> Callable[[str, str, int], list[str] | None]:
    """What a task says that it waits for, by its name, a master's incarnation and a step; None if it does not answer.

    Empty if it computes.
    """
    serving = {task["task"] for task in tasks if task["state"] == "serving"}
    found = {
        (task["task"], wait["master"], wait["step"]): list(wait["for"])
        for task in tasks
        for wait in task.get("waiting", ())
    }
    return lambda task, master, step: found.get((task, master, step), []) if task in serving else None


def _hops(
    other: str, waits: Callable[[str, str, int], list[str] | None], master: Mapping[str, Any], step: int
) -> list[str]:
    """What a task that has not done its part of a step waits for, a line each."""
    found = waits(other, master["incarnation"], step)
    if found:
        return [f"  {_short(other)} waits for {printable(text)}" for text in found]
    return [f"  {_short(other)} {'does not answer' if found is None else 'computes'}"]


def _sessions(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table of the sessions, in a list; an empty one if there are none."""
    rows = [
        (s["session"], _short(task["task"]), str(s["threads"]), f"{s['heard_seconds_ago']:.1f} s ago")
        for task in tasks
        for s in task.get("sessions", ())
    ]
    return [table([("session", "master", "threads", "heard of"), *rows], right=(2, 3))] if rows else []


def _under_way(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each step that has lasted for long whose it is, since when, and what it waits for on each task."""
    parts = []
    waits = _waits(tasks)
    for task in tasks:
        for step in task.get("under_way", ()):
            head = (
                f"a step of session {step['session']}, whose master is {_short(task['task'])}, has lasted for"
            )
            lines = [f"{head} {_duration(step['seconds'])}"]
            for other in step["awaited"]:
                lines += _hops(other, waits, task, step["step"])
            parts.append("\n".join(lines))
    return parts


def _strangers(task: Mapping[str, Any]) -> str:
    """How many connections a task has refused, and why the last of them."""
    found = task["strangers"]
    plural = "" if found["refused"] == 1 else "s"
    return f"{_short(task['task'])} refused {found['refused']:,} connection{plural}, the last: {found['why']}"


def _balance(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each job of several tasks how its bytes of variables are spread."""
    jobs: dict[str, list[int]] = {}
    for task in tasks:
        if "variables" in task:
            total = sum(variable["bytes"] for variable in task["variables"])
            jobs.setdefault(_short(task["task"]).partition(" ")[0], []).append(total)
    return [
        f"{job}: {readable_size(sum(sizes))} of variables on {len(sizes)} tasks, "
        f"the most on one is {max(sizes) * len(sizes) / sum(sizes):.2f} times the mean"
        for job, sizes in jobs.items()
        if len(sizes) > 1 and any(sizes)
    ]


def _holds(task: Mapping[str, Any]) -> str:
    """The variables of a task, and what else it has by name."""
    variables = sorted(task["variables"], key=lambda v: (-v["bytes"], v["name"]))
    total = sum(variable["bytes"] for variable in variables)
    count = f"{len(variables)} variable{'' if len(variables) == 1 else 's'}"
    lines = [f"{_short(task['task'])} holds {count}, {readable_size(total)}"]
    if variables:
        lines.append(table([_variable(v) for v in variables[:_MOST_VARIABLES]], "  ", right=(3,)))
    if len(variables) > _MOST_VARIABLES:
        lines.append(f"  and {len(variables) - _MOST_VARIABLES} more")
    others = _others(task)
    if others:
        lines.append(f"  and beside them: {', '.join(others)}")
    return "\n".join(lines)


def _others(task: Mapping[str, Any]) -> list[str]:
    """The queues, readers and iterators of a task, as "queue rows"; what operations keep for themselves is left out."""
    found = []
    for name, kind in sorted(task.get("resources", {}).items()):
        words = {word.lower() for word in _KINDS if word in kind}
        if words:
            found.append(f"{words.pop()} {printable(name.rpartition('/')[2])}")
    return found


def _variable(variable: Mapping[str, Any]) -> tuple[str, ...]:
    shape = variable["shape"]
    dims = "not initialized" if shape is None else f"[{', '.join(map(str, shape))}]"
    return variable["name"], variable["dtype"], dims, readable_size(variable["bytes"])


def _short(task: str) -> str:
    """ps 0 for /job:ps/replica:0/task:0."""
    job, _, index = task.removeprefix("/job:").partition("/replica:0/task:")
    return printable(f"{job} {index}")


def _traffic(traffic: Mapping[str, int], way: str) -> str:
    return f"{readable_size(traffic[f'bytes_{way}'])} ({traffic[f'messages_{way}']:,})"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds) // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"

"""Measures a link between two machines: what clusters move over it, against TensorFlow's gRPC and raw TCP.

The machines are two network namespaces of this one with a link between them, as fast as the machine or limited to a
rate. A parameter server runs at one end, a worker and its client at the other. In every round all peers are timed one
after the other; a ratio is the median over the rounds. Needs root; without it, it says so and ends with code 2.
"""

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from compare import PEERS, PROJECT, Worker, output_of, prepare, processor, version
from links_workloads import MEGABYTES, WORKLOADS
from namespaces import RATES, Link, NoLink

HERE = Path(__file__).resolve().parent
RAW, TENSORFLOW, PLAIN, KEYS = "raw TCP", "TensorFlow", "graphflow", "graphflow, keys"
CANNOT_RUN = 2
BUSY = (
    " The machine was busy with other programs: that holds up most who takes the processors for longest, so ratios "
    "are better than on a machine of one's own."
)
OWN_WAY = ", but graphflow's connections by cubic or reno (see docs/cluster.md)"
REDUCERS = ("none", "Float16Reducer", "BFloat16Reducer", "EightBitReducer", "TopKReducer")
STEPS = 20
"""Of training with each reducer."""
LIMITS = {
    (PLAIN, TENSORFLOW): 2.0,
    (PLAIN, RAW): 0.7,
    (KEYS, TENSORFLOW): 1.0,
}
"""The least throughput of one peer as a part of another's for pull and push. That to TensorFlow's holds on the quiet
link: a slower one is full with either."""
NULL_LIMIT = 0.40
"""The most time of a null step without keys as a part of TensorFlow's, on the quiet link."""


@dataclass
class Result:
    """The seconds of a step, round by round, of one peer on one link."""

    seconds: list[float] = field(default_factory=list)
    error: str = ""


Results = Mapping[tuple[str, str], Result]
"""By link and peer."""


def ratio(results: Results, link: str, peer: str, other: str, workload: str) -> float | None:
    """A peer's throughput as a part of another's, or its time for a null step; None if one of them has failed."""
    ours, theirs = results[link, peer], results[link, other]
    if ours.error or theirs.error or not ours.seconds or not theirs.seconds:
        return None
    found = statistics.median(a / b for a, b in zip(ours.seconds, theirs.seconds, strict=True))
    return 1 / found if WORKLOADS[workload][1] else found


def broken(results: Results, workload: str) -> list[str]:
    """The limits that a workload's results break, in words."""
    found = [f"{link}, {peer}: {r.error}" for (link, peer), r in results.items() if r.error]
    for link in dict.fromkeys(link for link, _ in results):
        if workload == "null_step":
            share = ratio(results, link, PLAIN, TENSORFLOW, workload)
            if link == "quiet" and share is not None and share > NULL_LIMIT:
                found.append(f"{workload}, {link}: {share:.2f} of TensorFlow's time, at most {NULL_LIMIT}")
        elif workload != "fetch_100mb":
            for (peer, other), least in LIMITS.items():
                share = ratio(results, link, peer, other, workload)
                if share is not None and share < least and (other == RAW or link == "quiet"):
                    found.append(f"{workload}, {link}: {peer} has {share:.2f} of {other}, at least {least}")
    return found


def shown(workload: str, result: Result) -> str:
    """A measurement as the table has it."""
    if result.error or not result.seconds:
        return result.error or ""
    typical = statistics.median(result.seconds)
    if not WORKLOADS[workload][1]:
        return f"{1e6 * typical:,.0f} us"
    return f"{MEGABYTES / typical:,.0f} MB/s"


def goals(wrong: list[str]) -> list[str]:
    """What is to be reached, and what was not."""
    text = "; ".join(
        f"{least:.1f} of the rate of {other}{' on the quiet link' if other == TENSORFLOW else ''} for {peer}"
        for (peer, other), least in LIMITS.items()
    )
    return [
        f"Goals of pull and push: at least {text}. Goal of null_step: at most {NULL_LIMIT:.2f} of TensorFlow's time on "
        "the quiet link.",
        "",
        *([f"Missed: {line}." for line in wrong] or ["None is missed."]),
    ]


def row(results: Results, link: str, workload: str) -> str:
    """A line of the table."""
    cells = [
        link,
        workload,
        *(shown(workload, results[link, peer]) for peer in (RAW, TENSORFLOW, PLAIN, KEYS)),
    ]
    for peer, other in ((PLAIN, RAW), (PLAIN, TENSORFLOW), (KEYS, TENSORFLOW)):
        found = ratio(results, link, peer, other, workload)
        cells.append("" if found is None else f"{found:.2f}")
    return f"| {' | '.join(cells)} |"


class Machines:
    """What runs at both ends of a link."""

    def __init__(self, link: Link, pythons: Mapping[str, str], keys: Path, patience: float) -> None:
        self.link = link
        self.python = {RAW: sys.executable, TENSORFLOW: pythons.get("tf115", ""), PLAIN: sys.executable,
                       KEYS: sys.executable}  # fmt: skip
        self.keys = keys
        self.patience = patience
        self._ports = itertools.count(20_000)

    def spec(self) -> dict[str, list[str]]:
        """Addresses at the two ends, which nobody else has."""
        port = next(self._ports)
        ps, worker = (f"{address}:{port}" for address in self.link.addresses)
        return {"ps": [ps], "worker": [worker]}

    def worker(self, end: int, peer: str, *arguments: object) -> Worker:
        """A process of a peer at an end of the link."""
        module = PEERS["tf115"].module if peer == TENSORFLOW else "graphflow"
        command = [str(HERE / "links_workloads.py"), *map(str, arguments)]
        environment = {"GRAPHFLOW_KEYS": str(self.keys) if peer == KEYS else ""}
        return Worker(self.python[peer], module, command, self.patience, self.link.inside(end), environment)

    @contextlib.contextmanager
    def peers(self, workload: str) -> Iterator[dict[str, Worker]]:
        """The clients of all peers for a workload, with their parameter servers."""
        with contextlib.ExitStack() as stack:
            clients = {}
            for peer, python in self.python.items():
                if not python:
                    continue
                module = {RAW: "raw", TENSORFLOW: "tensorflow"}.get(peer, "graphflow")
                spec = json.dumps(self.spec())
                other = ("listen", module, spec) if peer == RAW else ("serve", module, spec, "ps")
                server = self.worker(0, peer, *other)
                stack.callback(server.close)
                assert server.process.stdout is not None
                server.process.stdout.readline()
                clients[peer] = self.worker(1, peer, "client", module, spec, workload)
                stack.callback(_end, clients[peer])
            yield clients


def _end(client: Worker) -> None:
    """Ends a client in order, so that it ends the worker that it has started."""
    assert client.process.stdin is not None
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        client.process.stdin.write("quit\n")
        client.process.stdin.flush()
        client.process.wait(5.0)
    client.close()


def measure(
    machines: Machines, workload: str, links: list[str], rounds: int
) -> dict[tuple[str, str], Result]:
    """The results of all peers on each link."""
    results = {(link, peer): Result() for link in links for peer in machines.python}
    with machines.peers(workload) as clients:
        for peer, client in clients.items():
            answer = client.answer()
            if "ready" not in answer:
                print(client.last_words(), file=sys.stderr)
                for link in links:
                    results[link, peer].error = str(answer["error"])
        for link in links:
            machines.link.limit(RATES[link])
            for _ in range(rounds if link != "100 Mbit/s" else 1):
                for peer, client in clients.items():
                    result = results[link, peer]
                    if not result.error:
                        answer = client.ask("measure")
                        result.error = str(answer.get("error", ""))
                        result.seconds += [float(answer["seconds"])] if "seconds" in answer else []
        machines.link.limit("")
    for peer in machines.python.keys() - clients.keys():
        for link in links:
            results[link, peer].error = "left out"
    return results


def training(machines: Machines, reducer: str) -> tuple[float, float]:
    """Two workers train with a reducer over 100 Mbit/s: the seconds of a step, and the loss at the end."""
    spec = json.dumps(machines.spec())
    with contextlib.ExitStack() as stack:
        workers = []
        for end in (0, 1):
            workers.append(machines.worker(end, PLAIN, "train", spec, end, reducer))
            stack.callback(workers[-1].close)
        answers = [worker.answer() for worker in workers]
        for count, rate in ((10, ""), (STEPS, RATES["100 Mbit/s"])):
            machines.link.limit(rate)
            for worker in workers:
                assert worker.process.stdin is not None
                worker.process.stdin.write(f"steps {count}\n")
                worker.process.stdin.flush()
            answers = [worker.answer() for worker in workers]
        machines.link.limit("")
        for worker, answer in zip(workers, answers, strict=True):
            if "error" in answer:
                raise RuntimeError(f"{reducer}: {answer['error']}\n{worker.last_words()}")
    return max(float(a["seconds"]) for a in answers), statistics.mean(float(a["loss"]) for a in answers)


def trainings(machines: Machines) -> list[str]:
    """The table of what compressed gradients gain."""
    lines = ["| gradients | a step | faster | loss |", "|---|---:|---:|---:|"]
    whole = 0.0
    for reducer in REDUCERS:
        seconds, loss = training(machines, reducer)
        whole = whole or seconds
        name = "float32" if reducer == "none" else f"`{reducer}`"
        lines.append(f"| {name} | {1000 * seconds:,.0f} ms | {whole / seconds:.1f} | {loss:.3f} |")
        print(lines[-1], flush=True)
    return lines


def encrypted_tensorflow(python: str) -> str:
    """What TensorFlow says if its server is asked for ssl."""
    code = (
        "import tensorflow as tf\n"
        "try:\n"
        "    tf.train.Server({'ps': ['127.0.0.1:0']}, 'ps', 0, protocol='grpc+ssl')\n"
        "    print('It has ssl, which is not measured here.')\n"
        "except Exception as error:\n"
        "    print('It has no ssl:', str(error).split('{')[0].strip())\n"
    )
    lines = output_of(python, code).splitlines()
    return lines[-1] if lines else ""


def load() -> str:
    """How busy the machine is with other things."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def is_busy() -> bool:
    """Whether programs beside this one want at least as much of the cores."""
    return os.getloadavg()[0] > 2 * (os.cpu_count() or 1)


def report(options: argparse.Namespace, machines: Machines, versions: str) -> tuple[str, list[str]]:
    """The text of links.md, and the limits that are broken."""
    before, busy = load(), is_busy()
    lines, wrong = [], []
    head = [
        "link",
        "workload",
        RAW,
        TENSORFLOW,
        PLAIN,
        KEYS,
        "to raw TCP",
        "to TensorFlow",
        "keys, to TensorFlow",
    ]
    lines += [f"| {' | '.join(head)} |", f"|---|---|{'---:|' * (len(head) - 2)}"]
    print(lines[0], flush=True)
    rows = []
    for workload in options.workloads or WORKLOADS:
        results = measure(machines, workload, options.links, options.rounds)
        wrong += broken(results, workload)
        for link in options.links:
            rows.append((options.links.index(link), row(results, link, workload)))
            print(rows[-1][1], flush=True)
    lines += [line for _, line in sorted(rows, key=lambda pair: pair[0])]
    lines += ["", *goals(wrong)]
    if not options.no_training:
        lines += ["", "Two workers train an MLP of 1.9 million parameters (7.5 MB) by `CollectiveAllReduceStrategy` "
                  f"over 100 Mbit/s, {STEPS} steps after ten without a limit; the loss is that of the last eight.", "",
                  *trainings(machines)]  # fmt: skip
    way = machines.link.congestion
    title = (
        f"`make bench-links`: {processor()}, {os.cpu_count()} cores, {before} when it began, {load()} when it ended; "
        f"{versions}; medians of {options.rounds} rounds. Between two network namespaces, where TCP goes by {way}"
        f"{OWN_WAY if way == 'bbr' else ''}; ratios of pull, push and fetch are of throughput, those of null_step of "
        "time."
    )
    if busy or is_busy():
        title += BUSY
    python = machines.python[TENSORFLOW]
    if python:
        title += f" TensorFlow is without encryption. {encrypted_tensorflow(python)}"
    return "\n".join([title, "", *lines]) + "\n", wrong


def main() -> int:
    """Prints the tables and writes them to a file; the exit code is 1 if a limit is broken, 2 if there is no link."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}; default: all"
    )
    parser.add_argument("--links", nargs="+", choices=RATES, default=list(RATES), help="default: all")
    parser.add_argument(
        "--congestion", default="", help="TCP's congestion control, such as cubic; default: this machine's"
    )
    parser.add_argument(
        "--venv-dir",
        type=Path,
        default=PROJECT / ".bench",
        help="where TensorFlow's environment is, or is made",
    )
    parser.add_argument("--no-tensorflow", action="store_true", help="leave TensorFlow out")
    parser.add_argument(
        "--no-training", action="store_true", help="leave out training with compressed gradients"
    )
    parser.add_argument("--output", type=Path, default=HERE / "links.md", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s; one over 100 Mbit/s")
    parser.add_argument("--patience", type=float, default=180.0, help="seconds that a peer may be silent")
    options = parser.parse_args()
    unknown = set(options.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    try:
        with Link(options.congestion) as link, tempfile.TemporaryDirectory() as folder:
            wanted = ["graphflow"] if options.no_tensorflow else ["graphflow", "tf115"]
            pythons = {name: python for name in wanted if (python := prepare(name, options.venv_dir))}
            versions = ", ".join(f"{name} {version(name, python)}" for name, python in pythons.items())
            keys = Path(folder) / "keys"
            subprocess.run(
                [sys.executable, "-m", "graphflow", "keygen", str(keys)],
                check=True, stdout=subprocess.DEVNULL, cwd=PROJECT,
            )  # fmt: skip
            text, wrong = report(options, Machines(link, pythons, keys, options.patience), versions)
    except NoLink as error:
        print(f"{Path(__file__).name} cannot run here: {error}.", file=sys.stderr)
        return CANNOT_RUN
    print("\n" + text)
    options.output.write_text(text)
    for line in wrong:
        print(f"over a limit: {line}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

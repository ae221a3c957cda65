"""Compares simulated steps with real ones, for clusters of processes on this machine: `make bench-simulate`.

For each cell a cluster is simulated with gf.distribute.simulate, and then begun: a process for each task, all on the
cores of this machine, which is what the simulated cluster is told (hosts=1). With a link every task is in a network
namespace of its own, with a virtual cable to a bridge that carries 1 Gbit/s either way (tc tbf); that needs root. The
workers train on and on, and the mean seconds of a step are taken for some seconds at a time. Times in which other
programs took more than a tenth of a core do not count, if there are enough others.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""Of BLAS, for the simulation and for the cluster: compiled code divides products itself."""
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compare import processor  # noqa: E402
from namespaces import ending_in_order, remove, remove_left_over, run  # noqa: E402
from simulate_models import MODELS, batch, strategy  # noqa: E402

import graphflow as gf  # noqa: E402

LAYOUTS = {"1 ps, 1 worker": ("async", 1, 1), "1 ps, 4 workers": ("async", 1, 4), "2 ps, 4 workers": ("async", 2, 4),
           "2 ps, 4 workers, in rounds": ("sync", 2, 4), "allreduce of 2": ("ring", 0, 2),
           "allreduce of 4": ("ring", 0, 4)}  # fmt: skip
LINKS = {"none": None, "1 Gbit/s": "1Gbit"}
WINDOW, WINDOWS, TRIES = 1.5, 5, 12
QUIET = 0.1
"""Cores that other programs may take while a time counts."""
NETWORK = "10.231.7"
NAME = "gfsim"
"""What the names of the namespaces begin with; the number of the process follows."""


def simulated(model: str, layout: str, link: str | None, costs: Any) -> Any:
    """The simulation of a cell."""
    kind, ps, workers = LAYOUTS[layout]
    cluster = gf.distribute.SimulatedCluster(
        ps,
        workers,
        link,
        cores=len(os.sched_getaffinity(0)),
        hosts=1,
        shares_memory=link is None,
        costs=costs,
    )
    build = lambda *parts: MODELS[model](gf, *parts)  # noqa: E731
    return gf.distribute.simulate(build, strategy(gf, kind), cluster, batch(model), steps=60)


def core_seconds(found: Any) -> float:
    """Core-seconds of a step of one worker, of all tasks together."""
    (processors,) = [u for u in found.usage if u.kind == "processors"]
    steps = found.cluster.workers * found.simulated_seconds / found.step_seconds
    return float(processors.share * found.cluster.cores * found.simulated_seconds / steps)


@contextmanager
def network(count: int) -> Iterator[list[str]]:
    """Names of network namespaces, each with an address and a cable of 1 Gbit/s.

    The bridge between them has a namespace of its own. All go at the end, or, if the program was killed, when the next
    one begins.
    """
    switch, *names = (f"{NAME}-{os.getpid()}-{n}" for n in ("switch", *range(count)))
    # Queues as switches have them: acknowledgements that wait behind 100 ms of the other direction are no network's.
    limit = ("root", "tbf", "rate", "1gbit", "burst", "128kb", "latency", "5ms")
    with ExitStack() as stack:
        remove_left_over(NAME)
        stack.callback(remove, switch)
        run("ip", "netns", "add", switch)
        run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", switch, "link", "set", "bridge", "up")
        for n, name in enumerate(names):
            stack.callback(remove, name)
            run("ip", "netns", "add", name)
            run(
                "ip",
                "link",
                "add",
                f"port{n}",
                "netns",
                switch,
                "type",
                "veth",
                "peer",
                "name",
                "wire",
                "netns",
                name,
            )
            run("ip", "-n", switch, "link", "set", f"port{n}", "master", "bridge", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", name, "addr", "add", f"{NETWORK}.{n + 1}/24", "dev", "wire")
            run("ip", "-n", name, "link", "set", "wire", "up")
            run("tc", "-n", switch, "qdisc", "add", "dev", f"port{n}", *limit)
            run("tc", "-n", name, "qdisc", "add", "dev", "wire", *limit)
        yield names


class Cluster:
    """The processes of a cell."""

    def __init__(self, model: str, layout: str, namespaces: Sequence[str], keys: str) -> None:
        kind, ps, workers = LAYOUTS[layout]
        tasks = [("ps", i) for i in range(ps)] + [("worker", i) for i in range(workers)]
        port = 20_000 + os.getpid() % 20_000
        hosts = [
            f"{NETWORK}.{n + 1}:7000" if namespaces else f"127.0.0.1:{port + n}" for n in range(len(tasks))
        ]
        spec: dict[str, list[str]] = {}
        for (job, _), host in zip(tasks, hosts, strict=True):
            spec.setdefault(job, []).append(host)
        self.processes = []
        for n, (job, index) in enumerate(tasks):
            told = {"cluster": spec, "job": job, "index": index, "model": model, "strategy": kind,
                    "tcp": bool(namespaces), "keys": keys if namespaces else ""}  # fmt: skip
            inside = ["ip", "netns", "exec", namespaces[n]] if namespaces else []
            command = [*inside, sys.executable, str(HERE / "simulate_program.py"), json.dumps(told)]
            self.processes.append(
                subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True)
            )
        self.workers = self.processes[ps:]

    def ready(self) -> None:
        """Waits until all workers train."""
        for process in self.workers:
            assert process.stdout is not None
            line = process.stdout.readline()
            if line.strip() != "ready":
                raise RuntimeError(f"A worker ended: {line!r}")

    def step(self, seconds: float) -> tuple[float, int]:
        """Mean seconds of a step of a worker, over some seconds, and how many steps of all workers there were."""
        for process in self.workers:
            assert process.stdin is not None
            process.stdin.write(f"{seconds}\n")
            process.stdin.flush()
        answers = [p.stdout.readline().split() for p in self.workers if p.stdout]
        return statistics.mean(float(mean) for mean, _ in answers), sum(int(count) for _, count in answers)

    def spent(self) -> float:
        """Core-seconds of all processes so far."""
        found = 0
        for process in self.processes:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            found += int(fields[11]) + int(fields[12])
        return found / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """Ends the processes."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def interrupts() -> float:
    """Core-seconds of interrupts so far, which are no program's: those of the network's cables above all."""
    return sum(int(x) for x in Path("/proc/stat").read_text().split()[6:8]) / os.sysconf("SC_CLK_TCK")


def all_spent() -> float:
    """Core-seconds of all programs of this machine so far, without those of the network's interrupts."""
    user, nice, system = (int(x) for x in Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def measured(model: str, layout: str, namespaces: Sequence[str], keys: str) -> tuple[float, float, float]:
    """Seconds and core-seconds of a step, the medians, and the cores that other programs took meanwhile."""
    cluster = Cluster(model, layout, namespaces, keys)
    try:
        cluster.ready()
        cluster.step(1.0)
        found: list[tuple[float, float, float]] = []
        while len(found) < TRIES and sum(other <= QUIET for other, _, _ in found) < WINDOWS:
            begun, spent, others, kernel = time.perf_counter(), cluster.spent(), all_spent(), interrupts()
            step, count = cluster.step(WINDOW)
            took, spent = time.perf_counter() - begun, cluster.spent() - spent
            of_step = (spent + interrupts() - kernel) / max(1, count)
            found.append((max(0.0, (all_spent() - others - spent) / took), step, of_step))
        found.sort()
        other, step, core_seconds = zip(*found[:WINDOWS], strict=True)
        return statistics.median(step), statistics.median(core_seconds), statistics.median(other)
    finally:
        cluster.end()


def main() -> None:
    """Prints the table, and writes it to a file if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=["dense", "convolutions", "embeddings"])
    parser.add_argument("--layouts", nargs="*", default=list(LAYOUTS))
    parser.add_argument("--links", nargs="*", default=list(LINKS), choices=list(LINKS))
    parser.add_argument("--costs", default="{}", help="JSON, of gf.distribute.MessageCosts")
    parser.add_argument("--only-simulate", action="store_true")
    parser.add_argument("--write", help="a file for what is printed")
    arguments = parser.parse_args()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    say(f"{processor()}, {len(os.sched_getaffinity(0))} cores, which all tasks of a cluster share; medians of "
        f"{WINDOWS} times of {WINDOW:g} s. Cores x time: core-seconds of all "
        "tasks for a step of one worker, and of interrupts, which tell more where other programs are at work. Others: "
        "cores that these took.\n")  # fmt: skip
    heads = "model", "cluster", "link", "step, measured", "simulated", "off"
    heads += "cores x time, measured", "simulated", "off", "others"
    say(f"| {' | '.join(heads)} |")
    say(f"|{'--|' * 3}{'--:|' * 7}")
    off = []
    costs = gf.distribute.MessageCosts(**json.loads(arguments.costs))
    with ending_in_order(), tempfile.TemporaryDirectory() as folder:
        keys = str(Path(folder) / "keys")
        subprocess.run([sys.executable, "-m", "graphflow", "keygen", keys], check=True, capture_output=True)
        for link, model, layout in itertools.product(arguments.links, arguments.models, arguments.layouts):
            if LINKS[link] is not None and os.getuid():
                say(f"| {model} | {layout} | {link} | needs root | | | | |")
                continue
            found = simulated(model, layout, LINKS[link], costs)
            step, spent, others = float("nan"), float("nan"), 0.0
            if not arguments.only_simulate:
                _, ps, workers = LAYOUTS[layout]
                with nullcontext([]) if LINKS[link] is None else network(ps + workers) as names:
                    step, spent, others = measured(model, layout, names, keys)
            busy = core_seconds(found)
            error = found.step_seconds / step - 1
            off.append(abs(error))
            times = f"{1e3 * step:.2f} ms | {1e3 * found.step_seconds:.2f} ms | {error:+.0%}"
            cores = f"{1e3 * spent:.2f} ms | {1e3 * busy:.2f} ms | {busy / spent - 1:+.0%}"
            say(f"| {model} | {layout} | {link} | {times} | {cores} | {others:.2f} |")
    say(f"\n{sum(e <= 0.25 for e in off)} of {len(off)} are within 25 %.")
    if arguments.write:
        Path(arguments.write).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

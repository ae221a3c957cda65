"""Measures clusters over loopback: graphflow and TensorFlow in turns, and how the messages of a step grow.

Workloads whose names end in "tcp" run as if every task had a machine of its own: with ConfigProto.tcp_only.

Every round times all peers of a workload one after the other; a ratio is the median over the rounds, since times taken
at different times say little about each other. Messages and bytes of a step are counted by graphflow's servers.
"""

import argparse
import os
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from cluster_workloads import WORKLOADS
from compare import PEERS, PROJECT, Worker, prepare, processor, version

HERE = Path(__file__).resolve().parent
NAMES = ("graphflow", "tf115", "tf2")
# Time against the faster TensorFlow: at most, and the goal. Throughput: at least, and the goal.
LIMITS = {
    "null_step": (0.25, 0.18),
    "null_step_16": (0.25, 0.15),
    "mlp_step": (0.40, 0.25),
    "sparse_step": (0.25, 0.12),
    "pull_100mb": (3, 5),
    "push_100mb": (3, 5),
    "fetch_40mb": (3, 8),
    "pull_100mb_tcp": (1, 1),
    "push_100mb_tcp": (1, 1),
}
PS, WORKERS = (1, 2, 4), (1, 2, 4, 8)
LARGE = (16, 100)
"""The ps tasks and workers that the count is made out for."""


@dataclass
class Result:
    """What one peer measured: the seconds of a step, round by round, and its messages and bytes."""

    seconds: list[float] = field(default_factory=list)
    messages: float = 0.0
    bytes: float = 0.0
    error: str = ""

    @property
    def typical(self) -> float:
        """The median."""
        return statistics.median(self.seconds)


def messages_of_step(ps: int, workers: int) -> int:
    """Messages of a step in which every worker reads every ps, a worker being the master.

    The client's request and its answer; to each other task the word to begin and from it that it is done; from each
    ps a message to each worker, but what goes to the master goes with the word that the ps is done.
    """
    return 2 + 2 * (ps + workers - 1) + ps * (workers - 1)


def measure(workload: str, pythons: dict[str, str], rounds: int, patience: float) -> dict[str, Result]:
    """The results of each peer for a workload."""
    script = str(HERE / "cluster_workloads.py")
    results = {name: Result() for name in pythons}
    running = {}
    for name, python in pythons.items():
        running[name] = Worker(python, PEERS[name].module, [script, PEERS[name].module, workload], patience)
        answer = running[name].answer()
        if "ready" not in answer:
            results[name].error = str(answer["error"])
    for _ in range(rounds):
        for name, process in running.items():
            if not results[name].error:
                answer = process.ask("measure")
                if "seconds" in answer:
                    results[name].seconds.append(float(answer["seconds"]))
                else:
                    results[name].error = str(answer["error"])
    for name, process in running.items():
        if not results[name].error and PEERS[name].module == "graphflow":
            answer = process.ask("count")
            results[name].messages = float(answer.get("messages", 0))
            results[name].bytes = float(answer.get("bytes", 0))
        process.ask("quit")
        process.close()
    return results


def shown(workload: str, seconds: float) -> str:
    """A measurement as the table has it: microseconds, or throughput where a step moves much."""
    megabytes = WORKLOADS[workload][3]
    return f"{megabytes / 1000 / seconds:.2f} GB/s" if megabytes else f"{1e6 * seconds:,.0f} us"


def ratio(workload: str, results: dict[str, Result]) -> float | None:
    """graphflow's figure to the better of the others', round by round; None where there is nothing to compare with."""
    others = [r for name, r in results.items() if name != "graphflow" and r.seconds and not r.error]
    mine = results["graphflow"]
    if not others or mine.error or not mine.seconds:
        return None
    times = [m / min(theirs) for m, *theirs in zip(mine.seconds, *(o.seconds for o in others), strict=True)]
    found = statistics.median(times)
    return 1 / found if WORKLOADS[workload][3] else found


def row(workload: str, results: dict[str, Result]) -> str:
    """A line of the table."""
    found = ratio(workload, results)
    least, goal = LIMITS[workload]
    cells = [workload]
    for name in NAMES:
        result = results.get(name)
        if result is None or not result.seconds:
            cells.append("" if result is None else result.error)
        else:
            cells.append(shown(workload, result.typical))
    bound = "at least" if WORKLOADS[workload][3] else "at most"
    cells.append("" if found is None else f"{found:.2f}")
    cells.append(f"{bound} {least:g} ({goal:g})")
    cells += [f"{results['graphflow'].messages:.0f}", f"{results['graphflow'].bytes:,.0f}"]
    return f"| {' | '.join(cells)} |"


def scaling(grid: dict[tuple[int, int], Result]) -> list[str]:
    """The table of null steps by numbers of tasks, and what the count says of a large cluster."""
    lines = [
        "| ps tasks | workers | step | messages | by the formula | bytes | us a message |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    costs = []
    for (ps, workers), result in grid.items():
        if result.error or not result.seconds:
            lines.append(f"| {ps} | {workers} | {result.error} | | | | |")
            continue
        cost = 1e6 * result.typical / result.messages
        costs.append((result.messages, cost))
        lines.append(
            f"| {ps} | {workers} | {1e6 * result.typical:,.0f} us | {result.messages:.0f} | "
            f"{messages_of_step(ps, workers)} | {result.bytes:,.0f} | {cost:.0f} |"
        )
    if costs:
        count, cost = messages_of_step(*LARGE), max(costs)[1]
        sent_by_one = LARGE[1] + 1
        lines += [
            "",
            "Messages of a step with P ps tasks and W workers: 2 + 2 (P + W - 1) + P (W - 1). All tasks share this "
            f"machine's {os.cpu_count()} cores; with a machine for each task what one task sends and receives decides.",
            f"With {LARGE[0]} ps tasks and {LARGE[1]} workers that are {count:,} messages a step, of which the master "
            f"sends or receives {2 + 2 * (sum(LARGE) - 1):,} and a ps {sent_by_one + 1:,}: at {cost:.0f} us a message "
            f"{1e-3 * cost * (2 + 2 * (sum(LARGE) - 1)):.1f} ms at the master.",
        ]
    return lines


def plot(grid: dict[tuple[int, int], Result], path: Path) -> None:
    """The time of a null step over the number of workers, a line for each number of ps tasks."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "graphflow"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6))
    for ps in sorted({ps for ps, _ in grid}):
        points = [(w, 1e6 * r.typical) for (p, w), r in grid.items() if p == ps and r.seconds]
        axes.plot(*zip(*points, strict=True), marker="o", label=f"{ps} ps")
    axes.set(xlabel="workers", ylabel="null step, us", ylim=(0, None), xticks=WORKERS)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Title": "Time of a null step by tasks"})


def main() -> int:
    """Prints the tables and writes them to a file; the exit code is 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(LIMITS)}; default: all"
    )
    parser.add_argument("--peers", nargs="+", choices=NAMES, default=list(NAMES), help="default: all")
    parser.add_argument(
        "--venv-dir", type=Path, default=PROJECT / ".bench", help="where the peers' environments are"
    )
    parser.add_argument("--output", type=Path, default=HERE / "cluster.md", help="default: %(default)s")
    parser.add_argument("--plot", type=Path, default=PROJECT / "docs" / "images" / "cluster-scaling.svg")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds that a peer may be silent")
    parser.add_argument(
        "--no-scaling", action="store_true", help="leave out the null steps by numbers of tasks"
    )
    options = parser.parse_args()
    unknown = set(options.workloads) - set(LIMITS)
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    wanted = dict.fromkeys(["graphflow", *options.peers])
    pythons = {name: python for name in wanted if (python := prepare(name, options.venv_dir)) is not None}
    versions = ", ".join(f"{name} {version(name, python)}" for name, python in pythons.items())
    lines = [
        f"{processor()}, {os.cpu_count()} cores, one machine; {versions}; medians of {options.rounds} rounds.",
        "",
        f"| workload | {' | '.join(NAMES)} | ratio | limit (goal) | messages | bytes |",
        f"|---|{'---:|' * (len(NAMES) + 4)}",
    ]
    broken = False
    for workload in options.workloads or LIMITS:
        results = measure(workload, pythons, options.rounds, options.patience)
        lines.append(row(workload, results))
        print(lines[-1], flush=True)
        found = ratio(workload, results)
        limit = LIMITS[workload][0]
        wrong = found is not None and (found < limit if WORKLOADS[workload][3] else found > limit)
        broken |= wrong or bool(results["graphflow"].error)
    if not options.no_scaling:
        mine = {"graphflow": pythons["graphflow"]}
        grid = {
            (ps, workers): measure(f"null_{ps}_{workers}", mine, options.rounds, options.patience)[
                "graphflow"
            ]
            for ps in PS
            for workers in WORKERS
        }
        lines += ["", *scaling(grid)]
        if any(r.seconds for r in grid.values()):
            plot(grid, options.plot)
    text = "\n".join(lines) + "\n"
    print(text)
    options.output.write_text(text)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())

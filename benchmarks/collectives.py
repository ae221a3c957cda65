"""Measures an allreduce between processes of one machine: graphflow and PyTorch's gloo in turns.

Every round times both, one after the other; a ratio is the median over the rounds, since times taken at different times
say little about each other. What is timed is in collectives_workloads.py: for graphflow a whole run of a session.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

from collectives_workloads import MOST_CHAINED, WORKLOADS
from compare import PEERS, PROJECT, Worker, prepare, processor, version

HERE = Path(__file__).resolve().parent
LIMITS = {"40 B": 0.3, "1 MB": 0.8, "100 MB": 0.8}
"""graphflow's time to gloo's, at most."""
RANKS = (2, 4)


def measure(
    ranks: int, pythons: dict[str, str], rounds: int, patience: float
) -> dict[str, dict[str, list[float]]]:
    """The seconds of each workload, round by round, by peer; "chain" has those inside a step of graphflow's."""
    script = str(HERE / "collectives_workloads.py")
    running = {
        name: Worker(python, PEERS[name].module, [script, PEERS[name].module, str(ranks)], patience)
        for name, python in pythons.items()
    }
    results: dict[str, dict[str, list[float]]] = {w: {} for w in WORKLOADS}
    try:
        for worker in running.values():
            answer = worker.answer()
            if "ready" not in answer:
                raise RuntimeError(f"{answer}: {worker.last_words()}")
        for _ in range(rounds):
            for workload, size in WORKLOADS.items():
                for name, worker in running.items():
                    seconds = float(worker.ask(f"measure {workload}")["seconds"])
                    results[workload].setdefault(name, []).append(seconds)
                if size <= MOST_CHAINED:
                    seconds = float(running["graphflow"].ask(f"chain {workload}")["seconds"])
                    results[workload].setdefault("chain", []).append(seconds)
    finally:
        for worker in running.values():
            worker.ask("quit")
            worker.close()
    return results


def ratio(mine: list[float], theirs: list[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(mine, theirs, strict=True))


def shown(seconds: list[float] | None) -> str:
    """The median in microseconds."""
    return "" if not seconds else f"{1e6 * statistics.median(seconds):,.0f} us"


def row(workload: str, ranks: int, results: dict[str, list[float]]) -> tuple[str, bool]:
    """A line of the table, and whether the limit is kept."""
    mine, theirs, chain = results["graphflow"], results.get("torch"), results.get("chain")
    cells = [workload, str(ranks), shown(mine), shown(theirs)]
    found = ratio(mine, theirs) if theirs else None
    cells += ["" if found is None else f"{found:.2f}", f"at most {LIMITS[workload]:g}", shown(chain)]
    cells.append(f"{ratio(chain, theirs):.2f}" if chain and theirs else "")
    return f"| {' | '.join(cells)} |", found is None or found <= LIMITS[workload]


def main() -> int:
    """Prints the table and writes it to a file; the exit code is 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS), help="default: %(default)s")
    parser.add_argument(
        "--venv-dir", type=Path, default=PROJECT / ".bench", help="where the peers' environments are"
    )
    parser.add_argument("--output", type=Path, default=HERE / "collectives.md", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds that a peer may be silent")
    options = parser.parse_args()
    pythons = {name: python for name in ("graphflow", "torch") if (python := prepare(name, options.venv_dir))}
    versions = ", ".join(f"{name} {version(name, python)}" for name, python in pythons.items())
    lines = [
        f"{processor()}, {os.cpu_count()} cores, one machine; {versions}; medians of {options.rounds} rounds.",
        "",
        "An allreduce of float32 between processes, in step; the slowest rank counts. graphflow: a run of a session "
        "(`make_callable`) that is fed an array and fetches the sum. gloo: `torch.distributed.all_reduce`, in place. "
        "In a step: one of ten allreduces that follow each other in one run.",
        "",
        "| size | ranks | graphflow | gloo | ratio | limit | in a step | ratio |",
        f"|---|{'---:|' * 7}",
    ]
    kept = True
    for ranks in options.ranks:
        for workload, results in measure(ranks, pythons, options.rounds, options.patience).items():
            line, good = row(workload, ranks, results)
            lines.append(line)
            kept &= good
            print(line, flush=True)
    text = "\n".join(lines) + "\n"
    print(text)
    options.output.write_text(text)
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())

"""Measures the ops that programs call most, forward and gradient, at three sizes: graphflow and TensorFlow in turns.

A line for each case: the time of a run in each peer, and graphflow's ratio to the faster TensorFlow, the median over
rounds in which the peers take turns. The cases are in `op_cases.py`.
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from compare import PEERS, PROJECT, TENSORFLOWS, Worker, prepare, processor, version
from op_cases import CASES, SIZES

HERE = Path(__file__).resolve().parent
LIMIT = 1.5
"""No op may take longer than so many times the faster TensorFlow's time."""
GOAL_SHARE = 0.9
"""So many of the cases should be faster than TensorFlow."""
NAMES = ("graphflow", *TENSORFLOWS)


@dataclass
class Measured:
    """One case at one size: the microseconds of each peer, round by round, and what went wrong."""

    name: str
    size: str
    dtype: str
    gradient: bool
    times: dict[str, list[float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Graphflow's time to that of the faster TensorFlow: the median of the rounds' ratios."""
        ours = self.times.get("graphflow")
        theirs = [self.times[name] for name in TENSORFLOWS if self.times.get(name)]
        if not ours or not theirs:
            return None
        return statistics.median(mine / min(others) for mine, *others in zip(ours, *theirs, strict=True))

    @property
    def label(self) -> str:
        """Its name, with what is computed of it."""
        return f"{self.name}{' (gradient)' if self.gradient else ''}"


def cases(options: argparse.Namespace) -> list[Measured]:
    """The cases that are asked for, in order."""
    chosen = options.ops or list(CASES)
    found = []
    for name in chosen:
        case = CASES[name]
        for size in options.sizes:
            found += [Measured(name, size, dtype, False) for dtype in case.dtypes]
            if case.gradient:
                found.append(Measured(name, size, case.dtypes[0], True))
    return found


def measure(one: Measured, workers: dict[str, Worker], options: argparse.Namespace) -> None:
    """Builds a case in every peer and times all of them in turns."""
    able = []
    for name, worker in workers.items():
        answer = worker.ask(
            f"case {one.name} {one.size} {one.dtype} {'yes' if one.gradient else 'no'} {options.warm}"
        )
        if "built" in answer:
            able.append(name)
            one.times[name] = []
        else:
            one.problems[name] = str(answer.get("error", "has no gradient"))
    for _ in range(options.rounds):
        for name in able:
            time.sleep(0.01)  # the threads of the one before stop spinning
            answer = workers[name].ask(f"time {options.seconds}")
            if "microseconds" not in answer:
                one.problems[name] = str(answer.get("error"))
                one.times.pop(name, None)
                able = [other for other in able if other != name]
            else:
                one.times[name].append(float(answer["microseconds"]))


def row(one: Measured, names: list[str]) -> str:
    """A line of the table."""
    times = [f"{statistics.median(one.times[n]):,.1f}" if one.times.get(n) else "-" for n in names]
    ratio = "-" if one.ratio is None else f"{one.ratio:.2f}"
    mark = "over the limit" if one.ratio is not None and one.ratio > LIMIT else ""
    return f"| {' | '.join([one.label, one.size, one.dtype, *times, ratio, mark])} |"


def summary(measured: list[Measured]) -> list[str]:
    """The figures over all cases."""
    ratios = [one.ratio for one in measured if one.ratio is not None]
    if not ratios:
        return ["Nothing could be compared."]
    below = sum(r < 1 for r in ratios) / len(ratios)
    over = sorted((one for one in measured if (one.ratio or 0) > LIMIT), key=lambda one: -(one.ratio or 0))
    lines = [
        f"{len(ratios)} cases: the median ratio is {statistics.median(ratios):.2f}; {below:.0%} are below 1.0 "
        f"(goal: {GOAL_SHARE:.0%}); {len(over)} are above {LIMIT}.",
    ]
    if over:
        worst = ", ".join(f"{one.label} {one.size} {one.dtype} {one.ratio:.1f}" for one in over[:40])
        lines.append(f"Slowest: {worst}.")
    problems = [
        f"{one.label} {one.size} {one.dtype}, {name}: {problem}"
        for one in measured
        for name, problem in one.problems.items()
    ]
    return lines + [f"Not measured: {problem}." for problem in problems]


def main() -> int:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ops", nargs="*", metavar="OP", help="cases of op_cases.py; default: all")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="default: all")
    parser.add_argument("--peers", nargs="+", choices=NAMES, default=list(NAMES), help="default: all")
    parser.add_argument(
        "--venv-dir", type=Path, default=PROJECT / ".bench", help="where the peers' environments are"
    )
    parser.add_argument("--output", type=Path, default=HERE / "ops.md", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=0.03, help="of a timed batch, at least")
    parser.add_argument("--warm", type=float, default=0.5, help="seconds that a case runs before it is timed")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds that a peer may be silent")
    options = parser.parse_args()
    unknown = set(options.ops) - set(CASES)
    if unknown:
        parser.error(f"no such op: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    pythons = {name: prepare(name, options.venv_dir.absolute()) for name in options.peers}
    found = {name: python for name, python in pythons.items() if python is not None}
    names = list(found)
    workers = {
        name: Worker(
            python, PEERS[name].module, [str(HERE / "measure_ops.py"), PEERS[name].module], options.patience
        )
        for name, python in found.items()
    }
    measured = cases(options)
    columns = ["op", "size", "dtype", *(f"{name} µs" for name in names), "to TF", ""]
    header = [
        f"| {' | '.join(columns)} |",
        f"| {' | '.join(['---'] * 3 + ['---:'] * (len(names) + 1) + ['---'])} |",
    ]
    try:
        for worker in workers.values():
            worker.answer()
        for number, one in enumerate(measured, 1):
            measure(one, workers, options)
            print(f"{number}/{len(measured)} {row(one, names)}", file=sys.stderr, flush=True)
    finally:
        for worker in workers.values():
            worker.close()
    peers = ", ".join(f"{name} {version(name, python)}" for name, python in found.items())
    text = [
        "# Ops\n",
        f"Written by `make bench-ops` on {processor()}: {peers}. Microseconds a run; a ratio is the median of "
        f"{options.rounds} rounds in which the peers take turns.\n",
        *(f"* {line}" for line in summary(measured)),
        "",
        *header,
        *(row(one, names) for one in measured),
    ]
    options.output.write_text("\n".join(text) + "\n")
    print("\n".join(summary(measured)))
    return int(any((one.ratio or 0) > LIMIT for one in measured))


if __name__ == "__main__":
    sys.exit(main())

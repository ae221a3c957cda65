"""Trains the models of tests/zoo with graphflow and both TensorFlows: the first steps, and the later ones.

For each model every peer has a process of its own. First each, alone, builds it and makes 100 steps; graphflow does so
with an empty kernel cache, and in another process with the cache that the first has left. Then all step in turns, warm.
Ratios are graphflow's time to the faster TensorFlow's; those of the later steps are medians over rounds. The models are
small, so it is the library that is measured more than the arithmetic.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from compare import PEERS, PROJECT, TENSORFLOWS, Worker, prepare, processor, version

HERE = Path(__file__).resolve().parent
MODELS = sorted(p.stem for p in (PROJECT / "tests" / "zoo" / "models").glob("[!_]*.py"))
NAMES = ("graphflow", *TENSORFLOWS)
COLD = "graphflow, empty cache"
LIMITS = {"steady": (0.60, 1.0), "warm": (0.80, 1.2), "cold": (1.5, float("inf"))}
"""Of each kind of ratio the median over the models, and the largest, at most."""
CACHE_VARIABLE = "XDG_CACHE_HOME"


@dataclass
class Trained:
    """What one peer took for one model."""

    few: float = 0.0
    whole: float = 0.0
    steps: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    mebibytes: float = 0.0
    problem: str = ""


def worker(name: str, python: str, model: str, cache: str, patience: float) -> Worker:
    """A peer's process, which keeps graphflow's kernels in `cache`."""
    module = PEERS[name].module
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = cache
    try:
        return Worker(python, module, [str(HERE / "measure_zoo.py"), module, model], patience)
    finally:
        if before is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = before


def begin(one: Worker, result: Trained) -> None:
    """Has a process make its first steps."""
    answer = one.answer()
    if "ready" in answer:
        answer = one.ask("start")
    if "few" in answer:
        result.few, result.whole = float(answer["few"]), float(answer["whole"])
    else:
        result.problem = str(answer.get("error"))


def measure(model: str, pythons: dict[str, str], options: argparse.Namespace) -> dict[str, Trained]:
    """Trains a model with every peer."""
    results = {name: Trained() for name in (COLD, *pythons)}
    with tempfile.TemporaryDirectory() as cache:
        workers = {}
        try:
            for name in results:
                python = pythons["graphflow" if name == COLD else name]
                peer = "graphflow" if name == COLD else name
                one = workers[name] = worker(peer, python, model, cache, options.patience)
                begin(one, results[name])
                if not results[name].problem:
                    one.ask(f"warm {options.warm}")
                if name == COLD or results[name].problem:
                    workers.pop(name).close()
            for _ in range(options.rounds):
                for name, one in workers.items():
                    time.sleep(0.02)  # the threads of the one before stop spinning
                    answer = one.ask(f"time {options.seconds}")
                    if "microseconds" in answer:
                        results[name].steps.append(float(answer["microseconds"]))
                        results[name].processor.append(float(answer["processor"]))
            for name, one in workers.items():
                results[name].mebibytes = float(one.ask("finish").get("mebibytes", 0.0))
        finally:
            for one in workers.values():
                one.close()
    return results


def ratios(results: dict[str, Trained]) -> dict[str, float]:
    """Graphflow's times to those of the faster TensorFlow; those that could be measured."""
    theirs = [results[name] for name in TENSORFLOWS if name in results and not results[name].problem]
    ours, cold = results["graphflow"], results[COLD]
    if not theirs or ours.problem or cold.problem:
        return {}
    steady = zip(ours.steps, *(other.steps for other in theirs), strict=True)
    return {
        "steady": statistics.median(mine / min(others) for mine, *others in steady),
        "warm": ours.whole / min(other.whole for other in theirs),
        "cold": cold.whole / min(other.whole for other in theirs),
        "warm10": ours.few / min(other.few for other in theirs),
        "cold10": cold.few / min(other.few for other in theirs),
    }


def row(model: str, results: dict[str, Trained], names: list[str]) -> str:
    """A line of the table."""
    cells = [model]
    for name in names:
        one = results[name]
        cells.append(f"{statistics.median(one.steps):,.0f}" if one.steps else "-")
    cells += [f"{results[n].whole:.2f}" if results[n].whole else "-" for n in (COLD, *names)]
    found = ratios(results)
    cells += [
        f"{found[k]:.2f}" if k in found else "-" for k in ("steady", "warm", "cold", "warm10", "cold10")
    ]
    ours, theirs = (
        results["graphflow"],
        [results[n] for n in names if n != "graphflow" and results[n].processor],
    )
    shares = [statistics.median(o.processor) for o in theirs]
    cells.append(
        f"{statistics.median(ours.processor) / min(shares):.2f}" if shares and ours.processor else "-"
    )
    cells.append(" / ".join(f"{results[n].mebibytes:.0f}" for n in names))
    return f"| {' | '.join(cells)} |"


def summary(measured: dict[str, dict[str, Trained]]) -> list[str]:
    """The figures over all models."""
    found = {model: ratios(results) for model, results in measured.items()}
    lines = []
    for kind, (middle, most) in LIMITS.items():
        values = {model: r[kind] for model, r in found.items() if kind in r}
        if values:
            worst = sorted(values, key=lambda model: -values[model])[:5]
            text = ", ".join(f"{model} {values[model]:.2f}" for model in worst)
            lines.append(
                f"{kind}: the median of {len(values)} models is {statistics.median(values.values()):.2f} "
                f"(goal {middle}), the largest {max(values.values()):.2f} (goal {most}): {text}."
            )
    for model, results in measured.items():
        lines += [f"{model}, {name}: {one.problem}." for name, one in results.items() if one.problem]
    return lines


def main() -> None:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; default: all")
    parser.add_argument(
        "--peers", nargs="+", choices=TENSORFLOWS, default=list(TENSORFLOWS), help="default: both"
    )
    parser.add_argument(
        "--venv-dir", type=Path, default=PROJECT / ".bench", help="where the peers' environments are"
    )
    parser.add_argument("--output", type=Path, default=HERE / "zoo.md", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=0.2, help="of steps in a round, at least")
    parser.add_argument(
        "--warm", type=float, default=3.0, help="seconds that a peer steps before it is timed"
    )
    parser.add_argument("--patience", type=float, default=300.0, help="seconds that a peer may be silent")
    options = parser.parse_args()
    unknown = set(options.models) - set(MODELS)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    found = {name: prepare(name, options.venv_dir.absolute()) for name in ("graphflow", *options.peers)}
    pythons = {name: python for name, python in found.items() if python is not None}
    names, measured = list(pythons), {}
    columns = [
        "model",
        *(f"{n} µs" for n in names),
        *(f"{n} 100 steps s" for n in (COLD, *names)),
        "steady",
        "first 100",
        "first 100, empty cache",
        "first 10",
        "first 10, empty cache",
        "processor time a step",
        "MiB",
    ]
    lines = [f"| {' | '.join(columns)} |", f"| --- |{' ---: |' * (len(columns) - 1)}"]
    for model in options.models or MODELS:
        measured[model] = measure(model, pythons, options)
        lines.append(row(model, measured[model], names))
        print(lines[-1], file=sys.stderr, flush=True)
    peers = ", ".join(f"{name} {version(name, python)}" for name, python in pythons.items())
    text = [
        "# The zoo\n",
        f"Written by `make bench-zoo` on {processor()}: {peers}. What is measured is said in `zoo.py`.\n",
        *(f"* {line}" for line in summary(measured)),
        "",
        *lines,
    ]
    options.output.write_text("\n".join(text) + "\n")
    print("\n".join(summary(measured)))


if __name__ == "__main__":
    main()

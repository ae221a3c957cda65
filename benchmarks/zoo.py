"""Trains the models of tests/zoo with graphflow, both TensorFlows and PyTorch: the first steps, and the later ones.

For each model every peer has a process of its own. First each, alone, builds it and makes 100 steps; graphflow does so
with an empty kernel cache, and in another process with the cache that the first has left. Then all step in turns, warm.
Ratios are graphflow's time to the faster TensorFlow's; those of the later steps are medians over rounds. The models are
small, so it is the library that is measured more than the arithmetic. PyTorch trains the models' twins of `zoo_torch`,
as they are and compiled by torch.compile; there are some that have none, and some that it cannot compile. With
`--beside N` all of that goes on beside N processes that compute without a pause.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

from compare import PEERS, PROJECT, TENSORFLOWS, Worker, prepare, processor, version

HERE = Path(__file__).resolve().parent
MODELS = sorted(p.stem for p in (PROJECT / "tests" / "zoo" / "models").glob("[!_]*.py"))
TORCHES = {"torch": "eager", "torch-compile": "compile"}
"""Peers and the modes of measure_zoo_torch.py."""
PEER_NAMES = (*TENSORFLOWS, *TORCHES)
GOALS = {"torch": "30 of 36", "torch-compile": "half"}
"""In how many of the twins a step is to be faster than its."""
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
    missing: bool = False


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes beside this one that each keep a core busy."""
    works = f"import os\nwhile os.getppid() == {os.getpid()}: pass"  # And ends if this one is killed.
    others = [Popen([sys.executable, "-c", works]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def kernel_cache() -> tempfile.TemporaryDirectory[str]:
    """A folder for graphflow's kernels; a compiler that is still at work may write into it as it is removed."""
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def worker(name: str, python: str, model: str, cache: str, patience: float) -> Worker:
    """A peer's process, which keeps graphflow's kernels in `cache`."""
    module = "torch" if name in TORCHES else PEERS[name].module
    script = "measure_zoo_torch.py" if name in TORCHES else "measure_zoo.py"
    command = [str(HERE / script), TORCHES.get(name, module), model]
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = cache
    try:
        return Worker(python, module, command, patience)
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
    elif "missing" in answer:
        result.missing, result.problem = True, "no twin"
    else:
        result.problem = str(answer.get("error"))


def measure(model: str, pythons: dict[str, str], options: argparse.Namespace) -> dict[str, Trained]:
    """Trains a model with every peer."""
    results = {name: Trained() for name in (COLD, *pythons)}
    with kernel_cache() as cache:
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
                    else:
                        results[name].problem = str(answer.get("error"))
            for name, one in workers.items():
                results[name].mebibytes = float(one.ask("finish").get("mebibytes", 0.0))
        finally:
            for one in workers.values():
                one.close()
    return results


def ratios(results: dict[str, Trained]) -> dict[str, float]:
    """Graphflow's times to those of the faster TensorFlow, and of PyTorch; those that could be measured."""
    done = {name: result for name, result in results.items() if not result.problem}
    theirs = [done[name] for name in TENSORFLOWS if name in done]
    if "graphflow" not in done or COLD not in done:
        return {}
    ours, cold, found = done["graphflow"], done[COLD], {}
    if theirs:
        steady = zip(ours.steps, *(other.steps for other in theirs), strict=True)
        found = {
            "steady": statistics.median(mine / min(others) for mine, *others in steady),
            "warm": ours.whole / min(other.whole for other in theirs),
            "cold": cold.whole / min(other.whole for other in theirs),
            "warm10": ours.few / min(other.few for other in theirs),
            "cold10": cold.few / min(other.few for other in theirs),
        }
    for name in TORCHES:
        if name in done:
            pairs = zip(ours.steps, done[name].steps, strict=True)
            found[name] = statistics.median(mine / other for mine, other in pairs)
    return found


def row(model: str, results: dict[str, Trained], names: list[str]) -> str:
    """A line of the table."""
    cells = [model]
    for name in names:
        one = results[name]
        cells.append(f"{statistics.median(one.steps):,.0f}" if one.steps else "-")
    cells += [f"{results[n].whole:.2f}" if results[n].whole else "-" for n in (COLD, *names)]
    found = ratios(results)
    kinds = ("steady", *(n for n in names if n in TORCHES), "warm", "cold", "warm10", "cold10")
    cells += [f"{found[k]:.2f}" if k in found else "-" for k in kinds]
    ours, theirs = (
        results["graphflow"],
        [results[n] for n in names if n in TENSORFLOWS and results[n].processor],
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
    lines += [
        beside_torch(name, found, measured) for name in TORCHES if any(name in r for r in found.values())
    ]
    for model, results in measured.items():
        failed = {name: one for name, one in results.items() if one.problem and not one.missing}
        lines += [f"{model}, {name}: {one.problem}." for name, one in failed.items()]
    return lines


def beside_torch(
    name: str, found: dict[str, dict[str, float]], measured: dict[str, dict[str, Trained]]
) -> str:
    """In how many of the models a step is faster than PyTorch's."""
    values = {model: r[name] for model, r in found.items() if name in r}
    failed = sum(bool(r[name].problem) and not r[name].missing for r in measured.values())
    below = sum(value < 1 for value in values.values())
    worst = ", ".join(
        f"{model} {values[model]:.2f}" for model in sorted(values, key=lambda m: -values[m])[:5]
    )
    return (
        f"steady, to {name}: below it in {below} of the {len(values)} models that it trains (goal {GOALS[name]}), "
        f"{failed} more fail in it; the median is {statistics.median(values.values()):.2f}: {worst}."
    )


def check(models: list[str], pythons: dict[str, str], options: argparse.Namespace) -> bool:
    """Prints how many numbers each twin trains beside its model, and how the losses change; whether all is well."""
    well = True
    for model in models:
        answers = {}
        for name in ("torch", "graphflow"):
            with kernel_cache() as cache:
                one = worker(name, pythons[name], model, cache, options.patience)
                answer = one.answer()
                answers[name] = one.ask("check") if "ready" in answer else answer
                one.close()
            if "missing" in answer:
                break
        else:
            ours, theirs = answers["graphflow"], answers["torch"]
            same = ours.get("parameters", "failed") == theirs.get("parameters")
            finite = all(math.isfinite(x) for one in answers.values() for x in one.get("last", [math.nan]))
            well = well and same and finite
            print(
                f"{model}: {'' if same and finite else 'WRONG '}graphflow {ours}, torch {theirs}", flush=True
            )
    return well


def main() -> None:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; default: all")
    parser.add_argument(
        "--peers", nargs="+", choices=PEER_NAMES, default=list(PEER_NAMES), help="default: all"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare the twins with the models instead of measuring"
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
    parser.add_argument(
        "--beside", type=int, default=0, metavar="N", help="busy processes beside it, default: none"
    )
    parser.add_argument("--patience", type=float, default=300.0, help="seconds that a peer may be silent")
    options = parser.parse_args()
    unknown = set(options.models) - set(MODELS)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    peers = ("torch",) if options.check else options.peers
    found = {
        name: prepare("torch" if name in TORCHES else name, options.venv_dir.absolute())
        for name in ("graphflow", *peers)
    }
    pythons = {name: python for name, python in found.items() if python is not None}
    if options.check:
        sys.exit(not check(options.models or MODELS, pythons, options))
    names, measured = list(pythons), {}
    columns = [
        "model",
        *(f"{n} µs" for n in names),
        *(f"{n} 100 steps s" for n in (COLD, *names)),
        "steady",
        *(f"steady to {n}" for n in names if n in TORCHES),
        "first 100",
        "first 100, empty cache",
        "first 10",
        "first 10, empty cache",
        "processor time a step",
        "MiB",
    ]
    lines = [f"| {' | '.join(columns)} |", f"| --- |{' ---: |' * (len(columns) - 1)}"]
    with busy(options.beside):
        for model in options.models or MODELS:
            measured[model] = measure(model, pythons, options)
            lines.append(row(model, measured[model], names))
            print(lines[-1], file=sys.stderr, flush=True)
    versions = {n: version("torch" if n in TORCHES else n, python) for n, python in pythons.items()}
    listed = ", ".join(f"{name} {number}" for name, number in versions.items())
    beside = f" beside {options.beside} busy processes" if options.beside else ""
    text = [
        "# The zoo\n",
        f"Written by `make bench-zoo` on {processor()}{beside}: {listed}. What is measured is said in `zoo.py`.\n",
        *(f"* {line}" for line in summary(measured)),
        "",
        *lines,
    ]
    options.output.write_text("\n".join(text) + "\n")
    print("\n".join(summary(measured)))


if __name__ == "__main__":
    main()

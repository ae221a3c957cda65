"""Measures graphflow and its peers in one run and prints one table of ratios, which the README shows.

Times taken at different times or on different machines say nothing about each other; ratios taken in turns
do. So for every workload each peer is built in a process of its own, and then all are timed in rounds, one
after the other; a ratio is the median over the rounds. The peers are installed once, each in a virtual
environment of its own.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent

# Against the faster TensorFlow: at most, and the goal.
LIMITS = {
    "run_const": (0.10, 0.05),
    "chain1000": (0.30, 0.05),
    "elementwise_1m": (0.25, 0.20),
    "mlp_sgd": (0.60, 0.40),
    "mlp_adam": (0.60, 0.45),
    "mlp_batches": (0.78, 0.58),
    "linreg_step": (0.12, 0.05),
    "embedding_step": (0.30, 0.15),
    "while_1000": (0.30, 0.02),
    "lstm_step": (0.75, 0.55),
    "first_run_mlp": (0.60, 0.30),
    "cnn_step": (1.00, 0.80),
}
# Peers that are not TensorFlow must be slower; these are goals only.
GOALS_ONLY = {("first_run_mlp", "torch"), ("first_run_mlp", "jax"), ("while_1000", "jax")}
MEMORY_WORKLOAD = "mlp_adam"
CHECK_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Peer:
    """A library to compare with: the module that `measure.py` loads, and what pip installs for it."""

    module: str
    distribution: str
    requirements: tuple[str, ...] = ()
    python: str | None = None  # None: the interpreter that runs this


PEERS = {
    "tf115": Peer(
        "tensorflow", "tensorflow", ("tensorflow==1.15.5", "protobuf<3.21", "numpy<1.19"), python="3.7"
    ),
    "tf2": Peer("tensorflow", "tensorflow-cpu", ("tensorflow-cpu",)),
    "torch": Peer("torch", "torch", ("torch==2.13.0", "numpy")),
    "jax": Peer("jax", "jax", ("jax",)),
    "graphflow": Peer("graphflow", "graphflow"),
}
TENSORFLOWS = ("tf115", "tf2")


class Worker:
    """A peer's process: a script that answers each line on its stdin with a line of JSON."""

    def __init__(
        self,
        python: str,
        module: str,
        command: list[str],
        patience: float,
        prefix: Iterable[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.patience = patience
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (`close` closes it, with the process)
        kept = Path(sys.executable).parent.parent / "bytecode"  # as an installed package has its own
        path = {"PYTHONPATH": str(PROJECT), "PYTHONPYCACHEPREFIX": str(kept)} if module == "graphflow" else {}
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self.process = subprocess.Popen(
            [*prefix, python, "-W", "ignore", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**inherited, "TF_CPP_MIN_LOG_LEVEL": "3", **path, **(environment or {})},
        )

    def answer(self) -> dict[str, float | str | bool]:
        """The next line of the process, or an error where there is none in time."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], self.patience)
        if not ready:
            self.process.kill()
            return {"error": f"no answer within {self.patience:.0f} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": f"ended with code {self.process.wait()}"}

    def ask(self, command: str) -> dict[str, float | str | bool]:
        """Sends a command and waits for its answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer says how it ended
        return self.answer()

    def close(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.communicate()
        self.log.close()

    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        self.log.seek(0)
        return "".join(self.log.readlines()[-15:])


@dataclass
class Result:
    """What one peer did in one workload; times are microseconds a call, one for each round."""

    times: list[float] = field(default_factory=list)
    check: float | None = None
    mebibytes: float | None = None
    problem: str = ""

    @property
    def typical(self) -> float:
        """The median time."""
        return statistics.median(self.times)


def measure(workload: str, pythons: dict[str, str], options: argparse.Namespace) -> dict[str, Result]:
    """Builds a workload in every peer, warms each up alone, and times them in turns."""
    results = {name: Result() for name in pythons}
    workers: dict[str, Worker] = {}

    def record(name: str, answer: dict[str, float | str | bool]) -> dict[str, float | str | bool]:
        if "error" in answer or "missing" in answer:
            results[name].problem = str(answer.get("error", "cannot express it"))
            worker = workers.pop(name)
            if options.verbose:
                print(worker.last_words(), file=sys.stderr)
            worker.close()
        return answer

    try:
        for name, python in pythons.items():
            command = [str(HERE / "measure.py"), PEERS[name].module, workload]
            workers[name] = Worker(python, PEERS[name].module, command, options.patience)
            answer = record(name, workers[name].answer())
            if "check" in answer:
                results[name].check = float(answer["check"])
                record(name, workers[name].ask(f"warm {options.warm}"))
        for _ in range(options.rounds):
            for name in list(workers):
                time.sleep(0.02)  # the threads of the one before stop spinning
                answer = record(name, workers[name].ask(f"time {options.seconds}"))
                if "microseconds" in answer:
                    results[name].times.append(float(answer["microseconds"]))
        for name in list(workers):
            answer = record(name, workers[name].ask("finish"))
            if "mebibytes" in answer:
                results[name].mebibytes = float(answer["mebibytes"])
    finally:
        for worker in workers.values():
            worker.close()
    return results


def ratio(results: dict[str, Result], others: Iterable[str]) -> float | None:
    """Graphflow's time to that of the fastest of others: the median of the rounds' ratios."""
    ours = results.get("graphflow", Result())
    theirs = [results[name].times for name in others if name in results and not results[name].problem]
    if ours.problem or not ours.times or not theirs:
        return None
    return statistics.median(mine / min(round_) for mine, *round_ in zip(ours.times, *theirs, strict=True))


def disagreement(results: dict[str, Result]) -> str:
    """A word on peers whose check differs from the first one's; empty where all do the same work."""
    checks = {name: r.check for name, r in results.items() if r.check is not None}
    if not checks:
        return ""
    reference, expected = next(iter(checks.items()))
    wrong = [
        f"{name} has {value:.6g}"
        for name, value in checks.items()
        if not abs(value - expected) <= CHECK_TOLERANCE * max(1.0, abs(expected))
    ]
    return f"{reference} has {expected:.6g}, but {', '.join(wrong)}" if wrong else ""


def verdict(workload: str, results: dict[str, Result]) -> str:
    """Whether graphflow's ratios are within the limits."""
    if "graphflow" in results and results["graphflow"].problem:
        return "failed"
    against_tensorflow = ratio(results, TENSORFLOWS)
    limit, goal = LIMITS[workload]
    if against_tensorflow is None:
        return ""
    if against_tensorflow > limit:
        return "over the limit"
    slower_than = [
        name
        for name in ("torch", "jax")
        if (workload, name) not in GOALS_ONLY and (ratio(results, [name]) or 0.0) >= 1.0
    ]
    if slower_than:
        return "slower than " + " and ".join(slower_than)
    return "goal" if against_tensorflow <= goal else "within"


def table(measured: dict[str, dict[str, Result]], names: list[str]) -> str:
    """The results as a Markdown table."""
    header = [
        "workload",
        *(f"{name} µs" for name in names),
        "to TF",
        "limit",
        "goal",
        "to torch",
        "to jax",
        "",
    ]
    rows = [header, ["---", *["---:"] * (len(header) - 2), "---"]]
    for workload, results in measured.items():
        times = [f"{results[n].typical:.1f}" if results[n].times else "-" for n in names]
        ratios = [ratio(results, others) for others in (TENSORFLOWS, ["torch"], ["jax"])]
        to_tensorflow, to_torch, to_jax = ["-" if r is None else f"{r:.2f}" for r in ratios]
        limit, goal = (f"{bound:.2f}" for bound in LIMITS[workload])
        row = [workload, *times, to_tensorflow, limit, goal, to_torch, to_jax, verdict(workload, results)]
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def remarks(measured: dict[str, dict[str, Result]]) -> list[str]:
    """What the table does not say: peak memory, workloads that failed, checks that differ."""
    lines = []
    memory = measured.get(MEMORY_WORKLOAD, {})
    sizes = [f"{name} {r.mebibytes:.0f} MiB" for name, r in memory.items() if r.mebibytes]
    if sizes:
        lines.append(f"Peak memory of {MEMORY_WORKLOAD}: " + ", ".join(sizes) + ".")
    for workload, results in measured.items():
        lines += [f"{workload}, {name}: {r.problem}." for name, r in results.items() if r.problem]
        if disagreement(results):
            lines.append(f"{workload} is not the same work everywhere: {disagreement(results)}.")
    return lines


def output_of(python: str, code: str) -> str:
    """What a line of Python prints."""
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def find_python(version: str) -> str | None:
    """An interpreter of that version: on the path, or among pyenv's."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for candidate in [f"python{version}", *sorted(map(str, root.glob(f"versions/{version}.*/bin/python")))]:
        try:
            if output_of(candidate, "import sys; print('%d.%d' % sys.version_info[:2])") == version:
                return candidate
        except OSError:
            continue
    return None


def installed(peer: Peer, python: Path) -> bool:
    """Whether that environment has the peer."""
    if not python.exists():
        return False
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({peer.module!r}) is None)"
    return subprocess.run([python, "-c", code]).returncode == 0


def prepare(name: str, folder: Path) -> str | None:
    """The interpreter of a peer's environment, which is made where it is missing; None where it cannot be."""
    peer = PEERS[name]
    if not peer.requirements:
        return sys.executable
    python = folder / name / "bin" / "python"
    if installed(peer, python):
        return str(python)
    base = find_python(peer.python) if peer.python else sys.executable
    if base is None:
        print(f"{name}: left out, it needs Python {peer.python}", file=sys.stderr)
        return None
    print(f"{name}: installing {', '.join(peer.requirements)} in {python.parent.parent}", file=sys.stderr)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *peer.requirements]
    for command in ([base, "-m", "venv", str(python.parent.parent)], pip):
        if subprocess.run(command).returncode != 0:
            print(f"{name}: left out, it could not be installed", file=sys.stderr)
            return None
    return str(python)


def version(name: str, python: str) -> str:
    """The version of a peer."""
    if name == "graphflow":  # measured as it lies here, installed or not
        here = f"import sys; sys.path.insert(0, {str(PROJECT)!r}); "
        return output_of(python, here + "import graphflow; print(graphflow.__version__)")
    folder = output_of(python, "import sysconfig; print(sysconfig.get_path('purelib'))")
    found = importlib.metadata.distributions(name=PEERS[name].distribution, path=[folder])
    return next((d.version for d in found), "unknown version")


def processor() -> str:
    """The name of the machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def included(readme: str, results: str) -> str:
    """The README with these results between its two marks; ValueError where it has none."""
    marks = "<!-- results, written by `make bench` -->", "<!-- end of results -->"
    before, found, rest = readme.partition(marks[0])
    _, found_end, after = rest.partition(marks[1])
    if not found or not found_end:
        raise ValueError(f"the README has no marks for the results: {' and '.join(marks)}")
    return f"{before}{marks[0]}\n\n{results}\n\n{marks[1]}{after}"


def main() -> int:
    """Prints the table and writes it to a file; the exit code is 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="default: all")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), help="default: all")
    parser.add_argument(
        "--venv-dir", type=Path, default=PROJECT / ".bench", help="where the peers' environments are"
    )
    parser.add_argument("--output", type=Path, default=HERE / "results.md", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=9, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=0.1, help="of a timed batch, at least")
    parser.add_argument("--warm", type=float, default=3.0, help="seconds that a peer runs before it is timed")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds that a peer may be silent")
    parser.add_argument("--verbose", action="store_true", help="show what failing peers write")
    options = parser.parse_args()
    unknown = set(options.workloads) - set(LIMITS)
    if unknown:
        parser.error(f"unknown workloads: {', '.join(sorted(unknown))}")

    environments = {name: prepare(name, options.venv_dir.absolute()) for name in options.peers}
    pythons = {name: python for name, python in environments.items() if python}
    versions = ", ".join(f"{name} {version(name, python)}" for name, python in pythons.items())
    machine = f"{processor()}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"
    print(f"{machine}: {versions}", flush=True)

    measured: dict[str, dict[str, Result]] = {}
    for workload in options.workloads or LIMITS:
        measured[workload] = measure(workload, pythons, options)
        print("\n".join(table({workload: measured[workload]}, list(pythons)).splitlines()[2:]), flush=True)
    text = "\n".join([table(measured, list(pythons)), "", *(f"* {line}" for line in remarks(measured))])
    print("\n" + text)
    head = (
        "# Benchmarks\n\n"
        f"Written by `make bench` on {machine}: {versions}.\n\n"
        "Microseconds a call, and ratios of graphflow's time to the faster TensorFlow's, to PyTorch's (eager)"
        f"\nand to JAX's (jit): each the median of {options.rounds} rounds in which the peers take turns.\n\n"
    )
    options.output.write_text(head + text + "\n", encoding="utf-8")
    if options.output == HERE / "results.md" and not options.workloads and set(pythons) == set(PEERS):
        readme = PROJECT / "README.md"
        readme.write_text(
            included(readme.read_text(encoding="utf-8"), head.partition("\n\n")[2] + text), encoding="utf-8"
        )
    broken = [w for w, results in measured.items() if verdict(w, results) not in ("", "goal", "within")]
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

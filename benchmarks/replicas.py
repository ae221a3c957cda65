"""Measures whole programs of replicas: one parameter server and two workers, each with a server of its own.

Programs in turns: asynchronous and synchronous, with a Supervisor and with a MonitoredTrainingSession, each with an
empty kernel cache and with the one that the run before has left. What is measured is what a user waits for: the seconds
from a worker's first step to its last, of the slower worker, and those of the whole program from its start. A ratio is
the median over the rounds of graphflow's time to TensorFlow's in the same round.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from cluster_workloads import _free_ports
from compare import PEERS, PROJECT, prepare, processor, version

HERE = Path(__file__).resolve().parent
KINDS = ("supervisor", "monitored")
MODES = ("async", "sync")
LIMITS = {"warm": 0.7, "empty": 1.0}
"""graphflow's training time to TensorFlow's, at most, by what is in the kernel cache."""


@dataclass
class Result:
    """What the rounds of one program took, in seconds: training of the slower worker, and the whole program."""

    training: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    error: str = ""


def run(
    python: str, module: str, kind: str, mode: str, steps: int, cache: str, patience: float
) -> list[float]:
    """One program: the seconds of its training and of all of it. RuntimeError if a task fails or is silent for long."""
    ports = _free_ports(3)
    spec = {"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{port}" for port in ports[1:]]}
    path = {"PYTHONPATH": str(PROJECT), "XDG_CACHE_HOME": cache} if module == "graphflow" else {}
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", **path}
    command = [python, "-W", "ignore", str(HERE / "replicas_program.py"), module, json.dumps(spec)]
    begun, limit = time.monotonic(), time.monotonic() + patience
    processes = []
    with tempfile.TemporaryFile("w+") as log:
        try:
            for job, index in (("ps", 0), ("worker", 0), ("worker", 1)):
                process = subprocess.Popen(
                    [*command, job, str(index), kind, mode, str(steps)],
                    stdout=subprocess.PIPE, stderr=log, text=True, env=environment,
                )  # fmt: skip
                processes.append(process)
            training = 0.0
            for process in processes[1:]:
                output, _ = process.communicate(timeout=max(0.1, limit - time.monotonic()))
                found = json.loads(output.strip().splitlines()[-1]) if output.strip() else {}
                if (
                    process.returncode or found.get("step", 0) < steps - 2
                ):  # The other has taken the last ones.
                    raise RuntimeError(f"{module} {kind} {mode}: {process.returncode} {found}")
                training = max(training, float(found["seconds"]))
            return [training, time.monotonic() - begun]
        except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
            log.seek(0)
            raise RuntimeError(f"{error}\n{''.join(log.readlines()[-15:])}") from None
        finally:
            for process in processes:
                process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()


def ratio(mine: list[float], theirs: list[float]) -> str:
    """The median over the rounds of what graphflow took to what the other took."""
    found = [m / t for m, t in zip(mine, theirs, strict=False)]
    return f"{statistics.median(found):.2f}" if found else ""


def main() -> int:
    """Prints the table; the exit code is 1 if a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", choices=("tf115", "tf2"), default="tf115")
    parser.add_argument("--venv-dir", type=Path, default=PROJECT / ".bench", help="where the peer's is")
    parser.add_argument("--python", help="the peer's interpreter, if it is in no such folder")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=200, help="global steps, default: %(default)s")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--patience", type=float, default=120.0, help="seconds that a program may take")
    options = parser.parse_args()
    peer = options.python or prepare(options.peer, options.venv_dir)
    if peer is None:
        parser.error(f"{options.peer} could not be made ready")
    print(f"{processor()}, {os.cpu_count()} cores; {options.peer} {version(options.peer, peer)}; medians of")
    print(
        f"{options.rounds} rounds; {options.steps} global steps; seconds of training (of the whole program).\n"
    )
    print("| program | graphflow, empty cache | graphflow, warm | TensorFlow | empty | warm |")
    print("|---|---:|---:|---:|---:|---:|")
    broken = False
    for kind in options.kinds:
        for mode in options.modes:
            found = {name: Result() for name in ("empty", "warm", "peer")}
            for _ in range(options.rounds):
                with tempfile.TemporaryDirectory() as cache:
                    for name in found:
                        python, module = (
                            (peer, PEERS[options.peer].module)
                            if name == "peer"
                            else (sys.executable, "graphflow")
                        )
                        try:
                            seconds = run(python, module, kind, mode, options.steps, cache, options.patience)
                        except RuntimeError as error:
                            found[name].error = str(error).splitlines()[0]
                            print(error, file=sys.stderr)
                            continue
                        found[name].training.append(seconds[0])
                        found[name].whole.append(seconds[1])
            cells = [
                r.error or f"{statistics.median(r.training):.2f} ({statistics.median(r.whole):.1f})"
                for r in found.values()
            ]
            ratios = {name: ratio(found[name].training, found["peer"].training) for name in LIMITS}
            broken = broken or any(not r or float(r) > LIMITS[name] for name, r in ratios.items())
            print(
                f"| {kind}, {mode} | {' | '.join(cells)} | {ratios['empty']} | {ratios['warm']} |", flush=True
            )
    print(
        f"\nLimits of the ratios: {LIMITS['empty']:g} with an empty cache, {LIMITS['warm']:g} with a warm one."
    )
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())

"""Where the time of a compiled plan goes: every step of a workload's native programs, with its operations.

usage: python -m benchmarks.profile_plan WORKLOAD [REPEATS]      from the project's root

The steps run one by one, in order, on the buffers of the workload's last run; the table's total is what is left when
Python, feeds and fetches are taken away. Compare it with the time of a whole call, printed below it.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from workloads import BUILDERS

import graphflow as gf
from graphflow._core.codegen.cpu.blas import single_threaded

_WARM_RUNS = 12
_WIDTH = 84


class _Recorder:
    """Stands for the module, and keeps the sessions that a workload opens."""

    def __init__(self) -> None:
        self.sessions: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(gf, name)

    def Session(self) -> Any:
        """A session that compiles at its first run."""
        self.sessions.append(gf.Session(config=gf.ConfigProto(compiled="always")))
        return self.sessions[-1]


def compiled_plans(session: Any) -> list[Any]:
    """The compiled plans that a session holds."""
    states = [s for p in session._prepared.values() for s in getattr(p.executable, "_states", {}).values()]
    return [state.compiled for state in states if state.compiled is not None]


def label(group: Any) -> str:
    """The operations of a group."""
    names = [n.instruction.type for n in group.nodes]
    counted = {name: names.count(name) for name in names}
    text = " ".join(name if n == 1 else f"{name}*{n}" for name, n in counted.items())
    space = "" if group.space is None else "x".join(map(str, group.space)) or "scalar"
    return f"{space:>16} {text}"[:_WIDTH]


def main() -> None:
    """Prints the tables of one workload."""
    name = sys.argv[1]
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    recorder = _Recorder()
    with gf.Graph().as_default():
        work = BUILDERS[name](recorder)
        for _ in range(_WARM_RUNS):
            work.step()
        # the plan that costs most is the workload's own; the others initialise and check
        plans = [p for s in recorder.sessions for p in compiled_plans(s)]
        work.step()
        tables = [table(plan, repeats) for plan in plans]
        for lines, _ in sorted(tables, key=lambda t: t[1]):
            print("\n".join(lines))
        calls = []
        for _ in range(repeats):
            began = time.perf_counter()
            work.step()
            calls.append(time.perf_counter() - began)
        print(f"{statistics.median(calls) * 1e6:10.1f} us  a whole call")


def table(plan: Any, repeats: int) -> tuple[list[str], float]:
    """A plan's lines and its total in seconds."""
    lines, total = [], 0.0
    for segment in plan.segments:
        if not hasattr(segment, "program"):
            lines.append(
                " " * 14 + "NumPy: " + " ".join(i.type for i in segment.part.lines if i is not None)[:_WIDTH]
            )
            continue
        with single_threaded():
            runs = [segment.program.time_steps() for _ in range(repeats)]
        taken = [statistics.median(column) for column in zip(*runs, strict=True)]
        ends = [*segment.steps[1:], len(taken)]
        for group, begin, end in zip(segment.groups, segment.steps, ends, strict=True):
            lines.append(f"{sum(taken[begin:end]) * 1e6:10.1f} us {end - begin:2} {label(group)}")
        total += sum(taken)
    lines.append(f"{total * 1e6:10.1f} us  in {len(lines)} groups; arena {plan.arena_bytes / 1e6:.1f} MB")
    return lines, total


if __name__ == "__main__":
    main()

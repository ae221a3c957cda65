"""What each launch of a plan would take on an H100 at least: a model from counts, and no measurement.

usage: EMULATED_GPU=late python -m benchmarks.gpu_model [CASE ...]      from the project's root; --list names the cases

The launches run on an emulated GPU (tests/emulated_gpu), the first blocks of each, and count the issue slots that their
threads take, the bytes they want, the 32-byte sectors that the accesses of their warps touch, and how many different
ones there are. Of these follow three bounds, and the longest of them is what the launch cannot be faster than:

* issue: 132 SMs with 4 slots of 1.7 GHz each, fewer where there are fewer blocks;
* memory: the different sectors at 3.0 TB/s;
* L2: all sectors asked for at 5.5 TB/s.

Nothing here knows of latency, of what a launch itself takes, of cuBLAS, or of what the assembler makes of the kernel.
Needs the extra ci-cuda and a C compiler.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

SMS: Final = 132
SLOTS: Final = 4 * 1.7e9
"""Instructions of a warp that an SM starts in a second."""
MEMORY: Final = 3.0e12
L2: Final = 5.5e12
SECTOR: Final = 32
WARP: Final = 32
ELEMENTS: Final = 16 << 20
"""Of float32: 64 MB, which no cache holds."""


class Launch(NamedTuple):
    """What a launch of a kernel's text asks for, all blocks together; sectors and footprint in bytes."""

    text: str
    blocks: int
    threads: int
    slots: float
    wanted: float
    sectors: float
    footprint: float

    @property
    def bounds(self) -> dict[str, float]:
        """Microseconds by what would take them."""
        rate = min(SMS, self.blocks) * SLOTS
        return {
            "issue": self.slots / WARP / rate * 1e6,
            "memory": self.footprint / MEMORY * 1e6,
            "L2": self.sectors / L2 * 1e6,
        }


def launch_of(line: str) -> Launch:
    """A line of a profile, as the emulated GPU writes it."""
    text, *numbers = line.split("\t")
    grid_x, grid_y, threads, run, slots, wanted, *counts, _shared = map(int, numbers)
    read, written, read_once, written_once = counts
    blocks = grid_x * grid_y
    share = blocks / run
    return Launch(
        Path(text).name,
        blocks,
        threads,
        slots * share,
        wanted * share,
        (read + written) * SECTOR * share,
        (read_once + written_once) * SECTOR * share,
    )


def report(name: str, plan: Any, profile: Path) -> None:
    """Runs the launches of a plan once, and prints what each asked for."""
    from graphflow._core.codegen.gpu.toolkit import device

    device(0).wait()  # What came before, which is done as late as now.
    profile.write_text("")
    plan.launch_once()
    device(0).wait()
    launches = [launch_of(line) for line in profile.read_text().splitlines()]
    described = [line.strip() for line in plan.describe().splitlines()[:-1]]
    labels = described if len(described) == len(launches) else [launch.text for launch in launches]
    print(f"\n{name}")
    print(
        f"{'blocks':>8}{'threads':>8}{'slots':>8}{'wanted':>9}{'sectors':>9}{'footprint':>10}"
        f"{'issue':>8}{'memory':>8}{'L2':>8}  binds"
    )
    for launch, label in zip(launches, labels, strict=True):
        each = launch.slots / launch.blocks / launch.threads
        megabytes = [f"{x / 1e6:>9.2f}" for x in (launch.wanted, launch.sectors, launch.footprint)]
        times = "".join(f"{time:>8.1f}" for time in launch.bounds.values())
        binds = max(launch.bounds, key=lambda bound: launch.bounds[bound])
        print(
            f"{launch.blocks:>8}{launch.threads:>8}{each:>8.0f}{''.join(megabytes)} {times}  {binds:<7}{label}"
        )
    total = sum(max(launch.bounds.values()) for launch in launches)
    print(f"at least {total:.1f} us in {len(launches)} launches")
    if labels != described:
        print("\n".join(described))


def bandwidth_cases() -> dict[str, Callable[[Any], tuple[Any, Any]]]:
    """The cases of gpu.py that memory should bind, over fewer elements."""
    data = np.random.default_rng(0).random(ELEMENTS, np.float32)

    def update(gf: Any) -> Any:
        v = gf.Variable(data)
        return v.assign(gf.tanh(v * 2.0 + 1.0) * gf.sigmoid(v)).op, None

    def summed(axis: int | None, *shape: int) -> Callable[[Any], Any]:
        return lambda gf: (gf.reduce_sum(gf.square(gf.Variable(data.reshape(shape))), axis), None)

    return {
        "update": update,
        "sum": summed(None, ELEMENTS),
        "sum_over_rows": summed(0, ELEMENTS // 1024, 1024),
        "sum_over_columns": summed(1, ELEMENTS // 1024, 1024),
        "sum_over_short_columns": summed(1, ELEMENTS // 16, 16),
    }


def step_plan(name: str) -> Any:
    """The largest plan of a training step."""
    import workloads

    import graphflow as gf

    sessions: list[Any] = []

    def started(module: Any) -> Any:
        session = module.Session(config=module.ConfigProto(allow_soft_placement=True))
        session.run(module.global_variables_initializer())
        sessions.append(session)
        return session

    workloads.started = started
    with gf.Graph().as_default(), gf.device("/gpu:0"):
        if name == "mlp_adam_8192":
            work = workloads.perceptron(gf, gf.train.AdamOptimizer(1e-3), (8192,))
        else:
            work = workloads.BUILDERS[name](gf)
        for _ in range(4):
            work.step()
    found = [prepared.executable for session in sessions for prepared in session._prepared.values()]
    plans = [plan for executable in found for plan in getattr(executable, "plans", ())]
    return max(plans, key=lambda plan: plan.launches)


def main() -> int:
    """Prints the model of each case; 2 where a case is not known."""
    from tests.emulated_gpu import emulation

    emulation.begin()
    import gpu

    cases = bandwidth_cases()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="all where none is named")
    parser.add_argument("--list", action="store_true", help="name the cases")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join([*cases, *gpu.STEPS]))
        return 0
    unknown = set(arguments.cases) - {*cases, *gpu.STEPS}
    if unknown:
        parser.error(f"there is no case {', '.join(sorted(unknown))}: see --list")
    print(
        "A model from counted instructions and sectors, not a measurement. Megabytes; microseconds on an H100."
    )
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile.tsv"
        os.environ["EMULATED_GPU_PROFILE"] = str(profile)  # From now on the first blocks run alone.
        for name in arguments.cases or [*cases, *gpu.STEPS]:
            if name not in cases:
                report(name, step_plan(name), profile)
                continue
            plan, session = gpu.laid_out(cases[name])
            report(name, plan, profile)
            session.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

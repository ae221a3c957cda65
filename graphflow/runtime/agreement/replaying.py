"""Runs what a report holds in both tiers: on NumPy, and compiled for what it was compiled for, the CPU or a GPU."""

from __future__ import annotations

from typing import Final

from graphflow.config import ConfigProto
from graphflow.graph.devices import DeviceSpec
from graphflow.kernels.cuda.discovery import found
from graphflow.plan.ir import Plan
from graphflow.runtime.agreement.report import Recorded
from graphflow.runtime.agreement.rounding import Replay
from graphflow.runtime.agreement.shadow import Variables, written_variables
from graphflow.runtime.agreement.tape import Tape
from graphflow.runtime.agreement.verification import Apart, Subject, judged
from graphflow.runtime.assemble import KernelTable
from graphflow.runtime.compiled import native
from graphflow.runtime.compiled.observe import observed_run
from graphflow.runtime.compiled.reasons import StaysOnNumpy
from graphflow.runtime.compiled.watching import Watch
from graphflow.runtime.context import RunContext
from graphflow.runtime.cuda.executable import DeviceExecutable, gpu_of
from graphflow.runtime.executor import Executable
from graphflow.runtime.planner import KERNELS, Planner
from graphflow.runtime.resources import ResourceStore
from graphflow.runtime.threads import ThreadPool

_SECONDS: Final = 120.0
_TASK: Final = "/job:localhost/replica:0/task:0"


class _NoGpu(StaysOnNumpy):
    """The plan is for a GPU, and there is none."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"it is for a GPU. {problem.rstrip('.')}")


def replayed(recorded: Recorded, threads: int) -> Apart | None:
    """How the two tiers differ on a recorded run; None where they agree.

    Raises StaysOnNumpy where the plan is not compiled any more, or is for a GPU and there is none.
    """
    plan: Plan = recorded.plan
    variables = Variables(plan.variables(), written_variables(plan), recorded.variables)
    tape = Tape(0, results=dict(recorded.tape))
    empty = ResourceStore()
    run = RunContext(variables.store(empty))
    replay = Replay(plan, variables, tape, empty, KERNELS, run, recorded.feeds, recorded.random)
    gpu = gpu_of(plan)
    subject = (
        _on_cpu(recorded, threads, empty, replay) if gpu is None else _on_gpu(recorded, gpu, empty, replay)
    )
    return judged(subject, replay)


def _on_cpu(recorded: Recorded, threads: int, empty: ResourceStore, replay: Replay) -> Subject:
    """The plan as it is compiled for the CPU."""
    from graphflow.runtime.compiled.build import CompiledPlan, Unusable
    from graphflow.runtime.compiled.drafting import draft_plan

    plan, variables, kernels = replay.plan, replay.variables, replay.tape.replaying
    store = variables.store(empty)
    run = RunContext(store)
    planner = Planner(ConfigProto(), [f"{_TASK}/device:CPU:0"], _TASK)
    base = Executable(plan, store, kernels(KERNELS), ThreadPool)
    _, known = observed_run(base, plan, store, kernels(KERNELS), run, recorded.feeds)
    draft = draft_plan(plan, known or recorded.known, variables.store(empty), KERNELS, planner.context())
    draft.wait(_SECONDS)

    def make(store: ResourceStore, kernels: KernelTable, watch: Watch | None) -> CompiledPlan:
        return CompiledPlan(draft, native.machine(), threads, store, kernels, watch=watch)

    return Subject(plan, recorded.known, store, KERNELS, (), False, make, Unusable, False)


def _on_gpu(recorded: Recorded, name: str, empty: ResourceStore, replay: Replay) -> Subject:
    """The plan as it is laid out on a GPU: the one of the same number, or the first where there are fewer here."""
    from graphflow.runtime.cuda.cells import DeviceCell

    gpus = found()
    if not gpus.gpus:
        raise _NoGpu(gpus.problem)
    number = DeviceSpec.from_string(name).device_index or 0
    here = (
        f"{_TASK}/device:GPU:{number if number in [gpu.index for gpu in gpus.gpus] else gpus.gpus[0].index}"
    )
    empty.cell_type = DeviceCell
    plan, kernels = replay.plan, replay.tape.replaying(KERNELS)
    store = replay.variables.store(empty)
    planner = Planner(ConfigProto(allow_soft_placement=True), [f"{_TASK}/device:CPU:0", here], _TASK)
    base = Executable(plan, store, kernels, ThreadPool)
    executable = DeviceExecutable(base, plan, here, store, kernels, planner.context())
    return executable.subject(RunContext(store), recorded.feeds, recorded.known)

"""Replays a report: runs its plan on NumPy, and compiled for the device that it was compiled for, the CPU or a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen import shared
from graphflow._core.codegen.gpu.discovery import found
from graphflow._core.common.timeouts import REPLAY_COMPILE_SECONDS
from graphflow._core.compiler.prepare import prepare_job
from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.kernels.table import KERNELS, KernelTable
from graphflow._core.plan.ir import Plan
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.agreement.report import Recorded
from graphflow._core.runtime.agreement.rounding import Replay
from graphflow._core.runtime.agreement.shadow import LeftBehind, Variables, written_variables
from graphflow._core.runtime.agreement.tape import Tape
from graphflow._core.runtime.agreement.verification import Apart, Subject, judged
from graphflow._core.runtime.compiled.build import CompiledPlan
from graphflow._core.runtime.compiled.observe import Observer
from graphflow._core.runtime.compiled.watching import Watch
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.gpu.cells import DeviceCell
from graphflow._core.runtime.gpu.executable import DeviceExecutable
from graphflow._core.runtime.gpu.held import gpu_of
from graphflow._core.runtime.numpy_executable import NumpyExecutable
from graphflow._core.runtime.planner import Planner
from graphflow._core.runtime.threads import ThreadPool
from graphflow.config import ConfigProto

_TASK: Final = "/job:localhost/replica:0/task:0"


class _NoGpu(StaysOnNumpy):
    """The plan is for a GPU, and there is none."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"it is for a GPU. {problem.rstrip('.')}")


def numpy_results(recorded: Recorded) -> Sequence[Any]:
    """The results of a recorded run on NumPy. Raises what its kernels raise."""
    return _replay(recorded, ResourceStore()).numpy().results


def _replay(recorded: Recorded, empty: ResourceStore) -> Replay:
    plan = recorded.plan
    variables = Variables(plan.variables(), written_variables(plan), recorded.variables)
    run = RunContext(variables.store(empty))
    tape = Tape(0, results=dict(recorded.tape))
    left = LeftBehind(recorded.feeds, {})
    return Replay(plan, variables, tape, empty, KERNELS, run, left, recorded.random)


def replayed(recorded: Recorded, threads: int) -> Apart | None:
    """How the two tiers differ on a recorded run; None if they agree.

    Raises StaysOnNumpy if the plan is not compiled any more, or is for a GPU and there is none.
    """
    plan: Plan = recorded.plan
    empty = ResourceStore()
    replay = _replay(recorded, empty)
    gpu = gpu_of(plan)
    subject = (
        _on_cpu(recorded, threads, empty, replay) if gpu is None else _on_gpu(recorded, gpu, empty, replay)
    )
    return judged(subject, replay)


def _on_cpu(recorded: Recorded, threads: int, empty: ResourceStore, replay: Replay) -> Subject:
    """The plan as it is compiled for the CPU."""
    plan, variables, kernels = replay.plan, replay.variables, replay.tape.replaying
    store = variables.store(empty)
    run = RunContext(store)
    planner = Planner(ConfigProto(), [f"{_TASK}/device:CPU:0"], _TASK)
    base = NumpyExecutable(plan, store, kernels(KERNELS), ThreadPool)
    _, seen = Observer(base, plan, store, kernels(KERNELS)).run(run, recorded.feeds)
    job = prepare_job(plan, seen.known or recorded.known, variables.store(empty), KERNELS, planner.context())
    job.wait(REPLAY_COMPILE_SECONDS)

    def make(store: ResourceStore, kernels: KernelTable, watch: Watch | None) -> CompiledPlan:
        return CompiledPlan(job, shared.machine(), threads, store, kernels, watch=watch)

    return Subject(plan, recorded.known, store, KERNELS, (), False, make, False)


def _on_gpu(recorded: Recorded, name: str, empty: ResourceStore, replay: Replay) -> Subject:
    """The plan as it is laid out on a GPU: the one of the same number, or the first if there are fewer here."""
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
    base = NumpyExecutable(plan, store, kernels, ThreadPool)
    executable = DeviceExecutable(base, plan, here, store, kernels, planner.context())
    return executable.subject(RunContext(store), recorded.feeds, recorded.known)

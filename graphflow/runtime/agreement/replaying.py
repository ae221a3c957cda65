"""Runs what a report holds in both tiers."""

from __future__ import annotations

from typing import Any, Final

from graphflow.config import ConfigProto
from graphflow.plan.ir import Plan
from graphflow.runtime.agreement.report import Recorded
from graphflow.runtime.agreement.rounding import Replay
from graphflow.runtime.agreement.shadow import Variables, written_variables
from graphflow.runtime.agreement.tape import Tape
from graphflow.runtime.agreement.verification import Apart, Subject, judged
from graphflow.runtime.assemble import KernelTable
from graphflow.runtime.compiled import native
from graphflow.runtime.compiled.observe import observed_run
from graphflow.runtime.context import RunContext
from graphflow.runtime.executor import Executable
from graphflow.runtime.planner import KERNELS, Planner
from graphflow.runtime.resources import ResourceStore
from graphflow.runtime.threads import ThreadPool

_SECONDS: Final = 120.0
_DEVICE: Final = "/job:localhost/replica:0/task:0/device:CPU:0"


def replayed(recorded: Recorded, threads: int) -> Apart | None:
    """How the two tiers differ on a recorded run; None where they agree.

    Raises StaysOnNumpy where the plan is not compiled any more.
    """
    from graphflow.runtime.compiled.build import CompiledPlan, Unusable
    from graphflow.runtime.compiled.drafting import draft_plan

    plan: Plan = recorded.plan
    variables = Variables(plan.variables(), written_variables(plan), recorded.variables)
    tape = Tape(0, results=dict(recorded.tape))
    empty = ResourceStore()
    store = variables.store(empty)
    run = RunContext(store)
    replay = Replay(plan, variables, tape, empty, KERNELS, run, recorded.feeds, {})
    kernels = tape.replaying(KERNELS)
    planner = Planner(ConfigProto(), [_DEVICE], _DEVICE.rpartition("/device:")[0])
    base = Executable(plan, store, kernels, ThreadPool)
    _, known = observed_run(base, plan, store, tape.replaying(KERNELS), run, recorded.feeds)
    draft = draft_plan(plan, known or recorded.known, variables.store(empty), KERNELS, planner.context())
    draft.wait(_SECONDS)

    def make(store: ResourceStore, kernels: KernelTable, watch: Any) -> CompiledPlan:
        return CompiledPlan(draft, native.machine(), threads, store, kernels, watch=watch)

    subject = Subject(plan, recorded.known, store, KERNELS, (), False, make, Unusable, False)
    return judged(subject, replay)

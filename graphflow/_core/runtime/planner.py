"""Planner: makes plans and executables, for sessions and for the functions of datasets alike."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final
from weakref import WeakSet

from graphflow._core.codegen.openblas import choose_kernels
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.reasons import NothingNative, WorthCutting
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.kernels import registry
from graphflow._core.kernels.table import KERNELS, evaluate
from graphflow._core.plan import kinds
from graphflow._core.plan.alike import alike
from graphflow._core.plan.functions import LoweredFunction
from graphflow._core.plan.ir import Instruction, Plan, walk
from graphflow._core.plan.lower import lower
from graphflow._core.plan.partition import Partition, partition
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.plan.pipeline import run_passes
from graphflow._core.plan.verify import Verifier, asked_by_environment, verify
from graphflow._core.plan.waits.independent_waits import may_hold_up
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell
from graphflow._core.runtime.compiled.cores import usable_cores
from graphflow._core.runtime.compiled.tier import TieredExecutable, settings_of
from graphflow._core.runtime.compiled.tier_state import TierPolicy
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.cutting import CutExecutable
from graphflow._core.runtime.example_code import ask_when_needed
from graphflow._core.runtime.executable import Executable, carry_out
from graphflow._core.runtime.functions import FunctionRunner
from graphflow._core.runtime.gpu.held import for_host, gpu_of
from graphflow._core.runtime.numpy_executable import NumpyExecutable
from graphflow._core.runtime.profiling.traced import TracedExecutable
from graphflow._core.runtime.rowwise import Rowwise
from graphflow._core.runtime.scheduler import StageRunner
from graphflow._core.runtime.staged import StagedExecutable, with_bodies_apart
from graphflow._core.runtime.threads import ThreadPool
from graphflow.config import ConfigProto

ask_when_needed()


def _gpus() -> Any:
    """What plans for GPUs, which a program without one does not load."""
    from graphflow._core.runtime.gpu import planning

    return planning


def _log_moved(instruction: Instruction, device: str) -> None:
    """Adds a line to what log_device_placement writes."""
    sys.stderr.write(f"{instruction.name}: ({instruction.type}): {device}\n")
    sys.stderr.flush()


def _has_kernel(op_type: str, device_type: str) -> bool:
    if device_type == "GPU":
        return bool(_gpus().has_kernel(op_type))
    return device_type == "CPU" and (
        op_type in (kinds.CONST, kinds.NO_OP) or registry.factory(op_type) is not None
    )


_FILE_TYPES: Final = frozenset({"SaveV2", "RestoreV2"})
"""A plan with one of these is never compiled: moving the bytes takes the time, and compiling it would take more."""


def _is_one_stage(plan: Plan) -> bool:
    """Whether a plan for one device needs no cuts: nothing of it waits, or all of it reads or writes files."""
    return not any(i.blocks for i in plan.instructions) or _has_files(plan)


def _has_files(plan: Plan) -> bool:
    return any(i.type in _FILE_TYPES for i in plan.instructions)


def _loops(plan: Plan) -> bool:
    """Whether a plan has a loop, so that its time depends on more than the shapes of its values."""
    return any(i.type == kinds.WHILE for i in walk(plan))


@dataclass(frozen=True)
class ExecutionOptions:
    """How a plan is run, in this process or on tasks of a cluster: what a session and its graph say of it.

    seeded: whether its results must not depend on when it becomes compiled. traced: whether each operation's time is
    recorded. compiled, check_numerics, replica_wait_in_ms, verify: as in ConfigProto, of which the last is
    `verify_compiled`. verify_plans: see ConfigProto. shares: whether results that are not seeded may be rounded
    otherwise when other programs want the cores; tasks of a cluster are not told.
    """

    seeded: bool = False
    traced: bool = False
    compiled: str = "auto"
    check_numerics: bool = False
    replica_wait_in_ms: int = 0
    verify: bool | None = None
    verify_plans: bool = False
    shares: bool = True

    @property
    def looks(self) -> bool:
        """Whether each operation is observed, which only the NumPy tier allows."""
        return self.traced or self.check_numerics


class Planner:
    """Makes plans, and executables from them, for one configuration on some devices. Thread-safe.

    devices: full names, the first being the default. task: the task of device names that name no job.
    """

    cluster_has_clients: bool = False
    """Whether, when it was made, other tasks of the cluster had clients with sessions."""

    operation_timeout_in_ms: int = 0
    """The deadline of a run whose session has none of its own; 0 for none."""

    given_up: bool = False
    """Whether its session ends because something failed, and not because the program closed it in order."""

    def __init__(self, config: ConfigProto, devices: Sequence[str], task: str) -> None:
        self._config = config
        self.devices = devices
        self.has_gpus = any("/device:GPU:" in name for name in devices)
        self._task = task
        self._verifies = config.verify_plans or asked_by_environment()
        self._verified: WeakSet[Plan] = WeakSet()
        """Plans that were verified after their last pass."""
        self._compiling: WeakSet[TieredExecutable] = WeakSet()
        """What runs the plans that become compiled; traced runs of the same plans do as it does."""
        self._lock = threading.Lock()
        self._pool: ThreadPool | None = None
        choose_kernels()

    @property
    def batches_functions(self) -> bool:
        """Whether functions of datasets may run for many elements at once: unless compiled code is insisted on."""
        return self._config.compiled != "always" and not self._config.check_numerics

    def plan(
        self,
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        feeds: Sequence[Tensor],
        watch: Callable[[str, Plan], None] | None = None,
    ) -> Plan:
        """The plan that computes `fetches` and runs `targets`, given `feeds`; `watch` sees it after each pass."""
        return self.finish(lower(fetches, targets, feeds), watch)

    def finish(self, lowered: Plan, watch: Callable[[str, Plan], None] | None = None) -> Plan:
        """A lowered plan after all passes; InternalError if plans are verified and a pass has made a wrong one."""
        plan = run_passes(lowered, self.context(), watch, Verifier() if self._verifies else None)
        if self._verifies:
            self._verified.add(plan)
        return plan

    def context(self) -> PassContext:
        """The context that every pass gets."""
        optimizer = self._config.graph_options.optimizer_options
        folding = optimizer.do_constant_folding and optimizer.opt_level >= 0
        return PassContext(
            self.devices,
            _has_kernel,
            self._config.allow_soft_placement,
            evaluate if folding and not self._config.check_numerics else None,
            self._task,
            _log_moved if self._config.log_device_placement else None,
        )

    def partition(self, plan: Plan) -> Partition:
        """The parts of a plan, one a device."""
        return partition(plan, self.devices[0])

    def text(self, plan: Plan) -> str:
        """The parts as text, for people."""
        parts = self.partition(plan).parts
        return str(plan) if len(parts) == 1 else "\n".join(f"part {d}\n{part}" for d, part in parts.items())

    def execution_options(self, seeded: bool, traced: bool = False) -> ExecutionOptions:
        """The execution options that this configuration asks for."""
        config = self._config
        return ExecutionOptions(
            seeded,
            traced,
            config.compiled,
            config.check_numerics,
            config.replica_wait_in_ms,
            config.verify_compiled,
            config.verify_plans,
        )

    def executable(
        self,
        plan: Plan,
        store: ResourceStore,
        options: ExecutionOptions,
        borrows: bool = False,
        threads: int | None = None,
    ) -> Executable:
        """An executable for a plan, which becomes compiled if that is asked for.

        options: may come from another configuration; what this one insists on holds as well.
        borrows: whether fetched values may be borrowed: read-only arrays in memory of the store, not the caller's own.
        threads: of compiled code, by default those of the configuration.
        """
        self._prepare(store)
        options = self._insisted(options)
        # A session that asks means the functions of its datasets too, which its tasks plan later.
        self._verifies |= options.verify_plans
        cut = self.partition(plan)
        plain = options.compiled == "never" or options.check_numerics
        cells: list[VariableCell] = []
        compute_threads = threads or self._config.intra_op_parallelism_threads or usable_cores()

        def base(part: Plan, inside: bool) -> NumpyExecutable:
            if self._verifies and part not in self._verified:
                verify(part, "partition")
            part = with_bodies_apart(part, body)
            settings = {"trace": options.traced, "check_numerics": options.check_numerics, "borrows": inside}
            settings["shares"] = options.shares and not options.seeded
            found = NumpyExecutable(part, store, KERNELS, self.threads, cells, **settings)
            if options.compiled == "never":
                found.because = "compiled='never' in the session's gf.ConfigProto"
            elif options.check_numerics:
                found.because = "check_numerics looks at every result"
            elif _has_files(part):
                found.because = "it reads or writes files of checkpoints"
            elif not found.part.computes:
                found.reason = NothingNative()
            return found

        def body(plan: Plan, device: str) -> Executable:
            def on_numpy(part: Plan, waits: bool, kept: frozenset[str]) -> StageRunner:
                found = base(part, True)
                return StageRunner(found, found, True)

            cut = Partition({device: plan}, (device,) * len(plan.fetches))
            return StagedExecutable(plan, cut, on_numpy, self.threads, False)

        def faster(
            found: NumpyExecutable, part: Plan, kept: frozenset[str] = frozenset(), due: int | None = None
        ) -> Executable:
            if options.traced:
                tiered = None if plain else self._compiled_like(part, store)
                if tiered is not None and tiered.worth_cutting is not None:
                    return in_stages(part, self.partition(part), found.borrows, tiered.worth_cutting)
                return found if tiered is None else TracedExecutable(found, tiered)
            gpu = gpu_of(part)
            if gpu is not None and not options.looks:
                settings = store, KERNELS, self.context(), self.threads, kept, options.verify
                on_gpu: Executable = _gpus().executable(found, part, gpu, *settings)
                return on_gpu
            if plain or _has_files(part) or found.reason is not None:
                return found
            policy = TierPolicy(options.compiled, options.seeded, compute_threads, options.verify, due)
            tiered = self._tiered(found, part, store, policy)

            def in_its_stages(how: WorthCutting) -> Executable:
                return in_stages(part, self.partition(part), found.borrows, how)

            return CutExecutable(tiered, in_its_stages)

        def stage(part: Plan, waits: bool, kept: frozenset[str], due: int | None = None) -> StageRunner:
            found = base(part, True)
            if waits:
                types = dict.fromkeys(i.type for i in part.instructions if i.blocks)
                found.because = (
                    f"{', '.join(types) or 'what is near'} may wait; it runs with the short work beside it"
                )
            executable = found if waits else faster(found, part, kept, due)
            runner = StageRunner(executable, found, waits or _loops(part))
            if self.has_gpus and not runner.executable.takes_device_arrays:
                runner.takes = for_host
            return runner

        def in_stages(
            part: Plan, cut: Partition, borrows: bool, how: WorthCutting | None = None
        ) -> Executable:
            make = stage if how is None else partial(stage, due=how.due)
            return StagedExecutable(part, cut, make, self.threads, borrows, how.after if how else ())

        if len(cut.parts) == 1 and (plain or _is_one_stage(plan)) and not may_hold_up(plan):
            return faster(base(plan, borrows), plan)
        return in_stages(plan, cut, borrows)

    def _insisted(self, options: ExecutionOptions) -> ExecutionOptions:
        compiled = self._config.compiled if options.compiled == "auto" else options.compiled
        looks = options.check_numerics or self._config.check_numerics
        verify = self._config.verify_compiled if options.verify is None else options.verify
        return replace(options, compiled=compiled, check_numerics=looks, verify=verify)

    def _prepare(self, store: ResourceStore) -> None:
        """Lets variables of a store live on GPUs, if there are any."""
        if self.has_gpus and store.cell_type is VariableCell:
            store.cell_type = _gpus().DeviceCell

    def _tiered(
        self,
        base: NumpyExecutable,
        plan: Plan,
        store: ResourceStore,
        policy: TierPolicy,
    ) -> TieredExecutable:
        """An executable that starts as `base` and becomes compiled."""
        made = TieredExecutable(base, plan, store, KERNELS, self.context(), policy)
        with self._lock:
            self._compiling.add(made)
        return made

    def _compiled_like(self, plan: Plan, store: ResourceStore) -> TieredExecutable | None:
        """What does the other runs of a plan that is to be traced; None if nothing that is there does."""
        with self._lock:
            found = list(self._compiling)
        return next((one for one in found if settings_of(one)[1] is store and alike(one.plan, plan)), None)

    def evaluate(self, tensor: Tensor, store: ResourceStore) -> Any:
        """The value of a tensor that depends on nothing fed."""
        options = replace(self.execution_options(False), shares=False)
        executable = self.executable(self.plan([tensor], [], []), store, options)
        return carry_out(executable, RunContext(store), ())[0]

    def function(self, function: LoweredFunction, store: ResourceStore) -> FunctionRunner:
        """The runner of a function. The states of its random ops are its own; closing `store` ends it.

        Its compiled code takes one thread: elements are made beside one another, and beside the step that takes them.
        To wake a second thread for each would cost more than it does, and beside other programs whole time slices.
        """
        own = ResourceStore(store)
        own.planner = self
        plan = self.finish(function.plan)
        executable = self.executable(plan, own, self.execution_options(function.seeded), threads=1)
        rowwise = Rowwise.of(plan, KERNELS, function.arguments) if self.batches_functions else None
        return FunctionRunner(plan, executable, own, rowwise)

    def threads(self) -> ThreadPool:
        """The threads for the parts of plans, made at first use."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPool()
            return self._pool

    def close(self) -> None:
        """Ends the idle threads."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None

"""DeviceExecutable: a part of a plan that was placed on a GPU.

The launches are laid out for the shapes of all values. If the graph says all shapes, that happens at once. Otherwise
the first run with some fed shapes is done by NumPy, which shows the shapes, and the GPU computes from the second run
on. A plan that cannot be laid out stays on NumPy, and a warning says so once.

An op may have a kernel for some dtypes or shapes and none for others: there is none for a matrix product of integers.
Under soft placement NumPy computes such an op, between copies. Otherwise it is an error, as is an op without any
kernel.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.codegen.gpu.toolkit import device_named
from graphflow._core.common.denormals import computing
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.added_rules import added_rules
from graphflow._core.compiler.gpu.fed_sizes import FedSizes, Sizes
from graphflow._core.compiler.gpu.repeated_rules import REPEATED_RULES
from graphflow._core.compiler.gpu.rules import DEVICE_RULES, FOLDED
from graphflow._core.compiler.lower import DisagreementError, Lowering
from graphflow._core.compiler.nodes import PythonNode
from graphflow._core.compiler.reasons import NotLowered, StaysOnNumpy, tell
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.shared.repeated_rows import with_repeated_rows
from graphflow._core.compiler.specialise import (
    apart_from_feeds,
    complete,
    may_reshape,
    specialise,
    static_type,
)
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.plan.passes.placement import cpu_beside
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.agreement.trial import Trial
from graphflow._core.runtime.agreement.verification import Subject, room_for
from graphflow._core.runtime.compiled.observe import Observer
from graphflow._core.runtime.compiled.watching import Watch
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable, Unusable
from graphflow._core.runtime.explain import failure
from graphflow._core.runtime.gpu.arrays import DeviceArray, on_device
from graphflow._core.runtime.gpu.cells import DeviceCell
from graphflow._core.runtime.gpu.fed_sizes import SizeReader
from graphflow._core.runtime.gpu.held import host
from graphflow._core.runtime.gpu.plan import DevicePlan
from graphflow._core.runtime.gpu.watched import WatchedPlan
from graphflow._core.runtime.numpy_executable import NumpyExecutable

_MOST_SHAPES: Final = 16
_SMALL: Final = 16
"""The host computes integers of up to so many elements without a word."""
_ARRAYS: Final = (np.ndarray, DeviceArray)


class _NoKernelError(Exception):
    """An op on a GPU has no kernel for its dtypes or shapes."""

    def __init__(self, instruction: Instruction, known: Known) -> None:
        super().__init__(instruction.name)
        self.instruction = instruction
        self.known = known


@dataclass
class _State:
    """What is known of one combination of fed shapes."""

    plan: DevicePlan | None = None
    known: Known | None = None
    trial: Trial = field(default_factory=Trial)
    """Whether the plan has agreed with NumPy, or is trusted without that."""
    given_up: bool = False
    reason: StaysOnNumpy | None = None
    """Why the plan was given up, if it was."""
    failure: errors.InvalidArgumentError | None = None
    """Why there is no plan, if the user is to be told."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class DeviceExecutable(Executable):
    """Runs a part on a GPU. Thread-safe. `base` runs it on NumPy.

    kept: the fetched values that GPUs use, which stay on the device as DeviceArrays. verify: `verify_compiled` of
    ConfigProto.
    """

    takes_device_arrays = True

    def __init__(
        self,
        base: NumpyExecutable,
        plan: Plan,
        name: str,
        store: ResourceStore,
        kernels: KernelTable,
        ctx: PassContext,
        kept: frozenset[str] = frozenset(),
        verify: bool | None = None,
    ) -> None:
        self._verify = verify
        self._base = base
        self.uses_variables = base.uses_variables
        self._plan = plan
        self._name = name
        self._store = store
        self._kernels = kernels
        self._ctx = ctx
        self._kept = kept
        self._states: dict[tuple[Any, Sizes], _State] = {}
        self._told: set[str] = set()
        self._sizes = FedSizes(plan)
        self._reader = SizeReader(self._sizes, store, kernels)

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order. Raises the error of an operation that fails. Feeds may be DeviceArrays."""
        shapes = tuple(
            [(f.shape if isinstance(f, _ARRAYS) else (), isinstance(f, DeviceArray)) for f in feeds]
        )
        sizes = self._reader.read(run, feeds)
        key = shapes, sizes
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= _MOST_SHAPES or any(f is None for f in feeds):
                return self._on_cpu(run, feeds)
            state = self._states.setdefault(key, _State())
        if state.failure is not None:
            raise state.failure
        if state.plan is None:
            if state.given_up or not state.lock.acquire(blocking=False):
                return self._on_cpu(run, feeds)
            try:
                if state.plan is None:
                    self._lay_out(state, self._static_types(feeds), feeds, sizes)
                if state.plan is None:
                    observer = Observer(self._base, self._plan, self._store, self._kernels)
                    observed, seen = observer.run(run, [host(f) for f in feeds])
                    self._lay_out(state, seen.known, feeds, sizes)
                    state.given_up = state.plan is None
                    return observed
            finally:
                state.lock.release()
        if not state.trial.trusted:
            done = self._verified(state, run, feeds, sizes)
            if done is not None:
                return done
        try:
            given = [on_device(f, state.plan.device) if isinstance(f, DeviceArray) else f for f in feeds]
            result: tuple[Any, ...] = state.plan.run(run, given, self._kept)
            return result
        except Unusable:
            return self._on_cpu(run, feeds)
        except errors.OpError:
            raise
        except Exception as error:  # of the driver or of Numba, whose kinds are theirs
            raise errors.InternalError(
                None, None, f"{self._name} failed: {type(error).__name__}: {error}"
            ) from error

    def _verified(
        self, state: _State, run: RunContext, feeds: Sequence[Any], sizes: Sizes
    ) -> tuple[Any, ...] | None:
        """A run in both tiers, after which the plan is trusted or given up; None if the run is still to be done."""
        with state.lock:
            plan, known, trial = state.plan, state.known, state.trial
            if state.given_up:
                return self._on_cpu(run, feeds)
            room = room_for(self._plan, self._store, self._verify)
            if trial.trusted or room is None or known is None:
                trial.trusted = True
                return None
            assert plan is not None
            subject = self._subject(self._handed(feeds), known, sizes)
            results = trial.run(subject, run, [host(f) for f in feeds], room)
            if trial.reason is not None:
                self._give_up(state, trial.reason)
            return tuple(
                [
                    on_device(np.asarray(value), plan.device)
                    if name in self._kept and plan.lies_on_device(name)
                    else value
                    for name, value in zip(self._plan.fetches, results, strict=True)
                ]
            )

    def subject(self, run: RunContext, feeds: Sequence[Any], known: Known) -> Subject:
        """The plan as the verification takes it, if all feeds come from the host; known: the shapes of such a run."""
        return self._subject(frozenset(), known, self._reader.read(run, feeds))

    def _subject(self, handed: frozenset[str], known: Known, sizes: Sizes) -> Subject:
        """The plan as it is laid out for such feeds, as the verification takes it."""

        def make(store: ResourceStore, kernels: KernelTable, watch: Watch | None) -> _OnDevice:
            plan = self._laid_out(known, handed, sizes, store, kernels, watch)
            if plan is None:
                raise Unusable
            return _OnDevice(plan, self._plan.feeds, handed)

        return Subject(
            self._plan,
            known,
            self._store,
            self._kernels,
            self._base.cells,
            self._base.borrows,
            make,
            True,
        )

    def _handed(self, feeds: Sequence[Any]) -> frozenset[str]:
        """The names of the fed values that are on a device."""
        pairs = zip(self._plan.feeds, feeds, strict=True)
        return frozenset(name for name, value in pairs if isinstance(value, DeviceArray))

    def _give_up(self, state: _State, reason: StaysOnNumpy) -> None:
        state.plan, state.given_up, state.reason = None, True, reason
        tell(self._plan, reason)

    def _on_cpu(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        return self._base.run(run, [host(f) for f in feeds])

    def describe(self) -> str:
        """What runs on the GPU, for each combination of fed shapes; "" if nothing does yet."""
        return "".join(
            f"on {self._name} for {', '.join([str(s) for s, _ in shapes]) or 'no feeds'}"
            f"{''.join([f', size {s}' for s in sizes])}\n"
            f"{state.plan.describe()}\n"
            for (shapes, sizes), state in self._states.items()
            if state.plan is not None
        )

    def reasons(self) -> list[StaysOnNumpy]:
        """Why it stays on NumPy, once for each combination of fed shapes for which it does."""
        return [state.reason for state in list(self._states.values()) if state.reason is not None]

    def compiled(self) -> list[DevicePlan]:
        """The plans that were laid out, one for each combination of fed shapes that has one."""
        return [state.plan for state in list(self._states.values()) if state.plan is not None]

    def _static_types(self, feeds: Sequence[Any]) -> Known | None:
        """The shape and dtype of every value, if the graph and the feeds say them all."""
        known: Known = {
            name: (value.shape, value.dtype.name)
            for name, value in zip(self._plan.feeds, map(_array, feeds), strict=True)
        }
        for i in self._plan.instructions:
            used = i.used or (True,) * len(i.outputs)
            for position, (name, taken) in enumerate(zip(i.outputs, used, strict=True)):
                if not taken and i.writes():
                    continue
                found = static_type(i, position)
                if found is None or not i.dtypes[position].is_numpy_compatible or i.bodies:
                    return None
                known.setdefault(name, found)
        return known

    def _look_at_moved(self, lowering: Lowering) -> None:
        """Warns of the ops that NumPy computes between launches; raises if that is not allowed."""
        for i in _on_numpy(lowering):
            if not self._ctx.soft_placement:
                if not self._fits(i, lowering):
                    raise DisagreementError(i.describe())
                raise _NoKernelError(i, lowering.known)
            if self._ctx.moved is not None and i.name not in self._told:
                self._told.add(i.name)
                self._ctx.moved(i, cpu_beside(self._name, self._ctx))

    def _fits(self, i: Instruction, lowering: Lowering) -> bool:
        """Whether NumPy computes a pure instruction for such shapes; else that is the error, and no missing kernel."""
        if i.stateful or i.bodies or self._kernels.is_stateful(i.type) or i.writes():
            return True
        if not all(n in lowering.known for n in i.inputs):
            return True
        given = [(lowering.constant(n), *lowering.known[n]) for n in i.inputs]
        try:
            with computing():
                self._kernels.make(i)(*[np.ones(s, d)[()] if c is None else c[()] for c, s, d in given])
        except Exception:
            return False
        return True

    def _complaint(self, i: Instruction, known: Known) -> errors.InvalidArgumentError:
        def text(name: str) -> str:
            shape, dtype = known.get(name, ((), "an unknown dtype"))
            return f"{dtype}[{','.join(map(str, shape))}]"

        takes, gives = (", ".join(map(text, names)) or "nothing" for names in (i.inputs, i.outputs))
        return failure(
            i,
            f"no kernel on {self._name} for {i.type} of {takes} giving {gives}. Place it with "
            'gf.device("/cpu:0"), or use gf.ConfigProto(allow_soft_placement=True) to have the CPU compute it between '
            "copies.",
            errors.InvalidArgumentError,
        )

    def _lay_out(self, state: _State, known: Known | None, feeds: Sequence[Any], sizes: Sizes) -> None:
        """Lays the launches out, if the shapes are known."""
        try:
            state.known = known
            state.plan = (
                None
                if known is None
                else self._laid_out(known, self._handed(feeds), sizes, self._store, self._kernels)
            )
        except _NoKernelError as found:
            state.failure = self._complaint(found.instruction, found.known)
            raise state.failure from None
        except errors.ResourceExhaustedError:
            raise
        except DisagreementError:
            return  # NumPy raises the error, in this run and any like it.
        except Exception as error:
            reason = NotLowered(error)
            reason.__cause__ = error
            self._give_up(state, reason)

    def _laid_out(
        self,
        known: Known,
        handed: frozenset[str],
        sizes: Sizes,
        store: ResourceStore,
        kernels: KernelTable,
        watch: Watch | None = None,
    ) -> Any:
        """The launches for the shapes of a run; None if a variable has no value, or a fed value has another shape.

        watch: is shown the values of each launch; a plan with a watch is for one run only.
        """
        plan, known = apart_from_feeds(self._plan, known)
        settled = self._sizes.settled(plan, sizes)
        if settled is None:
            return None
        plan = settled
        complete(plan, known, store)
        variables = [i.outputs[0] for i in plan.instructions if i.is_variable]
        if any(name not in known for name in (*plan.feeds, *variables)) or may_reshape(plan, known):
            return None
        for i in plan.instructions:
            if i.is_variable:
                cell = store.cell(i)
                if not isinstance(cell, DeviceCell) or cell.shape() != known[i.outputs[0]][0]:
                    return None
        plan = specialise(plan, known, self._ctx)
        complete(plan, known, store)
        plan, known = with_repeated_rows(plan, known)
        rules = {**DEVICE_RULES, **REPEATED_RULES, **added_rules("gpu")}
        lowering = Lowering(plan, known, kernels, rules)
        lowering.run()
        self._look_at_moved(lowering)
        arguments = (plan, lowering, device_named(self._name), self._name, store, kernels, handed)
        return DevicePlan(*arguments) if watch is None else WatchedPlan(watch, *arguments)


class _OnDevice:
    """A plan on a GPU as the verification runs it: feeds that it expects on the device are copied there."""

    def __init__(self, plan: Any, feeds: Sequence[str], handed: frozenset[str]) -> None:
        self._plan = plan
        self._brought = [name in handed for name in feeds]

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, on the host."""
        given = [
            on_device(np.asarray(value), self._plan.device) if brought else value
            for value, brought in zip(feeds, self._brought, strict=True)
        ]
        results: tuple[Any, ...] = self._plan.run(run, given)
        return results


def _on_numpy(lowering: Lowering) -> list[Instruction]:
    """The instructions of a plan that NumPy computes because they have no kernel.

    Values without elements need no kernel. Small integers, such as shapes and axes, are computed on the host anyway.
    """

    def counts(i: Instruction) -> bool:
        seen = [lowering.known[n] for n in (*i.inputs, *i.outputs) if n in lowering.known]
        made = [lowering.known[o] for o in i.outputs if o in lowering.known]
        small = bool(made) and all(
            dtype in ("int32", "int64") and len(shape) <= 1 and math.prod(shape) <= _SMALL
            for shape, dtype in made
        )
        empty = any(0 in shape for shape, _ in seen)
        return not (small or empty or i.type in FOLDED or i.type == "Placeholder")

    return [n.instruction for n in lowering.nodes if isinstance(n, PythonNode) and counts(n.instruction)]


def _array(value: Any) -> Any:
    """A fed value as an object with a shape and a dtype."""
    return value if isinstance(value, DeviceArray) else np.asarray(value)

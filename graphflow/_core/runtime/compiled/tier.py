"""TieredExecutable: starts on NumPy, and goes over to compiled code, for each combination of fed shapes, when hot.

The fourth run is observed: a compiled plan is made for the shapes that this run has. A helper process compiles its
kernels while the runs go on. When the kernels are there, one run is done by both tiers, and compiled code takes over
only if it agrees with NumPy (runtime/agreement). Fused regions whose own kernels are not there yet run on the array
machine until then, with the same bits; when all have come, they are compared with it, and the plan is made anew.

From then on a template gives the plan of each other combination of shapes for which one holds, in its first run
(filling.py). Where none holds, the first run is observed, and the second is compiled if it needs no kernels but those
that are there, which is the rule, since kernels take sizes as arguments (family.py). Plans are kept for as many
combinations as the plan's size allows. If there are more, those that were not used for long give way. Others run
on NumPy meanwhile: a program that goes through more combinations than are kept, again and again, would make each anew
every time. A combination that needs kernels of its own goes the long way; if most do, no more are made.

If no operation draws random numbers without a seed, the change happens at a fixed run (due.py), which waits for the
compiler if need be: so the same program gives the same bits every time. Otherwise it happens as soon as the kernels are
there. Where bits are fixed, no run after the change is one of NumPy if the shapes follow from those that are fed: so
they do not depend on the order in which sizes come. Such a program keeps the first combinations for good, as which of
them give way must not depend on where it went on from a checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import graphflow.errors as errors
from graphflow._core.codegen import shared
from graphflow._core.common.syntax import literal
from graphflow._core.compiler.reasons import (
    ManyShapes,
    MayReshape,
    NoKernels,
    NotLowered,
    StaysOnNumpy,
    WorthCutting,
    label,
    tell,
    tell_compiled,
    tell_compiling,
)
from graphflow._core.compiler.shapes.fed_values import FedValues, Key
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Plan
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.agreement.trial import Trial
from graphflow._core.runtime.agreement.verification import Subject, room_for
from graphflow._core.runtime.compiled.ahead import AHEAD
from graphflow._core.runtime.compiled.arena import Arena
from graphflow._core.runtime.compiled.combination import Combination, Room, wait_for_kernels
from graphflow._core.runtime.compiled.cores import one_core, wants_one_core
from graphflow._core.runtime.compiled.family import Family
from graphflow._core.runtime.compiled.observe import Observer
from graphflow._core.runtime.compiled.tier_state import TierPolicy, TierRecord, TierState, fingerprint
from graphflow._core.runtime.compiled.watching import Watch
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable, Unusable
from graphflow._core.runtime.numpy_executable import NumpyExecutable

if TYPE_CHECKING:
    from graphflow._core.compiler.compile_job import CompileJob
    from graphflow._core.runtime.compiled.build import CompiledPlan
    from graphflow._core.runtime.compiled.filling import Filling

_LOG: Final = logging.getLogger("graphflow")
_OBSERVED_RUN: Final = 4
_LAST_OBSERVED_RUN: Final = 12
"""A plan in which a variable changes its shape is observed again in the runs up to this one."""
_FIRST: Final = "first "
"""Stands before the text of the combination for which a plan was made first, in a record with the runs of all."""


class TieredExecutable(Executable):
    """An executable that becomes compiled. Thread-safe."""

    def __init__(
        self,
        base: NumpyExecutable,
        plan: Plan,
        store: ResourceStore,
        kernels: KernelTable,
        ctx: PassContext,
        policy: TierPolicy,
    ) -> None:
        self._base = base
        self.uses_variables = base.uses_variables
        self.plan = plan
        self._store = store
        self._kernels = kernels
        self._ctx = ctx
        self._policy = policy
        self._is_fixed = policy.seeded and policy.mode != "always"
        """Whether it is to go over at a run that does not depend on the compiler."""
        self.values = FedValues(plan)
        self._states: dict[Any, Combination] = {}
        self._runs = 0
        self._arena = Arena()
        self._family = Family(policy.due)
        self._observer = Observer(base, plan, store, kernels)
        self._told: set[type[StaysOnNumpy]] = set()
        self.worth_cutting: WorthCutting | None = None
        """Raised by runs, before anything happens, from the one on from which other executables are to do them."""
        self._tier_state = TierState.of(store) if policy.seeded or policy.mode == "always" else None
        if self._tier_state is not None:
            self._tier_state.add(self)
        self._room = Room(plan, for_good=self._tier_state is not None)

    @cached_property
    def fingerprint(self) -> str:
        """A text that is the same for the same plan in another process."""
        return fingerprint(str(self.plan))

    @cached_property
    def _filling(self) -> Filling:
        from graphflow._core.runtime.compiled.filling import Filling

        return Filling(self.plan, self._store, self._kernels, self._ctx)

    def records(self) -> dict[str, TierRecord]:
        """The record of each combination of fed shapes, by the text of the shapes."""
        records = {str(k): TierRecord(s.runs, s.known) for k, s in list(self._states.items()) if s.runs}
        if self._family.first:
            records[_FIRST + self._family.first] = TierRecord(self._family.runs, None, self._family.due)
        return records

    def reasons(self) -> list[StaysOnNumpy]:
        """Why it stays on NumPy, once for each combination of fed shapes for which it does."""
        return [s.reason for s in list(self._states.values()) if s.reason is not None]

    def compiled(self) -> list[CompiledPlan]:
        """The compiled plans, one for each combination of fed shapes that has one."""
        return [state.compiled for state in list(self._states.values()) if state.compiled is not None]

    def forget(self) -> None:
        """Begins again, with what the restored tier state says."""
        self._states, self._family, self.worth_cutting = {}, Family(self._policy.due), None
        self.values = FedValues(self.plan)
        self.__dict__.pop("_filling", None)
        self._room.open()

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """One run, in the tier that its shapes have reached. A fed value is None if a branch has not computed it."""
        if run.deadline is not None:
            return self._base.run(run, feeds)
        key = self.values.key(feeds) if feeds else ()
        self._runs += 1
        state = self._states.get(key) or self._added(key, feeds)
        if state is None:
            return self._base.run(run, feeds)
        state.used = self._runs
        compiled = state.compiled
        if compiled is None and (state.reason is None or state.again_at is not None and state.try_again()):
            done = self._advance(state, run, feeds)
            if done is not None:
                return done
            compiled = state.compiled
        if compiled is not None:
            if state.better is not None:
                self._improve(state, state.better)
                compiled = state.compiled or compiled
            try:
                return compiled.run(run, feeds)
            except Unusable:
                pass
        elif state.job is not None and state.reason is None and self._spares_cores:
            with one_core():  # The compiler has the others.
                return self._base.run(run, feeds)
        return self._base.run(run, feeds)

    @cached_property
    def _spares_cores(self) -> bool:
        return wants_one_core(self.plan)

    def describe(self) -> str:
        """The compiled plans that there are, for each combination of fed shapes; "" if there is none."""
        from graphflow._core.runtime.compiled.describe import describe

        return "".join(
            f"compiled for {', '.join(map(str, shapes)) or 'no feeds'}\n{describe(state.compiled)}\n"
            for shapes, state in self._states.items()
            if state.compiled is not None
        )

    def _added(self, key: Key, feeds: Sequence[Any]) -> Combination | None:
        """The state of a combination of shapes at its first run here; None if there is no room for it."""
        if not self._states and self._tier_state is not None:
            self._restore_family(self._tier_state)
            key = self.values.key(feeds)
        if self.values.are_data(key):
            key = self.values.key(feeds)
            if key in self._states:
                return self._states[key]
        if self._room.is_closed(self._runs):
            return None
        if self._family.is_scattered:
            self._room.close()
        elif self._room.is_made(self._states, self._runs):
            return self._states.setdefault(key, self._begin(key))
        self._give_up(Combination(), ManyShapes(len(self._states)))
        return None

    def _begin(self, key: Key) -> Combination:
        """The state of a combination of shapes at its first run here: that of the checkpoint, if there is one."""
        if not self._is_fixed:
            AHEAD.plan_begins()
        state = Combination(key, self.values.given(key))
        record = None if self._tier_state is None else self._tier_state.restored(self).get(str(key))
        if record is not None:
            state.runs = record.runs
            if record.known is not None:
                self._prepare(state, record.known)
        return state

    def _restore_family(self, tier_state: TierState) -> None:
        """Notes the plans on which others relied when the checkpoint was written."""
        restored = tier_state.restored(self)
        self.values.restore([text for text in restored if not text.startswith(_FIRST)])
        # Of a plan that was observed in none of its runs yet there is no record of the first combination.
        self._family.runs = sum(r.runs for text, r in restored.items() if not text.startswith(_FIRST))
        for text in [text.removeprefix(_FIRST) for text in restored if text.startswith(_FIRST)]:
            self._rely_on(text, restored.get(text))
            self._family.due = restored[_FIRST + text].due or self._family.due
        for text, record in restored.items():
            if record.runs >= self._family.due and not text.startswith(_FIRST):
                self._rely_on(text, record)

    def _rely_on(self, text: str, record: TierRecord | None) -> None:
        if record is not None and record.known is not None:
            key = literal(text)
            state = Combination(key, self.values.given(key))
            self._prepare(state, record.known)
            if state.job is not None:
                self._family.has_kernels_of(state.job)

    def _advance(self, state: Combination, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...] | None:
        """Takes the combination a step further; the result, if that step was a run."""
        if not state.lock.acquire(blocking=False):
            return None
        try:
            if state.compiled is not None or state.reason is not None:
                return None
            _count(self, state, 1)
            if self._is_fixed and self._family.is_half_way():
                AHEAD.begin()
            self._prepare_in_time(state)
            if self.worth_cutting is not None:
                if self._is_fixed and not self._family.is_time():
                    return None  # It was known before only since a checkpoint told it.
                _count(self, state, -1)  # The stages do this run.
                self.worth_cutting.due = self._family.left
                raise self.worth_cutting
            if state.reason is not None:
                return None
            always = self._policy.mode == "always"
            least = 0 if always else self._family.due if self._policy.seeded else None
            if state.job is None and state.known is None and self._family.is_hot(least):
                self._begin_at_once(state)
            if state.compiled is not None:
                return None
            if state.job is None and state.known is None:
                observed = always or self._family.runs >= _OBSERVED_RUN
                return self._observe(state, run, feeds) if observed else None
            comes = self._family.is_time() if self._is_fixed else always or self._family.has_kernels()
            waits = self._family.to_come is state or not comes
            if state.job is None and not waits:
                self._prepare(state, state.known or {})
            if state.job is None or (self._is_fixed and not self._is_due(state)):
                return None
            if always or self._is_fixed or state.job.ready():
                return self._switch(state, run, feeds)
            return None
        finally:
            state.lock.release()

    def _begin_at_once(self, state: Combination) -> None:
        """Has a template give the plan of a combination, or at least finds its shapes without a run."""
        template = self._filling.template(state.shapes)
        if template is not None:
            if not self._family.is_sample() and not self._policy.verify:
                state.compiled = template.fill(state.shapes, self._arena)
                state.filled = state.compiled is not None
                if state.filled:
                    return
            state.template = template
            self._prepare(state, template.known(state.shapes))
        elif self._tier_state is not None:  # The bits of a run must not depend on which sizes came before.
            with suppress(Exception):
                self._prepare(state, self._filling.known(state.shapes, state.given))

    def _is_due(self, state: Combination) -> bool:
        """Whether this is the run, or one after it, in which a combination goes over if all bits are fixed."""
        due = self._family.due
        known = state.job is not None and self._family.knows(state.job)
        return state.runs >= due or (self._family.runs >= due and known)

    def _observe(self, state: Combination, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        result, seen = self._observer.run(run, feeds)
        if seen.known is None:
            if state.runs >= _LAST_OBSERVED_RUN:
                self._give_up(state, MayReshape())
        elif self._family.first and state.runs == 1:
            state.known = seen.known  # Many sizes come once only: a plan is made when they come again.
        else:
            self._family.observed(state, seen.known, seen.times, self.plan, self._is_fixed)
            if self._family.to_come is state:
                self._prepare_in_time(state)
            elif not self._is_fixed or self._family.is_time():
                self._prepare(state, seen.known)
        return result

    def _prepare_in_time(self, held: Combination) -> None:
        """Makes the plan that is to come if it is time. held: the combination whose lock the caller has."""
        first = self._family.to_come
        if first is None or not self._family.is_time():
            return
        if first is held or first.lock.acquire(blocking=False):
            try:
                if first is self._family.to_come:
                    self._prepare(first, first.known or {})
            finally:
                if first is not held:
                    first.lock.release()

    def _prepare(self, state: Combination, known: Known) -> None:
        self._family.observed(state, known, None, self.plan, self._is_fixed)
        if self._family.to_come is state:
            self._family.to_come = None
        try:
            state.job = self._filling.prepare(known, state.given, not self._family.has_plan)
            if self._family.prepared(state.job):
                tell_compiling(self.plan, state.job.missing())
        except WorthCutting as found:
            self.worth_cutting = found
        except StaysOnNumpy as reason:
            self._give_up(state, reason)
        except Exception as error:
            self._give_up(state, NotLowered(error), error)

    def _give_up(self, state: Combination, reason: StaysOnNumpy, cause: Exception | None = None) -> None:
        state.reason, state.job = reason, None
        reason.__cause__ = cause
        if type(reason) not in self._told:
            self._told.add(type(reason))
            tell(self.plan, reason)

    def _switch(self, state: Combination, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...] | None:
        """Goes over to compiled code; returns the result of the run if one was done to compare the tiers."""
        job = state.job
        try:
            wait_for_kernels(job, run, self.plan, self._policy.mode == "always")
            whole = job.whole()
            compiled = self._built(job, self._store, self._kernels, None)
        except errors.OpError:  # The run is to end, or there is no memory; another one will get there.
            raise
        except Exception as error:
            self._give_up(state, NoKernels(error), error)
            if getattr(error, "passing", False):
                state.may_pass()
            return None
        results = None
        if not state.trial.trusted:
            results = self._compared(state, run, feeds)
        if state.trial.trusted:
            if self._family.took_over(job):
                tell_compiled(self.plan, len(job.groups), job.on_numpy)
            state.compiled, state.job = compiled, None
            if whole and state.template is None:
                self._filling.took_over(state.shapes, state.given, compiled)
            elif state.template is not None and not state.template.gives(state.shapes, compiled):
                _LOG.warning("Sizes of %s are not filled in: a plan was wrong.", label(self.plan))
                self._filling.forget()
                for other in [one for one in self._states.values() if one.filled]:
                    other.compiled, other.filled = None, False
            state.better = None if whole else job
            if self._tier_state is None:
                state.known = None
        elif state.trial.reason is not None:
            self._distrust(job)
            self._give_up(state, state.trial.reason)
        return results

    def _compared(self, state: Combination, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...] | None:
        """Compares the tiers on a run if there is reason to, and returns its results then."""
        room = room_for(self.plan, self._store, self._policy.verify)
        trial = state.trial
        sample = state.template is not None or self._family.is_to_be_compared(state.job)
        if room is None or not (self._policy.verify or sample):
            trial.trusted = True
            return None
        state.compared = True
        return trial.run(self._subject(state), run, feeds, room)

    def _distrust(self, job: CompileJob) -> None:
        """Has the plans compared that took over only since others of the same structure had agreed with NumPy."""
        self._family.distrust(job.structure)
        self._filling.forget()
        for other in list(self._states.values()):
            compiled = other.compiled
            if compiled is not None and not other.compared and compiled.job.structure == job.structure:
                other.job, other.trial, other.known = compiled.job, Trial(), compiled.job.lowering.known
                other.compiled = None

    def _improve(self, state: Combination, job: CompileJob) -> None:
        """Puts the compiled plan together anew when all kernels are there; the bits stay, so any run will do for it."""
        if not job.whole() or not state.lock.acquire(blocking=False):
            return
        try:
            if state.better is not job:
                return
            state.better = None
            wrong = job.compare(shared.machine())
            if wrong:
                _LOG.warning(
                    "Kernels that are wrong, and are not used, were compiled for %s.", ", ".join(wrong)
                )
            state.compiled = self._built(job, self._store, self._kernels, None)
            self._filling.took_over(state.shapes, state.given, state.compiled)
        except Exception as error:  # What is there goes on.
            _LOG.warning("New kernels of the plan of %s are not used: %s", label(self.plan), error)
        finally:
            state.lock.release()

    def _subject(self, state: Combination) -> Subject:
        """The compiled plan of a combination, as the verification takes it."""
        job = state.job
        return Subject(
            self.plan,
            state.known or {},
            self._store,
            self._kernels,
            self._base.cells,
            self._base.borrows,
            lambda store, kernels, watch: self._built(job, store, kernels, watch),
            self._policy.seeded or self._policy.mode == "always",
        )

    def _built(self, job: Any, store: ResourceStore, kernels: KernelTable, watch: Watch | None) -> Any:
        from graphflow._core.runtime.compiled.build import CompiledPlan

        machine, threads = shared.machine(), self._policy.threads
        beside = store is not self._store or watch is not None  # Beside a run it needs an arena of its own.
        arena = None if beside else self._arena
        return CompiledPlan(job, machine, threads, store, kernels, self._base.borrows, watch, arena)


def settings_of(tiered: TieredExecutable) -> tuple[int, ResourceStore, KernelTable, bool]:
    """What its compiled plans are made with besides the job: threads, store, kernels, and whether they borrow."""
    return tiered._policy.threads, tiered._store, tiered._kernels, tiered._base.borrows


def latest_plan(tiered: TieredExecutable) -> CompiledPlan | None:
    """The compiled plan of the combination that was run last among those that have one."""
    states = [state for state in list(tiered._states.values()) if state.compiled is not None]
    return max(states, key=lambda state: state.used).compiled if states else None


def waits_for_kernels(tiered: TieredExecutable) -> bool:
    """Whether it would be compiled if the compiler had made its kernels."""
    states = [state for state in list(tiered._states.values()) if state.job is not None]
    return any(state.reason is None and not state.job.ready() for state in states)


def runs_so_far(tiered: TieredExecutable) -> int:
    """How often it has run, with any shapes."""
    return max(tiered._runs, sum(state.runs for state in list(tiered._states.values())))


def counted(tiered: TieredExecutable, feeds: Sequence[Any]) -> CompiledPlan | None:
    """The compiled plan that a run with these feeds would use; without one, counts a run that NumPy is to do.

    Raises Unusable if all bits are fixed, and this is the run that changes the tier: `run` has to do it.
    """
    key = tiered.values.key(feeds)
    state = tiered._states.get(key) or tiered._added(key, feeds)
    if state is not None and state.compiled is None:
        with state.lock:
            _count(tiered, state, 1)
            if state.known is None and state.reason is None and tiered._family.runs >= _OBSERVED_RUN:
                with suppress(
                    Exception
                ):  # As if it was observed; what cannot be inferred waits for such a run.
                    known = tiered._filling.known(state.shapes, state.given)
                    tiered._family.observed(state, known, None, tiered.plan, tiered._is_fixed)
            tiered._prepare_in_time(state)
            if state.known is not None and state.job is None and tiered._family.to_come is not state:
                tiered._prepare(state, state.known)
            if state.job is not None and tiered._policy.seeded and tiered._is_due(state):
                _count(tiered, state, -1)
                raise Unusable
    return None if state is None else state.compiled


def _count(tiered: TieredExecutable, state: Combination, runs: int) -> None:
    state.runs += runs
    tiered._family.runs += runs

"""TieredExecutable: starts on NumPy, and goes over to compiled code, for each combination of fed shapes, when hot.

The fourth run of a combination is observed: the shapes it meets are those the compiled plan is made for, while its
kernels are compiled in a helper process. In a graph with a seed the change happens at a fixed run, waiting for the
compiler if need be, so that the same program gives the same bits every time; otherwise as soon as the kernels are
there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from graphflow.plan.ir import VARIABLE_TYPES, Plan, producers
from graphflow.plan.passes import PassContext
from graphflow.runtime.assemble import KernelTable
from graphflow.runtime.compiled import native
from graphflow.runtime.compiled.branches import decided, deciding_feeds
from graphflow.runtime.compiled.observe import observed_run
from graphflow.runtime.compiled.specialise import Known
from graphflow.runtime.compiled.tier_book import TierBook, TierRecord, fingerprint
from graphflow.runtime.context import RunContext
from graphflow.runtime.executor import Executable
from graphflow.runtime.resources import ResourceStore

_OBSERVED_RUN: Final = 4
_SEEDED_SWITCH: Final = 8
_LAST_OBSERVED_RUN: Final = 12
"""A plan in which a variable changes its shape is observed again in the runs up to this one."""
_MOST_SHAPES: Final = 16
_LOG = logging.getLogger("graphflow")


@dataclass
class _State:
    """What is known of one combination of fed shapes.

    decisions: the fed truth values that decide branches; they are a part of the combination.
    """

    decisions: dict[str, bool] = field(default_factory=dict)
    runs: int = 0
    known: Known | None = None
    draft: Any = None
    compiled: Any = None
    given_up: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class TierPolicy:
    """mode: "auto", "never" or "always" of ConfigProto; seeded: whether the graph has a seed; threads: of one run."""

    mode: str
    seeded: bool
    threads: int


class TieredExecutable:
    """An executable that becomes compiled. Thread-safe."""

    def __init__(
        self,
        base: Executable,
        plan: Plan,
        store: ResourceStore,
        kernels: KernelTable,
        ctx: PassContext,
        policy: TierPolicy,
    ) -> None:
        self._base = base
        self._plan = plan
        self._store = store
        self._kernels = kernels
        self._ctx = ctx
        self._policy = policy
        self._deciding = deciding_feeds(plan)
        self._states: dict[Any, _State] = {}
        self._book = TierBook.of(store) if policy.seeded or policy.mode == "always" else None
        if self._book is not None:
            self._book.add(self)

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same plan in another process."""
        return fingerprint(str(self._plan))

    def records(self) -> dict[str, TierRecord]:
        """What is known of each combination of fed shapes, by its text."""
        return {
            str(shapes): TierRecord(s.runs, s.known) for shapes, s in list(self._states.items()) if s.runs
        }

    def forget(self) -> None:
        """Begins again, with what the book now says."""
        self._states = {}

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """One run, in the tier that its shapes have reached; None is fed for what a branch did not make."""
        if run.deadline is not None:
            return self._base.run(run, feeds)
        key: tuple[Any, ...] = tuple(
            [f.shape if isinstance(f, np.ndarray) else None if f is None else () for f in feeds]
        )
        if self._deciding:
            key += tuple([bool(feeds[position]) for position in self._deciding])
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= _MOST_SHAPES:
                return self._base.run(run, feeds)
            state = self._states.setdefault(key, self._begin(key))
        compiled = state.compiled
        if compiled is None and not state.given_up:
            observed = self._advance(state, run, feeds)
            if observed is not None:
                return observed
            compiled = state.compiled
        if compiled is not None:
            from graphflow.runtime.compiled.build import Unusable

            try:
                result: tuple[Any, ...] = compiled.run(run, feeds)
                return result
            except Unusable:
                pass
        return self._base.run(run, feeds)

    def describe(self) -> str:
        """The compiled plans that there are, for each combination of fed shapes; "" where there is none."""
        from graphflow.runtime.compiled.describe import describe

        return "".join(
            f"compiled for {', '.join(map(str, shapes)) or 'no feeds'}\n{describe(state.compiled)}\n"
            for shapes, state in self._states.items()
            if state.compiled is not None
        )

    def _begin(self, key: tuple[Any, ...]) -> _State:
        """The state of a combination of shapes that has not run here: that of the checkpoint, where there is one."""
        names = [self._plan.feeds[position] for position in self._deciding]
        decisions = dict(zip(names, key[len(self._plan.feeds) :], strict=True))
        record = None if self._book is None else self._book.restored(self, str(key))
        if record is None:
            return _State(decisions)
        state = _State(decisions, record.runs)
        if record.known is not None:
            self._draft(state, record.known)
        return state

    def _advance(self, state: _State, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...] | None:
        """Takes the combination a step further; the result, where that step was a run."""
        if not state.lock.acquire(blocking=False):
            return None
        try:
            if state.compiled is not None or state.given_up:
                return None
            state.runs += 1
            always = self._policy.mode == "always"
            if state.draft is None:
                return (
                    self._observe(state, run, feeds)
                    if state.runs >= (1 if always else _OBSERVED_RUN)
                    else None
                )
            fixed = self._policy.seeded and not always
            if fixed and state.runs < _SEEDED_SWITCH:
                return None
            if always or fixed or state.draft.ready():
                self._switch(state)
            return None
        finally:
            state.lock.release()

    def _observe(self, state: _State, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        result, known = observed_run(self._base, self._plan, self._store, self._kernels, run, feeds)
        if known is not None:
            self._draft(state, known)
        elif state.runs >= _LAST_OBSERVED_RUN:
            state.given_up = True
        return result

    def _draft(self, state: _State, known: Known) -> None:
        state.known = dict(known)
        try:
            state.draft = self._drafted(decided(self._plan, state.decisions), known)
            state.given_up = state.draft is None
        except Exception:
            _LOG.warning("A plan stays on NumPy: it could not be lowered.", exc_info=True)
            state.given_up = True

    def _drafted(self, plan: Plan, known: Known) -> Any:
        """The draft of a plan, or of a loop's part; None where nothing of it is native."""
        from graphflow.runtime.compiled.draft import Draft
        from graphflow.runtime.compiled.loops import draft_loop
        from graphflow.runtime.compiled.lower import Lowering, has_native_work
        from graphflow.runtime.compiled.nodes import PythonNode
        from graphflow.runtime.compiled.rules import RULES
        from graphflow.runtime.compiled.specialise import (
            apart_from_feeds,
            complete,
            may_reshape,
            specialise,
        )

        plan, known = apart_from_feeds(plan, known)
        complete(plan, known, self._store)
        variables = [i.outputs[0] for i in plan.instructions if i.type in VARIABLE_TYPES]
        if any(name not in known for name in (*plan.feeds, *variables)):
            return None  # A variable without a value has no shape.
        if may_reshape(plan, known):
            return None
        plan = specialise(plan, known, self._ctx)
        complete(plan, known, self._store)
        lowering = Lowering(plan, known, self._kernels, RULES)
        lowering.run()
        makers = producers(plan)
        whiles = [
            node.instruction
            for node in lowering.nodes
            if isinstance(node, PythonNode) and node.instruction.type == "While"
        ]
        loops = [draft_loop(i, makers, lambda part: self._drafted(part, known)) for i in whiles]
        found = [loop for loop in loops if loop is not None]
        if not found and not has_native_work(lowering.nodes):
            return None
        return Draft(plan, lowering, native.compiler(), found)

    def _switch(self, state: _State) -> None:
        from graphflow.runtime.compiled.build import CompiledPlan

        try:
            state.draft.wait(120.0)
            state.compiled = CompiledPlan(
                state.draft,
                native.machine(),
                self._policy.threads,
                self._store,
                self._kernels,
                self._base.lends,
            )
        except Exception:
            _LOG.warning("A plan stays on NumPy: its kernels could not be made.", exc_info=True)
            state.given_up = True
        state.draft = None


def usable_cores() -> int:
    """The number of cores this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

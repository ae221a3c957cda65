"""TracedExecutable: what runs a traced step.

A traced step that is compiled needs a plan of its own, cut into pieces. It is made before the step begins, so that the
step's time is not that of making it. What makes plans is loaded then, and not in programs that trace on NumPy alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.compiler.reasons import label
from graphflow._core.runtime.compiled.tier import TieredExecutable, counted, latest_plan
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable, Unusable
from graphflow._core.runtime.numpy_executable import NumpyExecutable

if TYPE_CHECKING:
    from graphflow._core.runtime.compiled.build import CompiledPlan
    from graphflow._core.runtime.profiling.timed import Timed

COMPARED: Final = "CompiledCodeIsCompared"
"""Stands for the op type of the one record of a traced step in which compiled code was compared with NumPy."""


class TracedExecutable(Executable):
    """Traced runs of a plan: compiled, with the times of its pieces, if its other runs are; else on NumPy, each
    operation by itself.

    base: the plan on NumPy, assembled to be traced. tiered: what does its other runs.
    """

    def __init__(self, base: NumpyExecutable, tiered: TieredExecutable) -> None:
        self._base, self._tiered = base, tiered
        self.uses_variables = base.uses_variables
        self._compiled = latest_plan(tiered)
        self._timed = self._made(self._compiled)

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """See Executable."""
        if run.deadline is not None or run.trace is None:
            return self._base.run(run, feeds)
        try:
            compiled = counted(self._tiered, feeds)
        except Unusable:
            return self._changes_tier(run, feeds)
        with suppress(Unusable):
            timed = self._timed if compiled is self._compiled else self._made(compiled)
            if timed is not None:
                return timed.run(run, feeds)
        return self._base.run(run, feeds)

    def _changes_tier(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The run in which compiled code is compared with NumPy: there is one record, since it is done by both."""
        begun = time.perf_counter_ns()
        result = self._tiered.run(run, feeds)
        plan = self._tiered.plan
        shown = replace(plan.instructions[-1], name=label(plan), type=COMPARED)
        run.trace.piece(shown, begun, time.perf_counter_ns(), ())
        return result

    def _made(self, compiled: CompiledPlan | None) -> Timed | None:
        """The timed form of a compiled plan; None if there is none, or its kernels are not at hand."""
        if compiled is None:
            return None
        from graphflow._core.runtime.profiling.timed import timed

        return timed(self._tiered, compiled)

"""NumpyExecutable: a plan for one device in the NumPy tier, which runs in the caller's thread.

An error of a line becomes the error of its operation, with the user's line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import numpy as np

from graphflow._core.common.compile_timeouts import SHORT_RUN_SECONDS
from graphflow._core.common.denormals import flushing
from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import PASS_THROUGH, Plan, walk
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell
from graphflow._core.runtime.assemble import Assembled, assemble
from graphflow._core.runtime.compiled.cores import calls_blas
from graphflow._core.runtime.compiled.sharing import SHARING
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.explain import raise_explained
from graphflow._core.runtime.progress import Parts, PartStage
from graphflow._core.runtime.scheduler import Scheduler, StageRunner
from graphflow._core.runtime.threads import ThreadPool


class NumpyExecutable(Executable):
    """A plan that can be run again and again. Thread-safe.

    cells: the variables of the whole run, which the error of an uninitialized one lists. Those of this plan are added
    to it. trace, check_numerics, borrows: as for assemble(). shares: whether its results may be rounded otherwise when
    other programs want the cores.
    """

    def __init__(
        self,
        plan: Plan,
        store: ResourceStore,
        kernels: KernelTable,
        pool: Callable[[], ThreadPool],
        cells: list[VariableCell] | None = None,
        *,
        trace: bool = False,
        check_numerics: bool = False,
        borrows: bool = False,
        shares: bool = False,
    ) -> None:
        self.part: Assembled = assemble(
            plan, store, kernels, trace=trace, check_numerics=check_numerics, borrows=borrows
        )
        """The assembled part."""
        function = self.part.function
        self._function: Callable[..., tuple[Any, ...]] = (
            flushing(np.errstate(all="ignore")(function)) if self.part.computes else function
        )
        self.borrows = borrows
        """Whether results may be borrowed from variables."""
        self.cells: list[VariableCell] = [] if cells is None else cells
        """The variables of the whole run."""
        self.cells.extend(self.part.cells)
        self.uses_variables = bool(self.part.cells)
        self._pool = pool
        self.shares = shares and calls_blas(plan)
        """Whether its runs take part in the sharing of cores."""
        self.because = ""
        """Why it is never compiled, as a part of a sentence; "" if it may be."""
        self.reason: StaysOnNumpy | None = None
        """The same if that is the nature of the plan."""
        self._is_short = False
        self._plan = plan
        self._holds_views = self._may_hold_views(plan, kernels)

    @staticmethod
    def _may_hold_views(plan: Plan, kernels: KernelTable) -> bool:
        """Whether the run may hold views of a variable's memory while it waits."""
        instructions = list(walk(plan))
        if not any(i.blocks for i in instructions):
            return False
        variables = set(plan.variables())
        return any(
            name in variables and not ref
            for i in instructions
            if i.bodies or i.type in PASS_THROUGH or kernels.may_view(i.type)
            for name, ref in zip(i.inputs, i.ref_mask(), strict=True)
        )

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order. Raises the error of the operation that fails."""
        if run.deadline is None or not self.part.computes:
            return self.call(run, feeds)
        names = tuple(map(str, range(len(self._plan.fetches))))
        stage = PartStage(StageRunner(self, self, True), self._plan.feeds, names, {}, ())
        parts = Parts({"": [stage]}, self._plan.feeds, [("", name) for name in names])
        return tuple(Scheduler(parts, run, feeds, self._pool, (), self.uses_variables).run())

    def reasons(self) -> Sequence[StaysOnNumpy]:
        """See Executable."""
        return () if self.reason is None else (self.reason,)

    def call(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, computed in this thread whatever the run's deadline."""
        if self._holds_views:
            run.pausable = False
        try:
            if not self.shares:
                return self._function(run, *feeds)
            begun = monotonic()
            if self._is_short:
                result = self._function(run, *feeds)
                if monotonic() - begun > SHORT_RUN_SECONDS or begun < SHARING.until:
                    self._is_short = False
                return result
            with SHARING:
                result = self._function(run, *feeds)
            ended = monotonic()
            self._is_short = ended - begun < SHORT_RUN_SECONDS and ended > SHARING.until
            return result
        except Exception as error:
            raise_explained(error, self.part, self.cells)

"""Family: what the compiled plans of one executable, made for different sizes, have in common and may rely on.

The text of a kernel holds no sizes as a rule, so the plans for most sizes need the same kernels, in the same order, for
the same instructions. The first plan comes slowly: it is observed, waits for its kernels, and is compared with NumPy.
What follows needs no more than that its kernels are among those that are there. If all its structure is that of a plan
which has agreed with NumPy, it needs no comparison either, but for a sample that thins out as the plans become many.
"""

from __future__ import annotations

import time
from dataclasses import field
from typing import TYPE_CHECKING, Final

from graphflow._core.common.compile_timeouts import NUMPY_FIRST_SECONDS
from graphflow._core.common.records import dataclass
from graphflow._core.runtime.compiled.due import FIRST_DUE_RUN, LAST_DUE_RUN, due_run, preparing_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphflow._core.compiler.compile_job import CompileJob, Structure
    from graphflow._core.compiler.shapes.fixed import Known
    from graphflow._core.plan.ir import Plan
    from graphflow._core.runtime.compiled.combination import Combination

_MOST_OF_THEIR_OWN: Final = 16
_SAMPLE: Final = frozenset(4**k for k in range(16))
"""Which of the plans that templates give are compared."""


@dataclass
class Family:
    """The kernels and structures of the plans of one executable.

    latest: the run at which plans of fixed bits go over at the latest; None if their sizes say when. runs: of all
    combinations of sizes, while they were on their way to compiled code. first: the text of the combination that was
    observed first, for which a plan is made first, "" before that. due: the run at which plans of fixed bits go over,
    which the sizes of that combination decide. filled: the plans that templates gave.
    """

    latest: int | None = None
    runs: int = 0
    first: str = ""
    due: int = FIRST_DUE_RUN
    filled: int = 0
    has_plan: bool = False
    """Whether a plan was made, or is being made."""
    to_come: Combination | None = None
    """The first combination, while its plan is made later, in time for the run in which it goes over."""
    _prepared_for: int = 0
    _prepared_at: int = 0
    """The run from which on plans are made that go over in run `_prepared_for`, which is asked at every run."""
    _begun: float = field(default_factory=time.monotonic)
    _waiting: CompileJob | None = None
    _sources: set[str] = field(default_factory=set)
    _plans: int = 0
    _of_their_own: int = 0
    _made: dict[Structure, int] = field(default_factory=dict)
    """How many plans there were of each structure that is trusted."""
    _distrusted: set[Structure] = field(default_factory=set)

    def observed(
        self, state: Combination, known: Known, times: Mapping[str, int] | None, plan: Plan, waits: bool
    ) -> None:
        """Notes the shapes of a combination; those of the first one say when all go over if bits are fixed.

        times: how often an observed run has computed each value. waits: whether bits are fixed, so that its plan is
        of no use for a while.
        """
        state.known = dict(known)
        if not self.first:
            self.first = str(state.shapes)
            self.due = min(due_run(plan, known, times), self.latest or LAST_DUE_RUN)
            self.to_come = state if waits else None

    def is_time(self) -> bool:
        """Whether plans that go over at a fixed run are to be made now."""
        if self._prepared_for != self.due:
            self._prepared_for, self._prepared_at = self.due, preparing_run(self.due)
        return self.runs >= self._prepared_at

    @property
    def left(self) -> int:
        """In how many more runs stages go over if the plan is cut now; FIRST_DUE_RUN at least."""
        return max(FIRST_DUE_RUN, self.due - self.runs)

    def is_half_way(self) -> bool:
        """Whether half of the time is over in which plans of fixed bits stay on NumPy, by runs or by the clock."""
        if self.first:
            return 2 * self.runs >= self.due
        return time.monotonic() - self._begun > NUMPY_FIRST_SECONDS / 2

    def prepared(self, job: CompileJob) -> bool:
        """Notes a plan that is on its way; whether it is the first."""
        self._plans += 1
        self._of_their_own += not self.knows(job)
        if not self.has_plan:
            self.has_plan, self._waiting = True, job
            self.has_kernels_of(job)
            return True
        return False

    @property
    def is_scattered(self) -> bool:
        """Whether so many plans needed kernels of their own that no more are to be made."""
        return self._of_their_own > _MOST_OF_THEIR_OWN and 2 * self._of_their_own > self._plans

    def has_kernels(self) -> bool:
        """Whether there is a first plan, and its kernels are there."""
        if self._waiting is not None and self._waiting.ready():
            self._waiting = None
        return self.has_plan and self._waiting is None

    def knows(self, job: CompileJob) -> bool:
        """Whether a plan needs no other kernels than the first one and those that have taken over."""
        return job.sources <= self._sources

    def is_to_be_compared(self, job: CompileJob) -> bool:
        """Whether a plan that is about to take over is to be compared with NumPy: the first of its structure, the
        second, the fourth, the eighth and so on; all if one of them has not agreed.
        """
        number = self._made.get(job.structure, 0) + 1
        return not number & (number - 1) or job.structure in self._distrusted

    def is_hot(self, least: int | None) -> bool:
        """Whether compiled plans are used for other combinations, so that new ones need not be observed.

        least: after how many runs that is so whether the kernels are there or not; None if it is when they are there.
        """
        if least is None:
            return self.has_kernels()
        return self.has_plan and self.runs >= least

    def is_sample(self) -> bool:
        """Whether a plan that a template gives is to be made in the usual way and compared, as one of a sample."""
        self.filled += 1
        return self.filled in _SAMPLE or bool(self._distrusted)

    def took_over(self, job: CompileJob) -> bool:
        """Notes a plan that has agreed with NumPy, or need not; whether it is the first."""
        is_first = not self._made
        self.has_kernels_of(job)
        self._made[job.structure] = self._made.get(job.structure, 0) + 1
        return is_first

    def has_kernels_of(self, job: CompileJob) -> None:
        """Has other plans rely on the kernels of a plan."""
        self._sources |= job.sources

    def distrust(self, structure: Structure) -> None:
        """Notes that a plan of a structure has not agreed with NumPy."""
        self._distrusted.add(structure)

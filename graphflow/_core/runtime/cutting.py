"""CutExecutable: a plan that goes over to stages once it is known that more of it becomes compiled so.

Which it is follows from the plan and the shapes of its first observed run (compiler/shapes/data_sizes.py). It goes over
at a run that follows from these; so where bits are fixed they still are, as each stage goes over at a fixed run of its
own, which is the one at which the whole plan would have, or the eighth after the cut if that is later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.compiler.reasons import StaysOnNumpy, WorthCutting
from graphflow._core.runtime.compiled.tier import TieredExecutable
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Compiled, Executable


class CutExecutable(Executable):
    """An executable that becomes compiled, whole or in stages. Thread-safe.

    whole: runs the plan until it raises WorthCutting. stages(how): makes what runs it in stages.
    """

    def __init__(self, whole: TieredExecutable, stages: Callable[[WorthCutting], Executable]) -> None:
        self.whole = whole
        self.uses_variables = whole.uses_variables
        self._make = stages
        self._stages: Executable | None = None
        self._cut: tuple[frozenset[str], int | None] | None = None
        self._lock = threading.Lock()

    @property
    def now(self) -> Executable:
        """What runs the plan now; the whole again if the session was set back to before that was known."""
        stages, cut = self._stages, self.whole.worth_cutting
        return self.whole if stages is None or cut is None or cut.due is None else stages

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """See Executable."""
        try:
            return (self.whole if self._stages is None else self.now).run(run, feeds)
        except WorthCutting as found:
            with self._lock:
                how = found.after, found.due
                if self._stages is None or self._cut != how:  # The session may have been set back.
                    self._stages, self._cut = self._make(found), how
                stages = self._stages
        return stages.run(run, feeds)

    def parts(self) -> Sequence[Executable]:
        """See Executable."""
        return self.now.parts()

    def describe(self) -> str:
        """See Executable."""
        return self.now.describe()

    def reasons(self) -> Sequence[StaysOnNumpy]:
        """See Executable."""
        return self.now.reasons()

    def compiled(self) -> Sequence[Compiled]:
        """See Executable."""
        return self.now.compiled()

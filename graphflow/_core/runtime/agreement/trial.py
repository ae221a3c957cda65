"""Trial: decides after a verified run whether a compiled plan is trusted, tried on another run, or given up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.common.records import dataclass
from graphflow._core.compiler.reasons import Declines, Disagrees, StaysOnNumpy
from graphflow._core.runtime.agreement.report import report
from graphflow._core.runtime.agreement.verification import Subject, Verdict, verified_run
from graphflow._core.runtime.context import RunContext

_MOST_DECLINED: Final = 5
"""Runs that a compiled plan may decline before it is given up; each was made ready for it in vain."""


@dataclass
class Trial:
    """The verdict on a compiled plan so far, from runs that both tiers did. For one thread at a time.

    trusted: it may take over. reason: why it is given up, if it is.
    """

    trusted: bool = False
    reason: StaysOnNumpy | None = None
    _declined: int = 0

    def run(self, subject: Subject, run: RunContext, feeds: Sequence[Any], room: int) -> tuple[Any, ...]:
        """One run in both tiers, and its results; raises what the run on NumPy raises. `room`: as from room_for()."""
        outcome = verified_run(subject, run, feeds, room)
        if outcome.verdict in (Verdict.AGREED, Verdict.UNTRIED):
            self.trusted = True
        elif outcome.apart is not None:
            self.reason = Disagrees(f"{outcome.apart}. {report(outcome.replay, subject.known)}")
        else:
            self._declined += 1
            if self._declined == _MOST_DECLINED:
                self.reason = Declines()
        return outcome.results

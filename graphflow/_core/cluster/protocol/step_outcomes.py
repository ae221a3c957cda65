"""How the last steps of a master ended: those that ended well, and those that failed, each in a ring of its own.

A step that failed is kept though hundreds have ended well since, as they do in a second.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

MOST_OUTCOMES: Final = 128
"""Steps that ended well whose outcomes are kept, and as many that failed."""
MOST_ERROR: Final = 300
"""Characters of an error that are kept with the outcome of a step."""

_Outcome = tuple[int, int, str, int, float, float, str, str]
"""Step, executable, session, request, when it began and ended, the task at fault and the error's text, if there is."""


class StepOutcomes:
    """How the last steps of a master ended: those that ended well, and those that failed, each in a ring of its own."""

    def __init__(self) -> None:
        self.ended: deque[_Outcome] = deque(maxlen=MOST_OUTCOMES)
        self.failed: deque[_Outcome] = deque(maxlen=MOST_OUTCOMES)

    def data(self, now: float) -> list[dict[str, Any]]:
        """The outcomes in the order of the steps' numbers, as JSON has it; times are seconds before `now`."""
        return [
            {
                "step": step, "executable": number, "session": session, "request": request,
                "began": round(began - now, 6), "ended": round(ended - now, 6), "task": task, "error": error,
            }
            for step, number, session, request, began, ended, task, error in sorted(
                [*self.ended, *self.failed], key=lambda outcome: outcome[0]
            )
        ]  # fmt: skip


def lines_of_steps(data: Mapping[str, Any]) -> list[str]:
    """What `MasterSteps.data` says, a line for each step: those that have ended, then those that run."""
    found = []
    for each in data["ended"]:
        seconds = each["ended"] - each["began"]
        by = f" by {each['task']}" if each["task"] else ""
        how = (
            f"failed{by} after {seconds:.4f} s: {each['error']}" if each["error"] else f"took {seconds:.4f} s"
        )
        found.append(f"{each['ended']:.3f} s: {_name_of(each)} {how}")
    return found + lines_of_running(data)


def lines_of_running(data: Mapping[str, Any]) -> list[str]:
    """The same of the steps that run alone."""
    return [
        f"{_name_of(each)} runs for {0.0 - each['began']:.3f} s, waits for {', '.join(each['awaited'])}"
        for each in data["running"]
    ]


def _name_of(step: Mapping[str, Any]) -> str:
    return f"step {step['step']} of the executable {step['executable']} of the session {step['session']}"

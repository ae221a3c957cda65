"""The names of runs that a program may repeat: who repeats one says so, and what was done already is not done again.

A program that trains names its runs (`train.step_functions.Calls`): a line of calls, which a thread has for itself, the
number of the call in its line, and which of the call's runs it is. All attempts of a run have the same `RunId`; a
`RequestId` says which attempt it is, too.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Final

from graphflow._core.common.machine import Shared
from graphflow._core.common.records import dataclass

MOST_RUNS: Final = 1 << 16
"""Runs that one call may have: its client refuses to begin more."""
_MOST_NAME: Final = 64
_MOST_NUMBER: Final = 1 << 53


@dataclass(frozen=True, slots=True)
class RunId(Shared):
    """The name of a line of calls, the number of the call in it, and which of the call's runs it is.

    repeated: whether this is a later attempt.
    """

    line: str
    call: int
    index: int
    repeated: bool = field(default=False, compare=False)


@dataclass(slots=True)
class RequestId:
    """One attempt of a run: which attempt it is, from 0, and the run, which all attempts have in common."""

    line: str
    call: int
    index: int
    attempt: int
    record: Any = field(default=None, compare=False)
    """What its task knows of the run, once the attempt has begun there (cluster/protocol/deduplication.py)."""

    @property
    def run(self) -> RunId:
        """What all attempts of the run have in common."""
        return RunId(self.line, self.call, self.index, self.attempt > 0)

    def details(self) -> list[Any]:
        """As the details of a message have it."""
        return [self.line, self.call, self.index, self.attempt]

    @staticmethod
    def of(details: Any) -> RequestId:
        """From the details of a message; ValueError or TypeError for what is none."""
        line, *numbers = details
        call, index, attempt = numbers
        if not isinstance(line, str) or len(line) > _MOST_NAME or index >= MOST_RUNS:
            raise ValueError(f"An attempt is {details!r:.100}.")
        if any(type(n) is not int or not 0 <= n < _MOST_NUMBER for n in numbers):
            raise ValueError(f"An attempt is {details!r:.100}.")
        return RequestId(line, call, index, attempt)


def run_of(context: Any) -> RunId | None:
    """The run that a RunContext is an attempt of, if runs have names."""
    return None if context.request_id is None else context.request_id.run

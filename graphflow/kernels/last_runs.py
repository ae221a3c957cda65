"""What is remembered of runs that programs may repeat (cluster/once.py): the last few of each, in bounded memory."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

MOST_TRAINERS: Final = 4096
"""Programs that are remembered, those that were heard of last."""
MOST_RUNS: Final = 16
"""Runs of one program that are remembered, those of the highest numbers: more are not under way at once."""

Run = tuple[str, int]
"""The name of a program, and the number of its run."""
Value = TypeVar("Value")


def run_of(context: Any) -> Run | None:
    """The run that a RunContext is an attempt of, where runs are numbered."""
    return None if context.once is None else context.once.run


class LastRuns(Generic[Value]):
    """A value for each of the last runs of each program. Not thread-safe."""

    def __init__(self) -> None:
        self._trainers: dict[str, dict[int, Value]] = {}

    def get(self, run: Run | None) -> Value | None:
        """What is remembered of a run, None where nothing is."""
        return None if run is None else self._trainers.get(run[0], {}).get(run[1])

    def put(self, run: Run | None, value: Value) -> None:
        """Remembers something of a run, where that is known."""
        if run is None:
            return
        trainer, number = run
        runs = self._trainers.pop(trainer, {})
        self._trainers[trainer] = runs  # The last one now.
        runs[number] = value
        if len(runs) > MOST_RUNS:
            del runs[min(runs)]
        if len(self._trainers) > MOST_TRAINERS:
            del self._trainers[next(iter(self._trainers))]

    def clear(self) -> None:
        """Forgets all."""
        self._trainers.clear()

    def __len__(self) -> int:
        return sum(map(len, self._trainers.values()))

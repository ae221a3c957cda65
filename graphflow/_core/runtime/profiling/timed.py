"""TimedPlan: a compiled plan cut into its pieces, each of which is timed.

A traced step runs as the steps around it do: compiled if they are, with the same kernels on the same values, and so
with the same bits. Only the cuts differ: between two pieces the program comes back to Python, which looks at the clock.
Plans that nobody traces know nothing of this.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from graphflow._core.codegen import shared
from graphflow._core.codegen.cpu.compiler import KernelCompileError
from graphflow._core.common.timeouts import COMPILE_LOOK_SECONDS
from graphflow._core.runtime.compiled.build import CompiledPlan
from graphflow._core.runtime.compiled.tier import TieredExecutable, settings_of
from graphflow._core.runtime.compiled.watching import Sight, Watch
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.profiling.pieces import NUMPY, pieces
from graphflow._core.runtime.trace import Recorder
from graphflow.config import OutputStats


class TimedPlan(CompiledPlan):
    """A compiled plan in memory of its own that notes when each of its pieces ran. For one run at a time."""

    def __init__(self, tiered: TieredExecutable, compiled: CompiledPlan, clock: _Clock) -> None:
        super().__init__(compiled.job, shared.machine(), *settings_of(tiered), watch=clock)
        self._block.bytes.fill(
            0
        )  # Else its run would wait for the system, which hands memory out when touched.

    def _bind(self, feeds: Sequence[Any]) -> dict[str, Any]:
        objects = super()._bind(feeds)
        assert isinstance(self._watch, _Clock)
        self._watch.times = []
        self._watch.begun = time.perf_counter_ns()
        return objects

    def _look(self, watch: Watch, number: int, objects: dict[str, Any]) -> None:
        """The group of this number has run; the next one begins."""
        assert isinstance(watch, _Clock)
        watch.times.append((number, watch.begun, time.perf_counter_ns()))
        watch.begun = time.perf_counter_ns()


class _Clock:
    """Stands for the watch of a plan, which is cut into its pieces if it has one: when each group ran."""

    def __init__(self) -> None:
        self.times: list[tuple[int, int, int]] = []
        self.begun = 0

    def __call__(self, sight: Sight) -> None:
        """Nothing is looked at."""


class Timed:
    """A TimedPlan with what it has noted."""

    def __init__(self, tiered: TieredExecutable, compiled: CompiledPlan) -> None:
        self._clock = _Clock()
        self._plan = TimedPlan(tiered, compiled, self._clock)
        self._pieces = pieces(self._plan)

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """One run, whose pieces are noted on the recorder of the step; Unusable as CompiledPlan's."""
        result = self._plan.run(run, feeds)
        recorder: Recorder = run.trace
        known = self._plan.job.lowering.known
        for number, begun, ended in self._clock.times:
            piece = self._pieces[number]
            outputs = [
                OutputStats(known[root][1], known[root][0], size)
                for root, (_, size) in piece.blocks.items()
                if root in known
            ]
            first = piece.instructions[0]
            shown = first if piece.kind == NUMPY else replace(first, type=piece.op)
            names = tuple(i.name for i in piece.instructions)
            more = piece.kind, names, piece.read, piece.written, piece.reason
            recorder.piece(shown, begun, ended, outputs, *more)
        return result


def timed(tiered: TieredExecutable, compiled: CompiledPlan) -> Timed | None:
    """The timed form of a compiled plan; None if the kernels of one that a template gave are not at hand."""
    try:
        compiled.job.wait(COMPILE_LOOK_SECONDS)
    except (TimeoutError, KernelCompileError):
        return None
    return Timed(tiered, compiled)

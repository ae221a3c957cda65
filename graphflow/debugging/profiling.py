"""gf.profile: where the time of a step goes, piece by piece, as text and as a page; what `graphflow profile` counts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from graphflow import gfile
from graphflow._core.common.compile_timeouts import KERNEL_LOOK_SECONDS
from graphflow._core.common.shown import html
from graphflow._core.fetches import Fetches
from graphflow._core.runtime.compiled.tier import TieredExecutable, waits_for_kernels
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.profiling import page
from graphflow._core.runtime.profiling.summary import PlanProfile, Row, Transfer
from graphflow._core.runtime.profiling.tier_notes import tier_notes
from graphflow._core.runtime.trace import Recorder
from graphflow._core.session import BaseSession, executable_for
from graphflow.config import RunMetadata, RunOptions, StepStats

_MOST_NAMES: Final = 4
_FIRST_TRACED: Final = (2, 16)
_TRACED_AGAIN: Final = 4
"""After these runs of a plan it is traced again after so many times as many."""


class Profile:
    """How a step runs: `print` it, show it in a notebook, or save it as a page.

    Attributes:
        values: What the last traced step gave for the fetches.
        runs: How often the step was run for the profile.

    Args:
        plan: The plan.
        values: What was measured.
        runs: Over how many runs.
    """

    def __init__(self, plan: PlanProfile, values: Any, runs: int) -> None:
        self._plan = plan
        self.values = values
        self.runs = runs

    @property
    def steps(self) -> Sequence[StepStats]:
        """The traced steps."""
        return self._plan.steps

    @property
    def arena_bytes(self) -> int:
        """The bytes of memory that the compiled plans of this process share between their values."""
        return sum(self._plan.arenas)

    def rows(self) -> list[Row]:
        """What computes, in order: each piece of compiled code, and each operation on NumPy with the reason.

        Returns:
            Rows with `device`, `kind` ("fused", "kernel", "scalars", "loop" or "numpy"), `op`, `operations`,
            `microseconds` (the median of the traced steps), `read` and `written` (bytes), and `reason`.
        """
        return self._plan.rows()

    def transfers(self) -> list[Transfer]:
        """What a step sends from task to task, or from device to device of one task.

        Returns:
            Objects with `source`, `target`, `values` and `bytes`.
        """
        return self._plan.transfers()

    def save(self, path: str) -> None:
        """Writes one HTML page, which needs no network and has no script.

        Args:
            path: The file to write.
        """
        _write(path, page.page(f"Profile of {self._plan.name}", [self._plan]))

    def __str__(self) -> str:
        return self._plan.text()

    def __repr__(self) -> str:
        return f"<gf profile of {self._plan.name!r}: {self._plan.headline()}>"

    def _repr_html_(self) -> str:
        return html.fragment(page.section(self._plan))


def profile(
    session: BaseSession,
    fetches: Any,
    feed_dict: Mapping[Any, Any] | None = None,
    *,
    steps: int = 3,
    warm_up: int = 12,
    wait_secs: float = 60.0,
) -> Profile:
    """Runs a step some times, and says where its time goes: what is compiled, what stays on NumPy and why.

    The runs are real ones: a training step trains, and elements of data sets are taken. Traced steps give the bits
    that others would.

    Args:
        session: The session, in this process or on a cluster.
        fetches: What to run, as in `Session.run`.
        feed_dict: What to feed, as in `Session.run`.
        steps: How many steps are traced, after the others.
        warm_up: How many steps are run before, in which the plan becomes compiled.
        wait_secs: How long to wait for the compiler after these, in seconds; two more steps follow if it was needed.

    Returns:
        The profile: `print` it, or `save` it as a page.

    Raises:
        ValueError: steps is less than 1, or warm_up negative.
        gf.errors.OpError: An operation failed.
    """
    if steps < 1 or warm_up < 0:
        raise ValueError(
            f"A profile takes at least 1 step and 0 before it, not steps={steps}, warm_up={warm_up}."
        )
    runs = warm_up + steps
    for _ in range(warm_up):
        session.run(fetches, feed_dict)
    executable = executable_for(session, fetches, None if feed_dict is None else list(feed_dict))
    if executable is not None and _waited(executable, wait_secs):
        runs += 2
        for _ in range(2):
            session.run(fetches, feed_dict)
    options = RunOptions(trace_level=RunOptions.FULL_TRACE)
    traced, values = [], None
    for _ in range(steps):
        metadata = RunMetadata()
        values = session.run(fetches, feed_dict, options=options, run_metadata=metadata)
        traced.append(metadata.step_stats)
    found = Fetches(session.graph, fetches)
    names = [*(tensor.name for tensor in found.tensors), *(op.name for op in found.targets)]
    name = ", ".join([*names[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])]) or "nothing"
    return Profile(_described(name, executable, traced), values, runs)


class WatchedPlans:
    """The plans of a program, counted, and traced now and then: `watch` goes into graphflow._core.session.WATCHERS."""

    def __init__(self) -> None:
        self._plans: list[_WatchedPlan] = []

    def watch(self, name: str, executable: Executable, traced: Callable[[], Executable]) -> Executable:
        """What runs a plan from now on."""
        watched = _WatchedPlan(name, executable, traced)
        self._plans.append(watched)
        return watched

    def profiles(self, most: int) -> list[PlanProfile]:
        """Those that took most of the time, the first first."""
        found = sorted((plan for plan in self._plans if plan.runs), key=lambda plan: -plan.seconds)
        return [plan.profile() for plan in found[:most]]


class _WatchedPlan(Executable):
    """Runs a plan as before, counts, and traces some of the runs."""

    def __init__(self, name: str, executable: Executable, traced: Callable[[], Executable]) -> None:
        self.uses_variables = executable.uses_variables
        self.takes_device_arrays = executable.takes_device_arrays
        self.name, self._executable, self._traced = name, executable, traced
        self.runs, self.seconds = 0, 0.0
        self._steps: list[StepStats] = []
        self._next = list(_FIRST_TRACED)
        self._lock = threading.Lock()

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """See Executable."""
        with self._lock:
            self.runs += 1
            looks = self.runs == self._next[0] and run.deadline is None
            if looks:
                self._next = self._next[1:] or [self.runs * _TRACED_AGAIN]
        if looks:
            return self._looked(run, feeds)
        begun = time.perf_counter()
        try:
            return self._executable.run(run, feeds)
        finally:
            seconds = time.perf_counter() - begun
            with self._lock:
                self.seconds += seconds

    def _looked(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        traced = self._traced()
        run.trace = Recorder()
        begun = time.perf_counter()
        result = traced.run(run, feeds)
        seconds = time.perf_counter() - begun
        with self._lock:
            self.seconds += seconds
            self._steps = [run.trace.stats()]
        return result

    def describe(self) -> str:
        """See Executable."""
        return self._executable.describe()

    def reasons(self) -> Sequence[Any]:
        """See Executable."""
        return self._executable.reasons()

    def compiled(self) -> Sequence[Any]:
        """See Executable."""
        return self._executable.compiled()

    def profile(self) -> PlanProfile:
        """What was seen."""
        return _described(self.name, self._executable, self._steps, self.runs, self.seconds)


def save_page(path: str, title: str, plans: Sequence[PlanProfile]) -> None:
    """Writes the page of several plans."""
    _write(path, page.page(title, plans))


def _write(path: str, text: str) -> None:
    with gfile.GFile(path, "w") as file:
        file.write(text)


def _described(
    name: str, executable: Executable | None, steps: Sequence[StepStats], runs: int = 0, seconds: float = 0.0
) -> PlanProfile:
    compiled = [] if executable is None else executable.compiled()
    arenas = [plan.arena_bytes for plan in compiled if hasattr(plan, "arena_bytes")]
    notes = [] if executable is None else tier_notes(executable)
    return PlanProfile(name, tuple(steps), tuple(arenas), tuple(notes), runs, seconds)


def _tiered(executable: Executable) -> list[TieredExecutable]:
    """What becomes compiled of it."""
    return [part for part in executable.parts() if isinstance(part, TieredExecutable)]


def _waited(executable: Executable, seconds: float) -> bool:
    """Waits until the compiler has made what the parts wait for; whether there was anything to wait for."""
    parts = [part for part in _tiered(executable) if waits_for_kernels(part)]
    deadline = time.monotonic() + seconds
    while any(map(waits_for_kernels, parts)) and time.monotonic() < deadline:
        time.sleep(KERNEL_LOOK_SECONDS)
    return bool(parts)

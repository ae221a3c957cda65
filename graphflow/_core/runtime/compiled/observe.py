"""Runs of a plan on NumPy in which the shape and dtype of every value are noted, and how often it was computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from graphflow._core.common.arrays import dtype_name
from graphflow._core.common.denormals import computing
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Plan
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import assemble
from graphflow._core.runtime.compiled.sharing import SHARING
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.explain import raise_explained
from graphflow._core.runtime.numpy_executable import NumpyExecutable


@dataclass(frozen=True)
class Observation:
    """What a run has shown.

    known: the shape and dtype of each value that had only one shape, None if a variable changed its shape in the run,
    since values read from it may have either. times: how often each value was computed.
    """

    known: Known | None
    times: Counter[str]


class Observer:
    """Does runs of a plan that are observed. Thread-safe: each has an observing function of its own, which is kept."""

    def __init__(self, base: NumpyExecutable, plan: Plan, store: ResourceStore, kernels: KernelTable) -> None:
        self._base = base
        self._plan = plan
        self._store = store
        self._kernels = kernels
        self._idle: list[_Observing] = []

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[tuple[Any, ...], Observation]:
        """Does a run; returns the fetched values, and what was seen."""
        before = _variables(self._plan, self._store)
        known: Known = before | {
            name: (np.shape(value), np.asarray(value).dtype.name)
            for name, value in zip(self._plan.feeds, feeds, strict=True)
        }
        try:
            observing = self._idle.pop()
        except IndexError:
            observing = _Observing(self._base, self._plan, self._store, self._kernels)
        times: Counter[str] = Counter()
        result = observing.run(known, times, run, feeds)
        self._idle.append(observing)
        after = _variables(self._plan, self._store)
        same = all(after.get(name) == seen for name, seen in before.items())
        return result, Observation(known if same else None, times)


class _Observing:
    """An observing function. For one run at a time."""

    def __init__(self, base: NumpyExecutable, plan: Plan, store: ResourceStore, kernels: KernelTable) -> None:
        self._cells = base.cells
        self._sharing: AbstractContextManager[None] = SHARING if base.shares else nullcontext()
        self._known: Known = {}
        self._times: Counter[str] = Counter()
        self._varying: set[str] = set()
        self._part = assemble(plan, store, kernels, observe=self._observe, borrows=base.borrows)

    def run(
        self, known: Known, times: Counter[str], run: RunContext, feeds: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Does a run, and adds what it has seen to `known` and `times`."""
        self._known, self._times, self._varying = known, times, set()
        try:
            with self._sharing, computing():
                result: tuple[Any, ...] = self._part.function(run, *feeds)
        except Exception as error:
            raise_explained(error, self._part, self._cells)
        for name in self._varying:
            del known[name]
        self._known, self._times = {}, Counter()
        return result

    def _observe(self, name: str, value: Any) -> None:
        self._times[name] += 1
        dtype = getattr(value, "dtype", None)
        if value is None:
            return
        seen = (value.shape, dtype_name(dtype)) if dtype is not None else ((), "object")
        if self._known.setdefault(name, seen) != seen:
            self._varying.add(name)


def _variables(plan: Plan, store: ResourceStore) -> Known:
    """The shapes of the variables that have values."""
    values = {i.outputs[0]: store.cell(i).value for i in plan.instructions if i.is_variable}
    return {name: (value.shape, value.dtype.name) for name, value in values.items() if value is not None}

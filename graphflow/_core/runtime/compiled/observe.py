"""Runs of a plan on NumPy in which the shape and dtype of every value are noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.common.denormals import computing
from graphflow._core.compiler.specialise import Known
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Plan
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import assemble
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.explain import raise_explained
from graphflow._core.runtime.numpy_executable import NumpyExecutable


class Observer:
    """Does runs of a plan that are observed. Thread-safe: each has an observing function of its own, which is kept."""

    def __init__(self, base: NumpyExecutable, plan: Plan, store: ResourceStore, kernels: KernelTable) -> None:
        self._base = base
        self._plan = plan
        self._store = store
        self._kernels = kernels
        self._idle: list[_Observing] = []

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[tuple[Any, ...], Known | None]:
        """Does a run; returns the fetched values, and the shape and dtype of each value that had only one shape.

        Returns no shapes at all if a variable changed its shape in the run, since values read from it may have either.
        """
        before = _variables(self._plan, self._store)
        known: Known = before | {
            name: (np.shape(value), np.asarray(value).dtype.name)
            for name, value in zip(self._plan.feeds, feeds, strict=True)
        }
        try:
            observing = self._idle.pop()
        except IndexError:
            observing = _Observing(self._base, self._plan, self._store, self._kernels)
        result = observing.run(known, run, feeds)
        self._idle.append(observing)
        after = _variables(self._plan, self._store)
        return result, known if all(after.get(name) == seen for name, seen in before.items()) else None


class _Observing:
    """An observing function. For one run at a time."""

    def __init__(self, base: NumpyExecutable, plan: Plan, store: ResourceStore, kernels: KernelTable) -> None:
        self._cells = base.cells
        self._known: Known = {}
        self._varying: set[str] = set()
        self._part = assemble(plan, store, kernels, observe=self._observe, borrows=base.borrows)

    def run(self, known: Known, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """Does a run, and adds what it has seen to `known`."""
        self._known, self._varying = known, set()
        try:
            with computing():
                result: tuple[Any, ...] = self._part.function(run, *feeds)
        except Exception as error:
            raise_explained(error, self._part, self._cells)
        for name in self._varying:
            del known[name]
        self._known = {}
        return result

    def _observe(self, name: str, value: Any) -> None:
        dtype = getattr(value, "dtype", None)
        if value is None:
            return
        seen = (np.shape(value), dtype.name) if dtype is not None else ((), "object")
        if self._known.setdefault(name, seen) != seen:
            self._varying.add(name)


def _variables(plan: Plan, store: ResourceStore) -> Known:
    """The shapes of the variables that have values."""
    values = {i.outputs[0]: store.cell(i).value for i in plan.instructions if i.is_variable}
    return {name: (value.shape, value.dtype.name) for name, value in values.items() if value is not None}

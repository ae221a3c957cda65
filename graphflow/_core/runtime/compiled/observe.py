"""One run of a plan on NumPy in which the shape and dtype of every value are noted."""

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


def observed_run(
    base: NumpyExecutable,
    plan: Plan,
    store: ResourceStore,
    kernels: KernelTable,
    run: RunContext,
    feeds: Sequence[Any],
) -> tuple[tuple[Any, ...], Known | None]:
    """Does a run of `base`; returns the fetched values, and the shape and dtype of each value that had only one shape.

    Returns no shapes at all if a variable changed its shape in the run, since values read from it may have either.
    """
    before = _variables(plan, store)
    known: Known = before | {
        name: (np.shape(value), np.asarray(value).dtype.name)
        for name, value in zip(plan.feeds, feeds, strict=True)
    }
    varying: set[str] = set()

    def observe(name: str, value: Any) -> None:
        dtype = getattr(value, "dtype", None)
        if value is None:
            return
        seen = (np.shape(value), dtype.name) if dtype is not None else ((), "object")
        if known.setdefault(name, seen) != seen:
            varying.add(name)

    observer = assemble(plan, store, kernels, observe=observe, borrows=base.borrows)
    try:
        with computing():
            result: tuple[Any, ...] = observer.function(run, *feeds)
    except Exception as error:
        raise_explained(error, observer, base.cells)
    for name in varying:
        del known[name]
    after = _variables(plan, store)
    return result, known if all(after.get(name) == seen for name, seen in before.items()) else None


def _variables(plan: Plan, store: ResourceStore) -> Known:
    """The shapes of the variables that have values."""
    values = {i.outputs[0]: store.cell(i).value for i in plan.instructions if i.is_variable}
    return {name: (value.shape, value.dtype.name) for name, value in values.items() if value is not None}

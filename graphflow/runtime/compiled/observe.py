"""One run of a plan on NumPy in which the shape and dtype of every value are noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow.plan.ir import Plan
from graphflow.runtime.assemble import KernelTable, assemble
from graphflow.runtime.compiled.specialise import Known
from graphflow.runtime.context import RunContext
from graphflow.runtime.executor import Executable
from graphflow.runtime.explain import explain
from graphflow.runtime.resources import ResourceStore


def observed_run(
    base: Executable,
    plan: Plan,
    store: ResourceStore,
    kernels: KernelTable,
    run: RunContext,
    feeds: Sequence[Any],
) -> tuple[tuple[Any, ...], Known]:
    """The fetched values of a run that `base` would do, and what is known of the values that had one shape in it."""
    known: Known = {
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

    observer = assemble(plan, store, kernels, observe=observe, lends=base.lends)
    try:
        with np.errstate(all="ignore"):
            result: tuple[Any, ...] = observer.function(run, *feeds)
    except Exception as error:
        raise explain(error, observer, base.cells) from error
    for name in varying:
        del known[name]
    return result, known

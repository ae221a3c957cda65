"""Reads the sizes of results that are fed as values (compiler/gpu/fed_sizes.py) from the feeds of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.common.denormals import computing
from graphflow._core.compiler.gpu.fed_sizes import FedSizes, Sizes
from graphflow._core.kernels.table import KernelTable
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import assemble
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.explain import raise_explained
from graphflow._core.runtime.gpu.held import host


class SizeReader:
    """Finds the sizes that a plan's feeds decide, on NumPy. Thread-safe."""

    def __init__(self, sizes: FedSizes, store: ResourceStore, kernels: KernelTable) -> None:
        self._sizes = sizes
        self._part = None if sizes.part is None else assemble(sizes.part, store, kernels)

    def read(self, run: RunContext, feeds: Sequence[Any]) -> Sizes:
        """The sizes for some fed values, as FedSizes.settled takes them; () if a value that decides is not fed.

        Waits for a value that another part computes on a device. Raises the error of an operation that fails.
        """
        if self._part is None or any(feeds[k] is None for k in self._sizes.taken):
            return ()
        given = [host(feeds[k]) for k in self._sizes.taken]
        try:
            with computing():
                values = self._part.function(run, *given)
        except Exception as error:
            raise_explained(error, self._part)
        return self._sizes.sizes(values)

"""cache: elements kept after the first time, in memory or in a file.

A file holds the elements of one whole walk, in NumPy's npz format, without pickles. It is written when the first walk
has come to its end, to a temporary name that is then renamed, and read by any later program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.atomic import atomic_file
from graphflow._core.common.files import numpy_files, storage
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import Block, Context, DatasetBase, Element, Elements, owned
from graphflow._core.resources.datasets.sources import ArrayTable
from graphflow._core.resources.datasets.states import State


class CacheDataset(DatasetBase):
    """The elements, made once. path: of the file, "" to keep them in memory."""

    def __init__(self, origin: Origin, source: DatasetBase, path: str) -> None:
        super().__init__(origin)
        self.source = source
        self.path = path

    def cardinality(self) -> int:
        """As many as the source has."""
        return self.source.cardinality()

    def walk(self, context: Context) -> Elements:
        """A walk over what is kept; over the source if nothing is yet."""
        store = context.shared(self, lambda: _Kept(self))
        return CacheElements(store, self.source.walk(context))


class _Kept:
    """The elements, once all are known."""

    def __init__(self, dataset: CacheDataset) -> None:
        self._dataset = dataset
        self.elements: list[Element] | None = None
        self.table: ArrayTable | None = None
        if dataset.path and storage.exists(self.filename):
            self._read()

    @property
    def filename(self) -> str:
        return self._dataset.path + ".npz"

    def keep(self, elements: list[Element], write: bool = True) -> None:
        """Keeps the elements of a whole walk; the file is written unless it is there."""
        if self.elements is not None:
            return
        self.elements = elements
        columns = [[np.asarray(value) for value in column] for column in zip(*elements, strict=True)]
        if columns and all(len({a.shape for a in column}) == 1 for column in columns):
            self.table = ArrayTable([np.stack(column) for column in columns])
            self.elements = [self.table.row(number) for number in range(len(elements))]
        if self._dataset.path and write:
            self._write()

    def _write(self) -> None:
        state: State = {}
        states.put_elements(state, "elements", self.elements or [])
        try:
            with atomic_file(self.filename) as descriptor, open(descriptor, "wb", closefd=False) as file:
                np.savez(file, **state)
        except errors.OpError as error:
            raise self._dataset.error(f"cannot write the cache: {error.message}") from error

    def _read(self) -> None:
        try:
            file = numpy_files.load(self.filename)
            if not isinstance(file, dict):
                raise ValueError("it holds one array")
            elements = states.get_elements(file, "elements")
        except (*numpy_files.reading_errors, KeyError) as error:
            raise self._dataset.error(
                f"the cache {self.filename!r} is damaged: {error}. Delete the file, and it is made anew."
            ) from error
        self.keep(elements, write=False)


class CacheElements(Elements):
    """A walk that keeps its elements, or that returns the kept ones."""

    def __init__(self, kept: _Kept, inner: Elements) -> None:
        self._kept = kept
        self._inner = inner
        self._seen: list[Element] = []
        self._position = 0
        self._use_kept = kept.elements is not None

    def next(self, run: Any) -> Element | None:
        """The next element."""
        if self._use_kept:
            kept = self._kept.elements or []
            if self._position == len(kept):
                return None
            self._position += 1
            return kept[self._position - 1]
        element = self._inner.next(run)
        if element is None:
            self._kept.keep(self._seen)
        else:
            self._seen.append(tuple([owned(value) for value in element]))
        return element

    def block(self, run: Any, count: int) -> Block:
        """The next elements."""
        table = self._kept.table
        if not self._use_kept or table is None:
            return super().block(run, count)
        start = self._position
        self._position = end = min(start + count, table.size)
        return Block(end - start, table.gather(np.arange(start, end)))

    def get_state(self) -> State:
        """The kept elements, or those seen so far, and the position in them."""
        elements = self._kept.elements if self._use_kept else self._seen
        state: State = {"kept": states.number(self._use_kept), "position": states.number(self._position)}
        states.put_elements(state, "elements", elements or [])
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        elements = states.get_elements(state, "elements")
        self._position = states.integer(state, "position")
        self._use_kept = bool(states.integer(state, "kept"))
        if self._use_kept:
            self._kept.keep(elements)
        else:
            self._seen = elements
            self._inner.set_state(states.get(state, "source"))

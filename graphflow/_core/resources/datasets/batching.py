"""Datasets that put elements one below the other: batch and padded_batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import (
    INTERRUPTIONS,
    Block,
    Context,
    DatasetBase,
    Element,
    Elements,
)
from graphflow._core.resources.datasets.states import State


class BatchDataset(DatasetBase):
    """`size` elements one below the other; the last batch may be smaller, or is left out.

    fails_whole: whether an element that is an error takes the others of its batch with it, those behind it, too.
    """

    def __init__(
        self, origin: Origin, source: DatasetBase, size: int, drop_remainder: bool, fails_whole: bool = False
    ) -> None:
        super().__init__(origin)
        self.source = source
        self.size = size
        self.drop_remainder = drop_remainder
        self.fails_whole = fails_whole

    def cardinality(self) -> int:
        """How many elements there are."""
        count = self.source.cardinality()
        if count < 0:
            return count
        return count // self.size if self.drop_remainder else -(-count // self.size)

    def walk(self, context: Context) -> Elements:
        """A walk from the first batch on."""
        return BatchElements(self, self.source.walk(context))

    def assemble(self, block: Block) -> Element:
        """A batch of some elements; InvalidArgumentError if their shapes differ."""
        if block.columns is not None:
            return tuple(block.columns)
        return tuple([self._stacked(i, column) for i, column in enumerate(zip(*block.rows, strict=True))])

    def _stacked(self, component: int, values: Sequence[Any]) -> np.ndarray[Any, Any]:
        first = np.asarray(values[0])
        result = np.empty((len(values), *first.shape), first.dtype)
        if isinstance(values[0], states.Component):
            result[:] = values
            return result
        for row, value in enumerate(values):
            if np.shape(value) != first.shape:
                raise self.error(
                    f"Cannot batch tensors with different shapes in component {component}. First element had shape "
                    f"{_listed(first.shape)} and element {row} had shape {_listed(np.shape(value))}. Use padded_batch, "
                    "or give all elements one shape."
                )
            result[row] = value[()] if first.dtype == object and not first.ndim else value
        return result


def _listed(dims: Sequence[int]) -> str:
    return f"[{','.join(map(str, dims))}]"


class PaddedBatchDataset(BatchDataset):
    """Batches whose elements are padded to one shape.

    shapes: for each component the shape to pad to, with -1 for the largest of the batch. padding: for each component
    the value to pad with.
    """

    def __init__(
        self,
        origin: Origin,
        source: DatasetBase,
        size: int,
        drop_remainder: bool,
        shapes: Sequence[Sequence[int]],
        padding: Sequence[Any],
    ) -> None:
        super().__init__(origin, source, size, drop_remainder)
        self.shapes = shapes
        self.padding = padding

    def assemble(self, block: Block) -> Element:
        """A padded batch of some elements; DataLossError if one is larger than the shape to pad to."""
        columns = zip(*block.elements(), strict=True)
        return tuple([self._padded(i, column) for i, column in enumerate(columns)])

    def _padded(self, component: int, values: Sequence[Any]) -> np.ndarray[Any, Any]:
        wanted = self.shapes[component]
        arrays = [np.asarray(value) for value in values]
        for row, array in enumerate(arrays):
            if array.ndim != len(wanted):
                raise self.error(
                    f"All elements in a batch must have the same rank as the padded shape for component {component}: "
                    f"expected rank {len(wanted)} but got element {row} with rank {array.ndim}."
                )
        sizes = [
            max(array.shape[axis] for array in arrays) if size < 0 else size
            for axis, size in enumerate(wanted)
        ]
        padding = np.asarray(self.padding[component])
        result = np.full((len(arrays), *sizes), padding[()], arrays[0].dtype)
        for row, array in enumerate(arrays):
            if any(have > size for have, size in zip(array.shape, sizes, strict=True)):
                raise self.error(
                    "Attempted to pad to a smaller size than the input element: component "
                    f"{component} of element {row} has shape {_listed(array.shape)}, to be padded to {_listed(sizes)}.",
                    errors.DataLossError,
                )
            place: Any = (row, *[slice(n) for n in array.shape])
            result[place] = array if array.ndim else array[()]
        return result


class BatchElements(Elements):
    """A walk over batches."""

    fresh = True

    def __init__(self, dataset: BatchDataset, inner: Elements) -> None:
        self._dataset = dataset
        self._inner = inner
        self._ended = False

    def next(self, run: Any) -> Element | None:
        """The next batch."""
        if self._ended:
            return None
        size = self._dataset.size
        block = self._all_or_none(run, size) if self._dataset.fails_whole else self._inner.block(run, size)
        self._ended = block.count < size
        if not block.count or (self._ended and self._dataset.drop_remainder):
            return None
        return self._dataset.assemble(block)

    def _all_or_none(self, run: Any, size: int) -> Block:
        """The next elements; the error of the first that is one, after all of them were taken."""
        rows: list[Element] = []
        failed: errors.OpError | None = None
        for _ in range(size):
            try:
                element = self._inner.next(run)
            except INTERRUPTIONS:
                raise
            except errors.OpError as error:
                failed = failed or error
                continue
            if element is None:
                break
            rows.append(element)
        if failed is not None:
            raise failed
        return Block.of(rows)

    def get_state(self) -> State:
        """The source's position."""
        state = {"ended": states.number(self._ended)}
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._ended = bool(states.integer(state, "ended"))
        self._inner.set_state(states.get(state, "source"))

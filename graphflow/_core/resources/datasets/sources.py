"""Datasets that make elements: of tensors, slices of them, ranges, and Python generators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.arrays import kind_of
from graphflow._core.common.denormals import kept
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.shapes import TensorShape, compatible, text
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import (
    Context,
    DatasetBase,
    Element,
    Elements,
    Table,
    TableElements,
    boxed,
)
from graphflow._core.resources.datasets.states import State


class ArrayTable:
    """Rows of arrays in memory."""

    def __init__(self, columns: Sequence[np.ndarray[Any, Any]]) -> None:
        self.columns = columns
        self.size = columns[0].shape[0]

    def gather(self, ids: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        """Copies of some rows."""
        return [column.take(ids, axis=0) for column in self.columns]

    def row(self, number: int) -> Element:
        """One row, which belongs to the table."""
        return tuple([boxed(column[number]) for column in self.columns])


class RangeTable:
    """Numbers from `start` on, in steps."""

    def __init__(self, start: int, step: int, size: int) -> None:
        self.start = start
        self.step = step
        self.size = size

    def gather(self, ids: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        """The numbers of some rows."""
        return [ids * np.int64(self.step) + np.int64(self.start)]

    def row(self, number: int) -> Element:
        """One number."""
        return (np.int64(self.start + number * self.step),)


class TableDataset(DatasetBase):
    """The rows of a table, in order."""

    def __init__(self, origin: Origin, table: ArrayTable | RangeTable) -> None:
        super().__init__(origin)
        self.table = table

    def cardinality(self) -> int:
        """How many elements there are."""
        return self.table.size

    def walk(self, context: Context) -> Elements:
        """A walk from the first row on."""
        return RowsElements(self.table, self.table.size)


class RowsElements(TableElements):
    """The rows of a table in order."""

    def __init__(self, table: Table, size: int) -> None:
        self.table = table
        self._size = size
        self._position = 0

    def next(self, run: Any) -> Element | None:
        """The next row."""
        if self._position == self._size:
            return None
        self._position += 1
        return self.table.row(self._position - 1)

    def ids(self, run: Any, count: int) -> np.ndarray[Any, Any]:
        """The next numbers."""
        start = self._position
        self._position = end = min(start + count, self._size)
        return np.arange(start, end)

    def get_state(self) -> State:
        """The position."""
        return {"position": states.number(self._position)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on at a position."""
        self._position = min(states.integer(state, "position"), self._size)


class SingleDataset(DatasetBase):
    """One element."""

    def __init__(self, origin: Origin, element: Element) -> None:
        super().__init__(origin)
        self.element = element

    def cardinality(self) -> int:
        """How many elements there are."""
        return 1

    def walk(self, context: Context) -> Elements:
        """A walk over the one element."""
        return SingleElements(self.element)


class SingleElements(Elements):
    """One element, and the end."""

    def __init__(self, element: Element) -> None:
        self._element = element
        self._given = 0

    def next(self, run: Any) -> Element | None:
        """The element, the first time."""
        if self._given:
            return None
        self._given = 1
        return self._element

    def get_state(self) -> State:
        """Whether it was given."""
        return {"given": states.number(self._given)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on before or after the element."""
        self._given = states.integer(state, "given")


class SparseRowsDataset(DatasetBase):
    """The slices of a sparse tensor along its first axis: indices, values and shape of each.

    InvalidArgumentError if its parts do not fit together, UnimplementedError if it is not ordered by the first axis.
    """

    def __init__(self, origin: Origin, indices: Any, values: Any, dense_shape: Any) -> None:
        super().__init__(origin)
        if indices.ndim != 2 or values.shape != indices.shape[:1] or dense_shape.shape != indices.shape[1:]:
            raise errors.InvalidArgumentError(
                None,
                None,
                "A SparseTensor has indices of shape [N, rank], values of shape [N] and a shape of shape [rank], got "
                f"{list(indices.shape)}, {list(values.shape)} and {list(dense_shape.shape)}.",
            )
        if not dense_shape.size:
            raise errors.InvalidArgumentError(None, None, "A SparseTensor of rank 0 has no slices.")
        rows = indices[:, 0]
        if (rows[1:] < rows[:-1]).any():
            raise errors.UnimplementedError(
                None,
                None,
                "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not "
                "currently supported. gf.sparse_reorder orders it.",
            )
        self._size = max(0, int(dense_shape[0]))
        if len(rows) and not 0 <= rows[0] <= rows[-1] < self._size:
            raise errors.InvalidArgumentError(
                None, None, f"The rows {rows[0]} to {rows[-1]} are not in [0, {self._size}), the first axis."
            )
        self._indices, self._values, self._shape = indices[:, 1:], values, dense_shape[1:]
        self._ends = np.searchsorted(rows, np.arange(self._size + 1))

    def cardinality(self) -> int:
        """How many elements there are."""
        return self._size

    def walk(self, context: Context) -> Elements:
        """A walk from the first slice on."""
        return SparseRowsElements(self)

    def row(self, number: int) -> Element | None:
        """One slice; None behind the last."""
        if number >= self._size:
            return None
        chosen = slice(self._ends[number], self._ends[number + 1])
        return self._indices[chosen].copy(), self._values[chosen].copy(), self._shape.copy()


class SparseRowsElements(Elements):
    """The slices of a sparse tensor in order."""

    def __init__(self, dataset: SparseRowsDataset) -> None:
        self._dataset = dataset
        self._position = 0

    def next(self, run: Any) -> Element | None:
        """The next slice."""
        found = self._dataset.row(self._position)
        self._position += found is not None
        return found

    def get_state(self) -> State:
        """The position."""
        return {"position": states.number(self._position)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on at a position."""
        self._position = states.integer(state, "position")


class GeneratorDataset(DatasetBase):
    """What a Python function yields, checked against declared dtypes and shapes.

    take_apart: gives the flat components of what is yielded, ValueError or TypeError if its structure is wrong.
    """

    def __init__(
        self,
        origin: Origin,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        take_apart: Callable[[Any], Sequence[Any]],
        types: Sequence[DType],
        shapes: Sequence[TensorShape],
    ) -> None:
        super().__init__(origin)
        self.function = function
        self.arguments = arguments
        self.take_apart = take_apart
        self.types = types
        self.shapes = shapes

    def walk(self, context: Context) -> Elements:
        """A walk over what a new call of the function yields."""
        return GeneratorElements(self)

    def element(self, value: Any) -> Element:
        """What was yielded as an element; InvalidArgumentError if it is not what was declared."""
        try:
            flat = self.take_apart(value)
        except (TypeError, ValueError) as error:
            raise self.error(
                f"`generator` yielded an element that did not match the expected structure. The yielded element was "
                f"{value!r}. {error}"
            ) from None
        return tuple([self._component(*item) for item in zip(flat, self.types, self.shapes, strict=True)])

    def _component(self, value: Any, dtype: DType, shape: TensorShape) -> Any:
        try:
            array = _array(value, dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.error(
                f"`generator` yielded an element that could not be converted to the expected type. The expected type "
                f"was {dtype.name}, but the yielded element was {value!r}. {error}"
            ) from None
        if not compatible(shape.raw, array.shape):
            raise self.error(
                f"`generator` yielded an element of shape {text(array.shape)} where an element of shape "
                f"{text(shape.raw)} was expected."
            )
        return boxed(array)


def _array(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    if dtype.name != "string":
        array = np.asarray(value)
        kind = kind_of(array.dtype)
        if kind not in "biufc":
            raise TypeError(f"{array.dtype} is no number.")
        if kind in "fc" and not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"{array.dtype} is not {dtype.name}.")
        return np.array(value, dtype.as_numpy_dtype)
    array = np.array(value, object)
    for index, item in np.ndenumerate(array):
        if not isinstance(item, str | bytes):
            raise TypeError(f"{type(item).__name__} is no text.")
        array[index] = item.encode() if isinstance(item, str) else bytes(item)
    return array


class GeneratorElements(Elements):
    """A walk over a generator: made anew and run forward to its position if it goes on from a saved state."""

    fresh = True

    def __init__(self, dataset: GeneratorDataset) -> None:
        self._dataset = dataset
        self._items: Iterator[Any] | None = None
        self._given = 0
        self._skip = 0
        self._ended = False

    def next(self, run: Any) -> Element | None:
        """What it yields next."""
        while self._skip and not self._ended:
            if run is not None:
                run.check()
            self._skip -= 1
            self._pull()
        value = self._pull()
        return None if self._ended else self._dataset.element(value)

    def _pull(self) -> Any:
        if self._ended:
            return None
        try:
            with kept():
                if self._items is None:
                    self._items = iter(self._dataset.function(*self._dataset.arguments))
                value = next(self._items)
        except StopIteration:
            self._ended, self._items = True, None
            return None
        except errors.OpError:
            raise
        except Exception as error:
            self._ended = True
            kind = _ERRORS.get(type(error), errors.UnknownError)
            raise self._dataset.error(f"`generator` raised {type(error).__name__}: {error}", kind) from error
        self._given += 1
        return value

    def get_state(self) -> State:
        """How many were given."""
        return {"given": states.number(self._given + self._skip), "ended": states.number(self._ended)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on after so many, which are yielded again and dropped at the next call."""
        self._items, self._given = None, 0
        self._skip = states.integer(state, "given")
        self._ended = bool(states.integer(state, "ended"))


_ERRORS = {TypeError: errors.InvalidArgumentError, ValueError: errors.InvalidArgumentError}

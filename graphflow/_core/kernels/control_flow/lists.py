"""ArrayList: the list behind a TensorArray, made in each run anew.

A list whose elements have one shape may hold them as rows of one block of memory (rows.py): if it was made of the
rows of an array, and if a compiled loop asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, TypeGuard

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.shapes import Dims
from graphflow._core.kernels.control_flow.rows import CLEARED, READ, SHAPED, WRITTEN, Rows
from graphflow.errors import InvalidArgumentError, UnimplementedError


def wrong(message: str) -> InvalidArgumentError:
    """The error of a misuse of a list."""
    return InvalidArgumentError(None, None, message)


class _Element:
    """One element of a list: its value, the shape that it has or had, and whether it was read."""

    __slots__ = ("cleared", "read", "shape", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.shape: tuple[int, ...] | None = None
        self.read = False
        self.cleared = False

    def copied(self) -> _Element:
        """The same element, for another list; values are never changed in place."""
        return copy(self)


class ArrayList:
    """The list of one TensorArray in one run.

    dims: what is known of the shape of every element. sums: whether several writes of one element add up, as those of
    gradients do.
    """

    def __init__(
        self,
        dtype: DType,
        size: int,
        dims: Dims,
        *,
        dynamic: bool,
        clear: bool,
        same_shape: bool,
        sums: bool = False,
    ) -> None:
        if size < 0:
            raise wrong(f"The size of a TensorArray must not be negative, got {size}.")
        self._dtype = dtype
        self._dims = dims
        self._dynamic = dynamic
        self._clear = clear
        self._same_shape = same_shape
        self._sums = sums
        self._elements: list[_Element | None] = [None] * size
        self._rows: Rows | None = None
        self._gradients: dict[str, ArrayList] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._elements) if self._rows is None else self._rows.size

    @property
    def nbytes(self) -> int:
        """The bytes of its elements, and of those of its gradients."""
        known = [e.value for e in self._elements if e is not None and e.value is not None]
        own = sum(value.nbytes for value in known) if self._rows is None else self._rows.nbytes
        return own + sum(gradient.nbytes for gradient in self._gradients.values())

    def copied(self, copies: dict[int, ArrayList]) -> ArrayList:
        """The same list, with gradients of its own, for another run of what follows.

        copies: those that were made, by the `id` of what each is a copy of.
        """
        found = copies.get(id(self))
        if found is None:
            found = copies[id(self)] = copy(self)
            found._elements = [None if element is None else element.copied() for element in self._elements]
            found._rows = None if self._rows is None else self._rows.copied()
            found._gradients = {source: g.copied(copies) for source, g in self._gradients.items()}
        return found

    def take_over(self, other: ArrayList, kept: dict[int, ArrayList]) -> None:
        """Becomes what a copy of it has become meanwhile; its gradients stay the lists that they are.

        kept: the lists that did, by the `id` of the copy.
        """
        if id(other) in kept:
            return
        kept[id(other)] = self
        gradients = self._gradients
        self.__dict__.update(other.__dict__)
        self._gradients = gradients
        for source, theirs in other._gradients.items():
            own = gradients.setdefault(source, theirs)
            if own is not theirs:
                own.take_over(theirs, kept)

    def close(self) -> None:
        """Gives the elements back."""
        self._elements, self._rows = [], None
        self._closed = True

    # ---- elements, or rows --------------------------------------------------------------------------------------

    def as_rows(self, shape: tuple[int, ...], dtype: np.dtype[Any], room: int = 0) -> Rows | None:
        """Its elements as rows of that shape and NumPy dtype, which it uses from then on; None if they have another.

        room: for how many rows there is to be room if the list may grow.
        """
        if self._rows is None and not self._closed:
            self._make_rows(shape, dtype, room if self._dynamic else 0)
        rows = self._rows
        return rows if rows is not None and rows.shape == shape and rows.dtype == dtype else None

    def _make_rows(self, shape: tuple[int, ...], dtype: np.dtype[Any], room: int) -> None:
        if self._dtype is dtypes.string or self._dtype.as_numpy_dtype != dtype:
            return
        if not shapes.compatible(self._dims, shape):
            return
        known = [element for element in self._elements if element is not None]
        if any(e.shape not in (None, shape) or not _is_plain(e.value, dtype) for e in known):
            return
        elements = self._elements
        data = np.empty((max(len(elements), room), *shape), dtype)
        self._use_rows(Rows(data, len(elements), **self._options()))
        for position, element in enumerate(elements):
            if element is not None:
                self._keep(position, element)

    def _options(self) -> dict[str, bool]:
        return {"clears": self._clear, "sums": self._sums, "grows": self._dynamic}

    def _use_rows(self, rows: Rows) -> None:
        self._elements, self._rows = [], rows

    def _use_elements(self) -> None:
        elements: list[_Element | None] = [self._element(position) for position in range(len(self))]
        self._dims = self._known_dims()
        self._elements, self._rows = elements, None

    def _known_dims(self) -> Dims:
        """What is known of the shape of every element."""
        rows = self._rows
        if rows is not None and self._same_shape and (rows.states & (WRITTEN | CLEARED)).any():
            return rows.shape
        return self._dims

    def _element(self, position: int) -> _Element:
        """An element as it is; it is changed by `_keep`."""
        if self._rows is None:
            found = self._elements[position]
            if found is None:
                found = self._elements[position] = _Element()
            return found
        element, state = _Element(), int(self._rows.states[position])
        element.read, element.cleared = bool(state & READ), bool(state & CLEARED)
        element.shape = self._rows.shape if state else None
        if state & WRITTEN and not element.cleared:
            element.value = self._rows.data[position]
        return element

    def _keep(self, position: int, element: _Element, changed: bool = True) -> None:
        """Notes what has become of an element; whether its value is another one than before."""
        rows = self._rows
        if rows is None:
            self._elements[position] = element
            return
        if element.shape not in (None, rows.shape) or not _is_plain(element.value, rows.dtype):
            self._use_elements()
            self._elements[position] = element
            return
        state = (READ if element.read else 0) | (CLEARED if element.cleared else 0)
        if element.value is not None:
            if changed:  # Rows that an array was given for may not be written to.
                rows.data[position] = element.value
            state |= WRITTEN
        rows.states[position] = state or (SHAPED if element.shape is not None else 0)

    def gradient(self, source: str) -> ArrayList:
        """The list of gradients for one call of gf.gradients; the first that is made, whichever thread asks."""
        found = self._gradients.get(source)
        if found is not None:
            return found
        found = ArrayList(
            self._dtype,
            len(self),
            self._dims,
            dynamic=False,
            clear=True,
            same_shape=self._same_shape,
            sums=True,
        )
        if self._rows is not None:
            rows = Rows(np.empty_like(self._rows.data[: len(self)]), len(self), **found._options())
            rows.states[self._rows.states != 0] = SHAPED
            found._use_rows(rows)
        for position, other in enumerate(self._elements):
            if other is not None:
                found._element(position).shape = other.shape
        return self._gradients.setdefault(source, found)

    def write(self, index: Any, value: Any) -> None:
        """Writes one element; InvalidArgumentError if that cannot be."""
        position = self._position_to_write(int(index))
        element = self._element(position)
        value = _plain(value, self._dtype)
        shape = value.shape
        dims = self._known_dims()
        if not shapes.compatible(dims, shape):
            raise wrong(
                f"Could not write to TensorArray index {position}: the value has shape {list(shape)}, which is "
                f"incompatible with the TensorArray's inferred element shape {shapes.text(dims)} (consider "
                "setting infer_shape=False)."
            )
        if element.read:
            raise wrong(f"Could not write to TensorArray index {position} because it has already been read.")
        if element.value is None:
            element.value = value
        elif self._sums:
            if element.shape != shape:
                raise wrong(
                    f"Could not aggregate to TensorArray index {position}: it has shape "
                    f"{list(element.shape or ())}, the new input {list(shape)}."
                )
            element.value = element.value + value
        else:
            raise wrong(
                f"Could not write to TensorArray index {position} because it has already been written to."
            )
        element.shape = shape
        self._keep(position, element)
        if self._same_shape:
            self._dims = shape

    def scatter(self, indices: Any, value: Any) -> None:
        """Writes the rows of a value at the indices; InvalidArgumentError if that cannot be."""
        if self._use_rows_of(indices, value) or self._write_rows(indices, value):
            return
        for index, row in zip(indices.tolist(), _rows(value), strict=True):
            self.write(index, row)

    def _use_rows_of(self, indices: Any, value: Any) -> bool:
        """Has the rows of a value in their order for the first elements; False if the list has rows, or elements."""
        count = len(indices)
        plain = type(value) is np.ndarray and value.dtype != object and count == len(value) > 0
        fresh = self._rows is None and not any(self._elements) and not self._closed
        if not plain or not fresh or not (count <= len(self) or self._dynamic):
            return False
        if not _in_order(indices) or not shapes.compatible(self._dims, value.shape[1:]):
            return False
        size = max(count, len(self))
        data = value
        if size > count or self._sums or not value.flags.c_contiguous:
            data = np.empty((size, *value.shape[1:]), value.dtype)
            data[:count] = value
        rows = Rows(data, size, **self._options())
        rows.states[:count] = WRITTEN
        self._use_rows(rows)
        if self._same_shape:
            self._dims = rows.shape
        return True

    def _write_rows(self, indices: Any, value: Any) -> bool:
        """Writes, or adds, rows of the shape that the list has at once; False if that is to be done one by one."""
        rows, count = self._rows, len(indices)
        if rows is None or not count or type(value) is not np.ndarray or value.dtype != rows.data.dtype:
            return False
        if value.shape != (count, *rows.shape) or indices.min() < 0 or indices.max() >= rows.size:
            return False
        states = rows.states[indices]
        if (states & (READ | CLEARED)).any() or len(np.unique(indices)) < count:
            return False
        written = states & WRITTEN != 0
        if not written.any():
            rows.data[indices] = value
        elif self._sums and written.all():
            rows.data[indices] += value
        else:
            return False
        rows.states[indices] |= WRITTEN
        if self._same_shape:
            self._dims = rows.shape
        return True

    def _position_to_write(self, index: int) -> int:
        self._check_open()
        if index < 0:
            raise wrong(f"Tried to write to index {index}, but an index must not be negative.")
        if index >= len(self):
            if not self._dynamic:
                raise wrong(
                    f"Tried to write to index {index}, but the array is not resizeable and its size is {len(self)}. "
                    "Use dynamic_size=True."
                )
            if self._rows is None:
                self._elements += [None] * (index + 1 - len(self))
            else:
                self._rows.grow(index + 1)
        return index

    def _check_open(self) -> None:
        if self._closed:
            raise wrong("The TensorArray has already been closed.")

    def read(self, index: Any) -> Any:
        """One element; zeros if nothing was written and its shape is known."""
        self._check_open()
        position = int(index)
        if not 0 <= position < len(self):
            raise wrong(f"Tried to read from index {position} but array size is: {len(self)}")
        element = self._element(position)
        if element.cleared:
            raise wrong(
                f"Could not read index {position} twice because it was cleared after a previous read (perhaps try "
                "setting clear_after_read = false?)"
            )
        unwritten = element.value is None
        if unwritten:
            element.value = self._zeros(position, element)
        value = element.value
        element.read = True
        if self._clear:
            element.value = None
            element.cleared = True
        self._keep(position, element, unwritten)
        return value

    def _zeros(self, position: int, element: _Element) -> Any:
        shape = element.shape if element.shape is not None else self._known_dims()
        if not _is_whole(shape):
            raise wrong(
                f"Could not read from TensorArray index {position}: nothing was written there, and the element shape "
                f"{shapes.text(shape)} is not fully known, so that it is not zeros either. Write it first, or give the "
                "element_shape."
            )
        return _blank(self._dtype, shape)

    def stack(self, indices: Sequence[int], dims: Dims) -> Any:
        """The elements at the indices along a new first axis; `dims` is the shape of one if there is none."""
        found = self._gathered(indices)
        if found is not None:
            return found
        values = [self.read(index) for index in indices]
        if not values:
            known = self._known_dims()
            return _blank(self._dtype, (0, *_whole(dims if known is None else known)))
        first = values[0].shape
        for index, value in zip(indices, values, strict=True):
            if value.shape != first:
                raise wrong(
                    f"TensorArray has inconsistent shapes: index {indices[0]} has shape {list(first)}, but "
                    f"index {index} has shape {list(value.shape)}. Use concat for elements that differ in the "
                    "first axis."
                )
        return np.stack(values)

    def _gathered(self, indices: Sequence[int]) -> Any:
        """The rows at the indices, read at once; None if that is to be done one by one."""
        rows, count = self._rows, len(indices)
        if rows is None or not count:
            return None
        places = np.asarray(indices)
        in_order = count <= rows.size and _in_order(places)
        if not in_order and (
            self._clear or places.min() < 0 or places.max() >= rows.size
        ):  # An index that comes twice is an error if the first read clears.
            return None
        chosen: Any = slice(0, count) if in_order else places
        states = rows.states[chosen]
        if ((states & (WRITTEN | CLEARED)) != WRITTEN).any():
            return None
        rows.states[chosen] |= READ | (CLEARED if self._clear else 0)
        return rows.data[chosen].copy() if in_order else rows.data[chosen]

    def concatenate(self, rest: Dims) -> tuple[Any, Any]:
        """All elements along their first axis, and the length of each."""
        found = self._gathered(range(len(self))) if self._rows is not None and self._rows.shape else None
        if found is not None:
            return found.reshape(-1, *found.shape[2:]), np.full(len(found), found.shape[1], np.int64)
        values = [self.read(index) for index in range(len(self))]
        if not values:
            return _blank(self._dtype, (0, *_whole(rest))), np.zeros(0, np.int64)
        for index, value in enumerate(values):
            if value.ndim == 0:
                raise wrong(f"Concat saw a scalar shape at index {index} but requires at least vectors.")
            if value.shape[1:] != values[0].shape[1:]:
                raise wrong(
                    f"TensorArray has inconsistent shapes: index 0 has shape {list(values[0].shape)}, but "
                    f"index {index} has shape {list(value.shape)}; all axes but the first must be the same."
                )
        return np.concatenate(values), np.array([len(v) for v in values], np.int64)

    def check_count(self, count: int) -> None:
        """Raises InvalidArgumentError if `count` elements are to be written and that many there are not."""
        if count != len(self) and not (self._dynamic and count > len(self)):
            raise wrong(
                f"TensorArray's size is not equal to the size of lengths ({len(self)} vs. {count}), and the "
                "TensorArray is not marked as dynamically resizeable"
            )


def _is_whole(dims: Dims) -> TypeGuard[tuple[int, ...]]:
    """Whether a shape is fully known."""
    return dims is not None and None not in dims


def _whole(dims: Dims) -> tuple[int, ...]:
    """A shape that is fully known."""
    if not _is_whole(dims):
        raise UnimplementedError(
            None,
            None,
            f"The TensorArray has no element to give, and the element shape {shapes.text(dims)} is not fully known: "
            "the result has no shape. Give the element_shape.",
        )
    return dims


def _plain(value: Any, dtype: DType) -> Any:
    return np.asarray(value, dtype=object) if dtype is dtypes.string else value


def _blank(dtype: DType, shape: Sequence[int]) -> Any:
    if dtype is dtypes.string:
        return np.full(shape, b"", object)
    return np.zeros(shape, dtype.as_numpy_dtype)[()]


def _is_plain(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a value can be a row of an array of that dtype, or is none."""
    return value is None or isinstance(value, np.ndarray | np.generic) and value.dtype == dtype


def _in_order(indices: Any) -> bool:
    """Whether they are 0, 1, 2 and so on."""
    return bool((indices == np.arange(len(indices))).all())


def _rows(value: Any) -> Any:
    return [value[i, ...] for i in range(len(value))] if value.dtype == object else value

"""An array of which only the layout is there, in sizes that may be others: what NumPy's kernels of views are run on.

It walks through memory as NumPy's arrays do, but counts elements instead of bytes, and lies nowhere.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import EllipsisType
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.traced_sizes import is_traced
from graphflow._core.compiler.values import Value, row_major
from graphflow._core.graph.shapes import walked
from graphflow.errors import InvalidArgumentError

Place = int | slice | EllipsisType | None


class NoViewError(Exception):
    """The result of an operation on a layout is no view of it, or it is not known whether it is."""


class Layout:
    """Shape, strides and offset, in elements, with those of NumPy's methods that give views."""

    def __init__(self, dtype: Any, shape: Sequence[Any], strides: Sequence[Any], offset: Any) -> None:
        self.dtype = dtype
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self.offset = offset

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return math.prod(self.shape)

    def _with(self, shape: Sequence[Any], strides: Sequence[Any], offset: Any = None) -> Layout:
        return Layout(self.dtype, shape, strides, self.offset if offset is None else offset)

    def transpose(self, axes: Sequence[int]) -> Layout:
        """The axes in another order."""
        return self._with([self.shape[a] for a in axes], [self.strides[a] for a in axes])

    def squeeze(self, axes: Sequence[int] | None) -> Layout:
        """Without some axes of one place, or all of them."""
        if axes is None:
            axes = [a for a, n in enumerate(self.shape) if n == 1]
        kept = [a for a in range(self.ndim) if a not in axes]
        return self.transpose(kept)

    def reshape(self, shape: Sequence[Any]) -> Layout:
        """The same elements in another shape, if that is a view: by NumPy's rule."""
        wanted = list(shape)
        free = [k for k, n in enumerate(wanted) if not is_traced(n) and n == -1]
        if free:
            wanted[free[0]] = self.size // math.prod(n for k, n in enumerate(wanted) if k != free[0])
        if math.prod(wanted) != self.size or not self.size:
            raise NoViewError("Other elements, or none.")
        old = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]
        strides: list[Any] = [0] * len(wanted)
        axis = 0
        while axis < len(wanted) and old:
            if wanted[axis] == 1:
                axis += 1
                continue
            axis = self._some_axes(wanted, strides, axis, old)
        step: Any = 1
        for place in range(len(wanted) - 1, -1, -1):
            if wanted[place] == 1:
                strides[place] = step
            step = strides[place] * wanted[place]
        return self._with(wanted, strides)

    def _some_axes(
        self, wanted: list[Any], strides: list[Any], first: int, old: list[tuple[Any, Any]]
    ) -> int:
        """Strides for the fewest axes from one on that hold as many elements as the fewest old ones, which go."""
        taken, end = [old.pop(0)], first + 1
        have, want = taken[0][0], wanted[first]
        while have != want:
            if want < have:
                want = want * wanted[end]
                end += 1
            else:
                taken.append(old.pop(0))
                have = have * taken[-1][0]
        if any(outer != n * inner for (_, outer), (n, inner) in pairwise(taken)):
            raise NoViewError("Elements that do not lie in one row.")
        step = taken[-1][1]
        for place in range(end - 1, first - 1, -1):
            strides[place] = step
            step = step * wanted[place]
        return end

    def broadcast(self, shape: Sequence[Any]) -> Layout:
        """Repeated to a shape."""
        value = Value("", "", self.shape, self.strides)
        missing = len(shape) - self.ndim
        if missing < 0 or any(n != 1 and n != m for n, m in zip(self.shape, shape[missing:], strict=True)):
            raise NoViewError("A shape that it does not broadcast to.")
        return self._with(shape, value.broadcast(tuple(shape)))

    def __getitem__(self, index: Any) -> Layout:
        places = list(index) if isinstance(index, tuple) else [index]
        used = sum(p is not None and p is not Ellipsis for p in places)
        if Ellipsis not in [p for p in places if p is Ellipsis]:
            places.append(Ellipsis)
        at = next(k for k, p in enumerate(places) if p is Ellipsis)
        places[at : at + 1] = [slice(None)] * (self.ndim - used)
        shape: list[Any] = []
        strides: list[Any] = []
        offset, axis = self.offset, 0
        for place in places:
            if place is None:
                shape.append(1)
                strides.append(0)
                continue
            size, stride = self.shape[axis], self.strides[axis]
            axis += 1
            if isinstance(place, slice):
                start, count, step = walked(place, size)
                shape.append(count)
                strides.append(stride * step)
            else:
                start = place if place >= 0 else place + size
                if start < 0 or start >= size:
                    raise NoViewError("An index out of range.")
            offset = offset + start * stride
        return self._with(shape, strides, offset)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        rule = _FUNCTIONS.get(function)
        if rule is None:
            raise NoViewError(f"{function} has no rule for layouts.")
        return rule(*args, **kwargs)


def _expand_dims(array: Layout, axis: int) -> Layout:
    axis %= array.ndim + 1
    return array[(*[slice(None)] * axis, None)]


def _flip(array: Layout, axes: Sequence[int]) -> Layout:
    return array[tuple([slice(None, None, -1 if a in axes else None) for a in range(array.ndim)])]


def _moveaxis(array: Layout, source: int, destination: int) -> Layout:
    order = [a for a in range(array.ndim) if a != source % array.ndim]
    order.insert(destination % array.ndim, source % array.ndim)
    return array.transpose(order)


# By what NumPy calls itself, of which a program's np.reshape may be a wrapper (graphflow.as_tensorflow.age).
_FUNCTIONS: Final[dict[Any, Callable[..., Layout]]] = {
    np.expand_dims: _expand_dims,
    inspect.unwrap(np.reshape): lambda array, shape: array.reshape(shape),
    np.flip: _flip,
    np.moveaxis: _moveaxis,
    np.broadcast_to: lambda array, shape: array.broadcast(shape),
}


class TracedConstants(dict[str, Any]):
    """The constants of a plan with sizes that may be others. contents: integers made of these, as arrays of objects."""

    def __init__(self, contents: Mapping[str, Any]) -> None:
        super().__init__()
        self.contents = contents


def layout_of(value: Value) -> Layout:
    """How a value walks through its block."""
    return Layout(np.dtype(value.dtype), value.shape, value.strides, value.offset)


def like(shape: Sequence[Any], dtype: str) -> Layout:
    """Something of a shape, at whose elements nobody looks."""
    return Layout(np.dtype(dtype), shape, row_major(shape), 0)


def traced_view_of(
    value: Value, kernel: Callable[..., Any], arguments: Sequence[Any], position: int
) -> list[Value] | None:
    """`view_of` for a value with sizes that may be others."""
    inputs = list(arguments)
    inputs[position] = layout_of(value)
    try:
        result = kernel(*inputs)
    except (NoViewError, AttributeError, TypeError, InvalidArgumentError):
        return None
    found = []
    for part in result if isinstance(result, tuple | list) else (result,):
        if isinstance(part, np.ndarray) and part.dtype == object and not part.ndim:
            part = part.item()
        if not isinstance(part, Layout) or not part.size:
            return None
        found.append(Value(value.root, value.dtype, part.shape, part.strides, part.offset))
    return found

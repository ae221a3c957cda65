"""The lists behind TensorArray, and the kernels that use them.

A list is made by its op, in each run anew, and travels as the value of its handle; its gradients hang on it. The
kernels keep the arrays they are given: they are registered as views, so that no later write of a variable changes
what was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.shapes import Dims
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow.errors import InvalidArgumentError, UnimplementedError

_FLOW = np.float32(0.0)


def _wrong(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


class _Element:
    """One element of a list: its value, the shape that it has or had, and whether it was read."""

    __slots__ = ("cleared", "read", "shape", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.shape: tuple[int, ...] | None = None
        self.read = False
        self.cleared = False


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
            raise _wrong(f"The size of a TensorArray must not be negative, got {size}.")
        self._dtype = dtype
        self._dims = dims
        self._dynamic = dynamic
        self._clear = clear
        self._same_shape = same_shape
        self._sums = sums
        self._elements = [_Element() for _ in range(size)]
        self._gradients: dict[str, ArrayList] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._elements)

    def close(self) -> None:
        """Gives the elements back."""
        self._elements = []
        self._closed = True

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
        for mine, other in zip(found._elements, self._elements, strict=True):
            mine.shape = other.shape
        return self._gradients.setdefault(source, found)

    def write(self, index: Any, value: Any) -> None:
        """Writes one element; InvalidArgumentError if that cannot be."""
        position = self._position_to_write(int(index))
        element = self._elements[position]
        value = _plain(value, self._dtype)
        shape = value.shape
        if not shapes.compatible(self._dims, shape):
            raise _wrong(
                f"Could not write to TensorArray index {position}: the value has shape {list(shape)}, which is "
                f"incompatible with the TensorArray's inferred element shape {shapes.text(self._dims)} (consider "
                "setting infer_shape=False)."
            )
        if element.read:
            raise _wrong(f"Could not write to TensorArray index {position} because it has already been read.")
        if element.value is None:
            element.value = value
        elif self._sums:
            if element.shape != shape:
                raise _wrong(
                    f"Could not aggregate to TensorArray index {position}: it has shape "
                    f"{list(element.shape or ())}, the new input {list(shape)}."
                )
            element.value = element.value + value
        else:
            raise _wrong(
                f"Could not write to TensorArray index {position} because it has already been written to."
            )
        element.shape = shape
        if self._same_shape:
            self._dims = shape

    def _position_to_write(self, index: int) -> int:
        self._check_open()
        if index < 0:
            raise _wrong(f"Tried to write to index {index}, but an index must not be negative.")
        if index >= len(self):
            if not self._dynamic:
                raise _wrong(
                    f"Tried to write to index {index}, but the array is not resizeable and its size is {len(self)}. "
                    "Use dynamic_size=True."
                )
            self._elements += [_Element() for _ in range(index + 1 - len(self))]
        return index

    def _check_open(self) -> None:
        if self._closed:
            raise _wrong("The TensorArray has already been closed.")

    def read(self, index: Any) -> Any:
        """One element; zeros if nothing was written and its shape is known."""
        self._check_open()
        position = int(index)
        if not 0 <= position < len(self):
            raise _wrong(f"Tried to read from index {position}, but the array size is {len(self)}.")
        element = self._elements[position]
        if element.cleared:
            raise _wrong(
                f"Could not read index {position} twice because it was cleared after a previous read (perhaps try "
                "setting clear_after_read=False)."
            )
        if element.value is None:
            element.value = self._zeros(position, element)
        value = element.value
        element.read = True
        if self._clear:
            element.value = None
            element.cleared = True
        return value

    def _zeros(self, position: int, element: _Element) -> Any:
        shape = element.shape if element.shape is not None else self._dims
        if not _is_whole(shape):
            raise _wrong(
                f"Could not read from TensorArray index {position}: nothing was written there, and the element shape "
                f"{shapes.text(shape)} is not fully known, so that it is not zeros either. Write it first, or give the "
                "element_shape."
            )
        return _blank(self._dtype, shape)

    def stack(self, indices: Sequence[int], dims: Dims) -> Any:
        """The elements at the indices along a new first axis; `dims` is the shape of one if there is none."""
        values = [self.read(index) for index in indices]
        if not values:
            return _blank(self._dtype, (0, *_whole(dims if self._dims is None else self._dims)))
        first = values[0].shape
        for index, value in zip(indices, values, strict=True):
            if value.shape != first:
                raise _wrong(
                    f"TensorArray has inconsistent shapes: index {indices[0]} has shape {list(first)}, but "
                    f"index {index} has shape {list(value.shape)}. Use concat for elements that differ in the "
                    "first axis."
                )
        return np.stack(values)

    def concatenate(self, rest: Dims) -> tuple[Any, Any]:
        """All elements along their first axis, and the length of each."""
        values = [self.read(index) for index in range(len(self))]
        if not values:
            return _blank(self._dtype, (0, *_whole(rest))), np.zeros(0, np.int64)
        for index, value in enumerate(values):
            if value.ndim == 0:
                raise _wrong(
                    f"TensorArray.concat needs elements with an axis, but index {index} is a scalar."
                )
            if value.shape[1:] != values[0].shape[1:]:
                raise _wrong(
                    f"TensorArray has inconsistent shapes: index 0 has shape {list(values[0].shape)}, but "
                    f"index {index} has shape {list(value.shape)}; all axes but the first must be the same."
                )
        return np.concatenate(values), np.array([len(v) for v in values], np.int64)

    def check_count(self, count: int) -> None:
        """Raises InvalidArgumentError if `count` elements are to be written and that many there are not."""
        if count != len(self) and not (self._dynamic and count > len(self)):
            raise _wrong(
                f"The TensorArray's size is not the number of lengths ({len(self)} and {count}), and it is not "
                "dynamically resizeable."
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


def _rows(value: Any) -> Any:
    return [value[i, ...] for i in range(len(value))] if value.dtype == object else value


@kernel("TensorArrayV3")
def _create(node: Node) -> Kernel:
    dtype, dims = node.attrs["dtype"], shapes.as_dims(node.attrs["element_shape"])
    options = {
        "dynamic": node.attrs["dynamic_size"],
        "clear": node.attrs["clear_after_read"],
        "same_shape": node.attrs["identical_element_shapes"],
    }
    return lambda size: (ArrayList(dtype, int(size), dims, **options), _FLOW)


@kernel("TensorArrayGradV3")
def _gradient(node: Node) -> Kernel:
    source = node.attrs["source"]
    return lambda array, flow: (array.gradient(source), _FLOW)


@kernel("TensorArrayWriteV3", view=True)
def _write(node: Node) -> Kernel:
    def write(array: ArrayList, index: Any, value: Any, flow: Any) -> Any:
        array.write(index, value)
        return _FLOW

    return write


@kernel("TensorArrayReadV3", view=True)
def _read(node: Node) -> Kernel:
    def read(array: ArrayList, index: Any, flow: Any) -> Any:
        value = array.read(index)
        # A view, so that a fetched element is copied: the list may hold it still.
        return value[...] if value.ndim else value

    return read


@kernel("TensorArrayGatherV3")
def _gather(node: Node) -> Kernel:
    dims = shapes.as_dims(node.attrs["element_shape"])

    def gather(array: ArrayList, indices: Any, flow: Any) -> Any:
        if np.ndim(indices) != 1:
            raise _wrong(f"Expected a vector of indices, got shape {list(np.shape(indices))}.")
        return array.stack(indices.tolist(), dims)

    return gather


@kernel("TensorArrayScatterV3", view=True)
def _scatter(node: Node) -> Kernel:
    def scatter(array: ArrayList, indices: Any, value: Any, flow: Any) -> Any:
        if np.ndim(indices) != 1 or np.ndim(value) == 0 or len(indices) != len(value):
            raise _wrong(
                f"Expected as many indices as rows: the indices have shape {list(np.shape(indices))}, the value "
                f"{list(np.shape(value))}."
            )
        for index, row in zip(indices.tolist(), _rows(value), strict=True):
            array.write(index, row)
        return _FLOW

    return scatter


@kernel("TensorArrayConcatV3")
def _concat(node: Node) -> Kernel:
    rest = shapes.as_dims(node.attrs["element_shape_except0"])
    return lambda array, flow: array.concatenate(rest)


@kernel("TensorArraySplitV3", view=True)
def _split(node: Node) -> Kernel:
    def split(array: ArrayList, value: Any, lengths: Any, flow: Any) -> Any:
        if np.ndim(lengths) != 1 or np.ndim(value) == 0:
            raise _wrong(
                f"Expected a vector of lengths and a value with an axis, got shapes {list(np.shape(lengths))} and "
                f"{list(np.shape(value))}."
            )
        sizes = lengths.tolist()
        if sum(sizes) != len(value) or any(size < 0 for size in sizes):
            raise _wrong(f"Expected lengths that sum to the {len(value)} rows of the value, got {sizes}.")
        array.check_count(len(sizes))
        start = 0
        for index, size in enumerate(sizes):
            array.write(index, value[start : start + size])
            start += size
        return _FLOW

    return split


@kernel("TensorArraySizeV3")
def _size(node: Node) -> Kernel:
    return lambda array, flow: np.int32(len(array))


@kernel("TensorArrayCloseV3")
def _close(node: Node) -> Kernel:
    return lambda array: array.close()

"""Fetches and feeds: from the nested structures of users to the flat tensors of a plan, and back."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final
from weakref import WeakSet

import numpy as np

import graphflow.nest as nest
from graphflow._core.common.arrays import array_of, is_bfloat16, kind_of
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.slices import IndexedSlices, IndexedSlicesValue, SparseTensor, SparseTensorValue
from graphflow._core.ops.state.session_handles import KEEP, TensorHandle

Rebuild = Callable[[Sequence[Any]], Any]
_LOG: Final = logging.getLogger("graphflow")
_CUT: Final[WeakSet[Tensor]] = WeakSet()
"""The tensors of which it was said that fractions that are fed to them are cut off."""


class Fetches:
    """The flat tensors and operations of a fetch structure, and how to give their values that structure again.

    session: whose handles of values it gives.
    """

    def __init__(self, graph: Graph, structure: Any, session: Any = None) -> None:
        self._graph = graph
        self._session = None if session is None else weakref.ref(session)
        self.tensors: list[Tensor] = []
        self.targets: list[Operation] = []
        self._positions: dict[Tensor, int] = {}
        self.rebuild: Rebuild = self._flatten(structure)

    def _flatten(self, structure: Any) -> Rebuild:
        if structure is None:
            raise TypeError(
                "Fetch argument None has invalid type NoneType: fetch a tensor, an operation or its name."
            )
        if isinstance(structure, IndexedSlices | SparseTensor):
            return self._composite(structure)
        if isinstance(structure, list | tuple):
            return self._sequence(structure)
        if isinstance(structure, Mapping):
            parts = {key: self._flatten(value) for key, value in structure.items()}
            kind: Any = dict if type(structure) is dict else type(structure)
            return lambda values: kind([(key, rebuild(values)) for key, rebuild in parts.items()])
        if hasattr(type(structure), "__attrs_attrs__"):
            return self._attrs(structure)
        return self._leaf(structure)

    def _attrs(self, structure: Any) -> Rebuild:
        """An object of a class that the package attrs has made."""
        kind: Any = type(structure)
        items = [self._flatten(getattr(structure, one.name)) for one in kind.__attrs_attrs__]
        return lambda values: kind(*[rebuild(values) for rebuild in items])

    def _sequence(self, structure: Any) -> Rebuild:
        parts = [self._flatten(item) for item in structure]
        if hasattr(structure, "_fields"):
            kind = type(structure)
            return lambda values: kind(*[rebuild(values) for rebuild in parts])
        if isinstance(structure, tuple):
            return lambda values: tuple([rebuild(values) for rebuild in parts])
        return lambda values: [rebuild(values) for rebuild in parts]

    def _composite(self, structure: Any) -> Rebuild:
        kind: Any = IndexedSlicesValue if isinstance(structure, IndexedSlices) else SparseTensorValue
        parts = (
            (structure.values, structure.indices, structure.dense_shape)
            if kind is IndexedSlicesValue
            else (structure.indices, structure.values, structure.dense_shape)
        )
        rebuilds = [None if part is None else self._leaf(part) for part in parts]
        return lambda values: kind(*[None if r is None else r(values) for r in rebuilds])

    def _leaf(self, fetch: Any) -> Rebuild:
        try:
            element = self._graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch).__name__}: {error}"
            ) from None
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error.args[0]})"
            ) from None
        op = element if isinstance(element, Operation) else element.op
        if op.control_flow_context is not None or not self._graph.is_fetchable(op):
            raise ValueError(
                f"Operation {op.name!r} has been marked as not fetchable: it is inside a branch or a loop. "
                "Return it from the branch or the loop, and fetch that result."
            )
        if isinstance(element, Operation):
            self.targets.append(element)
            return lambda values: None
        position = self._positions.setdefault(element, len(self.tensors))
        if position == len(self.tensors):
            self.tensors.append(element)
        if op.op_def is KEEP and self._session is not None:
            return partial(self._handle, position, op.inputs[0].dtype, self._session)
        return lambda values: values[position]

    @staticmethod
    def _handle(
        position: int, dtype: dtypes.DType, session: weakref.ref[Any], values: Sequence[Any]
    ) -> TensorHandle:
        return TensorHandle(values[position], dtype, session())  # type: ignore[arg-type]  # It runs: it is there.


def fetch_key(structure: Any) -> Any:
    """A hashable key of a fetch structure; TypeError if a leaf is not hashable."""
    kind = type(structure)
    if kind is Tensor or kind is Operation:
        return structure
    if kind is list or kind is tuple or isinstance(structure, list | tuple):
        return (kind, *[fetch_key(item) for item in structure])
    if isinstance(structure, Mapping):
        return (type(structure), *[(key, fetch_key(value)) for key, value in structure.items()])
    return structure


def expand_feeds(graph: Graph, feed_dict: Mapping[Any, Any]) -> dict[Tensor, Any]:
    """The values by the tensor they are fed to; TypeError or ValueError if something cannot be fed.

    A key may be a tuple, as the state of a cell is: its value then has the same structure, or as many leaves.
    """
    result: dict[Tensor, Any] = {}
    for key, value in (pair for item in feed_dict.items() for pair in _single_feeds(*item)):
        if isinstance(key, SparseTensor | IndexedSlices):
            result.update(_expand_composite(key, value))
            continue
        try:
            element = graph.as_graph_element(key, allow_operation=False)
        except (TypeError, ValueError, KeyError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
        assert isinstance(element, Tensor)
        if not graph.is_feedable(element):
            raise ValueError(f"Tensor {element.name} may not be fed.")
        result[element] = value
    return result


def _single_feeds(key: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The fed tensors with their values, for a key that may be a tuple of tensors and tuples."""
    if not isinstance(key, tuple):
        yield key, value
    elif isinstance(value, list | tuple) and len(value) == len(key):
        for one, its_value in zip(key, value, strict=True):
            yield from _single_feeds(one, its_value)
    else:
        keys, values = nest.flatten(key), nest.flatten(value)
        if len(keys) != len(values):
            raise ValueError(
                f"A key of feed_dict is {len(keys)} tensors, but its value is {len(values)}: feed a value for each. "
                f"Key: {key!r}, value: {value!r}."
            )
        yield from zip(keys, values, strict=True)


def _expand_composite(key: Any, value: Any) -> dict[Tensor, Any]:
    if isinstance(key, SparseTensor):
        parts: Sequence[Any] = (key.indices, key.values, key.dense_shape)
        given = (
            (value.indices, value.values, value.dense_shape)
            if hasattr(value, "dense_shape")
            else tuple(value)
        )
    else:
        parts = (key.values, key.indices, key.dense_shape)
        given = (
            (value.values, value.indices, value.dense_shape) if hasattr(value, "indices") else tuple(value)
        )
    return {part: v for part, v in zip(parts, given, strict=False) if part is not None}


def feed_array(tensor: Tensor, value: Any) -> Any:
    """The array to run with for a fed value: the user's own memory if it fits as it is.

    TypeError if it cannot be of the tensor's dtype, ValueError if the shape does not fit.
    """
    kind, dtype = type(value), tensor.dtype
    if kind is np.ndarray and value.dtype is dtype.native and dtype is not dtypes.string:
        array = value
    elif (kind is float and dtype.is_floating and -6e4 < value < 6e4) or kind is dtype.scalar:
        array = (dtype.scalar or np.float32)(value)  # within float16's range, so it does not overflow
    else:
        array = _converted(tensor, value)
    if not _fits(array.shape, tensor.dims):
        raise ValueError(
            f"Cannot feed value of shape {array.shape!r} for Tensor {tensor.name!r}, which has shape "
            f"{shapes.text(tensor.dims)!r}"
        )
    return array if array.ndim or array.dtype == object else array[()]


def _fits(shape: tuple[int, ...], dims: shapes.Dims) -> bool:
    if dims is None:
        return True
    if len(shape) != len(dims):
        return False
    for given, wanted in zip(shape, dims, strict=True):  # noqa: SIM110 - it is done for every fed value
        if wanted is not None and given != wanted:
            return False
    return True


def _converted(tensor: Tensor, value: Any) -> Any:
    if isinstance(value, Tensor | Operation) or hasattr(value, "_as_graph_element"):
        raise TypeError(
            "The value of a feed cannot be a gf.Tensor object. Acceptable feed values include Python scalars, strings, "
            f"lists, numpy ndarrays. For reference, the tensor object was {value!r} which was passed to "
            f"the feed with key {tensor!r}."
        )
    if isinstance(value, TensorHandle):
        value = value.eval()
    if not tensor.dtype.is_numpy_compatible:
        return np.asarray(value, dtype=object)
    if tensor.dtype is dtypes.string:
        return _bytes_array(tensor, value)
    wanted = tensor.dtype.native
    try:
        array = array_of(value)
        if array.dtype.kind in "SU":
            array = np.asarray(value, dtype=wanted)
        elif array.dtype == object:
            if any(item is None for item in array.reshape(-1)):
                raise ValueError("None is not a number.")
            array = np.array(value, dtype=wanted)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(
            f"Cannot feed {_short(value)} to {tensor.name!r} of dtype {tensor.dtype.name}: {error}"
        ) from None
    if is_bfloat16(array.dtype) and tensor.dtype is not dtypes.bfloat16:
        array = array.astype(np.float32)
    problem = _misfit(array, tensor.dtype)
    if problem:
        raise TypeError(
            f"The feed value {_short(value)} is not compatible with Tensor type {tensor.dtype.name} of "
            f"{tensor.name!r}: {problem}. Convert it first, or give the tensor another type."
        )
    if array.dtype.kind == "f" and tensor.dtype.is_integer and (array != np.floor(array)).any():
        _tell_of_fractions(tensor, value)
    with np.errstate(all="ignore"):
        return np.array(array, dtype=wanted, order="C") if array.dtype != wanted else array


def _tell_of_fractions(tensor: Tensor, value: Any) -> None:
    """Says once for each fed tensor what TensorFlow does in silence."""
    if tensor not in _CUT:
        _CUT.add(tensor)
        _LOG.warning(
            "The feed value %s of %r, which is of type %s, has fractions: they are cut off, as in TensorFlow.",
            _short(value), tensor.name, tensor.dtype.name,
        )  # fmt: skip


def _misfit(array: Any, dtype: dtypes.DType) -> str:
    """Why an array's elements cannot be of a dtype without becoming other numbers, or "" if they can.

    Rounding to fewer binary digits is no misfit, nor is a fraction that an integer loses, as in TensorFlow; what
    TensorFlow would wrap is one.
    """
    kind = kind_of(array.dtype)
    if kind in "mMV":
        return f"{array.dtype} is no number"
    if kind == "c":
        return "" if dtype.is_complex else "it is complex"
    if not dtype.is_integer or kind == "b" or array.size == 0:
        if dtype.is_bool and array.size and not np.isin(array, (0, 1)).all():
            return "it is neither 0 nor 1"
        return ""
    if kind == "f" and not np.isfinite(array).all():
        return "it is not finite"
    low, high = int(array.min()), int(array.max())
    return f"{low if low < dtype.min else high} does not fit" if low < dtype.min or high > dtype.max else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _bytes_array(tensor: Tensor, value: Any) -> Any:
    array = np.array(value, dtype=object)
    for index, item in np.ndenumerate(array):
        if not isinstance(item, str | bytes):
            raise TypeError(
                f"Type of feed value {_short(value)} with type {type(item)} is not text, which {tensor.name!r} of "
                "dtype string takes."
            )
        array[index] = item.encode() if isinstance(item, str) else item
    return array

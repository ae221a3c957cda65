"""Variables kept in parts: how many parts a partitioner asks for, and the parts as one variable.

A part is an ordinary variable named NAME/part_0, NAME/part_1, ... that knows its place in the whole
(SaveSliceInfo), so that a checkpoint stores one tensor however many parts there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array.array import concat, identity, split

Partitioner = Callable[..., Sequence[int]]

_DEFAULT_SLICE_SIZE: Final = 256 << 10


@dataclass(frozen=True)
class PartitionInfo:
    """Of what whole an initializer makes a part: the whole's shape, and where the part begins."""

    full_shape: list[int]
    var_offset: list[int]


def _element_size(dtype: DType, bytes_per_string: int) -> int:
    return bytes_per_string if dtype is dtypes.string else dtype.size


def _extent(shape: TensorShape, axis: int) -> int:
    if shape.raw is None or not -len(shape.raw) <= axis < len(shape.raw):
        raise ValueError(f"Can not partition variable along axis {axis} when shape is only {shape}.")
    extent = shape.raw[axis]
    if extent is None:
        raise ValueError(f"shape is not fully defined: {shape}")
    return extent


def _along(shape: TensorShape, axis: int, count: int) -> list[int]:
    counts = [1] * len(shape)
    counts[axis] = count
    return counts


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner into `num_shards` parts along an axis, or fewer if it is shorter (tf.fixed_size_partitioner).

    Args:
        num_shards: How many parts.
        axis: The axis.

    Returns:
        A function of a shape and a dtype.
    """

    def partition(shape: Any, dtype: Any = None) -> list[int]:
        whole = shapes.as_shape(shape)
        return _along(whole, axis, min(num_shards, _extent(whole, axis)))

    return partition


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """A partitioner into parts of at most `max_shard_bytes`, and at most `max_shards` of them.

    A part holds one slice of the axis at least (tf.variable_axis_size_partitioner).

    Args:
        max_shard_bytes: The most bytes of a part.
        axis: The axis.
        bytes_per_string_element: What a string counts.
        max_shards: The most parts, or None.

    Returns:
        A function of a shape and a dtype.

    Raises:
        ValueError: If a limit is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive, got "
            f"{max_shard_bytes} and {bytes_per_string_element}."
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError(f"max_shards must be positive, got {max_shards}.")

    def partition(shape: Any, dtype: DType) -> list[int]:
        whole = shapes.as_shape(shape)
        extent, size = _extent(whole, axis), whole.num_elements()
        if size is None:
            raise ValueError(f"shape is not fully defined: {whole}")
        bytes_per_slice = size / extent * _element_size(dtype, bytes_per_string_element) if size else 1.0
        count = math.ceil(extent / max(1, math.floor(max_shard_bytes / bytes_per_slice)))
        return _along(whole, axis, count if max_shards is None else min(max_shards, count))

    return partition


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = _DEFAULT_SLICE_SIZE,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """A partitioner into parts of about `min_slice_size` bytes, at most `max_partitions` of them.

    The same as TensorFlow's tf.min_max_variable_partitioner.

    Args:
        max_partitions: The most parts.
        axis: The axis.
        min_slice_size: The least bytes of a part.
        bytes_per_string_element: What a string counts.

    Returns:
        A function of a shape and a dtype.
    """

    def partition(shape: Any, dtype: DType) -> list[int]:
        whole = shapes.as_shape(shape)
        extent, size = _extent(whole, axis), whole.num_elements()
        if size is None:
            raise ValueError(f"shape is not fully defined: {whole}")
        wanted = math.ceil(size * _element_size(dtype, bytes_per_string_element) / min_slice_size)
        return _along(whole, axis, max(1, min(extent, max_partitions, wanted)))

    return partition


def partitions_of(partitioner: Any, shape: TensorShape, dtype: DType) -> list[int]:
    """The partition that a partitioner asks for, checked: a count for each axis, at most one of them above 1."""
    if not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner!r}")
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if not shape.ndims:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    counts = partitioner(shape=shape, dtype=dtype)
    if not isinstance(counts, list | tuple):
        raise ValueError(f"Partitioner must return a sequence, but saw: {counts!r}")
    if len(counts) != shape.ndims:
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: {list(counts)} vs. {shape}"
        )
    if any(count < 1 for count in counts):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {list(counts)}")
    if sum(count > 1 for count in counts) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {list(counts)}"
        )
    axis = partition_axis(counts)
    if counts[axis] > (shape.raw or ())[axis]:
        raise ValueError(
            f"Partitioner asks for {counts[axis]} parts along axis {axis} of shape {shape}, which has too few slices."
        )
    return [int(count) for count in counts]


def partition_axis(counts: Sequence[int]) -> int:
    """The axis that is cut, 0 if none is."""
    return next((axis for axis, count in enumerate(counts) if count > 1), 0)


def parts(shape: Sequence[int], counts: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Offset and shape of each part; the first ones are a slice longer if the axis does not divide evenly."""
    axis = partition_axis(counts)
    count = counts[axis]
    offset = [0] * len(shape)
    for index in range(count):
        part = list(shape)
        part[axis] = shape[axis] // count + (index < shape[axis] % count)
        yield list(offset), part
        offset[axis] += part[axis]


class PartitionedVariable:
    """A variable kept in parts along one axis; as an input of an op it is their concatenation.

    Made by get_variable with a partitioner. Iteration gives the parts in order.
    """

    def __init__(
        self, name: str, shape: Any, dtype: DType, variable_list: Sequence[Any], partitions: Sequence[int]
    ) -> None:
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        for part in variable_list:
            if part.get_save_slice_info() is None:
                raise ValueError(f"All variables must have a save_slice_info, and {part.name!r} has none.")
        self._variables = sorted(variable_list, key=lambda part: part.get_save_slice_info().var_offset)
        self._name = name
        self._shape = shapes.as_shape(shape)
        self._dtype = dtype
        self._partitions = list(partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _get_variable_list(self) -> list[Any]:
        return list(self._variables)

    @property
    def name(self) -> str:
        """The name of the whole, without ":0"."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    @property
    def partitions(self) -> list[int]:
        """The number of parts along each axis."""
        return self._partitions

    def as_tensor(self) -> Tensor:
        """The whole, as a tensor; it does not wait for the current control dependencies."""
        graph = get_default_graph()
        with graph.control_dependencies(None):
            whole: Any = self._variables[0]
            if len(self._variables) > 1:
                with graph.name_scope(f"{self._name}/ConcatPartitions/"):
                    whole = concat(self._variables, partition_axis(self._partitions))
            with graph.name_scope(None):
                return identity(whole, name=self._name)

    def as_graph_tensor(self, dtype: Any = None, name: str | None = None) -> Tensor:
        """The whole as an input of an operation; ValueError if the dtype is another."""
        if dtype is not None and dtypes.as_dtype(dtype) is not self._dtype:
            raise ValueError(
                f"Incompatible type conversion requested to type {dtypes.as_dtype(dtype).name!r} for partitioned "
                f"variable {self._name!r} of type {self._dtype.name!r}"
            )
        return self.as_tensor()

    def _cut(self, value: Any) -> Sequence[Any]:
        if isinstance(value, PartitionedVariable):
            value = list(value)
        if isinstance(value, list) and len(value) != len(self._variables):
            raise ValueError(
                f"{self._name!r} has {len(self._variables)} parts, got a list of {len(value)} values."
            )
        if isinstance(value, list):
            return value
        axis = partition_axis(self._partitions)
        pieces: Sequence[Any] = split(value, [part.dims[axis] for part in self._variables], axis=axis)
        return pieces

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Sets the parts from a value of the whole or a list of one for each part; the results are a list."""
        pairs = zip(self._variables, self._cut(value), strict=True)
        return [part.assign(piece, use_locking, name, read_value) for part, piece in pairs]

    def assign_add(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Adds to the parts; see assign."""
        pairs = zip(self._variables, self._cut(value), strict=True)
        return [part.assign_add(piece, use_locking, name, read_value) for part, piece in pairs]

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Subtracts from the parts; see assign."""
        pairs = zip(self._variables, self._cut(value), strict=True)
        return [part.assign_sub(piece, use_locking, name, read_value) for part, piece in pairs]

    def __repr__(self) -> str:
        return f"<gf.PartitionedVariable {self._name!r} shape={self._shape} dtype={self._dtype.name} parts={len(self)}>"

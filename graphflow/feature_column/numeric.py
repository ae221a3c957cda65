"""Numbers as they are, and in buckets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from graphflow import nest
from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.array.array import (
    expand_dims,
    one_hot,
    range_,
    reshape,
    shape,
    stack,
    tile,
    transpose,
)
from graphflow._core.ops.io.parsing import FixedLenFeature
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.sorting import bucketize
from graphflow.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    FeatureTransformationCache,
    IdWeightPair,
    NamedColumn,
    StateManager,
    check_key,
)


@dataclass(frozen=True)
class NumericColumn(NamedColumn, DenseColumn):
    """Numbers of a fixed shape."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A FixedLenFeature."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        """The numbers as float32, normalised."""
        found = cache.get(self.key, state)
        if isinstance(found, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. key: "
                f"{self.key}"
            )
        if self.normalizer_fn is not None:
            found = self.normalizer_fn(found)
        numbers: Tensor = cast(found, dtypes.float32)
        return numbers

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of an example's numbers."""
        return TensorShape(self.shape)

    def get_dense_tensor(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        """The numbers."""
        found: Tensor = cache.get(self, state)
        return found


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """Numbers by the bucket in which they lie: dense as one-hot vectors, categorical as ids."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """That of the numbers, and what was done."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the numbers."""
        return self.source_column.parse_example_spec

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        """The number of the bucket of each."""
        return bucketize(cache.get(self.source_column, state), self.boundaries)

    @property
    def variable_shape(self) -> TensorShape:
        """A one-hot vector for each number."""
        return TensorShape([*self.source_column.shape, len(self.boundaries) + 1])

    def get_dense_tensor(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        """One-hot vectors."""
        buckets = cast(cache.get(self, state), dtypes.int64)
        return one_hot(buckets, len(self.boundaries) + 1, on_value=1.0, off_value=0.0)

    @property
    def num_buckets(self) -> int:
        """Those of all numbers of an example."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def get_sparse_tensors(self, cache: FeatureTransformationCache, state: StateManager) -> IdWeightPair:
        """An id for each number of each example."""
        buckets = cache.get(self, state)
        batch, width = shape(buckets)[0], self.source_column.shape[0]
        rows = reshape(tile(expand_dims(range_(batch), 1), [1, width]), [-1])
        columns = tile(range_(width), stack([batch]))
        ids = reshape(buckets, [-1]) + (len(self.boundaries) + 1) * columns
        places = cast(transpose(stack([rows, columns])), dtypes.int64)
        return IdWeightPair(SparseTensor(places, ids, cast(stack([batch, width]), dtypes.int64)), None)


def checked_shape(dims: Any, key: str) -> tuple[int, ...]:
    """The shape of an example as a tuple; TypeError or ValueError for what is none."""
    found = tuple(dims) if isinstance(dims, list | tuple | TensorShape) else (dims,)
    found = tuple(getattr(d, "value", d) for d in found)
    for extent in found:
        if not isinstance(extent, int):
            raise TypeError(f"shape dimensions must be integer. shape: {found}, key: {key}")
        if extent < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {found}, key: {key}")
    return found


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list | tuple) else value


def _filled(dims: Sequence[int], value: Any) -> Any:
    return tuple(_filled(dims[1:], value) for _ in range(dims[0])) if dims else value


def _fits(value: Any, dims: Sequence[int]) -> bool:
    if isinstance(value, list | tuple) != bool(dims):
        return False
    return not dims or (len(value) == dims[0] and all(_fits(item, dims[1:]) for item in value))


def _checked_default(dims: tuple[int, ...], value: Any, dtype: DType, key: str) -> Any:
    if value is None:
        return None
    if isinstance(value, int) or (isinstance(value, float) and dtype.is_floating):
        return _filled(dims, value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        if not _fits(value, dims):
            raise ValueError(
                "The shape of default_value must be equal to given shape. default_value: "
                f"{value}, shape: {dims}, key: {key}"
            )
        items = nest.flatten(value)
        is_float = any(isinstance(item, float) for item in items) and dtype.is_floating
        if is_float or all(isinstance(item, int) for item in items):
            return _as_tuple(value)
    raise TypeError(
        f"default_value must be compatible with dtype. default_value: {value}, dtype: {dtype}, key: {key}"
    )


def checked_numbers(dtype: DTypeLike, normalizer_fn: Any, key: str) -> DType:
    """The dtype of a column of numbers; ValueError or TypeError if one of its arguments is of the wrong kind."""
    found = as_dtype(dtype)
    if not found.is_integer and not found.is_floating:
        raise ValueError(f"dtype must be convertible to float. dtype: {found}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    check_key(key)
    return found


def numeric_column(
    key: str, shape: Any = (1,), default_value: Any = None, dtype: DTypeLike = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:  # fmt: skip
    """Numbers as they are (tf.feature_column.numeric_column).

    Args:
        key: The name of the feature.
        shape: The shape of an example's numbers.
        default_value: What an Example that lacks it has: a number, or numbers of that shape.
        dtype: Of the numbers in Examples.
        normalizer_fn: Applied to the tensor of a batch.

    Returns:
        The column.

    Raises:
        ValueError: If the shape, the dtype or the default is none that can be.
        TypeError: If the default is of another dtype.
    """
    dims = checked_shape(shape, key)
    kind = checked_numbers(dtype, normalizer_fn, key)
    return NumericColumn(key, dims, _checked_default(dims, default_value, kind, key), kind, normalizer_fn)


def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> BucketizedColumn:
    """Numbers by the bucket in which they lie (tf.feature_column.bucketized_column).

    Args:
        source_column: A numeric column of one axis.
        boundaries: Where buckets begin, in ascending order: there is one more than boundaries.

    Returns:
        The column.

    Raises:
        ValueError: If the source is another column, or the boundaries are not in order.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            f"source_column must be a column generated with numeric_column(). Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries or not isinstance(boundaries, list | tuple):
        raise ValueError("boundaries must be a sorted list.")
    if any(low >= high for low, high in pairwise(boundaries)):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))

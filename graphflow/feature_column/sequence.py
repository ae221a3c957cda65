"""Sequences: ids and numbers of which an example has any number, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.array.array import concat, ones_like, reshape, shape, stack, zeros
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.math import ceil
from graphflow._core.ops.math.reductions import reduce_prod
from graphflow._core.ops.math.segments import segment_max
from graphflow._core.ops.sparse.sparse import sparse_reshape, sparse_tensor_to_dense
from graphflow.feature_column.base import (
    CategoricalColumn,
    FeatureTransformationCache,
    IdWeightPair,
    NamedColumn,
    SequenceDenseColumn,
    StateManager,
    TensorSequenceLengthPair,
    number_of_elements,
)
from graphflow.feature_column.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from graphflow.feature_column.numeric import checked_numbers, checked_shape


@dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """Ids in order: [batch, steps, ids of a step]."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """That of the ids."""
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids."""
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        """That of the ids."""
        return self.categorical_column.num_buckets

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> Any:
        """That of the ids."""
        return self.categorical_column.transform_feature(cache, state)

    def get_sparse_tensors(self, cache: FeatureTransformationCache, state: StateManager) -> IdWeightPair:
        """Ids and weights with three axes."""
        ids, weights = self.categorical_column.get_sparse_tensors(cache, state)
        dims = ids.dense_shape
        wanted = stack([dims[0], dims[1], reduce_prod(dims[2:])])
        return IdWeightPair(
            sparse_reshape(ids, wanted), None if weights is None else sparse_reshape(weights, wanted)
        )


def sequence_length(sparse: SparseTensor, elements: int = 1) -> Tensor:
    """How many steps each row has, an int64 vector, if `elements` values are one step."""
    with op_scope(None, "sequence_length", [sparse.values]):
        rows, last = sparse.indices[:, 0], sparse.indices[:, 1]
        lengths = segment_max(last + ones_like(last), rows)
        steps = cast(ceil(cast(lengths, dtypes.float64) / float(elements)), dtypes.int64)
        missing = cast(sparse.dense_shape[:1], dtypes.int32) - shape(steps)
        return concat([steps, zeros(missing, dtypes.int64)], 0)


def check_sequence(column: Any, categorical: CategoricalColumn, is_wanted: bool) -> None:
    """ValueError if a column of ids in order is given to what takes none, or another to what takes them."""
    if isinstance(categorical, SequenceCategoricalColumn) == is_wanted:
        return
    if is_wanted:
        raise ValueError(
            f"In {column.name}: categorical_column must be of type SequenceCategoricalColumn to use SequenceFeatures. "
            "Suggested fix: Use one of sequence_categorical_column_with_*. Given (type "
            f"{type(categorical)}): {categorical}"
        )
    raise ValueError(
        f"In {column.name}: categorical_column must not be of type SequenceCategoricalColumn. Suggested fix A: If you "
        "wish to use input_layer, use a non-sequence categorical_column_with_*. Suggested fix B: If you wish to create "
        f"sequence input, use SequenceFeatures instead. Given (type {type(categorical)}): {categorical}"
    )


@dataclass(frozen=True)
class SequenceNumericColumn(NamedColumn, SequenceDenseColumn):
    """Numbers in order."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> Any:
        """The numbers, normalised."""
        found = cache.get(self.key, state)
        return found if self.normalizer_fn is None else self.normalizer_fn(found)

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of a step's numbers."""
        return TensorShape(self.shape)

    def get_sequence_dense_tensor(
        self, cache: FeatureTransformationCache, state: StateManager
    ) -> TensorSequenceLengthPair:
        """The numbers [batch, longest, ...] and how many steps each example has."""
        sparse = cache.get(self, state)
        dense = sparse_tensor_to_dense(sparse, self.default_value)
        dense = reshape(dense, concat([shape(dense)[:1], [-1], self.shape], 0))
        elements = number_of_elements(self) if sparse.shape.ndims == 2 else 1  # type: ignore[arg-type]
        return TensorSequenceLengthPair(dense, sequence_length(sparse, elements))


# ---- functions ----------------------------------------------------------------------------------------------------


def sequence_numeric_column(
    key: str, shape: Any = (1,), default_value: float = 0.0, dtype: DTypeLike = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:  # fmt: skip
    """Numbers in order.

    Args:
        key: The name of the feature.
        shape: The shape of a step's numbers.
        default_value: What stands behind the end of a shorter sequence.
        dtype: Of the numbers.
        normalizer_fn: Applied to the SparseTensor of a batch.

    Returns:
        The column.

    Raises:
        ValueError: If the shape or the dtype is none that can be.
        TypeError: If normalizer_fn is no function.
    """
    kind = checked_numbers(dtype, normalizer_fn, key)
    return SequenceNumericColumn(key, checked_shape(shape, key), default_value, kind, normalizer_fn)


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Integers in order, as categorical_column_with_identity takes them.

    Args:
        key: The name of the feature.
        num_buckets: How many ids there are.
        default_value: The id of others.

    Returns:
        The column.

    Raises:
        ValueError: If there is no bucket, or the default is none of them.
    """
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = dtypes.string
) -> SequenceCategoricalColumn:
    """Words in order, as categorical_column_with_hash_bucket takes them.

    Args:
        key: The name of the feature.
        hash_bucket_size: How many ids there are.
        dtype: Of the feature.

    Returns:
        The column.

    Raises:
        ValueError: If there is no bucket, or the dtype is another.
    """
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_vocabulary_file(
    key: str, vocabulary_file: str, vocabulary_size: int | None = None, num_oov_buckets: int | None = 0,
    default_value: int | None = None, dtype: DTypeLike = dtypes.string,
) -> SequenceCategoricalColumn:  # fmt: skip
    """Words in order, as categorical_column_with_vocabulary_file takes them.

    Args:
        key: The name of the feature.
        vocabulary_file: The file, a word a line.
        vocabulary_size: How many lines count.
        num_oov_buckets: How many more ids there are for other words.
        default_value: The id of other words.
        dtype: Of the feature.

    Returns:
        The column.

    Raises:
        ValueError: If there is no file, no word, or both buckets and a default are given.
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


def sequence_categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Sequence[Any], dtype: DTypeLike | None = None, default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:  # fmt: skip
    """Words in order, as categorical_column_with_vocabulary_list takes them.

    Args:
        key: The name of the feature.
        vocabulary_list: The words.
        dtype: Of the feature.
        default_value: The id of other words.
        num_oov_buckets: How many more ids there are for other words.

    Returns:
        The column.

    Raises:
        ValueError: If there is no word, one is twice in the list, or both buckets and a default are given.
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets)
    )

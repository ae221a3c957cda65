"""Ids as vectors: counts of each id, or rows of a table that is learnt, of one column or shared by several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import graphflow.train as train
from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.ops.array.array import concat, expand_dims, one_hot, stack
from graphflow._core.ops.array.indexing import scatter_nd
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import greater_equal
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.nn.embedding import safe_embedding_lookup_sparse
from graphflow._core.ops.sparse.sparse import sparse_reorder, sparse_retain, sparse_tensor_to_dense
from graphflow._core.ops.state.initializers import TruncatedNormal
from graphflow.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    FeatureTransformationCache,
    SequenceDenseColumn,
    StateManager,
    TensorSequenceLengthPair,
)
from graphflow.feature_column.combined import WeightedCategoricalColumn
from graphflow.feature_column.sequence import check_sequence, sequence_length


@dataclass(frozen=True)
class _OfIds(DenseColumn, SequenceDenseColumn):
    """A dense column of a categorical one."""

    categorical_column: CategoricalColumn

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids."""
        return self.categorical_column.parse_example_spec

    def _dense(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        raise NotImplementedError

    def get_dense_tensor(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        """A vector for each example."""
        check_sequence(self, self.categorical_column, False)
        return self._dense(cache, state)

    def get_sequence_dense_tensor(
        self, cache: FeatureTransformationCache, state: StateManager
    ) -> TensorSequenceLengthPair:
        """A vector for each step of each example."""
        check_sequence(self, self.categorical_column, True)
        ids = self.categorical_column.get_sparse_tensors(cache, state).id_tensor
        return TensorSequenceLengthPair(self._dense(cache, state), sequence_length(ids))


@dataclass(frozen=True)
class IndicatorColumn(_OfIds):
    """How often each id stands in an example, or the sum of its weights."""

    @property
    def name(self) -> str:
        """That of the ids, and what was done."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> TensorShape:
        """A number for each id."""
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        """The counts."""
        ids, weights = self.categorical_column.get_sparse_tensors(cache, state)
        count = self.categorical_column.num_buckets
        if weights is not None:
            known = greater_equal(ids.values, cast(0, ids.dtype))
            ids, weights = sparse_retain(ids, known), sparse_retain(weights, known)
            places = concat([ids.indices[:, :-1], expand_dims(cast(ids.values, dtypes.int64), 1)], 1)
            size = concat([ids.dense_shape[:-1], stack([cast(count, dtypes.int64)])], 0)
            merged = sparse_reorder(SparseTensor(places, weights.values, size))
            return scatter_nd(merged.indices, merged.values, merged.dense_shape)
        dense = sparse_tensor_to_dense(ids, default_value=-1)
        return reduce_sum(one_hot(dense, count, on_value=1.0, off_value=0.0), axis=[-2])

    def _dense(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        found: Tensor = cache.get(self, state)
        return found


@dataclass(frozen=True)
class _OfTable(_OfIds):
    """A column that looks ids up in a table."""

    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool

    @property
    def variable_shape(self) -> TensorShape:
        """A row."""
        return TensorShape([self.dimension])

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> Any:
        """The ids."""
        return cache.get(self.categorical_column, state)

    def _table(self, state: StateManager) -> Any:
        return state.variable(
            self, "embedding_weights", (self.categorical_column.num_buckets, self.dimension), self.initializer,
            self.trainable,
        )  # fmt: skip

    def _dense(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        ids, weights = self.categorical_column.get_sparse_tensors(cache, state)
        table = self._table(state)
        if self.ckpt_to_load_from is not None and self.tensor_name_in_ckpt is not None:
            train.init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: table})
        return safe_embedding_lookup_sparse(
            table, ids, weights, self.combiner, name=f"{self.name}_weights", max_norm=self.max_norm
        )


@dataclass(frozen=True)
class EmbeddingColumn(_OfTable):
    """The combined rows of a table for the ids of an example."""

    @property
    def name(self) -> str:
        """That of the ids, and what was done."""
        return f"{self.categorical_column.name}_embedding"


@dataclass(frozen=True)
class SharedEmbeddingColumn(_OfTable):
    """The combined rows of a table that several columns share: one a graph, by the name of its collection."""

    shared_embedding_collection_name: str

    @property
    def name(self) -> str:
        """That of the ids, and what was done."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def scope_name(self) -> str:
        """That of the table."""
        return self.shared_embedding_collection_name

    def _table(self, state: StateManager) -> Any:
        graph, name = get_default_graph(), self.shared_embedding_collection_name
        found = graph.get_collection(name)
        if not found:
            graph.add_to_collection(name, super()._table(state))
            found = graph.get_collection(name)
        if len(found) > 1:
            raise ValueError(
                f"Collection {found} can only contain one variable. Suggested fix A: Choose a unique name for this "
                "collection. Suggested fix B: Do not add any variables to this collection."
            )
        wanted = [self.categorical_column.num_buckets, self.dimension]
        if found[0].shape.as_list() != wanted:
            raise ValueError(
                f"Shared embedding collection {name} contains variable {found[0].name} of unexpected shape "
                f"{found[0].shape}. Expected shape is {wanted}. Choose a unique name for this collection."
            )
        return found[0]


# ---- functions ----------------------------------------------------------------------------------------------------


def _checked_initializer(
    dimension: int, initializer: Any, ckpt_to_load_from: str | None, tensor_name_in_ckpt: str | None
) -> Any:
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified.")
    return TruncatedNormal(0.0, 1 / math.sqrt(dimension)) if initializer is None else initializer


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """How often each id stands in an example (tf.feature_column.indicator_column).

    Args:
        categorical_column: The ids.

    Returns:
        The column.
    """
    return IndicatorColumn(categorical_column)


def embedding_column(
    categorical_column: CategoricalColumn, dimension: int, combiner: str = "mean",
    initializer: Callable[..., Any] | None = None, ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None, max_norm: float | None = None, trainable: bool = True,
) -> EmbeddingColumn:  # fmt: skip
    """The combined rows of a table that is learnt (tf.feature_column.embedding_column).

    Args:
        categorical_column: The ids.
        dimension: The size of a row.
        combiner: "mean", "sqrtn" or "sum", if an example has several ids.
        initializer: Of the table; by default a truncated normal of standard deviation 1 / sqrt(dimension).
        ckpt_to_load_from: The checkpoint with its first values.
        tensor_name_in_ckpt: Its name there.
        max_norm: The norm that longer rows are scaled down to.
        trainable: Whether it is trained.

    Returns:
        The column.

    Raises:
        ValueError: If the dimension is not positive, or one of the two about a checkpoint is missing.
    """
    made = _checked_initializer(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    return EmbeddingColumn(
        categorical_column, dimension, combiner, made, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable
    )  # fmt: skip


def shared_embedding_columns(
    categorical_columns: Sequence[CategoricalColumn], dimension: int, combiner: str = "mean",
    initializer: Callable[..., Any] | None = None, shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None, tensor_name_in_ckpt: str | None = None, max_norm: float | None = None,
    trainable: bool = True,
) -> list[SharedEmbeddingColumn]:  # fmt: skip
    """Columns that look their ids up in one table (tf.feature_column.shared_embedding_columns).

    Args:
        categorical_columns: The ids, all of the same kind and number.
        dimension: The size of a row.
        combiner: "mean", "sqrtn" or "sum", if an example has several ids.
        initializer: Of the table; by default a truncated normal of standard deviation 1 / sqrt(dimension).
        shared_embedding_collection_name: The collection of the table and its scope; by default of the columns' names.
        ckpt_to_load_from: The checkpoint with its first values.
        tensor_name_in_ckpt: Its name there.
        max_norm: The norm that longer rows are scaled down to.
        trainable: Whether it is trained.

    Returns:
        A column for each of the others, in their order.

    Raises:
        ValueError: If they are not alike, the dimension is not positive, or one of the two about a checkpoint lacks.
    """
    made = _checked_initializer(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    ordered = sorted(categorical_columns, key=lambda column: column.name)
    first = _without_weights(ordered[0])
    for column in ordered[1:]:
        if type(_without_weights(column)) is not type(first):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                "weighted_categorical_column of the same type. Given column: "
                f"{ordered[0]} of type: {type(first)} does not match given column: {column}"
            )
        if column.num_buckets != first.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of buckets. Given "
                f"column: {ordered[0]} with buckets: {first.num_buckets} does not match column: {column} with buckets: "
                f"{column.num_buckets}"
            )
    name = shared_embedding_collection_name or "_".join(c.name for c in ordered) + "_shared_embedding"
    return [
        SharedEmbeddingColumn(
            column, dimension, combiner, made, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, name
        )
        for column in categorical_columns
    ]  # fmt: skip


def _without_weights(column: CategoricalColumn) -> CategoricalColumn:
    return column.categorical_column if isinstance(column, WeightedCategoricalColumn) else column

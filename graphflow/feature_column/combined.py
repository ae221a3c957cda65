"""Categorical columns that are made of others: crossed, and weighted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.io.parsing import VarLenFeature
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.sparse.crossing import sparse_cross_hashed
from graphflow.feature_column.base import (
    CategoricalColumn,
    FeatureTransformationCache,
    IdWeightPair,
    StateManager,
    to_sparse,
    with_values,
)
from graphflow.feature_column.categorical import HashedCategoricalColumn


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """Ids of combinations of other features' values, by their fingerprints."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    def _leaves(self) -> Iterator[Any]:
        """What is crossed: a cross of crosses is one of all their features."""
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                yield from key._leaves()
            else:
                yield key

    @property
    def name(self) -> str:
        """The names of what is crossed."""
        return "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self._leaves()))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What its features need; those that are named alone are VarLenFeatures of strings."""
        found: dict[str, Any] = {}
        for key in self.keys:
            if isinstance(key, str):
                found[key] = VarLenFeature(dtypes.string)
            else:
                found.update(key.parse_example_spec)
        return found

    @property
    def num_buckets(self) -> int:
        """How many buckets there are."""
        return self.hash_bucket_size

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> SparseTensor:
        """The bucket of each combination."""
        crossed = []
        for key in self._leaves():
            if isinstance(key, str):
                crossed.append(cache.get(key, state))
                continue
            found = key.get_sparse_tensors(cache, state)
            if found.weight_tensor is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates weight_tensor. "
                    f"Given column: {key.name}"
                )
            crossed.append(found.id_tensor)
        return sparse_cross_hashed(crossed, self.hash_bucket_size, self.hash_key)


@dataclass(frozen=True)
class WeightedCategoricalColumn(CategoricalColumn):
    """Ids of a column with weights of another feature."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        """Those of both."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids, and a VarLenFeature of the weights."""
        found = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in found:
            raise ValueError(
                f"Parse config {found[self.weight_feature_key]} already exists for {self.weight_feature_key}."
            )
        return {**found, self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """That of the ids."""
        return self.categorical_column.num_buckets

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> Any:
        """Ids and weights."""
        weights = cache.get(self.weight_feature_key, state)
        if weights.dtype is not self.dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = to_sparse(weights, ignored=0)
        if not weights.dtype.is_floating:
            weights = with_values(weights, cast(weights.values, dtypes.float32))
        return cache.get(self.categorical_column, state), weights

    def get_sparse_tensors(self, cache: FeatureTransformationCache, state: StateManager) -> IdWeightPair:
        """Ids and weights."""
        return IdWeightPair(*cache.get(self, state))


def crossed_column(keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """Combinations of features by their fingerprints, the same as TensorFlow's.

    Args:
        keys: Names of features and categorical columns, two at least; no hashed columns.
        hash_bucket_size: How many ids there are.
        hash_key: What fingerprints begin with.

    Returns:
        The column.

    Raises:
        ValueError: If there are fewer, one is of another kind, or there is no bucket.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, str | CategoricalColumn):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will "
                "increase probability of collision. Instead, use the feature name as a string. Given: "
                f"{key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: DTypeLike = dtypes.float32
) -> WeightedCategoricalColumn:
    """Ids with weights.

    Args:
        categorical_column: The ids.
        weight_feature_key: The name of the feature with the weights.
        dtype: Of the weights.

    Returns:
        The column.

    Raises:
        ValueError: If the dtype is of no numbers.
    """
    kind = None if dtype is None else as_dtype(dtype)
    if kind is None or not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, kind)

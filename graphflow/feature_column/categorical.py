"""Words and numbers as ids: by a vocabulary, by their fingerprints, or as they are."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow import gfile
from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.array.array import fill, identity, shape
from graphflow._core.ops.array.indexing import where_v2
from graphflow._core.ops.control_flow import assertions
from graphflow._core.ops.hash_buckets import string_to_hash_bucket_fast
from graphflow._core.ops.io.vocabularies import index_table_from_file, index_table_from_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import logical_or
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow._core.ops.strings import as_string
from graphflow.feature_column.base import (
    CategoricalColumn,
    FeatureTransformationCache,
    NamedColumn,
    StateManager,
    check_key,
    check_same_kind,
    check_string_or_integer,
    to_sparse,
    with_values,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HashedCategoricalColumn(NamedColumn, CategoricalColumn):
    """Ids by the fingerprints of the words."""

    key: str
    hash_bucket_size: int
    dtype: DType

    @property
    def num_buckets(self) -> int:
        """How many buckets there are."""
        return self.hash_bucket_size

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> SparseTensor:
        """The bucket of each word."""
        found = to_sparse(cache.get(self.key, state))
        check_same_kind(self, found)
        words = found.values if self.dtype is dtypes.string else as_string(found.values)
        return with_values(found, string_to_hash_bucket_fast(words, self.hash_bucket_size, name="lookup"))


class _VocabularyColumn(NamedColumn, CategoricalColumn):
    """Ids by a table."""

    def _table(self, key_dtype: DType, name: str) -> Any:
        raise NotImplementedError

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> SparseTensor:
        """The number of each word."""
        found = to_sparse(cache.get(self.key, state))
        check_same_kind(self, found)
        key_dtype = self.dtype
        if found.dtype.is_integer:
            key_dtype = dtypes.int64
            found = with_values(found, cast(found.values, dtypes.int64))
        table = self._table(key_dtype, f"{self.key}_lookup")
        ids: SparseTensor = table.lookup(found)
        return ids


@dataclass(frozen=True)
class VocabularyFileCategoricalColumn(_VocabularyColumn):
    """Ids by the lines of a file."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int

    @property
    def num_buckets(self) -> int:
        """Lines, and buckets for other words."""
        return self.vocabulary_size + self.num_oov_buckets

    def _table(self, key_dtype: DType, name: str) -> Any:
        return index_table_from_file(
            self.vocabulary_file, self.num_oov_buckets, self.vocabulary_size, self.default_value,
            key_dtype=key_dtype, name=name,
        )  # fmt: skip


@dataclass(frozen=True)
class VocabularyListCategoricalColumn(_VocabularyColumn):
    """Ids by a list of words."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        """Words, and buckets for others."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _table(self, key_dtype: DType, name: str) -> Any:
        return index_table_from_tensor(
            list(self.vocabulary_list), self.num_oov_buckets, self.default_value, dtype=key_dtype, name=name
        )


@dataclass(frozen=True)
class IdentityCategoricalColumn(NamedColumn, CategoricalColumn):
    """Numbers that are ids already."""

    key: str
    number_buckets: int
    default_value: int | None

    dtype: dtypes.DType = dtypes.int64

    @property
    def num_buckets(self) -> int:
        """How many there are."""
        return self.number_buckets

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> SparseTensor:
        """The ids: others become the default, or are an error when it runs."""
        found = to_sparse(cache.get(self.key, state))
        if not found.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {found.dtype}")
        ids = cast(found.values, dtypes.int64, name="values")
        count = cast(self.number_buckets, dtypes.int64, name="num_buckets")
        zero = cast(0, dtypes.int64, name="zero")
        if self.default_value is not None:
            default = fill(shape(ids), cast(self.default_value, dtypes.int64), name="default_values")
            return with_values(found, where_v2(logical_or(ids < zero, ids >= count), default, ids))
        below = assertions.assert_less(
            ids, count, data=(ids, count), name="assert_less_than_num_buckets",
            message=f'Bucket index for categorical column "{self.name}" exceeds number of buckets',
        )  # fmt: skip
        above = assertions.assert_greater_equal(
            ids, zero, data=(ids,), name="assert_greater_or_equal_0",
            message=f'Negative bucket index for categorical column "{self.name}"',
        )  # fmt: skip
        with control_dependencies([below, above]):
            return with_values(found, identity(ids))


# ---- functions ----------------------------------------------------------------------------------------------------


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = dtypes.string
) -> HashedCategoricalColumn:
    """Ids by the fingerprints of words or integers, the same as TensorFlow's.

    Args:
        key: The name of the feature.
        hash_bucket_size: How many ids there are.
        dtype: Of the feature: a string or an integer.

    Returns:
        The column.

    Raises:
        ValueError: If there is no bucket, or the dtype is another.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    check_key(key)
    kind = as_dtype(dtype)
    check_string_or_integer(kind, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, kind)


def _check_buckets(num_oov_buckets: int | None, has_default: bool, key: str) -> None:
    if num_oov_buckets:
        if has_default:
            raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_vocabulary_file(
    key: str, vocabulary_file: str, vocabulary_size: int | None = None, num_oov_buckets: int | None = 0,
    default_value: int | None = None, dtype: DTypeLike = dtypes.string,
) -> VocabularyFileCategoricalColumn:  # fmt: skip
    """Ids by the lines of a file.

    Args:
        key: The name of the feature.
        vocabulary_file: The file, a word a line.
        vocabulary_size: How many lines count; None for all that the file has now.
        num_oov_buckets: How many more ids there are for other words.
        default_value: The id of other words, if there is no bucket: -1, which stands for nothing.
        dtype: Of the feature: a string or an integer.

    Returns:
        The column.

    Raises:
        ValueError: If there is no file, no word, or both buckets and a default are given.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not gfile.Exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        with gfile.GFile(vocabulary_file, "rb") as file:
            vocabulary_size = sum(1 for _ in file)
        _log.info(
            "vocabulary_size = %d in %s is the number of lines of %s.", vocabulary_size, key, vocabulary_file
        )
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_buckets(num_oov_buckets, default_value is not None, key)
    kind = as_dtype(dtype)
    check_string_or_integer(kind, f"column_name: {key}")
    check_key(key)
    return VocabularyFileCategoricalColumn(
        key, vocabulary_file, vocabulary_size, num_oov_buckets or 0, kind,
        -1 if default_value is None else default_value,
    )  # fmt: skip


def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Sequence[Any], dtype: DTypeLike | None = None, default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:  # fmt: skip
    """Ids by a list of words.

    Args:
        key: The name of the feature.
        vocabulary_list: The words, or integers.
        dtype: Of the feature, by default that of the words.
        default_value: The id of other words, if there is no bucket: -1, which stands for nothing.
        num_oov_buckets: How many more ids there are for other words.

    Returns:
        The column.

    Raises:
        ValueError: If there is no word, one is twice in the list, or both buckets and a default are given.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    found = as_dtype(np.array(vocabulary_list).dtype)
    _check_buckets(num_oov_buckets, default_value != -1, key)
    check_string_or_integer(found, f"column_name: {key} vocabulary")
    kind = found if dtype is None else as_dtype(dtype)
    if kind.is_integer != found.is_integer:
        raise ValueError(f"dtype {kind} and vocabulary dtype {found} do not match, column_name: {key}")
    check_string_or_integer(kind, f"column_name: {key}")
    check_key(key)
    return VocabularyListCategoricalColumn(key, tuple(vocabulary_list), kind, default_value, num_oov_buckets)


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Integers as ids.

    Args:
        key: The name of the feature.
        num_buckets: How many ids there are, from 0.
        default_value: The id of others; None for an error when it runs.

    Returns:
        The column.

    Raises:
        ValueError: If there is no bucket, or the default is none of them.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)

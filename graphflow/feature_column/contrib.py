"""Feature columns under their former names (tf.contrib.layers), which make those of gf.feature_column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, Initializer
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.errors import UnimplementedError
from graphflow.feature_column import categorical, combined, embedding, numeric
from graphflow.feature_column.base import CategoricalColumn, DenseColumn, FeatureColumn, StateManager
from graphflow.feature_column.layers import (
    dense_features,
    make_parse_example_spec,
    unique_scope,
    weighted_sum,
)

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: float | Sequence[float] | None = None,
    dtype: DTypeLike = dtypes.float32,
    normalizer: Callable[..., Any] | None = None,
) -> numeric.NumericColumn:
    """A feature of numbers (tf.contrib.layers.real_valued_column), as gf.feature_column.numeric_column.

    Args:
        column_name: The name of the feature.
        dimension: How many numbers a row has.
        default_value: What stands for a number that is missing when Examples are parsed.
        dtype: The dtype of the feature.
        normalizer: A function of the feature, or None.

    Returns:
        A column.
    """
    return numeric.numeric_column(column_name, (dimension,), default_value, dtype, normalizer)


def bucketized_column(
    source_column: numeric.NumericColumn, boundaries: Sequence[float]
) -> numeric.BucketizedColumn:
    """Which of the ranges between boundaries a number is in (tf.contrib.layers.bucketized_column).

    Args:
        source_column: Of real_valued_column.
        boundaries: Numbers, ascending; one that follows itself counts once, such as quantiles that are the same.

    Returns:
        A column.
    """
    return numeric.bucketized_column(source_column, tuple(value for value, _ in groupby(boundaries)))


def _check_combiner(combiner: str) -> None:
    if combiner != "sum":
        raise UnimplementedError(
            None, None,
            f"A sparse column with combiner={combiner!r} is not there: several ids of a row are summed. An "
            "embedding_column has a combiner of its own, and gf.estimator.LinearClassifier a sparse_combiner.",
        )  # fmt: skip


def sparse_column_with_hash_bucket(
    column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: DTypeLike = dtypes.string
) -> CategoricalColumn:
    """Words, or integers, as buckets of their fingerprints (tf.contrib.layers.sparse_column_with_hash_bucket).

    Args:
        column_name: The name of the feature.
        hash_bucket_size: How many buckets there are.
        combiner: "sum".
        dtype: gf.string, or of integers.

    Returns:
        A column.
    """
    _check_combiner(combiner)
    return categorical.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


def sparse_column_with_keys(
    column_name: str,
    keys: Sequence[Any],
    default_value: int = -1,
    combiner: str = "sum",
    dtype: DTypeLike = dtypes.string,
) -> CategoricalColumn:
    """The places of words in a list (tf.contrib.layers.sparse_column_with_keys).

    Args:
        column_name: The name of the feature.
        keys: The words, or integers.
        default_value: The place of others; -1 for none.
        combiner: "sum".
        dtype: The dtype of the feature.

    Returns:
        A column.
    """
    _check_combiner(combiner)
    return categorical.categorical_column_with_vocabulary_list(
        column_name, tuple(keys), dtypes.as_dtype(dtype), default_value
    )


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: DTypeLike = dtypes.string,
) -> CategoricalColumn:
    """The places of words in a file (tf.contrib.layers.sparse_column_with_vocabulary_file).

    Args:
        column_name: The name of the feature.
        vocabulary_file: A word a line.
        num_oov_buckets: How many buckets there are for other words.
        vocab_size: How many lines are read; None for all.
        default_value: The place of other words, if there are no buckets; -1 for none.
        combiner: "sum".
        dtype: The dtype of the feature.

    Returns:
        A column.
    """
    _check_combiner(combiner)
    default = None if num_oov_buckets else default_value
    return categorical.categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets, default, dtypes.as_dtype(dtype)
    )


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: DTypeLike = dtypes.int64
) -> CategoricalColumn:
    """Integers from 0 on as they are (tf.contrib.layers.sparse_column_with_integerized_feature).

    Args:
        column_name: The name of the feature.
        bucket_size: How many there are.
        combiner: "sum".
        dtype: Not needed.

    Returns:
        A column.
    """
    _check_combiner(combiner)
    return categorical.categorical_column_with_identity(column_name, bucket_size)


def weighted_sparse_column(
    sparse_id_column: CategoricalColumn, weight_column_name: str, dtype: DTypeLike = dtypes.float32
) -> CategoricalColumn:
    """Ids with weights (tf.contrib.layers.weighted_sparse_column).

    Args:
        sparse_id_column: The column of the ids.
        weight_column_name: The feature that has the weights.
        dtype: The dtype of the weights.

    Returns:
        A column.
    """
    return combined.weighted_categorical_column(sparse_id_column, weight_column_name, dtype)


def crossed_column(
    columns: Iterable[FeatureColumn],
    hash_bucket_size: int,
    combiner: str = "sum",
    hash_key: int | None = None,
) -> CategoricalColumn:
    """What several features are together, as buckets of fingerprints (tf.contrib.layers.crossed_column).

    The buckets are those of gf.feature_column.crossed_column, and not those of tf.contrib.layers.

    Args:
        columns: Sparse, bucketized and crossed columns.
        hash_bucket_size: How many buckets there are.
        combiner: "sum".
        hash_key: Makes other fingerprints.

    Returns:
        A column.
    """
    _check_combiner(combiner)
    # What a hashed column is made of is crossed, and not its buckets.
    parts = [
        column.name if isinstance(column, categorical.HashedCategoricalColumn) else column
        for column in columns
    ]
    return combined.crossed_column(parts, hash_bucket_size, hash_key)


def one_hot_column(sparse_id_column: CategoricalColumn) -> DenseColumn:
    """A row with ones at the ids (tf.contrib.layers.one_hot_column).

    Args:
        sparse_id_column: The column of the ids.

    Returns:
        A column.
    """
    return embedding.indicator_column(sparse_id_column)


def embedding_column(
    sparse_id_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Initializer | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> DenseColumn:
    """Rows of a table that is learnt (tf.contrib.layers.embedding_column).

    Args:
        sparse_id_column: The column of the ids.
        dimension: The size of a row.
        combiner: What several ids of a row become: "mean", "sum" or "sqrtn".
        initializer: What the table begins with.
        ckpt_to_load_from: A checkpoint that it begins with.
        tensor_name_in_ckpt: The name of the table there.
        max_norm: The norm that rows are scaled down to.
        trainable: Whether the table is trained.

    Returns:
        A column.
    """
    return embedding.embedding_column(
        sparse_id_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm,
        trainable,
    )  # fmt: skip


def create_feature_spec_for_parsing(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """What gf.parse_example takes for columns (tf.contrib.layers.create_feature_spec_for_parsing).

    Args:
        feature_columns: Columns.

    Returns:
        gf.FixedLenFeature and gf.VarLenFeature by name.
    """
    return make_parse_example_spec(feature_columns)


def infer_real_valued_columns(features: Tensor | Mapping[str, Tensor]) -> list[numeric.NumericColumn]:
    """Columns of numbers for features (tf.contrib.layers.infer_real_valued_columns).

    Args:
        features: Tensors [batch, size] by name; the name of one alone is "".

    Returns:
        A column for each.

    Raises:
        ValueError: If a feature is of no numbers, or its size is not known.
    """
    named = features if isinstance(features, Mapping) else {"": features}
    return [_inferred(name, tensor) for name, tensor in sorted(named.items())]


def _inferred(name: str, tensor: Any) -> numeric.NumericColumn:
    if not (tensor.dtype.is_floating or tensor.dtype.is_integer):
        raise ValueError(
            f"The feature {name!r} is of {tensor.dtype.name}: columns are found of numbers alone."
        )
    size = 1 if tensor.shape.ndims == 1 else tensor.shape.with_rank(2).as_list()[1]
    if size is None:
        raise ValueError(f"The size of the feature {name!r} must be known, but its shape is {tensor.shape}.")
    return real_valued_column(name, size, dtype=tensor.dtype)


def input_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[DenseColumn],
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    cols_to_outs: dict[Any, Tensor] | None = None,
) -> Tensor:
    """What dense columns give, side by side (tf.contrib.layers.input_from_feature_columns).

    Args:
        columns_to_tensors: Features by name.
        feature_columns: Dense columns.
        weight_collections: Of the variables, beside GLOBAL_VARIABLES and MODEL_VARIABLES.
        trainable: Whether they are trained.
        scope: The variable scope.
        cols_to_outs: Is filled with what each column gives.

    Returns:
        A float32 tensor [batch, elements of all columns], in the order of their names.

    Raises:
        ValueError: If a column is not dense, or a feature is missing.
    """
    state = StateManager(trainable, list(weight_collections or ()))
    with variable_scope(scope, default_name="input_from_feature_columns"):
        return dense_features(columns_to_tensors, feature_columns, state, unique_scope, None, cols_to_outs)


def weighted_sum_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[FeatureColumn],
    num_outputs: int,
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, dict[Any, list[Any]], Any]:
    """A linear model of columns (tf.contrib.layers.weighted_sum_from_feature_columns).

    Args:
        columns_to_tensors: Features by name.
        feature_columns: Columns.
        num_outputs: How many numbers it gives for a row.
        weight_collections: Of the variables, beside GLOBAL_VARIABLES and MODEL_VARIABLES.
        trainable: Whether they are trained.
        scope: The variable scope.

    Returns:
        The sums [batch, num_outputs], the variables of each column, and that of the bias.
    """
    state = StateManager(trainable, list(weight_collections or ()))
    found: dict[Any, list[Any]] = {}
    with variable_scope(scope, default_name="weighted_sum_from_feature_columns"):
        total, bias = weighted_sum(
            columns_to_tensors, feature_columns, state, unique_scope, num_outputs, "sum", found
        )
    return total, {column: variables for column, variables in found.items() if column != "bias"}, bias

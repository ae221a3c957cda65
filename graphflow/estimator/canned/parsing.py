"""What Examples with labels and weights hold, for gf.parse_example."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.io.parsing import FixedLenFeature
from graphflow.feature_column.base import FeatureColumn
from graphflow.feature_column.layers import make_parse_example_spec
from graphflow.feature_column.numeric import NumericColumn, numeric_column


def _with_labels(spec: dict[str, Any], label_key: str, label: Any, weight_column: Any) -> dict[str, Any]:
    if label_key in spec:
        raise ValueError(
            f"label should not be used as feature. label_key: {label_key}, features: {list(spec)}"
        )
    found = {**spec, label_key: label}
    if weight_column is None:
        return found
    weights = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(weights, NumericColumn):
        raise ValueError(
            "weight_column should be an instance of tf.feature_column.numeric_column, which is "
            f"gf.feature_column.numeric_column. Given type: {type(weight_column)} value: {weight_column}"
        )
    if weights.key in found:
        raise ValueError(
            f"weight_column should not be used as feature. weight_column: {weights.key}, features: {list(found)}"
        )
    return {**found, **weights.parse_example_spec}


def classifier_parse_example_spec(
    feature_columns: Iterable[FeatureColumn], label_key: str, label_dtype: DTypeLike = dtypes.int64,
    label_default: Any = None, weight_column: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """What gf.parse_example reads for a classifier (tf.estimator.classifier_parse_example_spec).

    Args:
        feature_columns: The columns of the model.
        label_key: The name of the label.
        label_dtype: Of the label.
        label_default: The label of an Example that has none.
        weight_column: The weights of examples: a name or a numeric column.

    Returns:
        FixedLenFeature and the like by the name of the feature.

    Raises:
        ValueError: If label or weights are among the features, or the weights no numeric column.
    """
    label = FixedLenFeature((1,), as_dtype(label_dtype), label_default)
    return _with_labels(make_parse_example_spec(feature_columns), label_key, label, weight_column)


def regressor_parse_example_spec(
    feature_columns: Iterable[FeatureColumn], label_key: str, label_dtype: DTypeLike = dtypes.float32,
    label_default: Any = None, label_dimension: int = 1, weight_column: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """What gf.parse_example reads for a regressor (tf.estimator.regressor_parse_example_spec).

    Args:
        feature_columns: The columns of the model.
        label_key: The name of the label.
        label_dtype: Of the label.
        label_default: The label of an Example that has none.
        label_dimension: How many numbers a label has.
        weight_column: The weights of examples: a name or a numeric column.

    Returns:
        FixedLenFeature and the like by the name of the feature.

    Raises:
        ValueError: If label or weights are among the features, or the weights no numeric column.
    """
    label = FixedLenFeature((label_dimension,), as_dtype(label_dtype), label_default)
    return _with_labels(make_parse_example_spec(feature_columns), label_key, label, weight_column)

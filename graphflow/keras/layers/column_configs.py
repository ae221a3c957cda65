"""Feature columns as configurations, in TensorFlow's form, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow.feature_column import categorical, combined, embedding, numeric, sequence
from graphflow.feature_column.base import FeatureColumn
from graphflow.keras.typing import Config, Objects
from graphflow.keras.utils import registry

_COLUMNS: Final = {
    kind.__name__: kind
    for kind in (
        numeric.NumericColumn,
        numeric.BucketizedColumn,
        categorical.HashedCategoricalColumn,
        categorical.IdentityCategoricalColumn,
        categorical.VocabularyFileCategoricalColumn,
        categorical.VocabularyListCategoricalColumn,
        combined.CrossedColumn,
        combined.WeightedCategoricalColumn,
        embedding.EmbeddingColumn,
        embedding.IndicatorColumn,
        embedding.SharedEmbeddingColumn,
        sequence.SequenceCategoricalColumn,
        sequence.SequenceNumericColumn,
    )
}
_INITIALIZERS: Final = "graphflow.keras.initializers"


def serialize_feature_column(fc: FeatureColumn | str) -> Any:
    """A column's class and configuration; a name, as crosses have, stays one.

    Args:
        fc: A column, or the name of a feature.

    Returns:
        {"class_name": ..., "config": ...}, or the name.

    Raises:
        ValueError: It is neither, or a column of the program's own that says nothing.
    """
    if isinstance(fc, str):
        return fc
    kind = type(fc).__name__
    if isinstance(fc, FeatureColumn) and kind in _COLUMNS:
        return {"class_name": kind, "config": {f.name: _plain(getattr(fc, f.name)) for f in _fields(fc)}}
    if isinstance(fc, FeatureColumn) and hasattr(fc, "get_config"):
        return {"class_name": kind, "config": fc.get_config()}
    raise ValueError(f"Instance: {fc} is not a FeatureColumn")


def deserialize_feature_column(
    config: Any, custom_objects: Objects = None, columns_by_name: dict[str, Any] | None = None
) -> Any:
    """The column of a configuration.

    Args:
        config: What serialize_feature_column gave.
        custom_objects: Classes and functions of the program's own, by name.
        columns_by_name: Columns that were made before, by their names: those like them are the same objects.

    Returns:
        The column, or the name.

    Raises:
        ValueError: It is no configuration of a column, or of a class that is not known.
    """
    if isinstance(config, str):
        return config
    if not isinstance(config, Mapping) or "class_name" not in config or "config" not in config:
        raise ValueError(f"Improper config format: {config}")
    kind = (custom_objects or {}).get(config["class_name"], _COLUMNS.get(config["class_name"]))
    if kind is None:
        raise ValueError(f"Unknown feature_column_v2: {config['class_name']}")
    if config["class_name"] not in _COLUMNS:
        found = kind.from_config(config["config"])
    else:
        made = columns_by_name if columns_by_name is not None else {}
        found = kind(**{k: _read(k, v, custom_objects, made) for k, v in config["config"].items()})
    return (
        found
        if columns_by_name is None
        else columns_by_name.setdefault(f"{kind.__name__}:{found.name}", found)
    )


def serialize_feature_columns(feature_columns: Sequence[FeatureColumn]) -> list[Any]:
    """The configurations of columns.

    Args:
        feature_columns: Columns.

    Returns:
        A list.
    """
    return [serialize_feature_column(column) for column in feature_columns]


def deserialize_feature_columns(configs: Sequence[Config], custom_objects: Objects = None) -> list[Any]:
    """The columns of configurations; what several have in common is the same object.

    Args:
        configs: What serialize_feature_columns gave.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        A list.
    """
    made: dict[str, Any] = {}
    return [deserialize_feature_column(config, custom_objects, made) for config in configs]


def _fields(column: Any) -> list[Any]:
    """What makes a column; the dtype of identities is always that of ids, and TensorFlow's have none."""
    identity = isinstance(column, categorical.IdentityCategoricalColumn)
    return [field for field in fields(column) if not (identity and field.name == "dtype")]


def _plain(value: Any) -> Any:
    if isinstance(value, FeatureColumn):
        return serialize_feature_column(value)
    if isinstance(value, dtypes.DType):
        return value.name
    if isinstance(value, tuple):
        return tuple(_plain(one) for one in value)
    return (
        registry.serialize_keras_object(value) if hasattr(value, "get_config") or callable(value) else value
    )


def _read(name: str, value: Any, custom: Objects, made: dict[str, Any]) -> Any:
    if name == "dtype":
        return dtypes.as_dtype(value)
    if name == "initializer":
        return None if value is None else registry.deserialize(value, _INITIALIZERS, "initializer", custom)
    if name == "normalizer_fn":
        return (
            None if value is None else registry.find(value, "graphflow.keras.activations", "function", custom)
        )
    if isinstance(value, Mapping):
        return deserialize_feature_column(value, custom, made)
    return _as_tuple(value, custom, made) if isinstance(value, list | tuple) else value


def _as_tuple(value: Any, custom: Objects, made: dict[str, Any]) -> Any:
    """JSON has lists where columns have tuples."""
    if isinstance(value, list | tuple):
        return tuple(_as_tuple(one, custom, made) for one in value)
    return deserialize_feature_column(value, custom, made) if isinstance(value, Mapping) else value

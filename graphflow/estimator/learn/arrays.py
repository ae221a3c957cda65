"""Arrays as the input of an estimator, and the columns of features that are arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphflow._core.graph.graph import Graph
from graphflow.estimator.inputs import features_of, numpy_input_fn
from graphflow.feature_column.contrib import infer_real_valued_columns


def check_inputs(x: Any, y: Any, input_fn: Any, batch_size: Any) -> None:
    """ValueError unless there is either an input function or an array of features."""
    if input_fn is None and x is None:
        raise ValueError("Either x or input_fn must be provided.")
    if input_fn is not None:
        if x is not None or y is not None:
            raise ValueError("Can not provide both input_fn and x or y.")
        if batch_size is not None:
            raise ValueError("Can not provide both input_fn and batch_size.")
    if hasattr(x, "op") or hasattr(y, "op"):
        raise ValueError("Inputs cannot be tensors. Please provide input_fn.")


def input_of_arrays(
    x: Any, y: Any, batch_size: int | None, shuffle: bool = False, epochs: int | None = 1
) -> Callable[[], Any]:
    """An input function of arrays; all rows are one batch unless `batch_size` says how many are.

    Floats are float32 and labels without a fraction int64, whatever the arrays' own kinds are.
    """
    features, labels = _converted(x), None if y is None else _converted(y)
    rows = len(next(iter(features.values())) if isinstance(features, Mapping) else features)
    return numpy_input_fn(features, labels, batch_size or rows, epochs, shuffle)


def _converted(values: Any) -> Any:
    if isinstance(values, Mapping):
        return {name: _converted(value) for name, value in values.items()}
    found = np.asarray(values)
    if found.dtype.kind == "f":
        return found.astype(np.float32)
    return found.astype(np.int64) if found.dtype.kind in "iu" else found


def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[Any]:
    """Columns of numbers for the features of an input function.

    Args:
        input_fn: Gives features, or features and labels.

    Returns:
        A column for each feature; the name of features that are one tensor is "".

    Raises:
        ValueError: If a feature is of strings, or its size is not known.
    """
    with Graph().as_default():
        return list(infer_real_valued_columns(features_of(input_fn())))


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """Columns of numbers for features that are arrays (tf.contrib.learn.infer_real_valued_columns_from_input).

    Args:
        x: An array [rows, size], whose column has the name "", or a dictionary of arrays.

    Returns:
        A column for each.
    """
    return infer_real_valued_columns_from_input_fn(input_of_arrays(x, None, None))

"""Input functions of arrays and data frames (gf.estimator.inputs), and what an input function gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

import graphflow.nest as nest
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.control_flow.checking import py_func
from graphflow.data.dataset import Dataset

_TARGET: Final = "target"


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """An input function of NumPy arrays.

    Args:
        x: An array, or a dictionary of arrays of the same first size.
        y: Labels: an array, or a dictionary of arrays; None for none.
        batch_size: How many rows a batch has; the last one of all epochs may have fewer.
        num_epochs: How often the rows are gone through; None without end.
        shuffle: Whether the rows come in random order; it must be given.
        queue_capacity: Of how many rows the next one is drawn if they are shuffled.
        num_threads: Has no effect: rows are made ahead by one thread.

    Returns:
        A function without arguments that builds features, or features and labels.

    Raises:
        ValueError: If shuffle is not given, the arrays have different first sizes or none, or a feature and a label
            have one name.
        TypeError: If x is neither an array nor a dictionary.
    """
    if not isinstance(x, Mapping | np.ndarray):
        raise TypeError(f"x must be a dict or array; got {type(x).__name__}.")
    if isinstance(x, Mapping) and isinstance(y, Mapping) and set(x) & set(y):
        both = sorted(set(x) & set(y))
        raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for training)."
        )
    features = _arrays(x, "x")
    labels = None if y is None else _arrays(y, "y")
    sizes = {len(value) for part in (features, labels) for value in _values(part)}
    if len(sizes) != 1:
        raise ValueError(
            "Length of tensors in x and y is mismatched. All arrays of x and y must have the same first size, got "
            f"{sorted(sizes)}."
        )
    rows = sizes.pop()
    elements = features if labels is None else (features, labels)
    arrays = nest.flatten(elements)

    def take(numbers: Any) -> list[Any]:
        return [array[numbers] for array in arrays]

    def batch_of(numbers: Any) -> Any:
        # The arrays are no constants of the graph, which is written with every checkpoint.
        found = py_func(take, [numbers], [as_dtype(array.dtype) for array in arrays])
        for tensor, array in zip(found, arrays, strict=True):
            tensor.set_shape([None, *array.shape[1:]])
        return nest.pack_sequence_as(elements, found)

    def build() -> Any:
        data = Dataset.range(rows)
        if shuffle:
            data = data.shuffle(max(1, min(rows, queue_capacity)))
        data = data.repeat(num_epochs).batch(batch_size).map(batch_of).prefetch(1)
        # It begins by itself, as TensorFlow's queue does for programs that have no estimator, and again with each
        # session of an estimator.
        iterator = data.make_one_shot_iterator()
        again = iterator.make_initializer(data)
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, again)
        return iterator.get_next()

    return build


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = _TARGET,
) -> Callable[[], Any]:
    """An input function of a pandas DataFrame, whose columns are the features.

    Args:
        x: The DataFrame.
        y: Labels: a Series with the same index, or a DataFrame, whose columns are then labels by name; None for none.
        batch_size: As numpy_input_fn takes.
        num_epochs: As numpy_input_fn takes.
        shuffle: As numpy_input_fn takes.
        queue_capacity: As numpy_input_fn takes.
        num_threads: Has no effect.
        target_column: A name for the labels that is no feature's.

    Returns:
        A function without arguments that builds features, or features and labels.

    Raises:
        ValueError: If the indices of both differ, or a feature is called target_column, or as numpy_input_fn does.
    """
    if y is not None and target_column in x:
        raise ValueError(
            f"Cannot use name {target_column!r} for target column: DataFrame already has a column."
        )
    if y is not None and not np.array_equal(x.index, y.index):
        raise ValueError("Index for x and y are mismatched.")
    features = {str(name): x[name] for name in x.columns}
    labels = None
    if y is not None:
        labels = {str(n): y[n] for n in y.columns} if hasattr(y, "columns") else y
    return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


def _arrays(given: Any, what: str) -> Any:
    if isinstance(given, Mapping):
        if not given:
            raise ValueError(
                "y cannot be empty dict, use None instead." if what == "y" else "x cannot be an empty dict"
            )
        return {name: _array(value) for name, value in given.items()}
    found = _array(given)
    if what == "x" and not found.size:
        raise ValueError("x cannot be an empty array")
    return found


def _array(given: Any) -> Any:
    found = np.asarray(given)
    if found.ndim == 0:
        raise ValueError(f"Arrays of x and y need a first axis, whose elements are rows; got {given!r}.")
    if found.dtype.kind in "USO":
        encoded = [value.encode() if isinstance(value, str) else value for value in found.ravel().tolist()]
        found = np.array(encoded, object).reshape(found.shape)
    return found


def _values(part: Any) -> list[Any]:
    if part is None:
        return []
    return list(part.values()) if isinstance(part, dict) else [part]


def _taken(data: Dataset) -> Any:
    """The next element of a dataset, whose iterator is initialised with the tables of the graph."""
    iterator = data.make_initializable_iterator()
    get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()


def _element_of(result: Any) -> Any:
    """What an input function has given, or the next element if that is a dataset."""
    return _taken(result) if hasattr(result, "make_initializable_iterator") else result


def parts_of(result: Any) -> tuple[Any, Any]:
    """The features and the labels, None if there are none, of what an input function has given.

    Args:
        result: What an input function gave.

    Raises:
        ValueError: For a tuple of other than two.
    """
    result = _element_of(result)
    if isinstance(result, list | tuple):
        if len(result) != 2:
            raise ValueError(
                f"input_fn should return (features, labels) as a len 2 tuple, got {len(result)} elements."
            )
        return result[0], result[1]
    return result, None


def features_of(result: Any) -> Any:
    """The features of what an input function has given, whatever stands beside them.

    Args:
        result: What an input function gave.
    """
    result = _element_of(result)
    return result[0] if isinstance(result, list | tuple) else result

"""Transformations that remember what went by, or how it went (tf.data.experimental.scan, take_while and others)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.ops.io import more_datasets as ops
from graphflow.data import structure
from graphflow.data.dataset import Dataset, as_components, built
from graphflow.data.functions import ElementFunction, StateFunction

Transformation = Callable[[Dataset], Dataset]


def scan(initial_state: Any, scan_func: Callable[[Any, Any], tuple[Any, Any]]) -> Transformation:
    """What a function of a state and each element gives beside the next state.

    Args:
        initial_state: A structure of tensors, given to the first call.
        scan_func: From a state and an element to a pair: the next state, of the same structure and types, and an
            element.

    Returns:
        What Dataset.apply takes.

    Raises:
        TypeError: If the function gives no pair, or a state of other types.
    """

    def apply(dataset: Dataset) -> Dataset:
        state = as_components(initial_state)
        step = StateFunction(dataset, structure.signature(state), scan_func, "scan", gives_more=True)
        assert step.output is not None
        inputs = (dataset, structure.moved(state), step.function.captures)
        attrs = {"f": step.function.graph_function, "preserve_cardinality": True, **step.attributes}
        return built(ops.SCAN, inputs, *step.output, **attrs)

    return apply


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements before the first for which a function gives false.

    Args:
        predicate: From an element's components to a scalar of bools.

    Returns:
        What Dataset.apply takes.

    Raises:
        ValueError: If it gives anything else.
    """

    def apply(dataset: Dataset) -> Dataset:
        types, shapes = dataset._output_types, dataset._output_shapes
        function = ElementFunction(predicate, "take_while", types, shapes)
        if function.types is not dtypes.bool_ or function.shapes.raw not in ((), None):
            raise ValueError("`predicate` must return a scalar boolean tensor.")
        inputs = (dataset, function.captures)
        return built(ops.TAKE_WHILE, inputs, types, shapes, predicate=function.graph_function)

    return apply


def unique() -> Transformation:
    """The elements without those that came before; they are single tensors of int32, int64 or strings.

    Returns:
        What Dataset.apply takes.

    Raises:
        TypeError: If they are not.
    """

    def apply(dataset: Dataset) -> Dataset:
        if dataset._output_types not in (dtypes.int32, dtypes.int64, dtypes.string):
            raise TypeError(
                "unique() takes datasets whose elements are single tensors of int32, int64 or string, got elements of "
                f"the types {dataset.output_types}."
            )
        return built(ops.UNIQUE, (dataset,), dataset._output_types, dataset._output_shapes)

    return apply


def ignore_errors() -> Transformation:
    """The elements that could be made; what failed is passed over.

    Returns:
        What Dataset.apply takes.
    """
    return lambda dataset: built(ops.IGNORE_ERRORS, (dataset,), dataset._output_types, dataset._output_shapes)

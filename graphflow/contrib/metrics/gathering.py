"""What has come so far, and how much."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.state.state import assign, assign_add
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.metrics.averages import Measure, broadcast_weights, collected, metric_variable, ranked_weights


def count(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """How many values came so far, or the sum of their weights (tf.contrib.metrics.count).

    Args:
        values: A tensor.
        weights: A scalar, or a tensor of the rank of the values with their size or 1 in each axis.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operations and variables.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with variable_scope(name, "count", [values, weights]):
        given = convert_to_tensor(values)
        total = metric_variable([], dtypes.float32, "count")
        if weights is None:
            number = math.cast(array.size(given), dtypes.float32)
        else:
            number = reductions.reduce_sum(broadcast_weights(ranked_weights(weights, given), given))
        with given.graph.control_dependencies([given]):
            moved = assign_add(total, number)
        return collected(array.identity(total), moved, metrics_collections, updates_collections)


def streaming_concat(
    values: TensorLike,
    axis: int = 0,
    max_size: int | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """All values that came so far, one behind the other (tf.contrib.metrics.streaming_concat).

    Args:
        values: A tensor; its sizes but that of the axis are known.
        axis: Along which they are joined.
        max_size: How many are kept, the first ones; None for all.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operations and variables.

    Returns:
        The value, and the operation that adds a batch to it and gives its new size along the axis.

    Raises:
        ValueError: If the rank or another size is not known, or there is no such axis.
    """
    with variable_scope(name, "streaming_concat", [values]):
        given = convert_to_tensor(values)
        if given.shape.ndims is None:
            raise ValueError("Shape of `values` must have known rank.")
        sizes = given.shape.as_list()
        if not 0 <= axis < len(sizes):
            raise ValueError(f"axis = {axis} not in [0, {len(sizes)})")
        others = [size for place, size in enumerate(sizes) if place != axis]
        if None in others:
            raise ValueError("all dimensions of `values` must be statically known but the one of `axis`.")
        begin = [0 if place == axis else size for place, size in enumerate(sizes)]
        kept = Variable(
            lambda: array.zeros(begin, given.dtype),
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
            validate_shape=False,
            name="array",
        )
        known = [None if place == axis else size for place, size in enumerate(sizes)]
        joined = array.concat([_of_shape(array.identity(kept), known), given], axis)
        if max_size is not None:
            joined = joined[tuple([slice(None)] * axis + [slice(max_size)])]
        moved = assign(kept, joined, validate_shape=False)
        value = _of_shape(array.identity(kept), known)
        return collected(value, array.shape(moved)[axis], metrics_collections, updates_collections)


def _of_shape(tensor: Tensor, known: list[int | None]) -> Tensor:
    tensor.set_shape(known)
    return tensor


__all__ = ["count", "streaming_concat"]

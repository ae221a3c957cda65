"""The interface of reducers: to reduce, one value or many at once, and to broadcast.

A strategy has a reducer; which algorithm is right depends on the devices, so it is an object of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.array import concat, identity
from graphflow._core.ops.math.math import add_n
from graphflow._core.ops.state.variable_proto import VariableAggregation
from graphflow.distribute.values import Mirrored, PerDevice, devices_from


class ReduceOp(Enum):
    """How values of towers are put together (tf.distribute.ReduceOp)."""

    SUM = "SUM"
    MEAN = "MEAN"


def aggregation_of(reduce_op: int | ReduceOp | str) -> int:
    """The gf.VariableAggregation of a ReduceOp or its name; what is none of these stays as it is.

    Args:
        reduce_op: An aggregation, a ReduceOp, or the name of one in any case.
    """
    names = {"SUM": VariableAggregation.SUM, "MEAN": VariableAggregation.MEAN}
    if isinstance(reduce_op, ReduceOp):
        return names[reduce_op.value]
    if isinstance(reduce_op, str) and reduce_op.upper() in names:
        return names[reduce_op.upper()]
    return reduce_op  # type: ignore[return-value]  # Who asks says what may be.


class Reducer:
    """Reduces values of towers (tf.contrib.distribute's CrossTowerOps). A derived class overrides `reduce`.

    Aggregations are VariableAggregation.SUM and MEAN. Sparse gradients (IndexedSlices) are gathered: their slices are
    put behind one another, never made dense.
    """

    def reduce(self, aggregation: int, per_device_value: PerDevice, destinations: Any) -> Any:
        """Reduces a value of each tower.

        Args:
            aggregation: VariableAggregation.SUM or MEAN.
            per_device_value: The values, and the devices on which they are: tensors of one dtype and shape, or
                IndexedSlices.
            destinations: Where the result is needed: a device, a list of devices, or a variable.

        Returns:
            A Mirrored with the result on each of these devices; for one device a tensor or IndexedSlices.

        Raises:
            ValueError: It is another aggregation.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it reduces: override reduce().")

    def batch_reduce(
        self, aggregation: int, value_destination_pairs: Sequence[tuple[PerDevice, Any]]
    ) -> list[Any]:
        """Reduces several values, which a derived class may do together.

        Args:
            aggregation: VariableAggregation.SUM or MEAN.
            value_destination_pairs: What `reduce` takes, in pairs.

        Returns:
            What `reduce` returns, for each pair.
        """
        return [
            self.reduce(aggregation, value, destinations) for value, destinations in value_destination_pairs
        ]

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """Copies a tensor to devices.

        Args:
            tensor: A tensor, or IndexedSlices.
            destinations: A device, a list of devices, or a variable.

        Returns:
            A Mirrored; for one device the tensor itself.
        """
        return spread(tensor, devices_from(destinations))


def is_mean(aggregation: int) -> bool:
    """Whether the mean is asked for rather than the sum; ValueError for another aggregation."""
    if aggregation not in (VariableAggregation.SUM, VariableAggregation.MEAN):
        raise ValueError(f"Values are reduced by VariableAggregation.SUM or MEAN, got {aggregation!r}.")
    return aggregation == VariableAggregation.MEAN


def total(aggregation: int, values: Sequence[Any]) -> Any:
    """The sum or mean of values, built on the current device.

    Args:
        aggregation: VariableAggregation.SUM or MEAN.
        values: Tensors of one shape, or IndexedSlices, whose slices are put behind one another.

    Returns:
        A tensor, or IndexedSlices.

    Raises:
        TypeError: Some values are dense and others sparse.
        ValueError: It is another aggregation.
    """
    mean = is_mean(aggregation) and len(values) > 1
    sparse = [isinstance(value, IndexedSlices) for value in values]
    if any(sparse) and not all(sparse):
        raise TypeError(f"Some towers have a sparse value and others a dense one: {list(values)}.")
    count = len(values)
    if all(sparse):
        gathered = values[0]
        if count > 1:
            rows = concat([value.values for value in values], 0)
            gathered = IndexedSlices(
                rows, concat([value.indices for value in values], 0), values[0].dense_shape
            )
        if mean:
            gathered = IndexedSlices(part(gathered.values, count), gathered.indices, gathered.dense_shape)
        return gathered
    summed = add_n(list(values)) if count > 1 else values[0]
    return part(summed, count) if mean else summed


def on_device(device: str) -> Any:
    """A context in which operations are built on a device."""
    return get_default_graph().device(device)


def part(value: Tensor, count: int) -> Any:
    """The mean, from the sum of so many values."""
    return value / count if value.dtype.is_floating or value.dtype.is_complex else value // count


def spread(value: Any, devices: Sequence[str]) -> Any:
    """Copies a value to each of the devices.

    Args:
        value: A tensor, or IndexedSlices.
        devices: Names of devices.

    Returns:
        A Mirrored; for one device the value itself.
    """
    if len(devices) == 1:
        return value
    graph = get_default_graph()
    copies = []
    for device in devices:
        with graph.device(device):
            copies.append(copied(value))
    return Mirrored(copies, devices)


def copied(value: Any) -> Any:
    """A tensor, or IndexedSlices, as a copy on the current device."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(identity(value.values), identity(value.indices), value.dense_shape)
    return identity(value)

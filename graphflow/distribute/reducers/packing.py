"""Gradients reduced in buckets: few messages, which go out while back-propagation still makes the next ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.array import concat, reshape
from graphflow.distribute.reducers.base import Reducer, on_device
from graphflow.distribute.values import Mirrored, PerDevice, devices_from

BUCKET_BYTES: Final = 4 << 20
"""Bytes of a bucket if it is not said: large enough to be bound by memory, small enough for several."""


class PackingReducer(Reducer):
    """Puts values behind one another, up to so many bytes, and has another reducer reduce these.

    Values are packed in the order in which they were built, which for gradients is the one in which back-propagation
    makes them, so that the first bucket is complete early. Of one bucket are values of one dtype on the same devices
    and for the same destinations. Sparse values, and those whose shape is not known, are reduced one by one.

    Args:
        reducer: What reduces the buckets.
        bytes: How many bytes a bucket has at most.

    Raises:
        ValueError: A bucket has no bytes.
    """

    def __init__(self, reducer: Reducer, bytes: int = BUCKET_BYTES) -> None:
        if bytes < 1:
            raise ValueError(f"A bucket has at least 1 byte, got {bytes}.")
        self._reducer = reducer
        self._bytes = bytes

    def reduce(self, aggregation: int, per_device_value: PerDevice, destinations: Any) -> Any:
        """The sum or mean, as the other reducer gives it.

        Args:
            aggregation: Of gf.VariableAggregation.
            per_device_value: A value by device.
            destinations: Where it is wanted.
        """
        return self._reducer.reduce(aggregation, per_device_value, destinations)

    def batch_reduce(
        self, aggregation: int, value_destination_pairs: Sequence[tuple[PerDevice, Any]]
    ) -> list[Any]:
        """The sums or means of several values.

        Args:
            aggregation: Of gf.VariableAggregation.
            value_destination_pairs: Pairs of a value by device and where it is wanted.
        """
        pairs = list(value_destination_pairs)
        results: list[Any] = [None] * len(pairs)
        for bucket in buckets(pairs, self._bytes):
            if len(bucket) == 1:
                results[bucket[0]] = self.reduce(aggregation, *pairs[bucket[0]])
            else:
                found = self._together(aggregation, [pairs[place] for place in bucket])
                for place, result in zip(bucket, found, strict=True):
                    results[place] = result
        return results

    def _together(self, aggregation: int, pairs: Sequence[tuple[PerDevice, Any]]) -> list[Any]:
        devices = pairs[0][0].devices
        packed = []
        for number, device in enumerate(devices):
            with on_device(device):
                packed.append(concat([reshape(value.values[number], [-1]) for value, _ in pairs], 0))
        summed = self.reduce(aggregation, PerDevice(packed, devices), pairs[0][1])
        shapes = [value.values[0].shape for value, _ in pairs]
        if not isinstance(summed, Mirrored):
            return unpacked(summed, shapes)
        by_device = []
        for device, copy in zip(summed.devices, summed.values, strict=True):
            with on_device(device):
                by_device.append(unpacked(copy, shapes))
        return [Mirrored(list(copies), summed.devices) for copies in zip(*by_device, strict=True)]


def buckets(pairs: Sequence[tuple[PerDevice, Any]], bytes: int) -> list[list[int]]:
    """Which values go together, in the order in which they were built.

    Args:
        pairs: Values by device, and where each is wanted.
        bytes: How many bytes a bucket has at most.

    Returns:
        Buckets of places in `pairs`.
    """
    found: list[list[int]] = []
    filling: dict[Any, tuple[list[int], int]] = {}
    for place in sorted(range(len(pairs)), key=lambda p: _built(pairs[p][0])):
        value, destinations = pairs[place]
        first = value.values[0]
        known = not isinstance(first, IndexedSlices) and first.shape.is_fully_defined()
        size = first.shape.num_elements() * first.dtype.size if known else 0
        kind = (first.dtype, tuple(value.devices), tuple(devices_from(destinations))) if known else place
        bucket, held = filling.get(kind, ([], 0))
        if not bucket or held + size > bytes:
            bucket, held = [], 0
            found.append(bucket)
        bucket.append(place)
        filling[kind] = bucket, held + size
    return found


def _built(value: PerDevice) -> int:
    """When a value was built: the largest number of an operation that makes it."""
    tensors = [v.values if isinstance(v, IndexedSlices) else v for v in value.values]
    return max(int(tensor.op._id) for tensor in tensors)


def unpacked(flat: Any, shapes: Sequence[Any]) -> list[Any]:
    """The values of these shapes that lie behind one another in a vector."""
    found, begin = [], 0
    for shape in shapes:
        end = begin + shape.num_elements()
        found.append(reshape(flat[begin:end], shape))
        begin = end
    return found

"""What all reducers that compress gradients have in common: what is compressed, in which buckets, and what is left out.

What compression leaves out of a gradient is not lost with error feedback (Seide et al., 2014; Karimireddy et al.,
2019): each tower keeps it, and adds it to its next gradient. So the sum of all that was applied, and of what the towers
keep, is the sum of all gradients, up to rounding.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.array import concat, reshape, zeros
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.state.state import assign
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow.distribute.reducers.base import Reducer, is_mean, on_device, part
from graphflow.distribute.reducers.exchange import Exchange
from graphflow.distribute.reducers.one_device import ReductionToOneDevice
from graphflow.distribute.reducers.packing import BUCKET_BYTES, buckets, unpacked
from graphflow.distribute.values import Mirrored, PerDevice, devices_from

Keep = Callable[[int, Tensor], list[Operation]]
"""Stores what a tower, by its number in this program, has left out of a flat value; gives the operations that do."""


class CompressingReducer(Reducer):
    """Reduces gradients in fewer bytes. A derived class overrides `exchange`.

    Compressed is what goes to a trainable variable, is dense, of floating point and of a known shape, and has at least
    `least` elements. Everything else is reduced as it is.

    Args:
        least: So many elements a value has to have.
        bytes: How many bytes a bucket of values that go together has at most, before they are compressed.
        others: What reduces everything else; by default a ReductionToOneDevice, and between programs an AllReduce.

    Raises:
        ValueError: A bucket has no bytes.
    """

    feedback = False
    """Whether each tower keeps what is left out."""

    def __init__(self, least: int = 1, bytes: int = BUCKET_BYTES, others: Reducer | None = None) -> None:
        if bytes < 1:
            raise ValueError(f"A bucket has at least 1 byte, got {bytes}.")
        self._least = least
        self._bytes = bytes
        self._others = others
        self._towers = Exchange()

    def between(self, towers: Exchange, others: Reducer) -> CompressingReducer:
        """The same for towers that are reached in another way, as those of other programs.

        Args:
            towers: How they give rows to each other.
            others: What reduces everything that is not compressed, unless another reducer was given for that.
        """
        made = copy.copy(self)
        made._towers = towers
        made._others = self._others or others
        return made

    def exchange(
        self, values: Sequence[Tensor], devices: Sequence[str], destinations: Sequence[str], keep: Keep
    ) -> list[Tensor]:
        """Adds values up, compressed.

        Args:
            values: A vector of float32 for each tower of this program, all of one size.
            devices: The devices of these towers.
            destinations: Where the sum is needed.
            keep: With error feedback, called for each tower with what was left out of its vector. What is sent has to
                wait for the operations that it gives.

        Returns:
            The sum over all towers, one vector a destination, with the same bits everywhere.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not say how it exchanges: override exchange()."
        )

    def reduce(self, aggregation: int, per_device_value: PerDevice, destinations: Any) -> Any:
        """The sum or mean, on the devices of `destinations`.

        Args:
            aggregation: Of gf.VariableAggregation.
            per_device_value: A value by device.
            destinations: Where it is wanted; compressed if that is a trainable variable.
        """
        return self.batch_reduce(aggregation, [(per_device_value, destinations)])[0]

    def batch_reduce(
        self, aggregation: int, value_destination_pairs: Sequence[tuple[PerDevice, Any]]
    ) -> list[Any]:
        """The sums or means of several values.

        Args:
            aggregation: Of gf.VariableAggregation.
            value_destination_pairs: Pairs of a value by device and where it is wanted.
        """
        is_mean(aggregation)
        pairs = list(value_destination_pairs)
        results: list[Any] = [None] * len(pairs)
        compressed = [place for place, pair in enumerate(pairs) if self._compresses(*pair)]
        others = [place for place in range(len(pairs)) if place not in compressed]
        found = (self._others or ReductionToOneDevice()).batch_reduce(
            aggregation, [pairs[place] for place in others]
        )
        for place, result in zip(others, found, strict=True):
            results[place] = result
        for bucket in buckets([pairs[place] for place in compressed], self._bytes):
            places = [compressed[number] for number in bucket]
            found = self._together(aggregation, [pairs[place] for place in places])
            for place, result in zip(places, found, strict=True):
                results[place] = result
        return results

    def _compresses(self, value: PerDevice, destinations: Any) -> bool:
        first = value.values[0]
        return (
            isinstance(destinations, Variable)
            and bool(destinations.trainable)
            and self._towers.members(value.devices) > 1
            and not any(isinstance(v, IndexedSlices) for v in value.values)
            and first.dtype.is_floating
            and first.shape.is_fully_defined()
            and first.shape.num_elements() >= max(1, self._least)
        )

    def _together(self, aggregation: int, pairs: Sequence[tuple[PerDevice, Any]]) -> list[Any]:
        """What a bucket comes to."""
        devices, wanted = pairs[0][0].devices, devices_from(pairs[0][1])
        shapes = [value.values[0].shape for value, _ in pairs]
        dtype = pairs[0][0].values[0].dtype
        kept = (
            [_left_out(variable, shape, devices) for (_, variable), shape in zip(pairs, shapes, strict=True)]
            if self.feedback
            else []
        )
        flat = []
        for number, device in enumerate(devices):
            with on_device(device):
                whole = _flat([value.values[number] for value, _ in pairs])
                flat.append(whole + _flat([copies[number] for copies in kept]) if kept else whole)

        def keep(number: int, left_out: Tensor) -> list[Operation]:
            parts = unpacked(left_out, shapes)
            return [assign(copies[number], own).op for copies, own in zip(kept, parts, strict=True)]

        sums = self.exchange(flat, devices, wanted, keep)
        by_device = []
        for found, device in zip(sums, wanted, strict=True):
            with on_device(device):
                if is_mean(aggregation):
                    found = part(found, self._towers.members(devices))
                by_device.append(unpacked(cast(found, dtype), shapes))
        if len(wanted) == 1:
            return by_device[0]
        return [Mirrored(list(copies), wanted) for copies in zip(*by_device, strict=True)]


def _flat(values: Sequence[Any]) -> Tensor:
    """Tensors or variables behind one another, as one vector of float32."""
    vectors = [cast(reshape(value, [-1]), dtypes.float32) for value in values]
    return concat(vectors, 0) if len(vectors) > 1 else vectors[0]


def _left_out(variable: Any, shape: Any, devices: Sequence[str]) -> list[Any]:
    """A variable on the device of each tower for what is left out of the gradients of a variable.

    In a checkpoint it is what all towers of the program keep together: restored, the first has all of it.
    """
    graph = get_default_graph()
    with graph.control_dependencies(None), graph.name_scope(None):
        made = Variable(
            zeros(shape, dtypes.float32),
            trainable=False,
            name=f"{variable.op.name}/left_out",
            synchronization=VariableSynchronization.ON_READ,
            aggregation=VariableAggregation.SUM,
        )
    copies = list(getattr(made, "copies", [made]))
    if len(copies) != len(devices):
        raise ValueError(
            f"What is left out of the gradients of {variable.name!r} has to be kept on {len(devices)} devices, but "
            f"variables made here have {len(copies)}. Reduce inside of the scope of the strategy of these towers."
        )
    return copies

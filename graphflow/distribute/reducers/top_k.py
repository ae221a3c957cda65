"""The largest elements of gradients alone go over a link; the rest goes with later ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import concat, identity, reshape, zeros
from graphflow._core.ops.array.indexing import gather, scatter_nd
from graphflow._core.ops.array.shaping import bitcast
from graphflow._core.ops.core import constant
from graphflow._core.ops.math.sorting import top_k
from graphflow.distribute.reducers.base import Reducer, on_device
from graphflow.distribute.reducers.compressing import CompressingReducer, Keep
from graphflow.distribute.reducers.packing import BUCKET_BYTES

BLOCK: Final = 1024
"""Elements of which the largest are chosen together: choosing them of many more takes longer than sending them."""


class TopKReducer(CompressingReducer):
    """Sends of each 1,024 elements the largest, with error feedback (Aji and Heafield, 2017; Stich et al., 2018).

    These are those of largest magnitude. All others are added to the next gradient, until they are among the largest.
    They are kept in variables named VARIABLE/left_out, which checkpoints hold. An element that is sent takes 8 bytes,
    and goes to each other tower: of a share s each of n towers sends 2 s (n - 1) of the value's bytes.

    Args:
        share: Which part of the elements is sent, above 0 and at most 1.
        least: So many elements a value has to have; smaller ones, such as biases, lose more than their bytes are worth.
        bytes: How many bytes a bucket of values that go together has at most, before they are compressed.
        others: What reduces what is not compressed; by default a ReductionToOneDevice, and between programs an
            AllReduce.

    Raises:
        ValueError: The share is not above 0 and at most 1, or a bucket has no bytes.
    """

    feedback = True

    def __init__(
        self,
        share: float = 0.01,
        least: int = 1024,
        bytes: int = BUCKET_BYTES,
        others: Reducer | None = None,
    ) -> None:
        super().__init__(least, bytes, others)
        if not 0 < share <= 1:
            raise ValueError(f"The share of elements that are sent is above 0 and at most 1, got {share!r}.")
        self._share = share

    def exchange(
        self, values: Sequence[Tensor], devices: Sequence[str], destinations: Sequence[str], keep: Keep
    ) -> list[Tensor]:
        """Adds the largest elements of values up.

        Args:
            values: A vector of float32 for each tower of this program.
            devices: The devices of these towers.
            destinations: Where the sum is needed.
            keep: Called for each tower with what was left out.
        """
        length = values[0].shape[0].value
        rows = -(-length // BLOCK)
        columns = min(length, BLOCK)
        kept = math.ceil(self._share * columns)
        whole, count = rows * columns, rows * kept
        sent = []
        for number, (value, device) in enumerate(zip(values, devices, strict=True)):
            with on_device(device):
                filled = concat([value, zeros([whole - length], dtypes.float32)], 0)
                found = top_k(abs(reshape(filled, [rows, columns])), kept, sorted=False).indices
                starts = constant(np.arange(0, whole, columns, dtype=np.int32)[:, None])
                places = reshape(found + starts, [-1])
                largest = gather(filled, places)
                left_out = (filled - _scattered(places, largest, whole))[:length]
                both = concat([places, bitcast(largest, dtypes.int32)], 0)
                with get_default_graph().control_dependencies(keep(number, left_out)):
                    sent.append(identity(reshape(both, [1, 2 * count])))
        results = []
        for got, device in zip(self._towers.gather(sent, devices, destinations), destinations, strict=True):
            with on_device(device):
                places = reshape(got[:, :count], [-1])
                largest = bitcast(reshape(got[:, count:], [-1]), dtypes.float32)
                results.append(_scattered(places, largest, whole)[:length])
        return results


def _scattered(places: Tensor, values: Tensor, length: int) -> Tensor:
    """A vector of zeros, with these values added in these places, one after the other."""
    return scatter_nd(reshape(places, [-1, 1]), values, [length])

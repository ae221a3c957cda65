"""Gradients that go over a link in 16 or 8 bits for each element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import concat, identity, reshape, zeros
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.array.shaping import bitcast
from graphflow._core.ops.math.arithmetic import maximum
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import is_nan
from graphflow._core.ops.math.numeric import bitwise_and, left_shift, right_shift
from graphflow._core.ops.math.reductions import reduce_max, reduce_sum
from graphflow._core.ops.math.transcendental import round_
from graphflow.distribute.reducers.base import on_device
from graphflow.distribute.reducers.compressing import CompressingReducer, Keep

BLOCK: Final = 256
"""Elements that have one scale, of four bytes."""
_SMALLEST: Final = 1e-30
"""The smallest scale: zeros have to be divided by something."""


class RoundingReducer(CompressingReducer):
    """Sends each element in fewer bits. A derived class overrides `encode` and `decode`.

    Each tower adds up a part of the value, which the others send to it, and sends the sum to all, both rounded. So each
    of n towers sends 2 (n - 1) / n of the rounded value's bytes, as around a ring (Tang et al., 2019).
    """

    block = 1
    """Elements that are encoded together."""

    def encode(self, rows: Tensor) -> Tensor:
        """Rounds.

        Args:
            rows: A float32 tensor of rank 2 whose rows have a multiple of `block` elements.

        Returns:
            A tensor of as many rows.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it rounds: override encode().")

    def decode(self, rows: Tensor) -> Tensor:
        """What rounded rows stand for.

        Args:
            rows: As `encode` returns them.

        Returns:
            A float32 tensor of as many rows.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it reads: override decode().")

    def exchange(
        self, values: Sequence[Tensor], devices: Sequence[str], destinations: Sequence[str], keep: Keep
    ) -> list[Tensor]:
        """Adds values up, rounded.

        Args:
            values: A vector of float32 for each tower of this program.
            devices: The devices of these towers.
            destinations: Where the sum is needed.
            keep: Called for each tower with what was left out, with error feedback.
        """
        members = self._towers.members(devices)
        length = values[0].shape[0].value
        piece = -(-length // (members * self.block)) * self.block
        sent, left_out = [], []
        for value, device in zip(values, devices, strict=True):
            with on_device(device):
                filled = concat([value, zeros([members * piece - length], dtypes.float32)], 0)
                rows = reshape(filled, [members, piece])
                sent.append(self.encode(rows))
                left_out.append(rows - self.decode(sent[-1]) if self.feedback else rows)
        sums = []
        for number, got in enumerate(self._towers.all_to_all(sent, devices)):
            with on_device(devices[number]):
                total = reduce_sum(self.decode(got), 0, keepdims=True)
                small = self.encode(total)
                if self.feedback:
                    rest = _added(left_out[number], self._towers.rank(number), total - self.decode(small))
                    with get_default_graph().control_dependencies(keep(number, reshape(rest, [-1])[:length])):
                        small = identity(small)
                sums.append(small)
        results = []
        for found, device in zip(self._towers.gather(sums, devices, destinations), destinations, strict=True):
            with on_device(device):
                results.append(reshape(self.decode(found), [-1])[:length])
        return results


class Float16Reducer(RoundingReducer):
    """Sends float16: half the bytes (as Horovod does; Sergeev and Del Balso, 2018).

    Sums are computed in float32, and rounded once more. What is larger than 65,504 becomes infinite.

    Args:
        least: So many elements a value has to have.
        bytes: How many bytes a bucket of values that go together has at most, before they are compressed.
        others: What reduces what is not compressed; by default a ReductionToOneDevice, and between programs an
            AllReduce.
    """

    def encode(self, rows: Tensor) -> Tensor:
        """Rounds.

        Args:
            rows: A float32 tensor of rank 2.
        """
        return cast(rows, dtypes.float16)

    def decode(self, rows: Tensor) -> Tensor:
        """What rounded rows stand for.

        Args:
            rows: A float16 tensor.
        """
        return cast(rows, dtypes.float32)


class BFloat16Reducer(RoundingReducer):
    """Sends bfloat16, which has the range of float32 and 8 bits of precision: half the bytes (Kalamkar et al., 2019).

    Sums are computed in float32, and rounded once more, to the nearest even number.

    Args:
        least: So many elements a value has to have.
        bytes: How many bytes a bucket of values that go together has at most, before they are compressed.
        others: What reduces what is not compressed; by default a ReductionToOneDevice, and between programs an
            AllReduce.
    """

    def encode(self, rows: Tensor) -> Tensor:
        """Rounds.

        Args:
            rows: A float32 tensor of rank 2.

        Returns:
            The upper halves of the rounded numbers, a uint16 tensor.
        """
        bits = bitcast(rows, dtypes.int32)
        odd = bitwise_and(right_shift(bits, 16), 1)
        upper = right_shift(bits + (0x7FFF + odd), 16)
        quiet = bitwise_and(right_shift(bits, 16), 0xFFFF) * 0 + 0x7FC0  # Rounding could make a NaN infinite.
        return cast(bitwise_and(where(is_nan(rows), quiet, upper), 0xFFFF), dtypes.uint16)

    def decode(self, rows: Tensor) -> Tensor:
        """What rounded rows stand for.

        Args:
            rows: A uint16 tensor.
        """
        return bitcast(left_shift(cast(rows, dtypes.int32), 16), dtypes.float32)


class EightBitReducer(RoundingReducer):
    """Sends 8 bits, with error feedback: a quarter of the bytes.

    Of each 256 elements the largest is 127 (blocks as in Dettmers et al., 2022). What rounding leaves out of a gradient
    or a sum is added to the next gradient (Seide et al., 2014; Karimireddy et al., 2019; of sums too, Tang et al.,
    2019). It is kept in variables named VARIABLE/left_out, which checkpoints hold.

    Args:
        least: So many elements a value has to have.
        bytes: How many bytes a bucket of values that go together has at most, before they are compressed.
        others: What reduces what is not compressed; by default a ReductionToOneDevice, and between programs an
            AllReduce.
    """

    feedback = True
    block = BLOCK

    def encode(self, rows: Tensor) -> Tensor:
        """Rounds.

        Args:
            rows: A float32 tensor of rank 2.

        Returns:
            A uint8 tensor; a row has the numbers, and behind them the scales.
        """
        count, length = rows.shape.as_list()
        blocks = reshape(rows, [count, length // BLOCK, BLOCK])
        scale = maximum(reduce_max(abs(blocks), 2, keepdims=True) / 127.0, _SMALLEST)
        numbers = bitcast(cast(round_(blocks / scale), dtypes.int8), dtypes.uint8)
        scales = bitcast(scale, dtypes.uint8)
        return concat([reshape(numbers, [count, length]), reshape(scales, [count, length // BLOCK * 4])], 1)

    def decode(self, rows: Tensor) -> Tensor:
        """What rounded rows stand for.

        Args:
            rows: A uint8 tensor, as `encode` returns it.
        """
        count, length = rows.shape.as_list()
        blocks = length // (BLOCK + 4)
        numbers = bitcast(reshape(rows[:, : blocks * BLOCK], [count, blocks, BLOCK]), dtypes.int8)
        scales = bitcast(reshape(rows[:, blocks * BLOCK :], [count, blocks, 1, 4]), dtypes.float32)
        return reshape(cast(numbers, dtypes.float32) * scales, [count, blocks * BLOCK])


def _added(rows: Tensor, place: int, more: Any) -> Tensor:
    """The rows, with something added to one of them."""
    return concat([rows[:place], rows[place : place + 1] + more, rows[place + 1 :]], 0)

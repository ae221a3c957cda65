"""Tensors of a beam search: each example of a batch is there once for each beam.

Inside of the cell both axes are one, [batch * beams, ...]; where beams are chosen they are two, [batch, beams, ...].
"""

from __future__ import annotations

import logging
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, TensorStructure
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.control_flow.tensor_array import TensorArray
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.nn.beam_search import gather_tree

_log = logging.getLogger(__name__)


def tile_batch(t: TensorStructure, multiplier: int, name: str | None = None) -> Any:
    """Each row several times, one after the other (tf.contrib.seq2seq.tile_batch).

    A beam search needs it of the memory, its lengths and the initial state.

    Args:
        t: A tensor [batch, ...] of known rank, or a structure of tensors.
        multiplier: How many times: the number of beams.
        name: A name for the operations.

    Returns:
        Tensors [batch * multiplier, ...] in that structure.

    Raises:
        ValueError: If a rank is not known, or 0.

    Examples:
        >>> gf.Session().run(gf.contrib.seq2seq.tile_batch(gf.constant([1, 2]), 2))
        array([1, 1, 2, 2], dtype=int32)
    """
    with op_scope(name, "tile_batch", [*nest.flatten(t), multiplier]):
        return nest.map_structure(lambda part: _tiled(part, multiplier), t)


def _tiled(part: Any, multiplier: int) -> Tensor:
    tensor = convert_to_tensor(part, name="t")
    rank = tensor.shape.ndims
    if not rank:
        raise ValueError(f"{tensor.name} must have a known rank above 0, but its shape is {tensor.shape}.")
    rows = array.shape(tensor)
    multiples = [1, multiplier, *([1] * (rank - 1))]
    repeated = array.tile(array.expand_dims(tensor, 1), multiples)
    result = array.reshape(repeated, array.concat([[rows[0] * multiplier], rows[1:]], 0))
    batch, *rest = tensor.shape.as_list()
    result.set_shape([None if batch is None else batch * multiplier, *rest])
    return result


def rank_of(tensor: Tensor) -> int:
    """The rank; ValueError if it is not known."""
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError(f"The rank of {tensor.name}, a part of the cell's state, must be known.")
    return rank


class Beams:
    """How many examples and beams there are, and what leads from one axis to two and back."""

    def __init__(self, batch_size: Tensor, width: int) -> None:
        self.batch_size = batch_size
        self.width = width
        known = constant_value(batch_size)
        self.known_batch_size: int | None = None if known is None else int(known)

    def merged(self, tensor: Tensor, inner: TensorShape) -> Tensor:
        """[batch, beams, ...] as [batch * beams, ...]; `inner` is what is known of the rest of the shape."""
        rows = self.batch_size * self.width
        result = array.reshape(tensor, array.concat([[rows], array.shape(tensor)[2:]], 0))
        known = None if self.known_batch_size is None else self.known_batch_size * self.width
        result.set_shape(TensorShape([known]).concatenate(inner))
        return result

    def split(self, tensor: Tensor, inner: TensorShape) -> Tensor:
        """[batch * beams, ...] as [batch, beams, ...]; ValueError if it cannot be."""
        sizes = array.concat([[self.batch_size, self.width], array.shape(tensor)[1:]], 0)
        result = array.reshape(tensor, sizes)
        expected = TensorShape([self.known_batch_size, self.width]).concatenate(inner)
        if not result.shape.is_compatible_with(expected):
            raise ValueError(
                f"{tensor.name} of shape {tensor.shape} cannot be [batch, beams, ...] of shape {expected}: is the "
                "initial state that of batch_size * beam_width rows, as tile_batch and zero_state give it?"
            )
        result.set_shape(expected)
        return result

    def merged_state(self, state: Any, sizes: Any) -> Any:
        """A cell's state, its tensors merged; `sizes` are those that the cell says."""

        def merge(part: Any, size: Any) -> Any:
            if isinstance(part, TensorArray) or rank_of(part) < 2:
                return part
            return self.merged(part, _inner(size))

        return nest.map_structure(merge, state, sizes)

    def split_state(self, state: Any, sizes: Any) -> Any:
        """A cell's state, its tensors split."""

        def split(part: Any, size: Any) -> Any:
            if isinstance(part, TensorArray) or rank_of(part) < 1:
                return part
            return self.split(part, _inner(size))

        return nest.map_structure(split, state, sizes)

    def chosen(self, tensor: Tensor, beams: Tensor, name: str | None = None) -> Tensor:
        """The beams [batch, new beams] of a tensor [batch, beams, ...]: [batch, new beams, ...]."""
        with op_scope(name, "chosen_beams", [tensor, beams]):
            offsets = array.expand_dims(array.range_(self.batch_size) * array.shape(tensor)[1], 1)
            shape = array.shape(tensor)
            rows = array.reshape(tensor, array.concat([[-1], shape[2:]], 0))
            picked = array.gather(rows, array.reshape(beams + offsets, [-1]))
            result = array.reshape(picked, array.concat([array.shape(beams), shape[2:]], 0))
            result.set_shape(
                TensorShape([self.known_batch_size, beams.shape[1]]).concatenate(tensor.shape[2:])
            )
            return result

    def sorted_history(self, history: Any, parent_ids: Tensor, lengths: Tensor) -> Any:
        """A TensorArray of all steps as a tensor [time, ...] in which each beam is one sequence; others as they are.

        While the search goes on a beam is another sequence in each step.
        """
        if not isinstance(history, TensorArray):
            return history
        shape = history.element_shape
        if not shape.ndims:
            _log.warning(
                "The steps of %s are not sorted by beams: the shape of an element, %s, is not known to have the axis "
                "of the beams.", history.handle.name, shape,
            )  # fmt: skip
            return history
        if not self._may_be_split(shape):
            _log.warning(
                "The steps of %s are not sorted by beams: elements of shape %s are not those of %s examples and %s "
                "beams. reorder_tensor_arrays=False asks for no sorting.",
                history.handle.name, shape, self.known_batch_size, self.width,
            )  # fmt: skip
            return history
        steps = history.stack()
        with get_default_graph().control_dependencies([self._check_of(steps)]):
            return sort_by_beams(steps, parent_ids, lengths)

    def _may_be_split(self, shape: TensorShape) -> bool:
        first, *rest = shape.as_list()
        if self.known_batch_size is None or first is None or first == self.known_batch_size * self.width:
            return True
        return first == self.known_batch_size and bool(rest) and rest[0] in (None, self.width)

    def _check_of(self, steps: Tensor) -> Any:
        shape = array.shape(steps)
        fits = math.equal(shape[1], self.batch_size * self.width)
        if steps.shape.ndims != 2:
            two = math.logical_and(math.equal(shape[1], self.batch_size), math.equal(shape[2], self.width))
            fits = math.logical_or(fits, two)
        message = (
            f"The elements of {steps.name} are not those of each example and beam: reorder_tensor_arrays=False "
            "asks for no sorting."
        )
        return assert_(fits, [message])


def _inner(size: Any) -> TensorShape:
    """What is known of a shape behind its rows: of a size that is a tensor, its value."""
    return TensorShape(constant_value(size) if isinstance(size, Tensor) else size)


def sort_by_beams(t: Tensor, parent_ids: Tensor, sequence_length: IntTensorLike) -> Tensor:
    """Steps [time, batch * beams, ...], or [time, batch, beams, ...], sorted so that each beam is one sequence.

    What is past a sequence's end stays where it is.
    """
    lengths = convert_to_tensor(sequence_length)
    time, batch, width = array.unstack(array.shape(parent_ids), num=3)
    beams = array.tile(array.range_(width)[None, None], array.stack([time, batch, 1]))
    longest = math.cast(reductions.reduce_max(lengths, axis=1), parent_ids.dtype)
    sorted_beams = gather_tree(beams, parent_ids, longest, width + 1)
    running = array.transpose(array.sequence_mask(lengths, time), [2, 0, 1])
    sorted_beams = array.where(running, sorted_beams, beams)
    rows = array.reshape(t, array.concat([array.stack([time * batch * width]), [-1]], 0))
    steps = array.range_(time * batch)[:, None] * width
    places = array.reshape(sorted_beams, [-1, width]) + steps
    return array.reshape(array.gather(rows, array.reshape(places, [-1])), array.shape(t))

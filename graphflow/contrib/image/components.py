"""Which pixels hang together, and which rows and columns belong together."""

from __future__ import annotations

from typing import NamedTuple

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops import core
from graphflow._core.ops.array.array import fill, ones_like, pad, reshape, shape
from graphflow._core.ops.array.creation import range_
from graphflow._core.ops.array.indexing import gather, where
from graphflow._core.ops.control_flow.control_flow import while_loop
from graphflow._core.ops.math.arithmetic import minimum
from graphflow._core.ops.math.comparison import equal, less, logical_and, not_equal
from graphflow._core.ops.math.math import cast
from graphflow._core.ops.math.reductions import reduce_any
from graphflow._core.ops.math.scans import argmin, cumsum
from graphflow._core.ops.state.scopes import name_scope

_SHIFTS = (((0, 1), (0, 0)), ((1, 0), (0, 0)), ((0, 0), (0, 1)), ((0, 0), (1, 0)))
"""What is padded in front of and behind rows and columns, so that each pixel lies on its neighbour."""


def _neighbour(images: Tensor, shift: tuple[tuple[int, int], tuple[int, int]], outside: int) -> Tensor:
    (above, below), (left, right) = shift
    sizes = shape(images)
    padded = pad(images, [[0, 0], [above, below], [left, right]], constant_values=outside)
    return padded[:, below : below + sizes[1], right : right + sizes[2]]


def connected_components(images: TensorLike) -> Tensor:
    """Numbers the parts of images that hang together (tf.contrib.image.connected_components).

    A part are pixels of one value other than 0, each beside another of them, to the left, right, above or below.

    Args:
        images: Images [height, width] or [batch, height, width], of bools or numbers.

    Returns:
        A tensor int32 of that shape: 0 where the image is 0, and else the number of the part, from 1 on through all
        images, by where the parts begin.

    Raises:
        TypeError: For another rank.
    """
    with name_scope("connected_components"):
        given = core.convert_to_tensor(images, name="images")
        if given.shape.ndims not in (2, 3):
            raise TypeError(f"images should have rank 2 (HW) or 3 (NHW). Static shape is {given.shape}")
        batch = given[None] if given.shape.ndims == 2 else given
        values = cast(batch, dtypes.int32) if batch.dtype == dtypes.bool_ else batch
        sizes = shape(values)
        count = sizes[0] * sizes[1] * sizes[2]
        seen = not_equal(values, core.constant(0, values.dtype))
        same = [
            logical_and(
                equal(_neighbour(values, shift, 0), values),
                logical_and(seen, _neighbour_is_seen(seen, shift)),
            )
            for shift in _SHIFTS
        ]

        def spread(first: Tensor, changed: Tensor) -> tuple[Tensor, Tensor]:
            smaller = first
            for shift, alike in zip(_SHIFTS, same, strict=True):
                smaller = where(alike, minimum(smaller, _neighbour(smaller, shift, 0)), smaller)
            # The place that the first pixel itself knows by now is that of all which begin there.
            smaller = minimum(smaller, gather(reshape(smaller, [-1]), smaller))
            return smaller, reduce_any(less(smaller, first))

        # Each pixel begins with its own place, and takes the first place that one of its part has.
        places = reshape(range_(count), sizes)
        first, _ = while_loop(lambda first, changed: changed, spread, (places, core.constant(True)))
        flat, there = reshape(first, [-1]), reshape(seen, [-1])
        begins = cast(logical_and(there, equal(flat, range_(count))), dtypes.int32)
        numbers = gather(cumsum(begins), flat) * cast(there, dtypes.int32)
        result = reshape(numbers, shape(given))
        result.set_shape(given.shape)
        return result


def _neighbour_is_seen(seen: Tensor, shift: tuple[tuple[int, int], tuple[int, int]]) -> Tensor:
    return not_equal(_neighbour(cast(seen, dtypes.int32), shift, 0), 0)


class BipartiteMatch(NamedTuple):
    """Pairs of rows and columns."""

    row_to_col_match_indices: Tensor
    """The column of each row, -1 where there is none."""
    col_to_row_match_indices: Tensor
    """The row of each column, -1 where there is none."""


def bipartite_match(
    distance_mat: TensorLike,
    num_valid_rows: TensorLike,
    top_k: int = -1,
    name: str | None = "bipartite_match",
) -> BipartiteMatch:
    """Takes rows and columns as pairs, the nearest first, each once (tf.contrib.image.bipartite_match).

    Args:
        distance_mat: Distances [rows, columns], floats.
        num_valid_rows: How many rows count; the others get no partner.
        top_k: How many pairs at most; -1 for as many as there can be.
        name: A name for the operations.

    Returns:
        The column of each row, and the row of each column, int32; -1 where there is none.
    """
    with name_scope(name, "bipartite_match"):
        given = core.convert_to_tensor(distance_mat, dtypes.float32, "distance_mat")
        sizes = shape(given)
        rows, columns = sizes[0], sizes[1]
        valid = minimum(reshape(cast(core.convert_to_tensor(num_valid_rows), dtypes.int32), []), rows)
        far = core.constant(float("inf"))
        counted = less(range_(rows), valid)[:, None]
        begin = where(logical_and(counted, ones_like(given, dtypes.bool_)), given, fill(sizes, far))
        most = minimum(valid, columns)
        pairs = most if top_k < 0 else minimum(most, top_k)

        def take(turn: Tensor, left: Tensor, of_row: Tensor, of_column: Tensor) -> tuple[Tensor, ...]:
            place = cast(argmin(reshape(left, [-1]), 0), dtypes.int32)
            row, column = place // columns, place % columns
            is_row, is_column = equal(range_(rows), row), equal(range_(columns), column)
            taken = logical_and(is_row[:, None], ones_like(left, dtypes.bool_))
            without = where(taken, fill(sizes, far), left)
            taken = logical_and(is_column[None, :], ones_like(left, dtypes.bool_))
            return (
                turn + 1,
                where(taken, fill(sizes, far), without),
                where(is_row, fill([rows], column), of_row),
                where(is_column, fill([columns], row), of_column),
            )

        _, _, of_row, of_column = while_loop(
            lambda turn, *_: turn < pairs,
            take,
            (core.constant(0), begin, fill([rows], -1), fill([columns], -1)),
        )
        of_row.set_shape([given.shape[0]])
        of_column.set_shape([given.shape[1]])
        return BipartiteMatch(of_row, of_column)


__all__ = ["bipartite_match", "connected_components"]

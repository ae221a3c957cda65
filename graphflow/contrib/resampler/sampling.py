"""Pixels between others, with gradients in the pixels and in the places."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops import core
from graphflow._core.ops.array.array import concat, reshape, shape
from graphflow._core.ops.array.creation import range_
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.math.arithmetic import maximum, minimum
from graphflow._core.ops.math.comparison import greater_equal, less, logical_and
from graphflow._core.ops.math.math import cast, floor
from graphflow._core.ops.state.scopes import name_scope


def resampler(data: TensorLike, warp: TensorLike, name: str | None = "resampler") -> Tensor:
    """Images at given places, between the four pixels around, 0 outside (tf.contrib.resampler.resampler).

    Args:
        data: Images [batch, height, width, channels] of floats.
        warp: Places [batch, ..., 2], (x, y): the column before the row.
        name: A name for the operations.

    Returns:
        A tensor [batch, ..., channels].

    Raises:
        ValueError: If the images have not four axes, or places not two numbers.
    """
    with name_scope(name, "resampler"):
        images = core.convert_to_tensor(data, name="data")
        places = core.convert_to_tensor(warp, images.dtype, "warp")
        images.shape.assert_has_rank(4)
        if (
            places.shape.ndims is None
            or places.shape.ndims < 2
            or not places.shape[-1:].is_compatible_with([2])
        ):
            raise ValueError(f"warp should be at least a matrix with last dimension 2, it is {places.shape}.")
        sizes = shape(images)
        batch, height, width, channels = sizes[0], sizes[1], sizes[2], sizes[3]
        flat = reshape(places, [batch, -1, 2])
        x, y = flat[:, :, 0], flat[:, :, 1]
        left, above = floor(x), floor(y)
        pixels = reshape(images, [batch * height * width, channels])
        first = range_(batch)[:, None] * (height * width)
        total: Tensor | None = None
        for column, across in ((left, 1 - (x - left)), (left + 1, x - left)):
            for row, down in ((above, 1 - (y - above)), (above + 1, y - above)):
                weight = across * down * _inside(column, width) * _inside(row, height)
                place = first + _kept(row, height) * width + _kept(column, width)
                part = gather(pixels, place) * weight[:, :, None]
                total = part if total is None else total + part
        assert total is not None
        result = reshape(total, concat([shape(places)[:-1], [channels]], 0))
        result.set_shape(places.shape[:-1].concatenate(images.shape[3:]))
        return result


def _inside(place: Tensor, size: Tensor) -> Tensor:
    """1 for the rows or columns that an image has, 0 for others."""
    return cast(logical_and(greater_equal(place, 0.0), less(place, cast(size, place.dtype))), place.dtype)


def _kept(place: Tensor, size: Tensor) -> Tensor:
    """The row or column, or the nearest that there is."""
    return cast(minimum(maximum(place, 0.0), cast(size - 1, place.dtype)), dtypes.int32)


__all__ = ["resampler"]

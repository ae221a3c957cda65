"""Images whose pixels are shown from elsewhere: by a flow for each pixel, or by some points that move."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops import core
from graphflow._core.ops.array.array import concat, reshape, shape, stack, tile, zeros
from graphflow._core.ops.array.compositions import boolean_mask, meshgrid
from graphflow._core.ops.array.creation import linspace, range_
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.math.arithmetic import maximum, minimum
from graphflow._core.ops.math.comparison import equal, logical_or
from graphflow._core.ops.math.math import cast, floor
from graphflow._core.ops.state.scopes import name_scope
from graphflow.contrib.image.splines import interpolate_spline


def _pixels(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Pixels [batch, places, channels] of images, by their rows and columns [batch, places]."""
    sizes = shape(images)
    batch, height, width, channels = sizes[0], sizes[1], sizes[2], sizes[3]
    flat = reshape(images, [batch * height * width, channels])
    return gather(flat, range_(batch)[:, None] * (height * width) + rows * width + columns)


def _between(images: Tensor, places: Tensor) -> Tensor:
    """Pixels between others, at places [batch, places, (row, column)]; outside of an image those of its edge."""
    sizes = shape(images)
    below, weights = [], []
    for axis in range(2):
        wanted = places[:, :, axis]
        last = cast(sizes[axis + 1] - 2, wanted.dtype)
        first = minimum(maximum(floor(wanted), 0.0), last)
        below.append(cast(first, dtypes.int32))
        weights.append(cast(minimum(maximum(wanted - first, 0.0), 1.0), images.dtype)[:, :, None])
    (row, column), (down, right) = below, weights
    top_left, top_right = _pixels(images, row, column), _pixels(images, row, column + 1)
    bottom_left, bottom_right = _pixels(images, row + 1, column), _pixels(images, row + 1, column + 1)
    top = right * (top_right - top_left) + top_left
    bottom = right * (bottom_right - bottom_left) + bottom_left
    return down * (bottom - top) + top


def dense_image_warp(image: TensorLike, flow: TensorLike, name: str | None = "dense_image_warp") -> Tensor:
    """Each pixel of the result shows the place of the image from which a flow leads to it.

    The pixel [b, j, i] is that of the image at [b, j - flow[b, j, i, 0], i - flow[b, j, i, 1]], between the four pixels
    around, and of the edge outside. Both have gradients (tf.contrib.image.dense_image_warp).

    Args:
        image: Images [batch, height, width, channels] of floats, of at least two rows and columns.
        flow: Flows [batch, height, width, 2], rows before columns.
        name: A name for the operations.

    Returns:
        A tensor like `image`.

    Raises:
        ValueError: If the images have another rank, or one row or column.
    """
    with name_scope(name, "dense_image_warp"):
        images = core.convert_to_tensor(image, name="image")
        moved = core.convert_to_tensor(flow, name="flow")
        images.shape.assert_has_rank(4)
        moved.shape.assert_has_rank(4)
        if any(size is not None and size < 2 for size in images.shape.as_list()[1:3]):
            raise ValueError(f"Grid must be at least 2x2: images have shape {images.shape}.")
        sizes = shape(images)
        rows, columns = meshgrid(range_(sizes[1]), range_(sizes[2]), indexing="ij")
        grid = cast(stack([rows, columns], 2), moved.dtype)
        places = reshape(grid[None] - moved, [sizes[0], sizes[1] * sizes[2], 2])
        warped = reshape(_between(images, places), sizes)
        warped.set_shape(images.shape)
        return warped


def _edge_points(height: Tensor, width: Tensor, between: int, dtype: dtypes.DType) -> Tensor:
    """Points on the edges of an image, the corners and so many between two of them."""
    last_row, last_column = cast(height - 1, dtype), cast(width - 1, dtype)
    rows, columns = meshgrid(
        linspace(core.constant(0, dtype), last_row, between + 2),
        linspace(core.constant(0, dtype), last_column, between + 2),
        indexing="ij",
    )
    outside = logical_or(
        logical_or(equal(columns, 0), equal(columns, last_column)),
        logical_or(equal(rows, 0), equal(rows, last_row)),
    )
    return stack([boolean_mask(rows, outside), boolean_mask(columns, outside)], -1)


def sparse_image_warp(
    image: TensorLike,
    source_control_point_locations: TensorLike,
    dest_control_point_locations: TensorLike,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str | None = "sparse_image_warp",
) -> tuple[Tensor, Tensor]:
    """Images in which some points move, and the others with them (tf.contrib.image.sparse_image_warp).

    The flow of each pixel is that of a polyharmonic spline through the points.

    Args:
        image: Images [batch, height, width, channels] of floats.
        source_control_point_locations: Points [batch, points, 2], rows before columns.
        dest_control_point_locations: Where they go, of the same shape.
        interpolation_order: The order of the spline.
        regularization_weight: How much smoother it is than the points ask for.
        num_boundary_points: 0, or how many points at each edge stay where they are, with one corner counted.
        name: A name for the operations.

    Returns:
        The images, and the flows [batch, height, width, 2], as dense_image_warp takes.
    """
    with name_scope(name, "sparse_image_warp"):
        images = core.convert_to_tensor(image, name="image")
        source = core.convert_to_tensor(source_control_point_locations, name="source")
        target = core.convert_to_tensor(dest_control_point_locations, name="dest")
        sizes = shape(images)
        batch, height, width = sizes[0], sizes[1], sizes[2]
        flows = target - source
        if num_boundary_points > 0:
            edge = _edge_points(height, width, num_boundary_points - 1, target.dtype)
            still = tile(edge[None], [batch, 1, 1])
            target = concat([target, still], 1)
            flows = concat([flows, zeros(shape(still), flows.dtype)], 1)
        rows, columns = meshgrid(range_(height), range_(width), indexing="ij")
        places = cast(reshape(stack([rows, columns], -1), [height * width, 2]), target.dtype)
        flow = interpolate_spline(
            target, flows, tile(places[None], [batch, 1, 1]), interpolation_order, regularization_weight
        )
        dense = reshape(flow, _flow_sizes(batch, height, width))
        return dense_image_warp(images, dense), dense


def _flow_sizes(batch: Tensor, height: Tensor, width: Tensor) -> IntTensorLike:
    return stack([batch, height, width, core.constant(2)])


__all__ = ["dense_image_warp", "sparse_image_warp"]

"""Images at another size: the four methods behind one function, and scaling with a rim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.core import convert_to_tensor, op_scope, partial_shape
from graphflow._core.ops.image import resizing
from graphflow._core.ops.math import math
from graphflow.image.checks import (
    Size,
    after,
    as_image,
    batched,
    condition,
    image_checks,
    is_tensor,
    larger,
    sizes_of,
    unbatched,
)
from graphflow.image.geometry import pad_to_bounding_box


class ResizeMethod:
    """The methods of resize_images, as numbers (tf.image.ResizeMethod); their names are taken as well."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS: Final[Mapping[Any, Callable[..., Tensor]]] = {
    ResizeMethod.BILINEAR: resizing.resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resizing.resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resizing.resize_bicubic,
    ResizeMethod.AREA: resizing.resize_area,
    "bilinear": resizing.resize_bilinear,
    "nearest": resizing.resize_nearest_neighbor,
    "bicubic": resizing.resize_bicubic,
    "area": resizing.resize_area,
}


def _scaled_size(images: Tensor, height: int | None, width: int | None) -> Tensor:
    """The largest size of the images' proportions within another."""
    if height is None or width is None:
        raise ValueError("With preserve_aspect_ratio the size must be known while the graph is built.")
    old_height, old_width = sizes_of(images, 4)[1:3]
    if not is_tensor(old_height) and not is_tensor(old_width):
        factor = min(np.float32(height) / np.float32(old_height), np.float32(width) / np.float32(old_width))
        new = [int(np.rint(factor * np.float32(old))) for old in (old_height, old_width)]
        return convert_to_tensor(new, dtypes.int32, name="size")
    by_height = math.cast(height, dtypes.float32) / math.cast(old_height, dtypes.float32)
    by_width = math.cast(width, dtypes.float32) / math.cast(old_width, dtypes.float32)
    scale = math.minimum(by_height, by_width)
    scaled = [
        math.cast(math.round_(scale * math.cast(old, dtypes.float32)), dtypes.int32)
        for old in (old_height, old_width)
    ]
    return convert_to_tensor(scaled, dtypes.int32, name="size")


def _known(size: Tensor) -> tuple[int | None, int | None]:
    known = partial_shape(size)
    return (None, None) if known is None else (known[0], known[1])


def resize_images(
    images: TensorLike,
    size: IntTensorLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images, [height, width, channels] or a batch, at another size (tf.image.resize_images).

    The result is float32, but for the nearest neighbour and for images that have the size already, which stay
    as they are.

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        size: (new height, new width); with `preserve_aspect_ratio` the result is the largest of the images'
            proportions that fits in.
        method: Of ResizeMethod.
        align_corners: Whether the corner pixels of both lie upon each other.
        preserve_aspect_ratio: Whether the images keep their proportions.
        name: A name for the operation.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: For another rank, another method, or a size that is no pair.
    """
    with op_scope(name, "resize", [images, size]):
        images = as_image(images, "images")
        if images.shape.ndims is None:
            raise ValueError(f"'images' contains no shape: give {images.name!r} one with set_shape.")
        images, is_batch = batched(images, "images")
        try:
            size = convert_to_tensor(size, dtypes.int32, name="size")
        except (TypeError, ValueError) as error:
            raise ValueError(f"'size' must be a 1-D int32 Tensor, got {size!r}.") from error
        if not size.shape.is_compatible_with([2]):
            raise ValueError(
                f"'size' must be a 1-D Tensor of 2 elements: height and width, got shape {size.shape}."
            )
        height, width = _known(size)
        if preserve_aspect_ratio:
            size = _scaled_size(images, height, width)
            height, width = _known(size)
        elif None not in (height, width) and images.shape.as_list()[1:3] == [height, width]:
            return unbatched(images, is_batch)
        if isinstance(method, Tensor) or method not in _METHODS:
            raise ValueError(f"There is no resize method {method!r}: use one of gf.image.ResizeMethod.")
        images = _METHODS[method](images, size, align_corners=align_corners)
        images.set_shape([None, height, width, None])
        return unbatched(images, is_batch)


def resize_image_with_pad(
    image: TensorLike,
    target_height: Size,
    target_width: Size,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Images scaled to the largest size of their proportions within the target, with zeros around.

    TensorFlow: tf.image.resize_image_with_pad.

    Args:
        image: An image [height, width, channels], or a batch of them.
        target_height: Rows of the result, an int32 scalar.
        target_width: Columns of the result, an int32 scalar.
        method: Of gf.image.ResizeMethod.
        align_corners: Whether the corner pixels of both lie upon each other.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: If a size is not positive.
    """
    with op_scope(None, "resize_image_with_pad", [image]):
        image, is_batch = batched(as_image(image))
        checks = image_checks(image)
        checks += condition(target_width > 0, "target_width must be > 0.")
        checks += condition(target_height > 0, "target_height must be > 0.")
        image = after(checks, image)
        _, height, width, _ = sizes_of(image, 4)
        old_height, old_width, new_height, new_width = (
            math.cast(size, dtypes.float64) for size in (height, width, target_height, target_width)
        )
        ratio = larger(old_width / new_width, old_height / new_height)
        sizes, rims = [], []
        for old, new in ((old_height, new_height), (old_width, new_width)):
            scaled = old / ratio
            sizes.append(math.cast(math.floor(scaled), dtypes.int32))
            rims.append(larger(0, math.cast(math.floor((new - scaled) / 2), dtypes.int32)))
        resized = resize_images(image, sizes, method, align_corners=align_corners)
        padded = pad_to_bounding_box(resized, rims[0], rims[1], target_height, target_width)
        return unbatched(padded, is_batch)

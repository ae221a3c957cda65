"""Where pixels lie: flips, turns, crops and pads. All of it is slices and reversals of other modules.

Images are [height, width, channels], or [batch, height, width, channels]. Sizes and offsets may be tensors. What is
known of them is checked while the graph is built, the rest at the run, as in TensorFlow.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.control_flow import case, cond
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import math
from graphflow._core.ops.random import random_uniform
from graphflow.image.checks import (
    Size,
    after,
    as_image,
    batched,
    checked_image,
    condition,
    flat_rank,
    image_checks,
    is_tensor,
    larger,
    same,
    same_shape,
    sizes_of,
    smaller,
    static,
    unbatched,
)


def _flip(image: Any, axis: int, scope: str) -> Tensor:
    with op_scope(None, scope, [image]):
        image = checked_image(as_image(image))
        if flat_rank(image) == 4:
            return array.reverse(image, [axis + 1])
        return same_shape(image, array.reverse(image, [axis]))


def flip_left_right(image: TensorLike) -> Tensor:
    """Images mirrored, left for right.

    Args:
        image: An image [height, width, channels], or a batch of them.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: Unless of three or four axes (tf.image.flip_left_right).
    """
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image: TensorLike) -> Tensor:
    """Images upside down.

    Args:
        image: An image [height, width, channels], or a batch of them.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: Unless of three or four axes (tf.image.flip_up_down).
    """
    return _flip(image, 0, "flip_up_down")


def _random_flip(image: Any, axis: int, seed: int | None, scope_name: str) -> Tensor:
    with op_scope(None, scope_name, [image]) as scope:
        image = checked_image(as_image(image))
        if flat_rank(image) == 3:
            drawn = random_uniform([], 0, 1.0, seed=seed)
            turned = cond(
                math.less(drawn, 0.5), lambda: array.reverse(image, [axis]), lambda: image, name=scope
            )
            return same_shape(image, turned)
        batch = array.shape(image)[0]
        drawn = random_uniform([batch], 0, 1.0, seed=seed)
        chosen = math.cast(math.round_(array.reshape(drawn, [batch, 1, 1, 1])), image.dtype)
        result: Tensor = chosen * array.reverse(image, [axis + 1]) + (1 - chosen) * image
        return result


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """An image mirrored or not, with equal chance; of a batch each by itself (tf.image.random_flip_left_right).

    Args:
        image: An image [height, width, channels], or a batch of them.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        Images in the same layout.
    """
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """An image upside down or not, with equal chance; of a batch each by itself (tf.image.random_flip_up_down).

    Args:
        image: An image [height, width, channels], or a batch of them.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        Images in the same layout.
    """
    return _random_flip(image, 0, seed, "random_flip_up_down")


def rot90(image: TensorLike, k: IntTensorLike = 1, name: str | None = None) -> Tensor:
    """Images turned counter-clockwise by `k` right angles, an int or a scalar tensor (tf.image.rot90).

    Args:
        image: An image [height, width, channels], or a batch of them.
        k: How many right angles.
        name: A name for the operation.

    Returns:
        Images in the same layout.
    """
    with op_scope(name, "rot90", [image, k]) as scope:
        image = checked_image(as_image(image))
        k = convert_to_tensor(k, dtype=dtypes.int32, name="k")
        k.shape.assert_has_rank(0)
        k = math.floormod(k, 4)
        first = flat_rank(image) - 3
        order = [0, 2, 1, 3] if first else [1, 0, 2]
        turns = [
            (math.equal(k, 1), lambda: array.transpose(array.reverse(image, [first + 1]), order)),
            (math.equal(k, 2), lambda: array.reverse(image, [first, first + 1])),
            (math.equal(k, 3), lambda: array.reverse(array.transpose(image, order), [first + 1])),
        ]
        result: Tensor = case(turns, default=lambda: image, exclusive=True, name=scope)
        known = image.shape.with_rank(first + 3).as_list()
        result.set_shape([*known[:first], None, None, known[-1]])
        return result


def transpose_image(image: TensorLike, name: str | None = None) -> Tensor:
    """Images with rows and columns exchanged (tf.image.transpose_image).

    Args:
        image: An image [height, width, channels], or a batch of them.
        name: A name for the operation.

    Returns:
        Images in the same layout.
    """
    with op_scope(name, "transpose", [image]):
        image = checked_image(as_image(image))
        order = [0, 2, 1, 3] if flat_rank(image) == 4 else [1, 0, 2]
        result: Tensor = array.transpose(image, order, name=name)
        return result


def central_crop(image: TensorLike, central_fraction: float) -> Tensor:
    """The middle of images, `central_fraction` of each side (tf.image.central_crop).

    Args:
        image: An image [height, width, channels], or a batch of them.
        central_fraction: The share of each side, in (0, 1].

    Returns:
        Images in the same layout.

    Raises:
        ValueError: Unless the fraction is in (0, 1] and the image has three or four axes.
    """
    with op_scope(None, "central_crop", [image]):
        image = as_image(image)
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError(f"central_fraction must be within (0, 1], got {central_fraction}.")
        if central_fraction == 1.0:
            whole_image: Tensor = image
            return whole_image
        checked_image(image)
        rank = image.shape.ndims
        if rank not in (3, 4):
            raise ValueError(f"central_crop takes an image of 3 or 4 dimensions, got shape {image.shape}.")
        known = image.shape.as_list()
        begin: list[Any] = [0] * rank
        size: list[Any] = [-1] * rank
        for axis in (rank - 3, rank - 2):
            extent = known[axis]
            if extent is None:
                extent = array.shape(image)[axis]
                whole = math.cast(extent, dtypes.float64)
                begin[axis] = math.cast((whole - whole * central_fraction) / 2, dtypes.int32)
            else:
                begin[axis] = int((extent - extent * central_fraction) / 2)
            size[axis] = extent - begin[axis] * 2
        cropped = array.slice_(image, array.stack(begin), array.stack(size))
        space = static(size[rank - 3 : rank - 1])
        cropped.set_shape([*known[: rank - 3], *space, known[-1]])
        return cropped


def pad_to_bounding_box(
    image: TensorLike, offset_height: Size, offset_width: Size, target_height: Size, target_width: Size
) -> Tensor:
    """Images with zeros around: offset_height rows above, offset_width columns before, up to the target size.

    TensorFlow: tf.image.pad_to_bounding_box.

    Args:
        image: An image [height, width, channels], or a batch of them.
        offset_height: The first row, an int32 scalar.
        offset_width: The first column, an int32 scalar.
        target_height: Rows of the result, an int32 scalar.
        target_width: Columns of the result, an int32 scalar.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: If an offset is negative or the image does not fit, InvalidArgumentError at the run if
            that is known only then.
    """
    with op_scope(None, "pad_to_bounding_box", [image]):
        image, is_batch = batched(as_image(image))
        checks = image_checks(image)
        batch, height, width, depth = sizes_of(image, 4)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks += condition(offset_height >= 0, "offset_height must be >= 0")
        checks += condition(offset_width >= 0, "offset_width must be >= 0")
        checks += condition(right >= 0, "width must be <= target - offset")
        checks += condition(below >= 0, "height must be <= target - offset")
        image = after(checks, image)
        paddings = array.reshape(array.stack([0, 0, offset_height, below, offset_width, right, 0, 0]), [4, 2])
        padded = array.pad(image, paddings)
        padded.set_shape(static([batch, target_height, target_width, depth]))
        return unbatched(padded, is_batch)


def crop_to_bounding_box(
    image: TensorLike, offset_height: Size, offset_width: Size, target_height: Size, target_width: Size
) -> Tensor:
    """The part of images of the target size that begins at an offset (tf.image.crop_to_bounding_box).

    Args:
        image: An image [height, width, channels], or a batch of them.
        offset_height: The first row, an int32 scalar.
        offset_width: The first column, an int32 scalar.
        target_height: Rows of the result, an int32 scalar.
        target_width: Columns of the result, an int32 scalar.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: If the part is empty or not inside the image, InvalidArgumentError at the run if that is
            known only then.
    """
    with op_scope(None, "crop_to_bounding_box", [image]):
        image, is_batch = batched(as_image(image))
        checks = image_checks(image)
        batch, height, width, depth = sizes_of(image, 4)
        checks += condition(offset_width >= 0, "offset_width must be >= 0.")
        checks += condition(offset_height >= 0, "offset_height must be >= 0.")
        checks += condition(target_width > 0, "target_width must be > 0.")
        checks += condition(target_height > 0, "target_height must be > 0.")
        checks += condition(width >= target_width + offset_width, "width must be >= target + offset.")
        checks += condition(height >= target_height + offset_height, "height must be >= target + offset.")
        image = after(checks, image)
        begin = array.stack([0, offset_height, offset_width, 0])
        cropped = array.slice_(image, begin, array.stack([-1, target_height, target_width, -1]))
        cropped.set_shape(static([batch, target_height, target_width, depth]))
        return unbatched(cropped, is_batch)


def resize_image_with_crop_or_pad(image: TensorLike, target_height: Size, target_width: Size) -> Tensor:
    """Images of the target size, cut or padded with zeros around the middle, never scaled.

    TensorFlow: tf.image.resize_image_with_crop_or_pad.

    Args:
        image: An image [height, width, channels], or a batch of them.
        target_height: Rows of the result, an int32 scalar.
        target_width: Columns of the result, an int32 scalar.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: If a size is not positive.
    """
    with op_scope(None, "resize_image_with_crop_or_pad", [image]):
        image, is_batch = batched(as_image(image))
        checks = image_checks(image)
        checks += condition(target_width > 0, "target_width must be > 0.")
        checks += condition(target_height > 0, "target_height must be > 0.")
        image = after(checks, image)
        if is_tensor(target_height):
            target_height = after(checks, target_height)
        if is_tensor(target_width):
            target_width = after(checks, target_width)
        _, height, width, _ = sizes_of(image, 4)
        wider, higher = target_width - width, target_height - height
        crop_width, pad_width = larger(-wider // 2, 0), larger(wider // 2, 0)
        crop_height, pad_height = larger(-higher // 2, 0), larger(higher // 2, 0)
        cropped = crop_to_bounding_box(
            image, crop_height, crop_width, smaller(target_height, height), smaller(target_width, width)
        )
        resized = pad_to_bounding_box(cropped, pad_height, pad_width, target_height, target_width)
        _, found_height, found_width, _ = sizes_of(resized, 4)
        checks = condition(same(found_height, target_height), "resized height is not correct.")
        checks += condition(same(found_width, target_width), "resized width is not correct.")
        return unbatched(after(checks, resized), is_batch)

"""Other colour spaces: grey, YIQ and YUV, each a product with a matrix."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.assertions import assert_equal, assert_greater_equal
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.contraction import tensordot
from graphflow.image.checks import after, as_image
from graphflow.image.dtypes import convert_image_dtype

_GREY = [0.2989, 0.5870, 0.1140]
# Rows are red, green and blue; or the other three.
_RGB_TO_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YIQ_TO_RGB = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_RGB_TO_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_YUV_TO_RGB = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """RGB images in grey, of one channel, of the dtype that they have (tf.image.rgb_to_grayscale).

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        name: A name for the operation.
    """
    with op_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = as_image(images, "images")
        floats = convert_image_dtype(images, dtypes.float32)
        grey = array.expand_dims(tensordot(floats, _GREY, [-1, -1]), -1)
        return convert_image_dtype(grey, images.dtype, name=scope)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Grey images of one channel with that three times (tf.image.grayscale_to_rgb).

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        name: A name for the operation.

    Raises:
        ValueError: If the last size is known and not 1.
    """
    with op_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = as_image(images, "images")
        shape = images.shape
        told = "Last dimension of a grayscale image should be size 1."
        if shape.ndims is not None and shape.ndims < 2:
            raise ValueError(f"A grayscale image must be at least two-dimensional, got shape {shape}.")
        checks = []
        if shape.is_fully_defined():
            if shape.as_list()[-1] != 1:
                raise ValueError(f"{told} Got shape {shape}.")
        else:
            checks = [
                assert_equal(array.shape(images)[-1], 1, message=told),
                assert_greater_equal(
                    array.rank(images), 3, message="A grayscale image must be at least two-dimensional."
                ),
            ]
        images = after(checks, images)
        ones = array.ones(array.expand_dims(array.rank(images) - 1, 0), dtype=dtypes.int32)
        rgb = array.tile(images, array.concat([ones, array.expand_dims(3, 0)], 0), name=scope)
        rgb.set_shape(images.shape[:-1].concatenate([3]))
        return rgb


def _changed(images: Any, matrix: Any) -> Tensor:
    images = as_image(images, "images")
    kernel = convert_to_tensor([list(row) for row in matrix], dtype=images.dtype, name="kernel")
    rank = images.shape.ndims
    if rank is None:
        raise ValueError(f"The rank of {images.name!r} must be known: give it one with set_shape.")
    return tensordot(images, kernel, axes=[[rank - 1], [0]])


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Floats of red, green and blue as Y, I and Q (tf.image.rgb_to_yiq).

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
    """
    return _changed(images, _RGB_TO_YIQ)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Floats of Y, I and Q as red, green and blue (tf.image.yiq_to_rgb).

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
    """
    return _changed(images, _YIQ_TO_RGB)


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Floats of red, green and blue as Y, U and V (tf.image.rgb_to_yuv).

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
    """
    return _changed(images, _RGB_TO_YUV)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Floats of Y, U and V as red, green and blue (tf.image.yuv_to_rgb).

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
    """
    return _changed(images, _YUV_TO_RGB)

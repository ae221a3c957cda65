"""Measures of images: how much they vary, how alike two of them are, their slopes and edges."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.core import constant, op_scope
from graphflow._core.ops.math import math
from graphflow._core.ops.math.reductions import reduce_all, reduce_any, reduce_mean, reduce_prod, reduce_sum
from graphflow.image.checks import after, as_image
from graphflow.image.dtypes import convert_image_dtype
from graphflow.nn import avg_pool, depthwise_conv2d, relu

_SCALE_WEIGHTS: Final = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """The sum of absolute differences between neighbouring pixels, of each image (tf.image.total_variation).

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        name: A name for the operation.

    Raises:
        ValueError: Unless of three or four axes.
    """
    with op_scope(name, "total_variation", [images]):
        images = as_image(images, "images")
        rank = images.shape.ndims
        if rank == 3:
            down = images[1:, :, :] - images[:-1, :, :]
            across = images[:, 1:, :] - images[:, :-1, :]
            axis = None
        elif rank == 4:
            down = images[:, 1:, :, :] - images[:, :-1, :, :]
            across = images[:, :, 1:, :] - images[:, :, :-1, :]
            axis = [1, 2, 3]
        else:
            raise ValueError(f"'images' must be either 3 or 4-dimensional, got shape {images.shape}.")
        return reduce_sum(math.abs_(down), axis=axis) + reduce_sum(math.abs_(across), axis=axis)


def _comparable(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor, list[Operation]]:
    """The shapes of two images, and checks that they fit; ValueError if it is known that they do not."""
    first, second = one.shape.with_rank_at_least(3), other.shape.with_rank_at_least(3)
    first[-3:].assert_is_compatible_with(second[-3:])
    if first.ndims is not None and second.ndims is not None:
        batches = zip(reversed(first.as_list()[:-3]), reversed(second.as_list()[:-3]), strict=False)
        if any(None not in (a, b) and 1 not in (a, b) and a != b for a, b in batches):
            raise ValueError(f"Two images are not compatible: {first} and {second}")
    a, b = array.shape_n([one, other])
    return (
        a,
        b,
        [
            assert_(math.greater_equal(array.size(a), 3), [a, b], summarize=10),
            assert_(reduce_all(math.equal(a[-3:], b[-3:])), [a, b], summarize=10),
        ],
    )


def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of each pair of images, in decibels (tf.image.psnr).

    Args:
        a: Images.
        b: Images of the same shape and dtype.
        max_val: The largest value that a pixel may have.
        name: A name for the operation.

    Raises:
        ValueError: If the shapes do not fit.
    """
    with op_scope(name, "PSNR", [a, b]):
        a, b = as_image(a, "a"), as_image(b, "b")
        highest = convert_image_dtype(math.cast(max_val, a.dtype), dtypes.float32)
        a, b = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
        error = reduce_mean(math.squared_difference(a, b), [-3, -2, -1])
        ratio = math.subtract(
            20 * math.log(highest) / math.log(10.0),
            np.float32(10 / numbers.log(10)) * math.log(error),
            name="psnr",
        )
        _, _, checks = _comparable(a, b)
        return after(checks, ratio)


def _gaussian(size: int, sigma: float) -> Any:
    """A window of weights that sum to one, [size, size, 1, 1]."""
    along = np.arange(size) - (size - 1) / 2.0
    weights = np.exp(-0.5 * np.square(along) / sigma**2)
    window = np.outer(weights, weights)
    return (window / window.sum()).astype(np.float32).reshape(size, size, 1, 1)


def _similarity(
    one: Tensor, other: Tensor, highest: Tensor, size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """Structural similarity and its contrast part, for each channel."""
    first, second = array.shape_n([one, other])
    checks = [
        assert_(reduce_all(math.greater_equal(shape[-3:-1], size)), [shape, size], summarize=8)
        for shape in (first, second)
    ]
    one = after(checks, one)
    window = array.tile(constant(_gaussian(size, sigma)), array.stack([1, 1, first[-1], 1]))

    def smooth(x: Tensor) -> Tensor:
        shape = array.shape(x)
        flat = array.reshape(x, array.concat([[-1], shape[-3:]], 0))
        found = depthwise_conv2d(flat, window, strides=[1, 1, 1, 1], padding="VALID")
        return array.reshape(found, array.concat([shape[:-3], array.shape(found)[1:]], 0))

    c1, c2 = (k1 * highest) ** 2, (k2 * highest) ** 2
    mean_one, mean_other = smooth(one), smooth(other)
    product = mean_one * mean_other * 2.0
    squares = math.square(mean_one) + math.square(mean_other)
    luminance = (product + c1) / (squares + c1)
    both = smooth(one * other) * 2.0
    each = smooth(math.square(one) + math.square(other))
    contrast = (both - product + c2) / (each - squares + c2)
    return reduce_mean(luminance * contrast, [-3, -2]), reduce_mean(contrast, [-3, -2])


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of each pair of images (tf.image.ssim; Wang and others, 2004).

    Compared are windows of `filter_size`, weighted by a Gaussian.

    Args:
        img1: Images.
        img2: Images of the same shape and dtype.
        max_val: The range of the pixels.
        filter_size: The side of the window.
        filter_sigma: Its deviation.
        k1: A small number.
        k2: A small number.

    Raises:
        InvalidArgumentError: For images smaller than that.
    """
    img1, img2 = as_image(img1, "img1"), as_image(img2, "img2")
    _, _, checks = _comparable(img1, img2)
    img1 = after(checks, img1)
    highest = convert_image_dtype(math.cast(max_val, img1.dtype), dtypes.float32)
    one, other = (convert_image_dtype(x, dtypes.float32) for x in (img1, img2))
    found, _ = _similarity(one, other, highest, filter_size, filter_sigma, k1, k2)
    return reduce_mean(found, [-1])


def _halved(images: Sequence[Tensor], tail: Tensor) -> list[Tensor]:
    """Images of half the size, an odd last row or column being doubled first."""
    odd = tail % [2, 2, 1]
    rim = array.pad(array.expand_dims(odd, -1), [[1, 0], [1, 0]])
    needed = reduce_any(math.not_equal(odd, 0))
    padded = cond(
        needed,
        lambda: [array.pad(x, rim, mode="SYMMETRIC") for x in images],
        lambda: [array.identity(x) for x in images],
    )
    return [avg_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID") for x in padded]


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = _SCALE_WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity at several sizes, weighted by powers (tf.image.ssim_multiscale).

    Each size is half of the one before (Wang and others, 2003). See ssim.

    Args:
        img1: Images.
        img2: Images of the same shape and dtype.
        max_val: The range of the pixels.
        power_factors: The weight of each scale.
        filter_size: The side of the window.
        filter_sigma: Its deviation.
        k1: A small number.
        k2: A small number.
    """
    with op_scope(None, "MS-SSIM", [img1, img2]):
        img1, img2 = as_image(img1, "img1"), as_image(img2, "img2")
        shape_one, shape_other, checks = _comparable(img1, img2)
        img1 = after(checks, img1)
        highest = convert_image_dtype(math.cast(max_val, img1.dtype), dtypes.float32)
        images = [convert_image_dtype(x, dtypes.float32) for x in (img1, img2)]
        heads = [shape[:-3] for shape in (shape_one, shape_other)]
        tails = [shape[-3:] for shape in (shape_one, shape_other)]
        contrasts: list[Tensor] = []
        whole = images[0]
        for scale in range(len(power_factors)):
            with op_scope(None, f"Scale{scale}", images):
                if scale:
                    flat = [
                        array.reshape(x, array.concat([[-1], t], 0))
                        for x, t in zip(images, tails, strict=True)
                    ]
                    smaller = _halved(flat, tails[0])
                    tails = [t[1:] for t in array.shape_n(smaller)]
                    images = [
                        array.reshape(x, array.concat([h, t], 0))
                        for x, h, t in zip(smaller, heads, tails, strict=True)
                    ]
                whole, contrast = _similarity(
                    images[0], images[1], highest, filter_size, filter_sigma, k1, k2
                )
                contrasts.append(relu(contrast))
        together = array.stack([*contrasts[:-1], relu(whole)], axis=-1)
        return reduce_mean(reduce_prod(math.pow_(together, list(power_factors)), [-1]), [-1])


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """(dy, dx): each pixel's difference to the one below and to the one after it, zero in the last row or column.

    TensorFlow: tf.image.image_gradients.

    Args:
        image: [batch, height, width, channels].

    Raises:
        ValueError: For another rank.
    """
    image = as_image(image)
    if image.shape.ndims != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], got shape {image.shape} of {image.name!r}."
        )
    whole = array.shape(image)
    batch, height, width, depth = array.unstack(whole)
    down = image[:, 1:, :, :] - image[:, :-1, :, :]
    across = image[:, :, 1:, :] - image[:, :, :-1, :]
    last_row = array.zeros(array.stack([batch, 1, width, depth]), image.dtype)
    last_column = array.zeros(array.stack([batch, height, 1, depth]), image.dtype)
    dy = array.reshape(array.concat([down, last_row], 1), whole)
    dx = array.reshape(array.concat([across, last_column], 2), whole)
    return dy, dx


def sobel_edges(image: TensorLike) -> Tensor:
    """Sobel's slopes, [batch, height, width, channels, 2]: down, then across (tf.image.sobel_edges).

    Args:
        image: An image [height, width, channels], or a batch of them.
    """
    image = as_image(image)
    whole = array.shape(image)
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    filters = constant(np.stack([down, down.T], axis=-1)[:, :, np.newaxis, :], dtype=image.dtype)
    tiled = array.tile(filters, array.stack([1, 1, whole[-1], 1]), name="sobel_filters")
    padded = array.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    found = depthwise_conv2d(padded, tiled, [1, 1, 1, 1], "VALID")
    edges = array.reshape(found, array.concat([whole, [2]], 0))
    edges.set_shape(image.shape.concatenate([2]))
    return edges

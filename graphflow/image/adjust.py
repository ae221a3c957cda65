"""Values of pixels: brightness, contrast, hue, saturation, gamma, standardization.

Pixels are floats in [0, 1] or integers from 0 to the largest of their dtype. An adjustment of integers is computed in
float32 and brought back.
"""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.image import colors as image_colors
from graphflow._core.ops.image.files import decode_jpeg, encode_jpeg_variable_quality
from graphflow._core.ops.math import math
from graphflow._core.ops.math.arithmetic import div
from graphflow._core.ops.math.reductions import reduce_mean, reduce_prod, reduce_std
from graphflow._core.ops.random import random_uniform
from graphflow.image.checks import after, as_image, checked_image, condition
from graphflow.image.dtypes import convert_image_dtype

_SMALL_FLOATS = (dtypes.float16, dtypes.float32)


def _as_floats(image: Tensor) -> Tensor:
    return image if image.dtype in _SMALL_FLOATS else convert_image_dtype(image, dtypes.float32)


def per_image_standardization(image: TensorLike) -> Tensor:
    """Images of mean 0 and variance 1, each by itself (tf.image.per_image_standardization).

    The deviation that is divided by is at least 1 / sqrt(number of values), for images of one colour.

    Args:
        image: An image [height, width, channels], or a batch of them.

    Returns:
        Images in the same layout.
    """
    with op_scope(None, "per_image_standardization", [image]) as scope:
        image = checked_image(as_image(image))
        given = image.dtype
        image = _as_floats(image)
        count = reduce_prod(array.shape(image)[-3:])
        mean = reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        deviation = reduce_std(image, axis=[-1, -2, -3], keepdims=True)
        least = math.rsqrt(math.cast(count, image.dtype))
        standard = div(image - mean, math.maximum(deviation, least), name=scope)
        return convert_image_dtype(standard, given, saturate=True)


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Pixels plus `delta`, a part of the range of their dtype (tf.image.adjust_brightness).

    Floats are not brought back into [0, 1].

    Args:
        image: An image [height, width, channels], or a batch of them.
        delta: What is added, a scalar.

    Returns:
        Images in the same layout.
    """
    with op_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = as_image(image)
        floats = _as_floats(image)
        adjusted = math.add(floats, math.cast(delta, floats.dtype), name=scope)
        return convert_image_dtype(adjusted, image.dtype, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Pixels (x - mean) * contrast_factor + mean, each channel of each image having its mean.

    TensorFlow: tf.image.adjust_contrast.

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        contrast_factor: The factor, a scalar.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: For fewer than three axes.
    """
    with op_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = as_image(images, "images")
        floats = _as_floats(images)
        adjusted = apply(image_colors.ADJUST_CONTRAST, (floats, contrast_factor), None, scope).outputs[0]
        return convert_image_dtype(adjusted, images.dtype, saturate=True)


def adjust_gamma(image: TensorLike, gamma: NumberLike = 1, gain: NumberLike = 1) -> Tensor:
    """Pixels gain * x ** gamma (tf.image.adjust_gamma).

    Args:
        image: An image [height, width, channels], or a batch of them.
        gamma: The exponent.
        gain: The factor.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: For a negative gamma.
    """
    with op_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = as_image(image)
        floats = _as_floats(image)
        checks = condition(gamma >= 0, "Gamma should be a non-negative real number.")
        if checks:
            gamma = after(checks, gamma)
        return convert_image_dtype(gain * floats**gamma, image.dtype, saturate=True)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """RGB images with their hue turned by `delta`, 1 being the whole circle (tf.image.adjust_hue).

    Args:
        image: An image [height, width, channels], or a batch of them.
        delta: What is added to the hue, in [-1, 1].
        name: A name for the operation.

    Returns:
        Images in the same layout.
    """
    with op_scope(name, "adjust_hue", [image]):
        image = as_image(image)
        adjusted = apply(image_colors.ADJUST_HUE, (_as_floats(image), delta)).outputs[0]
        return convert_image_dtype(adjusted, image.dtype)


def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Tensor:
    """RGB images with their saturation multiplied, at most to 1 (tf.image.adjust_saturation).

    Args:
        image: An image [height, width, channels], or a batch of them.
        saturation_factor: The factor, a scalar.
        name: A name for the operation.

    Returns:
        Images in the same layout.
    """
    with op_scope(name, "adjust_saturation", [image]):
        image = as_image(image)
        adjusted = apply(image_colors.ADJUST_SATURATION, (_as_floats(image), saturation_factor)).outputs[0]
        return convert_image_dtype(adjusted, image.dtype)


def adjust_jpeg_quality(image: TensorLike, jpeg_quality: IntTensorLike, name: str | None = None) -> Tensor:
    """An image as it is after having been a JPEG file of a quality, 0 to 100 (tf.image.adjust_jpeg_quality).

    Needs the extra `image`.

    Args:
        image: An image [height, width, channels], or a batch of them.
        jpeg_quality: 0 to 100.
        name: A name for the operation.

    Returns:
        Images in the same layout.
    """
    with op_scope(name, "adjust_jpeg_quality", [image]):
        image = as_image(image)
        pixels = convert_image_dtype(image, dtypes.uint8)
        quality = convert_to_tensor(jpeg_quality, dtype=dtypes.int32)
        return convert_image_dtype(decode_jpeg(encode_jpeg_variable_quality(pixels, quality)), image.dtype)


def _between(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError(f"upper must be > lower, got {lower} and {upper}.")
    if lower < 0:
        raise ValueError(f"lower must be non-negative, got {lower}.")


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """adjust_brightness by a number drawn from [-max_delta, max_delta) (tf.image.random_brightness).

    Args:
        image: An image [height, width, channels], or a batch of them.
        max_delta: The largest change, a float.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: For a negative max_delta.
    """
    if max_delta < 0:
        raise ValueError(f"max_delta must be non-negative, got {max_delta}.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """adjust_contrast by a factor drawn from [lower, upper) (tf.image.random_contrast).

    Args:
        image: An image [height, width, channels], or a batch of them.
        lower: The smallest factor.
        upper: The largest factor, which is not drawn.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: Unless 0 <= lower < upper.
    """
    _between(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """adjust_hue by a number drawn from [-max_delta, max_delta) (tf.image.random_hue).

    Args:
        image: An image [height, width, channels], or a batch of them.
        max_delta: The largest change, in [0, 0.5].
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: Unless 0 <= max_delta <= 0.5.
    """
    if not 0 <= max_delta <= 0.5:
        raise ValueError(f"max_delta must be from 0 to 0.5, got {max_delta}.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """adjust_saturation by a factor drawn from [lower, upper) (tf.image.random_saturation).

    Args:
        image: An image [height, width, channels], or a batch of them.
        lower: The smallest factor.
        upper: The largest factor, which is not drawn.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: Unless 0 <= lower < upper.
    """
    _between(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """adjust_jpeg_quality by a quality drawn from [min, max) (tf.image.random_jpeg_quality).

    Args:
        image: An image [height, width, channels], or a batch of them.
        min_jpeg_quality: 0 to 100.
        max_jpeg_quality: 0 to 100, above the other.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        Images in the same layout.

    Raises:
        ValueError: Unless 0 <= min < max <= 100.
    """
    if not 0 <= min_jpeg_quality < max_jpeg_quality <= 100:
        raise ValueError(
            f"min_jpeg_quality must be less than max_jpeg_quality, both from 0 to 100, got {min_jpeg_quality} and "
            f"{max_jpeg_quality}."
        )
    drawn = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, drawn)

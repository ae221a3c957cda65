"""Hue, saturation and value changed in YIQ, whose first number is brightness and whose others are colour."""

from __future__ import annotations

from typing import Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import NumberLike, TensorLike
from graphflow._core.ops import core
from graphflow._core.ops.array.array import stack
from graphflow._core.ops.math.contraction import tensordot
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.math import cos, sin
from graphflow._core.ops.random import random_uniform
from graphflow._core.ops.state.scopes import name_scope
from graphflow.image.dtypes import convert_image_dtype

_FROM_RGB: Final = np.array([[0.299, 0.596, 0.211], [0.587, -0.274, -0.523], [0.114, -0.322, 0.312]])
"""As TensorFlow rounds it here, to three digits; tf.image.rgb_to_yiq has more."""


def adjust_hsv_in_yiq(
    image: TensorLike,
    delta_hue: NumberLike = 0,
    scale_saturation: NumberLike = 1,
    scale_value: NumberLike = 1,
    name: str | None = None,
) -> Tensor:
    """Images of which hue, saturation and value are changed (adjust_hsv_in_yiq of tf.contrib.image).

    Args:
        image: Images [..., 3] of red, green and blue: floats, or integers up to the largest of their dtype.
        delta_hue: The angle in radians by which colours are turned.
        scale_saturation: A factor of the colours.
        scale_value: A factor of the colours and the brightness.
        name: A name for the operations.

    Returns:
        A tensor of the same shape and dtype.
    """
    with name_scope(name, "adjust_hsv_in_yiq"):
        given = core.convert_to_tensor(image, name="image")
        floats = convert_image_dtype(given, dtypes.float32)
        hue, saturation, value = (
            core.convert_to_tensor(one, dtypes.float32) for one in (delta_hue, scale_saturation, scale_value)
        )
        along, across = value * saturation * cos(hue), value * saturation * sin(hue)
        nothing = 0.0 * value
        turned = stack(
            [
                stack([value, nothing, nothing]),
                stack([nothing, along, across]),
                stack([nothing, -across, along]),
            ]
        )
        matrix = matmul(
            matmul(_FROM_RGB.astype(np.float32), turned), np.linalg.inv(_FROM_RGB).astype(np.float32)
        )
        changed = tensordot(floats, matrix, axes=[[-1], [0]])
        changed.set_shape(given.shape)
        return convert_image_dtype(changed, given.dtype)


def random_hsv_in_yiq(
    image: TensorLike,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: int | None = None,
) -> Tensor:
    """adjust_hsv_in_yiq by numbers that are drawn (random_hsv_in_yiq of tf.contrib.image).

    Args:
        image: Images [..., 3] of red, green and blue: floats, or integers up to the largest of their dtype.
        max_delta_hue: The largest angle, to either side; 0 leaves the hue as it is.
        lower_saturation: The smallest factor of the colours.
        upper_saturation: The largest, which is not drawn.
        lower_value: The smallest factor of the colours and the brightness.
        upper_value: The largest, which is not drawn.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        A tensor of the same shape and dtype.

    Raises:
        ValueError: For a negative number, or a smallest factor above the largest.
    """
    for what, number in [
        ("max_delta", max_delta_hue),
        ("lower_saturation", lower_saturation),
        ("lower_value", lower_value),
    ]:
        if number < 0:
            raise ValueError(f"{what} must be non-negative, and is {number}.")
    if lower_saturation > upper_saturation:
        raise ValueError(
            f"lower_saturation must be < upper_saturation, and is {lower_saturation}, above {upper_saturation}."
        )
    if lower_value > upper_value:
        raise ValueError(f"lower_value must be < upper_value, and is {lower_value}, above {upper_value}.")

    def drawn(lower: float, upper: float) -> NumberLike:
        return lower if lower == upper else random_uniform([], lower, upper, seed=seed)

    hue = drawn(-max_delta_hue, max_delta_hue) if max_delta_hue else 0
    saturation = drawn(lower_saturation, upper_saturation)
    return adjust_hsv_in_yiq(image, hue, saturation, drawn(lower_value, upper_value))

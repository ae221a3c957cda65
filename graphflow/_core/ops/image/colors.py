"""Colours of pixels: hue, saturation and value, and contrast. The last axis of an image holds its channels.

These are ops of their own, as in TensorFlow, because a pixel's channels go together. Only the way from RGB to HSV has a
gradient, there as here.
"""

from __future__ import annotations

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.core import apply
from graphflow._core.ops.math.math import cast, div_no_nan, maximum, minimum
from graphflow._core.ops.rules import require_rank_at_least


def _colours_infer(op: Operation) -> Signature:
    images = op.inputs[0]
    dims = require_rank_at_least(images.dims, 1, "images")
    if dims is None:
        return [(images.dtype, None)]
    if dims[-1] not in (None, 3):
        raise ValueError(
            f"Dimension must be 3 but is {dims[-1]}: images of shape {shapes.text(dims)}, not RGB."
        )
    return [(images.dtype, (*dims[:-1], 3))]


def _adjusted_infer(op: Operation) -> Signature:
    images, amount = op.inputs
    if amount.dims not in (None, ()):
        raise ValueError(
            f"Shape must be rank 0 but is rank {len(amount.dims)} for {op.op_def.inputs[1].name} with shape "
            f"{shapes.text(amount.dims)}."
        )
    return [(images.dtype, require_rank_at_least(images.dims, 3, "images"))]


def _hue_slopes(rgb: list[Tensor], largest: Tensor, smallest: Tensor) -> list[Tensor]:
    """How the hue moves with red, green and blue; nothing if they are alike.

    The hue is (next - last) / 6 of the spread, plus a constant, where next and last follow the largest channel round
    the circle. A change of the largest or the smallest channel changes the spread, too.
    """
    spread = largest - smallest
    taken = array.zeros_like(largest, dtype=dtypes.bool_)
    slopes = [array.zeros_like(largest) for _ in rgb]
    for first in range(3):
        here = (rgb[first] >= largest) & ~taken
        taken = taken | here
        following, last = (first + 1) % 3, (first + 2) % 3
        top, ahead, behind = rgb[first], rgb[following], rgb[last]
        scale = div_no_nan(cast(here, top.dtype), 6.0 * spread * spread)
        least_ahead = cast(ahead < behind, top.dtype)
        slopes[first] += -(ahead - behind) * scale
        # With the smallest the spread moves against it: (ahead - behind) / (top - smallest).
        slopes[following] += scale * (least_ahead * (top - behind) + (1.0 - least_ahead) * spread)
        slopes[last] += -scale * ((1.0 - least_ahead) * (top - ahead) + least_ahead * spread)
    return slopes


def _hsv_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    images = op.inputs[0]
    rgb = array.unstack(images, num=3, axis=-1)
    to_hue, to_saturation, to_value = array.unstack(g, num=3, axis=-1)
    largest = maximum(maximum(rgb[0], rgb[1]), rgb[2])
    smallest = minimum(minimum(rgb[0], rgb[1]), rgb[2])
    positive = largest > 0.0
    # Saturation is 1 - smallest / largest; if a channel is 0 TensorFlow takes that it does not move.
    by_smallest = -where(positive, div_no_nan(array.ones_like(largest), largest), array.zeros_like(largest))
    by_largest = where(positive, div_no_nan(smallest, largest * largest), array.zeros_like(largest))
    is_largest = _first(rgb, largest)
    is_smallest = _first(rgb[::-1], smallest)[::-1]
    hue = _hue_slopes(rgb, largest, smallest)
    parts = [
        to_value * top
        + to_saturation * cast(channel > 0.0, channel.dtype) * (by_largest * top + by_smallest * bottom)
        + to_hue * slope
        for channel, top, bottom, slope in zip(rgb, is_largest, is_smallest, hue, strict=True)
    ]
    return (array.stack(parts, axis=-1),)


def _first(channels: list[Tensor], extreme: Tensor) -> list[Tensor]:
    """1 for the first channel that is the extreme one, 0 for the others."""
    taken = array.zeros_like(extreme, dtype=dtypes.bool_)
    found = []
    for channel in channels:
        here = (channel >= extreme) & (channel <= extreme) & ~taken
        taken = taken | here
        found.append(cast(here, extreme.dtype))
    return found


RGB_TO_HSV = op_def("RGBToHSV", ("images: T=float(float32)",), infer=_colours_infer, gradient=_hsv_gradient)
HSV_TO_RGB = op_def(
    "HSVToRGB", ("images: T=float(float32)",), infer=_colours_infer, gradient=NOT_DIFFERENTIABLE
)
ADJUST_CONTRAST = op_def(
    "AdjustContrastv2",
    ("images: T=float16|float32", "contrast_factor: float32"),
    infer=_adjusted_infer,
    gradient=NO_GRADIENT,
)
ADJUST_HUE = op_def(
    "AdjustHue", ("images: T=float16|float32", "delta: float32"), infer=_adjusted_infer, gradient=NO_GRADIENT
)
ADJUST_SATURATION = op_def(
    "AdjustSaturation",
    ("images: T=float16|float32", "scale: float32"),
    infer=_adjusted_infer,
    gradient=NO_GRADIENT,
)


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Hue, saturation and value, each in [0, 1], of pixels of red, green and blue in [0, 1] (tf.image.rgb_to_hsv).

    Args:
        images: Floats of any shape whose last size is 3.
        name: A name for the operation.

    Raises:
        ValueError: For another number of channels.
    """
    return apply(RGB_TO_HSV, (images,), None, name).outputs[0]


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Red, green and blue of pixels of hue, saturation and value (tf.image.hsv_to_rgb); without a gradient.

    Args:
        images: Floats of any shape whose last size is 3.
        name: A name for the operation.

    Raises:
        ValueError: For another number of channels.
    """
    return apply(HSV_TO_RGB, (images,), None, name).outputs[0]

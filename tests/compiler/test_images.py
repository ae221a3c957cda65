"""Protects the native kernels of resized and cropped images: both tiers agree on what they take, and on the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check

BOXES = np.array(
    [[0.1, 0.2, 0.8, 0.9], [0.9, 0.1, 0.2, 0.8], [-0.2, 0.1, 0.6, 1.3], [0, 0, 1, 1]], np.float32
)


def pixels(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape, dtype=np.float32)


@pytest.mark.parametrize("channels", [1, 3, 6])
def test_resizes_and_their_gradients(channels: int) -> None:
    def model() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [2, 9, 12, channels])
        weight = gf.Variable(2.0)
        made = [
            gf.image.resize_bilinear(x * weight, [13, 17]),
            gf.image.resize_bilinear(x, [5, 7], align_corners=True),
            gf.image.resize_bilinear(x, [19, 5], half_pixel_centers=True),
            gf.image.resize_bicubic(x, [13, 17]),
        ]
        gradients = gf.gradients([gf.square(y) for y in made], [x, weight])
        return [made, gradients, gf.image.resize_area(x, [4, 17])], {x: pixels(2, 9, 12, channels)}

    groups = check(model)
    assert sum(group.startswith("Resize") for group in groups) == 9


def test_bytes_and_what_numpy_keeps() -> None:
    def model() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.uint8, [2, 6, 5, 3])
        size = gf.placeholder(gf.int32, [2])
        made = [
            gf.image.resize_bilinear(x, [8, 3]),
            gf.image.resize_bilinear(x, [6, 5]),
            gf.image.resize_bilinear(x, size),
            gf.image.resize_bilinear(gf.cast(x, gf.float64), [3, 3]),
            gf.image.resize_nearest_neighbor(x, [8, 3]),
            gf.image.crop_and_resize(x, BOXES, [0, 1, 1, 0], [3, 2], method="nearest"),
        ]
        feeds = {x: (pixels(2, 6, 5, 3) * 255).astype(np.uint8), size: np.array([4, 9], np.int32)}
        return [gf.reduce_sum(gf.cast(y, gf.float32), 1) for y in made], feeds

    groups = check(model)
    assert (
        sum("ResizeBilinear" in group for group in groups) == 2
    )  # The size that is fed is a constant as well.


@pytest.mark.parametrize("size", [[5, 6], [1, 4]])
@pytest.mark.parametrize("channels", [2, 20])
def test_crops_and_their_gradients(size: list[int], channels: int) -> None:
    def model() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [3, 7, 9, channels])
        boxes, owners = gf.placeholder(gf.float32, [4, 4]), gf.placeholder(gf.int32, [4])
        made = gf.image.crop_and_resize(x, boxes, owners, size, extrapolation_value=0.25)
        of_bytes = gf.image.crop_and_resize(gf.cast(x * 255.0, gf.uint8), boxes, owners, size)
        feeds = {x: pixels(3, 7, 9, channels), boxes: BOXES, owners: np.array([0, 2, 1, 2], np.int32)}
        return [made, of_bytes, gf.gradients(gf.square(made), [x, boxes])], feeds

    groups = check(model)
    assert sum(group.startswith("CropAndResize") for group in groups) == 3


def test_an_image_that_is_not_there() -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        x, owners = gf.placeholder(gf.float32, [2, 5, 5, 1]), gf.placeholder(gf.int32, [4])
        y = gf.image.crop_and_resize(x, BOXES, owners, [3, 3], name="crops")
        feeds = {x: pixels(2, 5, 5, 1), owners: np.array([0, 1, 1, 0], np.int32)}
        before = [session.run(y, feeds) for _ in range(3)][-1]
        with pytest.raises(gf.errors.OutOfRangeError, match=r"crops.*outside \[0, 2\)"):
            session.run(y, {**feeds, owners: np.array([0, 1, 2, 0], np.int32)})
        np.testing.assert_array_equal(session.run(y, feeds), before)


def test_colours_and_contrast() -> None:
    greys = np.repeat(np.linspace(0, 1, 12, dtype=np.float32).reshape(2, 3, 2, 1), 3, axis=3)
    images = np.concatenate([pixels(2, 3, 4, 3), greys, np.round(pixels(2, 3, 5, 3))], axis=2)

    def model() -> tuple[Any, dict[Any, Any]]:
        x, amount = gf.placeholder(gf.float32, images.shape), gf.placeholder(gf.float32, [])
        made = [
            gf.image.adjust_hue(x, amount),
            gf.image.adjust_hue(x[0], -2.3),
            gf.image.adjust_saturation(x * 1.0, amount),
            gf.image.adjust_saturation(gf.reverse(x, [1]), 3.0),
            gf.image.adjust_contrast(x, amount),
            gf.image.adjust_contrast(x[0] + 1.0, 2.0),
            gf.image.adjust_contrast(x[:, :1, :1], 2.0),
            gf.image.adjust_contrast(gf.cast(x, gf.float16), 2.0),
        ]
        return made, {x: images, amount: np.float32(0.4)}

    groups = " ".join(check(model))
    assert groups.count("AdjustHue") == 2 and groups.count("AdjustSaturation") == 2
    assert groups.count("AdjustContrastv2") == 4

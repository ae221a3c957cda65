"""Samples of images: of another size, whole or cut out of others.

The references go pixel by pixel. What is linear has its gradient's reference from the reference itself: what each pixel
alone becomes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.dtypes import as_dtype
from tests.ops.op_samples.sample import DOUBLE, INT, SINGLE, Draw, Random, Sample, draw, ints

HALF, BYTE = np.dtype(np.float16), np.dtype(np.uint8)
Shares = dict[int, float]
Along = Callable[[int, int, int, bool, bool], Shares]
"""The share that each old pixel has in a new one: of (new pixel, old size, new size, align_corners, half pixels)."""


def place(k: int, old: int, new: int, align: bool, half: bool) -> float:
    """Where a new pixel lies among the old ones."""
    scale = (old - 1) / (new - 1) if align and new > 1 else old / new
    return (k + 0.5) * scale - 0.5 if half else k * scale


def _add(shares: Shares, pixel: int, old: int, share: float) -> None:
    pixel = min(max(pixel, 0), old - 1)
    shares[pixel] = shares.get(pixel, 0.0) + share


def _bilinear(k: int, old: int, new: int, align: bool, half: bool) -> Shares:
    at = place(k, old, new, align, half)
    shares: Shares = {}
    _add(shares, math.floor(at), old, 1 - (at - math.floor(at)))
    _add(shares, math.floor(at) + 1, old, at - math.floor(at))
    return shares


def _cubic(distance: float, a: float) -> float:
    x = abs(distance)
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0


def _bicubic(k: int, old: int, new: int, align: bool, half: bool) -> Shares:
    at = place(k, old, new, align, half)
    first = math.floor(at)
    fraction = round((at - first) * 1024) / 1024
    shares: Shares = {}
    for offset in range(-1, 3):
        if not half or 0 <= first + offset < old:
            _add(shares, first + offset, old, _cubic(fraction - offset, -0.5 if half else -0.75))
    total = sum(shares.values()) if half else 1.0
    return {pixel: share / total for pixel, share in shares.items()}


def _area(k: int, old: int, new: int, align: bool, half: bool) -> Shares:
    scale = (old - 1) / (new - 1) if align and new > 1 else old / new
    begin, end = k * scale, (k + 1) * scale
    shares: Shares = {}
    for pixel in range(math.floor(begin), math.ceil(end)):
        _add(shares, pixel, old, (min(end, pixel + 1) - max(begin, pixel)) / scale)
    return shares


def _nearest(k: int, old: int, new: int, align: bool, half: bool) -> Shares:
    scale = (old - 1) / (new - 1) if align and new > 1 else old / new
    at = (k + 0.5 if half else k) * scale
    return {min(math.floor(at + 0.5) if align else math.floor(at), old - 1): 1.0}


def resized(images: Any, size: Any, along: Along, align: bool, half: bool) -> Any:
    """Images at another size, in double precision."""
    batch, height, width, channels = images.shape
    result = np.zeros((batch, *size, channels))
    for y, x in np.ndindex(*size):
        for row, a in along(y, height, size[0], align, half).items():
            for column, b in along(x, width, size[1], align, half).items():
                result[:, y, x] += a * b * images[:, row, column].astype(np.float64)
    return result


def pulled_back(grads: Any, shape: Sequence[int], along: Along, align: bool, half: bool) -> Any:
    """The gradient of `resized`: how much each pixel alone gives."""
    result = np.zeros(shape)
    for pixel in np.ndindex(*shape):
        alone = np.zeros(shape)
        alone[pixel] = 1
        result[pixel] = (resized(alone, grads.shape[1:3], along, align, half) * grads).sum()
    return result


SIZES = (
    ((1, 3, 4, 1), (5, 7), False, False), ((2, 3, 2, 2), (2, 5), True, False), ((1, 4, 3, 1), (3, 6), False, True),
    ((1, 2, 3, 2), (2, 3), False, False), ((0, 2, 3, 1), (4, 2), False, False), ((1, 1, 5, 3), (1, 2), True, False),
)  # fmt: skip


def _resizing(along: Along, kinds: Sequence[Any], centred: bool = True, float_result: bool = True) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for dtype, (shape, size, align, half) in [
            *itertools.product(kinds[:2], SIZES),
            *zip(kinds[2:], SIZES),
        ]:
            half = half and centred

            def expected(images: Any, size: Any, align: bool = align, half: bool = half) -> Any:
                found = resized(images, size.tolist(), along, align, half)
                return found.astype(np.float32 if float_result else images.dtype)

            attrs = {"align_corners": align} | ({"half_pixel_centers": half} if centred else {})
            smooth = np.dtype(dtype).kind == "f" and centred
            inputs = (draw(random, dtype, shape, 0, 3), ints(*size))
            yield Sample(inputs, attrs, expected, smooth=smooth, tolerance=50)

    return generate


def _resizing_gradient(along: Along, kinds: Sequence[Any]) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for dtype, (shape, size, align, half) in [
            *itertools.product(kinds[:1], SIZES),
            *zip(kinds[1:], SIZES),
        ]:

            def expected(grads: Any, original: Any, align: bool = align, half: bool = half) -> Any:
                return pulled_back(grads, original.shape, along, align, half).astype(original.dtype)

            grads = draw(random, SINGLE, (shape[0], *size, shape[3]))
            attrs = {"align_corners": align, "half_pixel_centers": half}
            yield Sample((grads, draw(random, dtype, shape)), attrs, expected, smooth=False, tolerance=200)

    return generate


def _nearest_gradient(random: Random) -> Iterable[Sample]:
    for dtype, (shape, size, align, half) in [
        *itertools.product([DOUBLE], SIZES),
        *zip([SINGLE, INT], SIZES),
    ]:

        def expected(grads: Any, size: Any, align: bool = align, half: bool = half) -> Any:
            shape = (len(grads), *size.tolist(), grads.shape[3])
            return pulled_back(grads, shape, _nearest, align, half).astype(grads.dtype)

        attrs = {"align_corners": align, "half_pixel_centers": half}
        grads = draw(random, dtype, (shape[0], *size, shape[3]), 0, 3)
        yield Sample((grads, ints(*shape[1:3])), attrs, expected, smooth=False, tolerance=10)


# ---- boxes cut out --------------------------------------------------------------------------------------------------


def cropped(image: Any, boxes: Any, owners: Any, size: Any, method: str, outside: float) -> Any:
    """Boxes of images at one size, in double precision."""
    _, height, width, channels = image.shape
    result = np.zeros((len(boxes), *size, channels))
    for box, y, x in np.ndindex(len(boxes), *size):
        y1, x1, y2, x2 = (float(v) for v in boxes[box])
        at_y = (y1 + (y2 - y1) * y / (size[0] - 1) if size[0] > 1 else (y1 + y2) / 2) * (height - 1)
        at_x = (x1 + (x2 - x1) * x / (size[1] - 1) if size[1] > 1 else (x1 + x2) / 2) * (width - 1)
        if not (0 <= at_y <= height - 1 and 0 <= at_x <= width - 1):
            result[box, y, x] = outside
            continue
        whole = image[owners[box]].astype(np.float64)
        if method == "nearest":
            result[box, y, x] = whole[math.floor(at_y + 0.5), math.floor(at_x + 0.5)]
            continue
        for row, a in ((math.floor(at_y), 1 - at_y % 1), (math.ceil(at_y), at_y % 1)):
            for column, b in ((math.floor(at_x), 1 - at_x % 1), (math.ceil(at_x), at_x % 1)):
                result[box, y, x] += a * b * whole[row, column]
    return result


BOXES = np.array([[0.11, 0.22, 0.83, 0.94], [0.9, 0.13, 0.24, 0.88], [-0.3, 0.2, 0.6, 1.4]], np.float32)
CROPS = (
    ((1, 3, 4, 1), (0, 0, 0), (2, 3), "bilinear", 0.5), ((2, 4, 3, 2), (1, 0, 1), (1, 2), "bilinear", 0.0),
    ((2, 3, 5, 1), (0, 1, 0), (3, 3), "nearest", -1.0), ((1, 3, 4, 1), (), (2, 2), "bilinear", 0.0),
)  # fmt: skip


def _cropping(random: Random) -> Iterable[Sample]:
    for dtype, (shape, owners, size, method, outside) in [
        *itertools.product([DOUBLE, SINGLE], CROPS),
        *zip([BYTE, INT, HALF], CROPS),
    ]:

        def expected(
            image: Any, boxes: Any, owners: Any, size: Any, method: str = method, outside: float = outside
        ) -> Any:
            return cropped(image, boxes, owners, size.tolist(), method, outside).astype(np.float32)

        attrs = {"method": method, "extrapolation_value": outside}
        inputs = (draw(random, dtype, shape, 0, 3), BOXES[: len(owners)], ints(*owners), ints(*size))
        smooth = np.dtype(dtype).kind == "f"
        yield Sample(inputs, attrs, expected, smooth=smooth, varied=(0,), tolerance=50)


def _cropping_image_gradient(random: Random) -> Iterable[Sample]:
    for dtype, (shape, owners, size, method, _) in [
        *itertools.product([DOUBLE], CROPS),
        *zip([SINGLE], CROPS),
    ]:

        def expected(
            grads: Any, boxes: Any, owners: Any, shape: Any, method: str = method, dtype: Any = dtype
        ) -> Any:
            result = np.zeros(shape)
            for pixel in np.ndindex(*shape):
                alone = np.zeros(shape)
                alone[pixel] = 1
                result[pixel] = (cropped(alone, boxes, owners, grads.shape[1:3], method, 0.0) * grads).sum()
            return result.astype(dtype)

        grads = draw(random, SINGLE, (len(owners), *size, shape[3]))
        inputs = (grads, BOXES[: len(owners)], ints(*owners), ints(*shape))
        attrs = {"T": as_dtype(dtype), "method": method}
        yield Sample(inputs, attrs, expected, smooth=False, tolerance=2e6 if dtype == DOUBLE else 50)


def _cropping_boxes_gradient(random: Random) -> Iterable[Sample]:
    for dtype, (shape, owners, size, _, _) in zip([DOUBLE, SINGLE, BYTE], CROPS):

        def expected(grads: Any, image: Any, boxes: Any, owners: Any) -> Any:
            result = np.zeros(boxes.shape)
            for place in np.ndindex(*boxes.shape):
                ends = []
                for step in (-1e-5, 1e-5):
                    moved = boxes.astype(np.float64)
                    moved[place] += step
                    ends.append(
                        (cropped(image, moved, owners, grads.shape[1:3], "bilinear", 0.0) * grads).sum()
                    )
                result[place] = (ends[1] - ends[0]) / 2e-5
            return result.astype(np.float32)

        grads = draw(random, SINGLE, (len(owners), *size, shape[3]))
        inputs = (grads, draw(random, dtype, shape, 0, 3), BOXES[: len(owners)], ints(*owners))
        yield Sample(inputs, {"method": "bilinear"}, expected, smooth=False, tolerance=500)


TRANSFORMS = np.array(
    [
        [1, 0, 0.3, 0, 1, -0.6, 0, 0],
        [0.93, 0.31, 0.02, -0.17, 1.13, 0.05, 0.11, 0],
        [1, 0, 0, 0, 1, 0, -0.5, 0],
    ],
    SINGLE,
)


def _transformed(images: Any, transforms: Any, size: Any, method: str) -> Any:
    batch, height, width, channels = images.shape
    result = np.zeros((batch, *size, channels))
    for n, row, column in itertools.product(range(batch), *map(range, size)):
        a = transforms[n % len(transforms)].tolist()
        depth = a[6] * column + a[7] * row + 1
        if not depth:
            continue
        x = (a[0] * column + a[1] * row + a[2]) / depth
        y = (a[3] * column + a[4] * row + a[5]) / depth
        for i, j in np.ndindex(height, width):
            if method == "BILINEAR":
                share = max(0.0, 1 - abs(x - j)) * max(0.0, 1 - abs(y - i))
            else:
                share = float(
                    (i, j) == tuple(int(math.copysign(math.floor(abs(v) + 0.5), v)) for v in (y, x))
                )
            result[n, row, column] += share * images[n, i, j].astype(np.float64)
    return result


def _projecting(random: Random) -> Iterable[Sample]:
    for dtype, method, shape, size in [
        (DOUBLE, "NEAREST", (2, 4, 5, 1), (3, 6)),
        (DOUBLE, "BILINEAR", (3, 4, 5, 2), (3, 6)),
        (SINGLE, "BILINEAR", (3, 4, 5, 1), (4, 5)),
        (DOUBLE, "NEAREST", (3, 4, 5, 2), (5, 4)),
        (BYTE, "NEAREST", (3, 2, 3, 1), (2, 3)),
        (INT, "NEAREST", (3, 1, 4, 1), (2, 2)),
        (SINGLE, "NEAREST", (0, 2, 2, 1), (2, 2)),
        (HALF, "BILINEAR", (3, 2, 2, 3), (2, 2)),
    ]:

        def expected(
            images: Any, transforms: Any, size: Any, method: str = method, dtype: Any = dtype
        ) -> Any:
            return _transformed(images, transforms, size, method).astype(dtype)

        transforms = TRANSFORMS[: 1 if shape[0] == 2 else max(1, shape[0])]
        inputs = (draw(random, dtype, shape, 0, 3), transforms, ints(*size))
        # Of what is only shifted the gradient seen through the inverse is the true one.
        shifted = len(transforms) == 1 and shape[0] == 2
        loose = 2e9 if dtype == DOUBLE and method == "BILINEAR" else 50
        attrs = {"interpolation": method}
        yield Sample(inputs, attrs, expected, smooth=shifted, varied=(0,), tolerance=loose)


KINDS = [DOUBLE, SINGLE, BYTE, INT, HALF]
TABLE: dict[str, Draw] = {
    "ImageProjectiveTransformV2": _projecting,
    "ResizeBilinear": _resizing(_bilinear, KINDS),
    "ResizeBicubic": _resizing(_bicubic, KINDS),
    "ResizeArea": _resizing(_area, KINDS, centred=False),
    "ResizeNearestNeighbor": _resizing(_nearest, KINDS, float_result=False),
    "ResizeBilinearGrad": _resizing_gradient(_bilinear, [SINGLE, HALF]),
    "ResizeBicubicGrad": _resizing_gradient(_bicubic, [SINGLE]),
    "ResizeNearestNeighborGrad": _nearest_gradient,
    "CropAndResize": _cropping,
    "CropAndResizeGradImage": _cropping_image_gradient,
    "CropAndResizeGradBoxes": _cropping_boxes_gradient,
}

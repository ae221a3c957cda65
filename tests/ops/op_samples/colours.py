"""Samples of colours of images and of boxes in them; the references go pixel by pixel and box by box."""

from __future__ import annotations

import colorsys
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import DOUBLE, INT, SINGLE, Draw, Random, Sample, draw, ints, scalar

HALF, BYTE = np.dtype(np.float16), np.dtype(np.uint8)

# ---- colours --------------------------------------------------------------------------------------------------------


def _each_pixel(function: Callable[..., Sequence[float]]) -> Callable[..., Any]:
    def compute(images: Any, *others: Any) -> Any:
        result = np.empty(images.shape, np.float64)
        for at in np.ndindex(*images.shape[:-1]):
            result[at] = function(*(float(v) for v in images[at]), *(float(o) for o in others))
        return result.astype(images.dtype)

    return compute


def _turned(r: float, g: float, b: float, delta: float) -> Sequence[float]:
    h, s, v = colorsys.rgb_to_hsv(r, g, b)
    return colorsys.hsv_to_rgb((h + delta) % 1, s, v)


def _saturated(r: float, g: float, b: float, scale: float) -> Sequence[float]:
    h, s, v = colorsys.rgb_to_hsv(r, g, b)
    return colorsys.hsv_to_rgb(h, min(max(s * scale, 0), 1), v)


def _colours(function: Callable[..., Sequence[float]], smooth: bool) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for dtype in (DOUBLE, SINGLE, HALF):
            for shape in ((4, 3), (2, 3, 3), (3,), (0, 3)):
                images = draw(random, dtype, shape, 0.1, 0.9)
                yield Sample((images,), {}, _each_pixel(function), smooth=smooth, tolerance=10)

    return generate


def _adjusting(function: Callable[..., Sequence[float]], amounts: Sequence[float]) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for dtype, amount in itertools.product((SINGLE, HALF), amounts):
            images = draw(random, dtype, (2, 3, 3), 0.1, 0.9)
            yield Sample(
                (images, scalar(amount, SINGLE)), {}, _each_pixel(function), smooth=False, tolerance=20
            )

    return generate


def _contrast(random: Random) -> Iterable[Sample]:
    def expected(images: Any, factor: Any) -> Any:
        result = np.empty(images.shape, np.float64)
        for at in np.ndindex(*images.shape[:-3]):
            for channel in range(images.shape[-1]):
                plane = images[(*at, ..., channel)].astype(np.float64)
                result[(*at, ..., channel)] = (plane - plane.mean()) * float(factor) + plane.mean()
        return result.astype(images.dtype)

    for dtype, shape in ((SINGLE, (2, 3, 3)), (SINGLE, (2, 3, 2, 1)), (HALF, (3, 2, 4))):
        yield Sample(
            (draw(random, dtype, shape), scalar(1.5, SINGLE)), {}, expected, smooth=False, tolerance=20
        )


# ---- boxes ----------------------------------------------------------------------------------------------------------


def _framed(coloured: bool) -> Draw:
    def expected(images: Any, boxes: Any, colours: Any = None) -> Any:
        result = images.copy()
        _, height, width, depth = images.shape
        for image, number in np.ndindex(*boxes.shape[:2]):
            top, left, bottom, right = (
                int(float(v) * (n - 1)) for v, n in zip(boxes[image, number], (height, width) * 2)
            )
            colour = [1, 1, 0, 1] if number == 0 else [0, 0, 1, 1]
            colour = [1] if depth == 1 else colour
            if colours is not None:
                colour = colours[number % len(colours)]
            for y, x in np.ndindex(height, width):
                inside = top <= y <= bottom and left <= x <= right
                if inside and (y in (top, bottom) or x in (left, right)):
                    result[image, y, x] = colour[:depth]
        return result

    def generate(random: Random) -> Iterable[Sample]:
        boxes = np.array(
            [[[0.1, 0.2, 0.8, 0.9], [-0.5, 0.3, 0.5, 1.5]], [[0.5, 0.5, 0.5, 0.5], [2, 2, 3, 3]]], SINGLE
        )
        for dtype, depth in itertools.product((SINGLE, HALF), (3, 1, 4)):
            colours = (draw(random, SINGLE, (2, depth), 0, 1).round(1),) if coloured else ()
            inputs = (draw(random, dtype, (2, 5, 6, depth), 0, 1), boxes, *colours)
            yield Sample(inputs, {}, expected, smooth=False, tolerance=10)

    return generate


def _overlap(a: Sequence[float], b: Sequence[float]) -> float:
    (top, bottom), (left, right) = sorted((a[0], a[2])), sorted((a[1], a[3]))
    (low, high), (near, far) = sorted((b[0], b[2])), sorted((b[1], b[3]))
    inner = max(min(bottom, high) - max(top, low), 0) * max(min(right, far) - max(left, near), 0)
    both = (bottom - top) * (right - left) + (high - low) * (far - near) - inner
    return inner / both if both > 0 else 0.0


def _greedy(
    overlap: Callable[[int, int], float],
    scores: Any,
    count: int,
    threshold: float,
    least: float,
    sigma: float,
) -> tuple[list[int], list[float]]:
    """Box after box, each with its score as it is by then."""
    now = [float(s) for s in scores]
    taken: list[int] = []
    kept: list[float] = []
    while len(taken) < count:
        left = [k for k in range(len(now)) if k not in taken and now[k] > least]
        if not left:
            break
        best = max(left, key=lambda k: (now[k], -k))
        taken.append(best)
        kept.append(now[best])
        for k in left:
            near = overlap(k, best)
            if sigma:
                now[k] *= math.exp(-0.5 / sigma * near * near) if near <= threshold else 0.0
            elif near > threshold:
                now[k] = -math.inf
    return taken, kept


def _suppression(version: int) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for number, sigma, padded in ((7, 0.0, False), (5, 0.5, True), (6, 0.0, True), (0, 0.0, False)):
            sigma = sigma if version == 5 else 0.0
            pad = padded and version > 3

            def expected(boxes: Any, scores: Any, *limits: Any, pad: bool = pad) -> Any:
                count, threshold, least, *rest = (float(v) for v in limits)
                taken, kept = _greedy(
                    lambda a, b: _overlap(boxes[a], boxes[b]),
                    scores,
                    int(count),
                    threshold,
                    least,
                    *(rest or [0.0]),
                )
                valid = np.int32(len(taken))
                zeros = [0] * (int(count) - len(taken) if pad else 0)
                results = [np.array(taken + zeros, np.int32), np.array(kept + zeros, np.float32), valid]
                return results[0] if version == 3 else tuple(results if version == 5 else results[::2])

            limits = [scalar(4), scalar(0.3, SINGLE), scalar(0.2, SINGLE), scalar(sigma, SINGLE)]
            inputs = (
                draw(random, SINGLE, (number, 4), 0, 1),
                draw(random, SINGLE, (number,), 0, 1),
                *limits[: 4 if version == 5 else 3],
            )
            attrs = {"pad_to_max_output_size": pad} if version > 3 else {}
            yield Sample(inputs, attrs, expected, smooth=False, tolerance=20)

    return generate


def _combined(random: Random) -> Iterable[Sample]:
    for shared, padded, clipped, each, total in ((True, False, True, 2, 5), (False, True, False, 2, 9)):

        def expected(
            boxes: Any, scores: Any, each: Any, total: Any, threshold: Any, least: Any, padded: bool = padded,
            clipped: bool = clipped,
        ) -> Any:  # fmt: skip
            batch, _, classes = scores.shape
            count = min(int(total), int(each) * classes) if padded else int(total)
            places = np.zeros((batch, count, 4), np.float32)
            kept, kinds = np.zeros((2, batch, count), np.float32)
            valid = np.zeros(batch, np.int32)
            for image in range(batch):
                found = []
                for kind in range(classes):
                    own = boxes[image, :, min(kind, boxes.shape[2] - 1)]
                    near = functools.partial(lambda own, a, b: _overlap(own[a], own[b]), own)
                    taken = _greedy(
                        near, scores[image, :, kind], int(each), float(threshold), float(least), 0.0
                    )
                    found += [(score, kind, own[k]) for k, score in zip(*taken)]
                found.sort(key=lambda item: -item[0])
                for k, (score, kind, box) in enumerate(found[:count]):
                    places[image, k] = np.clip(box, 0, 1) if clipped else box
                    kept[image, k], kinds[image, k], valid[image] = score, kind, k + 1
            return places, kept, kinds, valid

        boxes = draw(random, SINGLE, (2, 6, 1 if shared else 3, 4), -0.2, 1.2)
        limits = (scalar(each), scalar(total), scalar(0.3, SINGLE), scalar(0.2, SINGLE))
        inputs = (boxes, draw(random, SINGLE, (2, 6, 3), 0, 1), *limits)
        yield Sample(
            inputs, {"pad_per_class": padded, "clip_boxes": clipped}, expected, smooth=False, tolerance=20
        )


def _overlapping(random: Random) -> Iterable[Sample]:
    def expected(overlaps: Any, scores: Any, count: Any, threshold: Any, least: Any) -> Any:
        taken, _ = _greedy(
            lambda a, b: overlaps[a, b], scores, int(count), float(threshold), float(least), 0.0
        )
        return np.array(taken, np.int32)

    for count in (6, 1, 0):
        overlaps = np.maximum(draw(random, SINGLE, (count, count), 0, 1), np.eye(count, dtype=np.float32))
        limits = (scalar(4), scalar(0.5, SINGLE), scalar(-1.0, SINGLE))
        yield Sample((overlaps, draw(random, SINGLE, (count,), 0, 1), *limits), {}, expected, smooth=False)


def _sampled_box(random: Random) -> Iterable[Sample]:
    attrs = {
        "seed": 3, "seed2": 4, "aspect_ratio_range": [0.5, 2.0], "area_range": [0.2, 1.0], "max_attempts": 20,
        "use_image_if_no_bounding_boxes": True,
    }  # fmt: skip
    least = scalar(0.3, SINGLE)
    for dtype, boxes in ((INT, [[[0.1, 0.2, 0.8, 0.9]]]), (np.dtype(np.int64), np.zeros((1, 0, 4)))):
        yield Sample((ints(20, 30, 3, dtype=dtype), np.array(boxes, SINGLE), least), attrs, smooth=False)
    # Nothing is as large as that, so it is the whole image.
    never = attrs | {"area_range": [0.1, 0.2], "max_attempts": 2}

    def whole(size: Any, *others: Any) -> Any:
        return (
            ints(0, 0, 0),
            ints(*size[:2], -1),
            np.array([[[0, 0, 1, 1]]], np.float32),
        )

    inputs = (ints(20, 30, 3), np.array([[[0, 0, 1, 1]]], SINGLE), scalar(1.0, SINGLE))
    yield Sample(inputs, never, whole, smooth=False)


def _glimpses(random: Random) -> Iterable[Sample]:
    attrs = {"normalized": False, "uniform_noise": True, "noise": "uniform", "seed": 1, "seed2": 2}
    for centred, offsets in ((True, [[0.0, 1.0], [0.5, -1.0]]), (False, [[2.0, 3.0], [3.0, 2.0]])):

        def expected(images: Any, size: Any, offsets: Any, centred: bool = centred) -> Any:
            parts = []
            for image, (y, x) in zip(images, offsets):
                top, left = (
                    int((v / 2 + n / 2 if centred else v) - k / 2)
                    for v, n, k in zip((y, x), image.shape, size)
                )
                parts.append(image[top : top + size[0], left : left + size[1]])
            return np.stack(parts)

        inputs = (draw(random, SINGLE, (2, 5, 6, 2)), ints(2, 3), np.array(offsets, SINGLE))
        yield Sample(inputs, attrs | {"centered": centred}, expected, smooth=False)


TABLE: dict[str, Draw] = {
    "RGBToHSV": _colours(colorsys.rgb_to_hsv, True),
    "HSVToRGB": _colours(colorsys.hsv_to_rgb, False),
    "AdjustContrastv2": _contrast,
    "AdjustHue": _adjusting(_turned, (0.2, -0.7)),
    "AdjustSaturation": _adjusting(_saturated, (0.5, 1.7)),
    "DrawBoundingBoxes": _framed(False),
    "DrawBoundingBoxesV2": _framed(True),
    "SampleDistortedBoundingBoxV2": _sampled_box,
    "NonMaxSuppressionV3": _suppression(3),
    "NonMaxSuppressionV4": _suppression(4),
    "NonMaxSuppressionV5": _suppression(5),
    "NonMaxSuppressionWithOverlaps": _overlapping,
    "CombinedNonMaxSuppression": _combined,
    "ExtractGlimpse": _glimpses,
}

"""Kernels of boxes in images.

Suppression compares blocks of boxes with each other at once, and then goes through a block's boxes, best first. The
random part of an image is searched for as TensorFlow does, number by number in single precision, so that the same seed
finds the same part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graphflow._core.common.philox.bits import Stream
from graphflow._core.common.philox.generator import Philox
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.image.resizing import SINGLE, new_size
from graphflow._core.kernels.random import Draw, random_kernel
from graphflow._core.kernels.registry import Kernel, Node, kernel

_COLOURS = np.array(
    [
        [1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1],
    ],
    np.float32,
)  # fmt: skip

_HARD = SINGLE(0)
_BLOCK_BOXES = 256


# ---- drawing -------------------------------------------------------------------------------------------------------


def _draw_boxes(images: Any, boxes: Any, colours: Any = None) -> Any:
    if images.ndim != 4:
        raise invalid(f"The rank of the images should be 4, got shape {list(images.shape)}")
    batch, height, width, depth = images.shape
    if depth not in (1, 3, 4):
        raise invalid(f"Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got {depth}")
    if boxes.ndim != 3 or boxes.shape[0] != batch or boxes.shape[2] != 4:
        raise invalid(f"boxes must be [{batch}, number, 4] for {batch} images, got shape {list(boxes.shape)}")
    if colours is None or not len(colours):
        colours = np.ones((1, 1), np.float32) if depth == 1 else _COLOURS
    elif colours.ndim != 2 or colours.shape[1] < depth:
        raise invalid(f"colors must have {depth} values each, got shape {list(colours.shape)}")
    result = images.copy()
    rims = np.array([height - 1, width - 1, height - 1, width - 1], SINGLE)
    places = np.trunc(boxes * rims)
    for image, its_boxes in zip(result, places, strict=True):
        for number, box in enumerate(its_boxes):
            if not np.isfinite(box).all():
                continue
            top, left, bottom, right = (int(v) for v in box)
            if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
                continue
            colour = colours[number % len(colours)][:depth].astype(images.dtype)
            rows = slice(max(top, 0), min(bottom, height - 1) + 1)
            columns = slice(max(left, 0), min(right, width - 1) + 1)
            if top >= 0:
                image[top, columns] = colour
            if bottom < height:
                image[bottom, columns] = colour
            if left >= 0:
                image[rows, left] = colour
            if right < width:
                image[rows, right] = colour
    return result


@kernel("DrawBoundingBoxes", "DrawBoundingBoxesV2")
def _drawing(node: Node) -> Kernel:
    return _draw_boxes


# ---- a random part of an image -------------------------------------------------------------------------------------


class _Numbers:
    """Numbers of a stretch of Philox output one by one, as TensorFlow's SimplePhilox gives them."""

    def __init__(self, stream: Stream) -> None:
        self._words = self._all(stream)

    @staticmethod
    def _all(stream: Stream) -> Iterator[int]:
        begin = 0
        while True:
            even, odd = stream.blocks(np.arange(begin, begin + 8, dtype=np.uint64))
            yield from np.stack([even[0], odd[0], even[1], odd[1]], axis=1).reshape(-1).tolist()
            begin += 8

    def uniform(self) -> Any:
        """A float32 in [0, 1)."""
        bits = np.uint32(next(self._words) & 0x7FFFFF | 0x3F800000)
        return bits.view(np.float32) - SINGLE(1)

    def below(self, count: int) -> int:
        """An integer from 0 to count - 1."""
        if count & (count - 1) == 0:
            return next(self._words) & (count - 1)
        rest = 0xFFFFFFFF % count + 1
        while (word := next(self._words)) < rest:
            pass
        return word % count


def _rounded(value: Any) -> int:
    return int(np.rint(value))


def _part(
    numbers: _Numbers, width: int, height: int, areas: tuple[Any, Any], ratio: Any
) -> tuple[int, int, int, int] | None:
    """A random (top, left, bottom, right) of a ratio and an area; None if rounding leaves none."""
    least, most = (SINGLE(a) * SINGLE(width) * SINGLE(height) for a in areas)
    high = _rounded(np.sqrt(least / ratio))
    highest = _rounded(np.sqrt(most / ratio))
    if _rounded(SINGLE(highest) * ratio) > width:
        highest = int((width + 0.5 - float(SINGLE(0.0000001))) / float(ratio))
        if _rounded(SINGLE(highest) * ratio) > width:
            highest -= 1
    highest = min(highest, height)
    high = min(high, highest)
    if high < highest:
        high += numbers.below(highest - high + 1)
    wide = _rounded(SINGLE(high) * ratio)
    if wide * high < least:
        high += 1
        wide = _rounded(SINGLE(high) * ratio)
    if wide * high > most:
        high -= 1
        wide = _rounded(SINGLE(high) * ratio)
    if not least <= wide * high <= most or not 0 < wide <= width or not 0 < high <= height:
        return None
    top = numbers.below(height - high) if high < height else 0
    left = numbers.below(width - wide) if wide < width else 0
    return top, left, top + high, left + wide


def _covers(part: tuple[int, int, int, int], objects: Any, least: Any) -> bool:
    """Whether the part holds enough of one of the objects, [number, 4] of whole pixels."""
    top, left, bottom, right = part
    areas = (objects[:, 2] - objects[:, 0]) * (objects[:, 3] - objects[:, 1])
    inner_height = np.minimum(objects[:, 2], bottom) - np.maximum(objects[:, 0], top)
    inner_width = np.minimum(objects[:, 3], right) - np.maximum(objects[:, 1], left)
    inner = np.where((inner_height > 0) & (inner_width > 0), inner_height * inner_width, 0)
    large = areas >= 1
    return bool(((inner[large].astype(SINGLE) / areas[large].astype(SINGLE)) >= least).any())


def _objects(boxes: Any, height: int, width: int, use_image: bool) -> Any:
    if boxes.ndim != 3 or boxes.shape[2] != 4:
        raise invalid(
            f"input boxes must be 3-dimensional [batch, num_boxes, coords], got {list(boxes.shape)}"
        )
    flat = boxes.reshape(-1, 4)
    if not len(flat):
        if not use_image:
            raise invalid(
                "No bounding boxes provided as input. One must be provided if use_image_if_no_bounding_boxes is set "
                "to false. You may set it to true to take the whole image as the object."
            )
        return np.array([[0, 0, height, width]])
    if not ((flat >= 0) & (flat <= 1)).all():
        raise invalid(f"All bounding box coordinates must be in [0.0, 1.0]: {flat.tolist()}")
    return (flat * np.array([height, width, height, width], SINGLE)).astype(np.int64)


@random_kernel("SampleDistortedBoundingBoxV2")
def _sample(node: Node) -> Draw:
    attrs = node.attrs
    low, high = (SINGLE(r) for r in attrs["aspect_ratio_range"])
    smallest, largest = (SINGLE(a) for a in attrs["area_range"])
    attempts, use_image = attrs["max_attempts"], attrs["use_image_if_no_bounding_boxes"]

    def draw(generator: Philox, image_size: Any, boxes: Any, least: Any) -> Any:
        if np.shape(image_size) != (3,):
            raise invalid(f"image_size must contain 3 elements, got shape {list(np.shape(image_size))}")
        height, width = (int(v) for v in image_size[:2])
        if height <= 0 or width <= 0:
            raise invalid(f"image height and width must be positive, got {[height, width]}")
        if not least >= 0:
            raise invalid(f"min_object_covered must be non-negative, got {float(least)}")
        objects = _objects(np.asarray(boxes), height, width, use_image)
        numbers = _Numbers(generator.reserve(attempts))
        part = (0, 0, height, width)
        for _ in range(attempts):
            ratio = numbers.uniform() * (high - low) + low
            found = _part(numbers, width, height, (smallest, largest), ratio)
            if found is not None and _covers(found, objects, least):
                part = found
                break
        top, left, bottom, right = part
        dtype = node.dtypes[0].as_numpy_dtype
        sides = np.array([height, width, height, width], SINGLE)
        return (
            np.array([top, left, 0], dtype),
            np.array([bottom - top, right - left, -1]).astype(dtype),
            (np.array(part, SINGLE) / sides).reshape(1, 1, 4),
        )

    return draw


# ---- suppression ---------------------------------------------------------------------------------------------------


Overlap = Callable[[Any, Any], Any]
"""The overlaps of things with others, [things, others], both by their numbers."""


def _overlap(boxes: Any) -> Overlap:
    """The intersections of boxes over their unions."""
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]).T, np.maximum(boxes[:, :2], boxes[:, 2:]).T
    areas = (high[0] - low[0]) * (high[1] - low[1])

    def of(some: Any, others: Any) -> Any:
        sides = [
            np.minimum.outer(high[k, some], high[k, others]) - np.maximum.outer(low[k, some], low[k, others])
            for k in (0, 1)
        ]
        inner = np.maximum(sides[0], SINGLE(0)) * np.maximum(sides[1], SINGLE(0))
        found = inner / (np.add.outer(areas[some], areas[others]) - inner)
        return np.where(np.logical_and.outer(areas[some] > 0, areas[others] > 0), found, SINGLE(0))

    return of


def _take(overlap: Overlap, scores: Any, count: int, threshold: Any, least: Any) -> tuple[Any, Any]:
    """The numbers and scores of what is taken, best first; of equal ones the first.

    A block of the best that are left is compared with what is taken, then within itself.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > least]
    taken = np.empty(0, np.intp)
    for begin in range(0, len(order), _BLOCK_BOXES):
        if len(taken) >= count:
            break
        block = order[begin : begin + _BLOCK_BOXES]
        if len(taken):
            block = block[~(overlap(block, taken) > threshold).any(axis=1)]
        near = np.ascontiguousarray((overlap(block, block) > threshold).T)
        left = np.ones(len(block), bool)
        for number in range(len(block)):
            if left[number]:
                left[number + 1 :] &= ~near[number, number + 1 :]
        taken = np.concatenate([taken, block[left]])
    taken = taken[:count]
    return taken.astype(np.int32), scores[taken]


def _take_softly(
    overlap: Overlap, scores: Any, count: int, threshold: Any, least: Any, sigma: Any
) -> tuple[Any, Any]:
    """The same, but each that is taken lowers the scores of those that overlap with it."""
    left, everything = scores > least, np.arange(len(scores))
    current = np.where(left, scores, SINGLE(-math.inf))
    taken: list[int] = []
    kept: list[Any] = []
    while len(taken) < count and left.any():
        best = int(np.argmax(current))
        taken.append(best)
        kept.append(current[best])
        near = overlap(everything, everything[best : best + 1])[:, 0]
        left[best] = False
        weight = np.where(near <= threshold, np.exp(SINGLE(-0.5) / sigma * near * near), SINGLE(0))
        current = np.where(left, current * weight, SINGLE(-math.inf))
        left &= current > least
        current = np.where(left, current, SINGLE(-math.inf))
    return np.array(taken, np.int32), np.array(kept, SINGLE)


def _check_scores(count: int, scores: Any, threshold: Any, what: str) -> None:
    if scores.shape != (count,):
        raise invalid(f"scores has incompatible shape {list(scores.shape)} for {count} {what}")
    if not 0 <= threshold <= 1:
        raise invalid(f"iou_threshold must be in [0, 1], got {float(threshold)}")


@kernel("NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5")
def _suppression(node: Node) -> Kernel:
    version, padded = node.type[-1], bool(node.attrs.get("pad_to_max_output_size"))

    def run(boxes: Any, scores: Any, count: Any, threshold: Any, least: Any, sigma: Any = _HARD) -> Any:
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise invalid(f"boxes must be a matrix with 4 columns, got shape {list(boxes.shape)}")
        _check_scores(len(boxes), scores, threshold, "boxes")
        if count < 0:
            raise invalid(f"max_output_size must be non-negative, got {int(count)}")
        if sigma < 0:
            raise invalid(f"soft_nms_sigma must be non-negative, got {float(sigma)}")
        single = scores.astype(SINGLE, copy=False)
        overlap, limits = _overlap(boxes.astype(SINGLE, copy=False)), (SINGLE(threshold), SINGLE(least))
        if sigma > 0:
            taken, kept = _take_softly(overlap, single, int(count), *limits, SINGLE(sigma))
        else:
            taken, kept = _take(overlap, single, int(count), *limits)
        valid = np.int32(len(taken))
        if padded:
            rest = (0, int(count) - len(taken))
            taken, kept = np.pad(taken, rest), np.pad(kept, rest)
        results = {"3": (taken,), "4": (taken, valid), "5": (taken, kept.astype(scores.dtype), valid)}[
            version
        ]
        return results if len(results) > 1 else taken

    return run


@kernel("NonMaxSuppressionWithOverlaps")
def _overlapping(node: Node) -> Kernel:
    def run(overlaps: Any, scores: Any, count: Any, threshold: Any, least: Any) -> Any:
        if overlaps.ndim != 2 or overlaps.shape[0] != overlaps.shape[1]:
            raise invalid(f"overlaps must be square, got shape {list(overlaps.shape)}")
        if scores.shape != overlaps.shape[:1]:
            raise invalid(f"scores has incompatible shape {list(scores.shape)} for overlaps {overlaps.shape}")

        # The one that may be left out comes first, as in TensorFlow.
        def near(some: Any, others: Any) -> Any:
            return overlaps[np.ix_(some, others)]

        return _take(near, scores, int(count), threshold, least)[0]

    return run


@kernel("CombinedNonMaxSuppression")
def _combined(node: Node) -> Kernel:
    padded, clipped = node.attrs["pad_per_class"], node.attrs["clip_boxes"]

    def run(boxes: Any, scores: Any, each: Any, total: Any, threshold: Any, least: Any) -> Any:
        if boxes.ndim != 4 or boxes.shape[3] != 4 or scores.ndim != 3 or boxes.shape[:2] != scores.shape[:2]:
            raise invalid(
                f"boxes and scores have incompatible shapes {list(boxes.shape)} and {list(scores.shape)}"
            )
        batch, number, classes = scores.shape
        if boxes.shape[2] not in (1, classes):
            raise invalid(
                f"third dimension of boxes must be either 1 or num classes, got {list(boxes.shape)}"
            )
        if each < 0 or total <= 0:
            raise invalid(
                f"max_output_size_per_class and max_total_size must be positive, got {[int(each), int(total)]}"
            )
        _check_scores(number, scores[0, :, 0] if batch and classes else np.empty(number), threshold, "boxes")
        count = min(int(total), int(each) * classes) if padded else int(total)
        found = (
            np.zeros((batch, count, 4), SINGLE),
            np.zeros((2, batch, count), SINGLE),
            np.zeros(batch, np.int32),
        )
        for image in range(batch):
            parts = []
            for number_of in range(classes):
                own = boxes[image, :, number_of if boxes.shape[2] > 1 else 0]
                taken, kept = _take(_overlap(own), scores[image, :, number_of], int(each), threshold, least)
                parts.append((own[taken], kept, np.full(len(taken), number_of, SINGLE)))
            if not parts:
                continue
            places, kept, kinds = (np.concatenate(part) for part in zip(*parts, strict=True))
            best = np.argsort(-kept, kind="stable")[:count]
            found[0][image, : len(best)] = np.clip(places[best], 0, 1) if clipped else places[best]
            found[1][:, image, : len(best)] = kept[best], kinds[best]
            found[2][image] = len(best)
        return found[0], found[1][0], found[1][1], found[2]

    return run


# ---- glimpses ------------------------------------------------------------------------------------------------------


@random_kernel("ExtractGlimpse")
def _glimpse(node: Node) -> Draw:
    attrs = node.attrs
    uniform = attrs["uniform_noise"]

    def noise(generator: Philox, images: Any, shape: tuple[int, ...]) -> Any:
        if uniform:
            low, high = images.min(), images.max()
            return generator.random_uniform(shape) * (high - low) + low
        mean, deviation = images.mean(axis=(0, 1, 2)), images.std(axis=(0, 1, 2))
        return (generator.random_normal(shape) * deviation + mean).astype(np.float32)

    def draw(generator: Philox, images: Any, size: Any, offsets: Any) -> Any:
        if images.ndim != 4:
            raise invalid(f"input must be 4-dimensional, got shape {list(images.shape)}")
        height, width = new_size(size)
        if offsets.shape != (len(images), 2):
            raise invalid(f"offsets must be [{len(images)}, 2], got shape {list(offsets.shape)}")
        extent = np.array(images.shape[1:3], SINGLE)
        at = offsets * extent if attrs["normalized"] else offsets
        if attrs["centered"]:
            at = at / SINGLE(2) + extent / SINGLE(2)
        corners = np.trunc(at - np.array([height, width], SINGLE) / SINGLE(2)).astype(np.int64)
        result = np.empty((len(images), height, width, images.shape[3]), np.float32)
        whole = False
        if images.size:
            inner = (corners >= 0).all() and (corners + (height, width) <= images.shape[1:3]).all()
            whole = bool(inner)
        if not whole:
            result[...] = noise(generator, images, result.shape) if images.size else 0
        for image, (top, left), target in zip(images, corners.tolist(), result, strict=True):
            rows = slice(max(top, 0), max(min(top + height, image.shape[0]), 0))
            columns = slice(max(left, 0), max(min(left + width, image.shape[1]), 0))
            part = image[rows, columns]
            y, x = max(-top, 0), max(-left, 0)
            target[y : y + part.shape[0], x : x + part.shape[1]] = part
        return result

    return draw

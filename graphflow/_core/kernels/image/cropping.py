"""Kernels of boxes cut out of images and brought to one size.

The four pixels around each place are taken out of the images by one number each, so a box is four gathers and three
mixtures. A few boxes are done at a time: what is in between then stays in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.image.resizing import SINGLE, new_size
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow.errors import OutOfRangeError

_BLOCK_ELEMENTS = 1 << 16


@dataclass(frozen=True)
class Axis:
    """The positions of the pixels of crops along an axis, each (boxes, size): the pixels around, how far between,
    whether inside at all, and how the place moves with the box's two ends.
    """

    before: Any
    after: Any
    between: Any
    inside: Any
    rounded: Any


def _axis(first: Any, last: Any, extent: int, size: int) -> Axis:
    reach = SINGLE(extent - 1)
    if size > 1:
        apart = (last - first) * reach / SINGLE(size - 1)
        at = first[:, np.newaxis] * reach + np.arange(size, dtype=SINGLE) * apart[:, np.newaxis]
    else:
        at = (SINGLE(0.5) * (first + last) * reach)[:, np.newaxis]
    inside = (at >= 0) & (at <= reach)
    safe = np.where(inside, at, SINGLE(0))
    floor = np.floor(safe)
    return Axis(
        floor.astype(np.intp),
        np.ceil(safe).astype(np.intp),
        safe - floor,
        inside,
        np.floor(safe + SINGLE(0.5)).astype(np.intp),
    )


def _shares(extent: int, size: int) -> tuple[Any, Any]:
    """How a place moves with the first and the last end of its box."""
    reach = SINGLE(extent - 1)
    if size == 1:
        half = np.full(1, SINGLE(0.5) * reach)
        return half, half
    last = np.arange(size, dtype=SINGLE) * (reach / SINGLE(size - 1))
    return reach - last, last


def check_owners(owners: Any, count: int) -> None:
    """OutOfRangeError if a box is of an image that is not there."""
    if owners.size and not (owners.min() >= 0 and owners.max() < count):
        told = f"box_index has values outside [0, {count}): {owners.tolist()}"
        raise OutOfRangeError(None, None, told)


def _check(image_shape: Any, boxes: Any, owners: Any) -> None:
    if len(image_shape) != 4:
        raise invalid(f"input image must be 4-D, got shape {list(image_shape)}")
    if image_shape[1] <= 0 or image_shape[2] <= 0:
        raise invalid(f"image dimensions must be positive, got shape {list(image_shape)}")
    if boxes.size or boxes.ndim != 2:
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise invalid(f"boxes must be 2-D with 4 columns, got shape {list(boxes.shape)}")
        if owners.shape != boxes.shape[:1]:
            raise invalid(
                f"box_ind has incompatible shape {list(owners.shape)} for boxes {list(boxes.shape)}: one image a box"
            )
    check_owners(owners, image_shape[0])


class _Places:
    """Boxes in blocks, with the numbers of their pixels among all pixels of the images."""

    def __init__(self, shape: tuple[int, ...], boxes: Any, owners: Any, size: tuple[int, int]) -> None:
        _check(shape, boxes, owners)
        _, self.height, self.width, self.channels = shape
        self.rows = _axis(boxes[:, 0], boxes[:, 2], self.height, size[0])
        self.columns = _axis(boxes[:, 1], boxes[:, 3], self.width, size[1])
        self.first = owners.astype(np.intp) * self.height
        self.step = max(1, _BLOCK_ELEMENTS // max(1, size[0] * size[1] * self.channels))

    def blocks(self) -> Iterator[slice]:
        return (slice(b, b + self.step) for b in range(0, len(self.first), self.step))

    def pixels(self, rows: Any, columns: Any, block: slice) -> Any:
        line = (self.first[block, np.newaxis] + rows[block]) * self.width
        return line[:, :, np.newaxis] + columns[block][:, np.newaxis, :]

    def inside(self, block: slice) -> Any:
        return self.rows.inside[block][:, :, np.newaxis] & self.columns.inside[block][:, np.newaxis, :]

    def lerps(self, block: slice) -> tuple[Any, Any]:
        y, x = self.rows.between[block], self.columns.between[block]
        return y[:, :, np.newaxis, np.newaxis], x[:, np.newaxis, :, np.newaxis]

    def corners(self, block: slice) -> tuple[Any, Any, Any, Any]:
        rows, columns = self.rows, self.columns
        return (
            self.pixels(rows.before, columns.before, block),
            self.pixels(rows.before, columns.after, block),
            self.pixels(rows.after, columns.before, block),
            self.pixels(rows.after, columns.after, block),
        )


@kernel("CropAndResize")
def _crop_and_resize(node: Node) -> Kernel:
    method, outside = node.attrs["method"], SINGLE(node.attrs["extrapolation_value"])

    def run(image: Any, boxes: Any, owners: Any, size: Any) -> Any:
        height, width = new_size(size, "crop_size")
        places = _Places(image.shape, boxes, owners, (height, width))
        flat = image.reshape(math.prod(image.shape[:3]), image.shape[3])
        result = np.empty((len(boxes), height, width, image.shape[3]), SINGLE)
        for block in places.blocks():
            if method == "nearest":
                numbers = places.pixels(places.rows.rounded, places.columns.rounded, block)
                result[block] = flat.take(numbers, 0)
            else:
                corners = (flat.take(n, 0).astype(SINGLE, copy=False) for n in places.corners(block))
                top, right, bottom, below = corners
                y, x = places.lerps(block)
                right -= top
                right *= x
                top += right
                below -= bottom
                below *= x
                bottom += below
                bottom -= top
                bottom *= y
                np.add(top, bottom, out=result[block])
            inside = places.inside(block)
            if not inside.all():
                result[block][~inside] = outside
        return result

    return run


@kernel("CropAndResizeGradImage")
def _crop_image_gradient(node: Node) -> Kernel:
    method, dtype = node.attrs["method"], node.attrs["T"].as_numpy_dtype

    def run(grads: Any, boxes: Any, owners: Any, image_size: Any) -> Any:
        shape = tuple(np.asarray(image_size).tolist())
        if len(shape) != 4 or min(shape) < 0:
            raise invalid(f"image_size must be 4 sizes, got {list(shape)}")
        places = _Places(shape, boxes, owners, grads.shape[1:3])
        total = np.zeros((shape[0] * shape[1] * shape[2], shape[3]), SINGLE if dtype == np.float16 else dtype)
        for block in places.blocks():
            kept = np.where(places.inside(block)[..., np.newaxis], grads[block], SINGLE(0))
            if method == "nearest":
                parts = [(places.pixels(places.rows.rounded, places.columns.rounded, block), kept)]
            else:
                y, x = places.lerps(block)
                weights = ((1 - y) * (1 - x), (1 - y) * x, y * (1 - x), y * x)
                corners = places.corners(block)
                parts = [(n, kept * w) for n, w in zip(corners, weights, strict=True)]
            numbers = np.concatenate([n.reshape(-1) for n, _ in parts])
            values = np.concatenate([v.reshape(n.size, shape[3]) for n, v in parts])
            order = numbers.argsort(kind="stable")
            pixels = numbers[order]
            starts = np.flatnonzero(np.diff(pixels, prepend=-1))
            total[pixels[starts]] += np.add.reduceat(values[order], starts, axis=0)
        return total.reshape(shape).astype(dtype, copy=False)

    return run


@kernel("CropAndResizeGradBoxes")
def _crop_boxes_gradient(node: Node) -> Kernel:
    def run(grads: Any, image: Any, boxes: Any, owners: Any) -> Any:
        places = _Places(image.shape, boxes, owners, grads.shape[1:3])
        flat = image.reshape(math.prod(image.shape[:3]), image.shape[3])
        y_first, y_last = _shares(image.shape[1], grads.shape[1])
        x_first, x_last = _shares(image.shape[2], grads.shape[2])
        result = np.empty(boxes.shape, SINGLE)
        for block in places.blocks():
            corners = (flat.take(n, 0).astype(SINGLE, copy=False) for n in places.corners(block))
            top, right, bottom, below = corners
            y, x = places.lerps(block)
            down = (1 - x) * (bottom - top) + x * (below - right)
            across = (1 - y) * (right - top) + y * (below - bottom)
            kept = np.where(places.inside(block)[..., np.newaxis], grads[block], SINGLE(0))
            by_row = np.sum(kept * down, axis=(2, 3))
            by_column = np.sum(kept * across, axis=(1, 3))
            result[block] = np.stack(
                [by_row @ y_first, by_column @ x_first, by_row @ y_last, by_column @ x_last], axis=1
            )
        return result

    return run

"""Kernels of images of another size.

Every method is separable: along an axis, a new pixel is a weighted sum of a few old ones, its taps. So an image goes
through columns, then rows, each a handful of operations on whole arrays. The numbers of the pixels that a tap takes
never fall along the axis, so the gradient, which adds where a tap takes, sums over runs. Images are taken one by
one: what is in between then stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel, takes

SINGLE = np.float32
_CUBIC_STEPS = 1024
_KEPT_SIZES: Final = 64
"""How many pairs of sizes are remembered: pictures of a dataset mostly have few. Nobody writes to what is kept."""


@dataclass(frozen=True)
class Taps:
    """The pixels that make each new pixel along an axis: (index, weight) of each tap, arrays over the new pixels."""

    size: int
    taps: Sequence[tuple[Any, Any]]


def places(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    """The positions of the new pixels among the old ones, in TensorFlow's single precision."""
    along = np.arange(new, dtype=SINGLE)
    scale = step(old, new, align_corners)
    return (along + SINGLE(0.5)) * scale - SINGLE(0.5) if half_pixel_centers else along * scale


def step(old: int, new: int, align_corners: bool) -> Any:
    """How far apart two new pixels are, in old ones."""
    if align_corners and new > 1:
        return SINGLE(old - 1) / SINGLE(new - 1)
    return SINGLE(old) / SINGLE(new)


@lru_cache(_KEPT_SIZES)
def bilinear(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """The pixels before and after each place."""
    at = places(old, new, align_corners, half_pixel_centers)
    before = np.floor(at)
    lower = np.maximum(before, 0).astype(np.intp)
    upper = np.minimum(np.ceil(at), old - 1).astype(np.intp)
    after = at - before
    return Taps(old, [(lower, 1 - after), (upper, after)])


def _cubic_table(a: float) -> Any:
    """The cubic of Keys at 0 to 1 (row 0) and 1 to 2 (row 1), at the steps that TensorFlow rounds places to."""
    near = (np.arange(_CUBIC_STEPS + 1) / _CUBIC_STEPS).astype(SINGLE).astype(np.float64)
    far = near + 1
    inner = ((a + 2) * near - (a + 3)) * near * near + 1
    outer = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return np.stack([inner, outer]).astype(SINGLE)


@lru_cache(_KEPT_SIZES)
def bicubic(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Two pixels before and two after each place."""
    at = places(old, new, align_corners, half_pixel_centers)
    before = np.floor(at)
    offset = np.rint((at - before) * SINGLE(_CUBIC_STEPS)).astype(np.intp)
    inner, outer = _cubic_table(-0.5 if half_pixel_centers else -0.75)
    weights = np.stack(
        [outer[offset], inner[offset], inner[_CUBIC_STEPS - offset], outer[_CUBIC_STEPS - offset]]
    )
    wanted = before.astype(np.intp) + np.arange(-1, 3)[:, np.newaxis]
    index = np.clip(wanted, 0, old - 1)
    if half_pixel_centers:  # What lies outside counts for nothing, and the others for more.
        weights = np.where(index == wanted, weights, SINGLE(0))
        total = weights.sum(0, dtype=SINGLE)
        weights = np.where(np.abs(total) >= 1000 * np.finfo(SINGLE).tiny, weights / total, weights)
    return Taps(old, list(zip(index, weights, strict=True)))


@lru_cache(_KEPT_SIZES)
def area(old: int, new: int, align_corners: bool) -> Taps:
    """All pixels that a new one covers, each by how much of it."""
    scale = step(old, new, align_corners)
    edges = np.arange(new + 1, dtype=SINGLE) * scale
    begin, end = edges[:-1], edges[1:]
    first, last = np.floor(begin).astype(np.intp), np.ceil(end).astype(np.intp)
    taps = []
    for k in range(int(np.max(last - first, initial=0))):
        pixel = first + k
        share = np.minimum(end, (pixel + 1).astype(SINGLE)) - np.maximum(begin, pixel.astype(SINGLE))
        share = np.where(pixel < last, share, SINGLE(0)) / scale
        taps.append((np.clip(pixel, 0, old - 1), share.astype(SINGLE)))
    return Taps(old, taps)


def nearest(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    """The pixel that each new one copies."""
    along = np.arange(new, dtype=SINGLE)
    at = (along + SINGLE(0.5) if half_pixel_centers else along) * step(old, new, align_corners)
    # Halves go up, while np.rint would take the even one.
    whole = np.floor(at + SINGLE(0.5)) if align_corners else np.floor(at)
    return np.clip(whole, 0, old - 1).astype(np.intp)


def _channelwise(index: Any, channels: int) -> Any:
    """Numbers of pixels of a row as numbers of its elements."""
    return (index[:, np.newaxis] * channels + np.arange(channels)).reshape(-1)


def _mixed(rows: Any, taps: Taps, lerp: bool) -> Any:
    """The weighted sums of rows, or what lies between two of them."""
    if lerp:
        (lower, _), (upper, after) = taps.taps
        low = rows.take(lower, 0)
        high = rows.take(upper, 0)
        high -= low
        high *= after[:, np.newaxis]
        high += low
        return high
    total: Any = None
    for index, weight in taps.taps:
        part = rows.take(index, 0)
        part *= weight[:, np.newaxis]
        total = part if total is None else np.add(total, part, out=total)
    return total


def _mixed_columns(rows: Any, taps: Taps, channels: int, lerp: bool) -> Any:
    """The same along the pixels of rows [rows, pixels * channels]."""
    if lerp:
        (lower, _), (upper, after) = taps.taps
        low = rows.take(_channelwise(lower, channels), 1)
        high = rows.take(_channelwise(upper, channels), 1)
        high -= low
        high *= after.repeat(channels)
        high += low
        return high
    total: Any = None
    for index, weight in taps.taps:
        part = rows.take(_channelwise(index, channels), 1)
        part *= weight.repeat(channels)
        total = part if total is None else np.add(total, part, out=total)
    return total


@lru_cache(_KEPT_SIZES)
def _needed(taps_of: Callable[..., Taps], *sizes: Any) -> tuple[Any, Taps]:
    """The old rows that are taken at all, and the taps among these."""
    taps = taps_of(*sizes)
    used, places = np.unique(np.concatenate([index for index, _ in taps.taps]), return_inverse=True)
    parts = np.split(places, len(taps.taps))
    return used, Taps(len(used), [(p, w) for p, (_, w) in zip(parts, taps.taps, strict=True)])


def _spread(rows: Any, taps: Taps) -> Any:
    """The gradient of _mixed: each row added, weighted, to those that it was made of."""
    result = np.zeros((taps.size, rows.shape[1]), rows.dtype)
    for index, weight in taps.taps:
        starts = np.flatnonzero(np.diff(index, prepend=-1))
        part = rows if weight is None else rows * weight[:, np.newaxis]
        result[index[starts]] += np.add.reduceat(part, starts, axis=0, dtype=rows.dtype)
    return result


def _spread_image(image: Any, rows: Taps, columns: Taps) -> Any:
    """The gradient of an image [height, width, channels] by that of its resized form."""
    _, width, channels = image.shape
    tall = _spread(image.reshape(len(image), -1), rows)
    # Pixels of a row first, so that what is added is long.
    turned = np.ascontiguousarray(tall.reshape(-1, width, channels).transpose(1, 0, 2))
    spread = _spread(turned.reshape(width, -1), columns)
    return spread.reshape(columns.size, rows.size, channels).transpose(1, 0, 2)


# ---- kernels -------------------------------------------------------------------------------------------------------


def _check_centers(align_corners: bool, half_pixel_centers: bool) -> None:
    if align_corners and half_pixel_centers:
        raise invalid("If half_pixel_centers is True, align_corners must be False.")


def _check_images(images: Any, what: str) -> None:
    if images.ndim != 4:
        raise invalid(f"{what} must be 4-dimensional, got shape {list(images.shape)}")
    if 0 in images.shape[1:]:
        raise invalid(
            f"{what} must be of non-zero size and have at least one channel, got shape {list(images.shape)}"
        )


def new_size(size: Any, what: str = "size") -> tuple[int, int]:
    """Height and width, or InvalidArgumentError if they are not two positive numbers."""
    found = np.asarray(size)
    if found.shape != (2,):
        raise invalid(f"{what} must be 1-dimensional with two elements, got shape {list(found.shape)}")
    height, width = found.tolist()
    if height <= 0 or width <= 0:
        raise invalid(f"output dimensions must be positive, got {what} {[height, width]}")
    return height, width


def _weighted(op_type: str, taps_of: Callable[..., Taps], lerp: bool) -> None:
    @kernel(op_type)
    def _(node: Node) -> Kernel:
        flags = [node.attrs[n] for n in ("align_corners", "half_pixel_centers") if n in node.attrs]

        def run(images: Any, size: Any) -> Any:
            _check_centers(*(flags + [False])[:2])
            _check_images(images, "input")
            batch, height, width, channels = images.shape
            new_height, new_width = new_size(size)
            if (new_height, new_width) == (height, width) and lerp:
                return images.astype(SINGLE)
            used, rows = _needed(taps_of, height, new_height, *flags)
            columns = taps_of(width, new_width, *flags)
            result = np.empty((batch, new_height, new_width, channels), SINGLE)
            for image, target in zip(images, result, strict=True):
                taken = image if len(used) == height else image.take(used, 0)
                flat = taken.reshape(len(used), -1).astype(SINGLE, copy=False)
                wide = _mixed_columns(flat, columns, channels, lerp)
                target[...] = _mixed(wide, rows, lerp).reshape(target.shape)
            return result

        return run


_weighted("ResizeBilinear", bilinear, True)
_weighted("ResizeBicubic", bicubic, False)
_weighted("ResizeArea", area, False)


def _weighted_gradient(op_type: str, taps_of: Callable[..., Taps]) -> None:
    @kernel(op_type)
    def _(node: Node) -> Kernel:
        flags = node.attrs["align_corners"], node.attrs["half_pixel_centers"]

        def run(grads: Any, original: Any) -> Any:
            _check_centers(*flags)
            _check_images(grads, "grads")
            _check_images(original, "original_image")
            if (len(grads), grads.shape[3]) != (len(original), original.shape[3]):
                raise invalid(
                    f"grads {list(grads.shape)} are not those of an image {list(original.shape)}: batch and channels "
                    "must be the same"
                )
            rows = taps_of(original.shape[1], grads.shape[1], *flags)
            columns = taps_of(original.shape[2], grads.shape[2], *flags)
            result = np.empty(original.shape, original.dtype)
            for image, target in zip(grads, result, strict=True):
                target[...] = _spread_image(image, rows, columns)
            return result

        return run


_weighted_gradient("ResizeBilinearGrad", bilinear)
_weighted_gradient("ResizeBicubicGrad", bicubic)
takes(0.0, "ResizeBicubic", "ResizeBilinear", call=80_000.0)
takes(0.0, "ResizeBilinearGrad", "ResizeBicubicGrad", "ResizeNearestNeighborGrad", call=200_000.0)


@kernel("ResizeNearestNeighbor")
def _nearest(node: Node) -> Kernel:
    flags = node.attrs["align_corners"], node.attrs["half_pixel_centers"]

    def run(images: Any, size: Any) -> Any:
        _check_centers(*flags)
        _check_images(images, "input")
        batch, height, width, channels = images.shape
        new_height, new_width = new_size(size)
        rows = nearest(height, new_height, *flags)
        columns = _channelwise(nearest(width, new_width, *flags), channels)
        wide = images.reshape(batch, height, width * channels).take(rows, 1).take(columns, 2)
        return wide.reshape(batch, new_height, new_width, channels)

    return run


@kernel("ResizeNearestNeighborGrad")
def _nearest_gradient(node: Node) -> Kernel:
    flags = node.attrs["align_corners"], node.attrs["half_pixel_centers"]

    def run(grads: Any, size: Any) -> Any:
        _check_centers(*flags)
        _check_images(grads, "grads")
        batch, height, width, channels = grads.shape
        old_height, old_width = new_size(size)
        rows = Taps(old_height, [(nearest(old_height, height, *flags), None)])
        columns = Taps(old_width, [(nearest(old_width, width, *flags), None)])
        result = np.empty((batch, old_height, old_width, channels), grads.dtype)
        for image, target in zip(grads, result, strict=True):
            target[...] = _spread_image(image, rows, columns)
        return result

    return run

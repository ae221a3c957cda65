"""The kernel of images seen through projective transforms: for each new pixel one place of the image, or four.

Places are reckoned in single precision, as in TensorFlow, so that what falls between two pixels falls to the same one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.image.resizing import SINGLE, new_size
from graphflow._core.kernels.registry import Kernel, Node, kernel

_FAR = SINGLE(1 << 30)
"""Farther than any pixel, and held by an index."""


def _places(transform: Any, height: int, width: int) -> tuple[Any, Any, Any]:
    """x and y that each new pixel shows, and whether it shows any: not on the horizon."""
    x = np.arange(width, dtype=SINGLE)[np.newaxis, :]
    y = np.arange(height, dtype=SINGLE)[:, np.newaxis]
    a, b, c, d, e, f, g, h = transform
    depth = g * x + h * y + SINGLE(1)
    seen = depth != 0
    depth = np.where(seen, depth, SINGLE(1))
    return (a * x + b * y + c) / depth, (d * x + e * y + f) / depth, seen


def _taken(image: Any, rows: Any, columns: Any, seen: Any) -> Any:
    """The pixels at whole places, 0 outside of the image."""
    height, width, channels = image.shape
    inside = seen & (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    index = np.where(inside, rows * width + columns, 0)
    if not height * width:
        return np.zeros((*inside.shape, channels), image.dtype)
    found = image.reshape(height * width, channels).take(index, 0)
    found[~inside] = 0
    return found


def _whole(values: Any) -> Any:
    return np.clip(np.where(np.isnan(values), -_FAR, values), -_FAR, _FAR).astype(np.intp)


def _nearest(image: Any, x: Any, y: Any, seen: Any) -> Any:
    # Halves go away from zero.
    rows, columns = (_whole(np.copysign(np.floor(np.abs(v) + 0.5), v)) for v in (y, x))
    return _taken(image, rows, columns, seen)


def _bilinear(image: Any, x: Any, y: Any, seen: Any) -> Any:
    top, left = np.floor(y), np.floor(x)
    rows, columns = _whole(top), _whole(left)
    down, right = (y - top)[..., np.newaxis], (x - left)[..., np.newaxis]
    up, back = SINGLE(1) - down, SINGLE(1) - right
    parts = [_taken(image, rows + i, columns + j, seen).astype(SINGLE) for i in (0, 1) for j in (0, 1)]
    mixed = up * (back * parts[0] + right * parts[1]) + down * (back * parts[2] + right * parts[3])
    return np.where(seen[..., np.newaxis], mixed, SINGLE(0)).astype(image.dtype)


@kernel("ImageProjectiveTransformV2")
def _transformed(node: Node) -> Kernel:
    method = node.attrs["interpolation"]
    one = {"NEAREST": _nearest, "BILINEAR": _bilinear}.get(method)

    def run(images: Any, transforms: Any, size: Any) -> Any:
        if one is None:
            raise invalid(f"Invalid interpolation {method}. Supported types: NEAREST, BILINEAR")
        if images.ndim != 4:
            raise invalid(f"images must have rank 4, and have shape {list(images.shape)}")
        if transforms.ndim != 2 or transforms.shape[1] != 8 or len(transforms) not in (1, len(images)):
            raise invalid(
                f"Input transform should be num_images x 8 or 1 x 8, and has shape {list(transforms.shape)}"
            )
        height, width = new_size(size, "output_shape")
        result = np.empty((len(images), height, width, images.shape[3]), images.dtype)
        for number, image in enumerate(images):
            transform = transforms[number if len(transforms) > 1 else 0]
            with np.errstate(over="ignore", invalid="ignore"):
                result[number] = one(image, *_places(transform, height, width))
        return result

    return run

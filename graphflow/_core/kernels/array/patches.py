"""The NumPy kernel of the windows of images as vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphflow._core.kernels.nn.images import (
    Array,
    checked_images,
    padded_images,
    tap_views,
    window_axes,
)
from graphflow._core.kernels.registry import Kernel, Node, kernel


def image_patches(
    x: Array, ksizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str
) -> Array:
    """The windows [N, out rows, out columns, window rows * window columns * channels].

    TensorFlow: ExtractImagePatches.
    """
    axes = window_axes(x.shape, ksizes[1:3], strides, padding, rates)
    result = np.empty((x.shape[0], axes[0].outputs, axes[1].outputs, *ksizes[1:3], x.shape[3]), x.dtype)
    for (i, j), view in tap_views(padded_images(x, axes), axes):
        result[:, :, :, i, j] = view
    return result.reshape(*result.shape[:3], math.prod(result.shape[3:]))


@kernel("ExtractImagePatches")
def _image_patches(node: Node) -> Kernel:
    options = [node.attrs[name] for name in ("ksizes", "strides", "rates", "padding")]
    return checked_images(lambda x: image_patches(x, *options))

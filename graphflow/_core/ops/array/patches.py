"""Windows of images as vectors, for networks that look at patches rather than at pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, constant, convert_to_tensor, op_scope
from graphflow._core.ops.nn.convolution import DEPTHWISE_INPUT, check_padding, windows_along
from graphflow._core.ops.rules import deprecated, require_rank


def _infer(op: Operation) -> Signature:
    x = op.inputs[0]
    batch, rows, columns, channels = require_rank(x.dims, 4, "images") or ()
    size, strides, rates = (op.attrs[name][1:3] for name in ("ksizes", "strides", "rates"))
    space = [
        windows_along(extent, window, stride, op.attrs["padding"], rate)
        for extent, window, stride, rate in zip((rows, columns), size, strides, rates, strict=True)
    ]
    depth = None if channels is None else channels * size[0] * size[1]
    return [(x.dtype, (batch, *space, depth))]


def _gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    # Taking patches is a depthwise convolution with a filter for each element of the window, channels innermost.
    x = op.inputs[0]
    _, rows, columns, _ = op.attrs["ksizes"]
    elements = rows * columns
    extents, places = array.shape(x), array.shape(g)
    picks = constant(np.eye(elements).reshape(rows, columns, 1, elements), dtype=x.dtype)
    filters = array.tile(picks, array.stack([1, 1, extents[3], 1]))
    split = array.reshape(g, array.concat([places[:3], [elements], extents[3:]], 0))
    channels_outside = array.reshape(array.transpose(split, [0, 1, 2, 4, 3]), places)
    attrs = {
        "strides": op.attrs["strides"],
        "padding": op.attrs["padding"],
        "data_format": "NHWC",
        "dilations": op.attrs["rates"],
    }
    result = apply(DEPTHWISE_INPUT, (extents, filters, channels_outside), attrs).outputs[0]
    result.set_shape(x.dims)
    return (result,)


EXTRACT_IMAGE_PATCHES = op_def("ExtractImagePatches", ("images: T=real",), infer=_infer, gradient=_gradient)


def _four(values: Any, what: str) -> list[int]:
    """Rows' and columns' numbers, between ones; ValueError for anything else."""
    numbers = [int(v) for v in values] if isinstance(values, list | tuple | np.ndarray) else []
    if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
        raise ValueError(f"{what} must be [1, rows, columns, 1] with positive numbers, got {values!r}.")
    return numbers


def extract_image_patches(
    images: TensorLike,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """Windows of NHWC images, each flattened into the depth (tf.extract_image_patches).

    ksizes (or `sizes`), strides and rates are [1, rows, columns, 1]: the window's size, how far it moves, and the
    distance of its elements. The result is [batch, window rows, window columns, rows * columns * channels].

    Args:
        images: [batch, rows, columns, channels].
        ksizes: [1, rows, columns, 1].
        strides: [1, rows, columns, 1].
        rates: [1, rows, columns, 1].
        padding: "VALID" or "SAME".
        name: A name for the operation.
        sizes: A newer name of `ksizes`.

    Returns:
        [batch, rows, columns, window * channels].

    Raises:
        ValueError: If they are something else, or if the window is larger than the image with padding
            "VALID".
    """
    attrs = {
        "ksizes": _four(deprecated(ksizes, sizes, "ksizes", "sizes"), "ksizes"),
        "strides": _four(strides, "strides"),
        "rates": _four(rates, "rates"),
        "padding": check_padding(padding),
    }
    return apply(EXTRACT_IMAGE_PATCHES, (images,), attrs, name).outputs[0]


def extract_patches(
    images: TensorLike,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """extract_image_patches under the names of arguments that tf.image.extract_patches has.

    Args:
        images: Images [batch, height, width, channels]; one without the first axis, where that is said.
        sizes: [1, rows, columns, 1].
        strides: [1, rows, columns, 1].
        rates: [1, rows, columns, 1].
        padding: "VALID" or "SAME".
        name: A name for the operation.

    Returns:
        [batch, rows, columns, window * channels].
    """
    return extract_image_patches(images, sizes, strides, rates, padding, name)


def extract_volume_patches(
    input: TensorLike, ksizes: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None
) -> Tensor:
    """Windows of volumes, each flattened into the depth (tf.extract_volume_patches).

    Args:
        input: [batch, planes, rows, columns, channels].
        ksizes: [1, planes, rows, columns, 1]: the window's size.
        strides: [1, planes, rows, columns, 1]: how far it moves.
        padding: "VALID" or "SAME".
        name: A name for the operations.

    Returns:
        [batch, window planes, window rows, window columns, planes * rows * columns * channels].

    Raises:
        TypeError: If the input is of other than real numbers.
        ValueError: If they are something else, the extents are not known, or the window is larger than the volume with
            padding "VALID".
    """
    with op_scope(name, "ExtractVolumePatches", [input]):
        x = convert_to_tensor(input, name="input")
        if not (x.dtype.is_floating or x.dtype.is_integer):
            raise TypeError(
                f"ExtractVolumePatches takes real numbers, got {x.dtype.name}. Convert them with gf.cast."
            )
        extents = (require_rank(x.dims, 5, "input") or ())[1:4]
        sizes, steps = ([int(n) for n in given][1:4] for given in (ksizes, strides))
        for what, given in (("ksizes", ksizes), ("strides", strides)):
            if len(given) != 5 or given[0] != 1 or given[4] != 1 or min(given) < 1:
                raise ValueError(
                    f"{what} must be [1, planes, rows, columns, 1] with positive numbers, got {given!r}."
                )
        if None in extents:
            raise ValueError(
                f"extract_volume_patches needs known extents, but the input has shape {x.shape}."
            )
        counts, edges = [], [[0, 0]]
        for extent, size, step in zip(extents, sizes, steps, strict=True):
            count = windows_along(extent, size, step, check_padding(padding), 1) or 0
            lacking = max((count - 1) * step + size - (extent or 0), 0) if padding == "SAME" else 0
            counts.append(count)
            edges.append([lacking // 2, lacking - lacking // 2])
        padded = array.pad(x, [*edges, [0, 0]])
        parts = []
        for at in np.ndindex(*sizes):
            ends = [a + (count - 1) * step + 1 for a, count, step in zip(at, counts, steps, strict=True)]
            planes, rows, columns = map(slice, at, ends, steps)
            parts.append(padded[:, planes, rows, columns])
        return array.concat(parts, 4)

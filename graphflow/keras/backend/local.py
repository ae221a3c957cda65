"""Convolutions whose every window has a kernel of its own (tf.keras.backend)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.backend.settings import image_data_format


def local_conv(
    inputs: Any, kernel: Any, size: Sequence[int], strides: Sequence[int], after: Sequence[int], layout: str
) -> Any:
    """Each window of sequences or images times its kernel.

    Args:
        inputs: Sequences or images of the layout.
        kernel: [windows, elements of a window, filters]; the elements are in the order of the layout.
        size: The size of a window, one or two ints.
        strides: The steps from one window to the next.
        after: The sizes of the result in space.
        layout: "channels_last" or "channels_first".

    Returns:
        A tensor of the layout.
    """
    first = layout == "channels_first"
    axes = len(size)
    if first:
        inputs = ops.transpose(inputs, [0, *range(2, axes + 2), 1])
    depth = inputs.shape.as_list()[-1]
    images = inputs if axes == 2 else ops.expand_dims(inputs, 2)
    window, steps = ([*size, 1], [*strides, 1]) if axes == 1 else (size, strides)
    patches = ops.extract_image_patches(images, [1, *window, 1], [1, *steps, 1], [1, 1, 1, 1], "VALID")
    elements = depth
    for n in size:
        elements *= n
    count = kernel.shape.as_list()[0]
    flat = ops.reshape(patches, [-1, count, elements])
    if first:  # A window's elements are those of the first channel, then of the second.
        apart = ops.reshape(flat, [-1, count, elements // depth, depth])
        flat = ops.reshape(ops.transpose(apart, [0, 1, 3, 2]), [-1, count, elements])
    found = ops.transpose(ops.matmul(ops.transpose(flat, [1, 0, 2]), kernel), [1, 0, 2])
    found = ops.reshape(found, [-1, *after, kernel.shape.as_list()[-1]])
    return ops.transpose(found, [0, axes + 1, *range(1, axes + 1)]) if first else found


def local_conv1d(
    inputs: TensorLike, kernel: TensorLike, kernel_size: Sequence[int], strides: Sequence[int],
    data_format: str | None = None,
) -> Any:  # fmt: skip
    """Sequences, each window times a kernel of its own (tf.keras.backend.local_conv1d).

    Args:
        inputs: A tensor [batch, steps, channels], or [batch, channels, steps].
        kernel: [windows, size * channels, filters].
        kernel_size: The size of a window, in a tuple.
        strides: The steps from one window to the next, in a tuple.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        A tensor of the same layout.
    """
    weights = ops.convert_to_tensor(kernel)
    layout = data_format or image_data_format()
    windows = weights.shape.as_list()[0]
    return local_conv(ops.convert_to_tensor(inputs), weights, kernel_size, strides, [windows], layout)


def local_conv2d(
    inputs: TensorLike, kernel: TensorLike, kernel_size: Sequence[int], strides: Sequence[int],
    output_shape: Sequence[int], data_format: str | None = None,
) -> Any:  # fmt: skip
    """Images, each window times a kernel of its own (tf.keras.backend.local_conv2d).

    Args:
        inputs: A tensor [batch, rows, columns, channels], or [batch, channels, rows, columns].
        kernel: [windows, rows * columns * channels of a window, filters].
        kernel_size: The rows and columns of a window.
        strides: The steps from one window to the next.
        output_shape: The rows and columns of the result.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().

    Returns:
        A tensor of the same layout.
    """
    weights = ops.convert_to_tensor(kernel)
    layout = data_format or image_data_format()
    return local_conv(
        ops.convert_to_tensor(inputs), weights, kernel_size, strides, list(output_shape), layout
    )

"""Pooling of sequences, images and volumes alike, by the number of axes of what is given."""

from __future__ import annotations

from typing import Any, Final

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntsLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.nn import pooling, volumes

_SEQUENCES: Final = {"NWC": ("NHWC", 1), "NCW": ("NCHW", 2)}
"""For each layout of sequences, that of the images that they are made, and the axis that is added."""


def _of_sequences(value: IntsLike, channels: int, what: str) -> list[int]:
    """One number for each of the four axes of images of one row, from one number or those of the three axes."""
    given: Any = value
    values = [int(v) for v in given] if hasattr(given, "__len__") else [int(given)]
    if len(values) == 1:
        values = [1, 1, *values] if channels == 1 else [1, *values, 1]
    if len(values) != 3:
        raise ValueError(f"{what} should be of length 1, 1 or 3 but was {len(values)}")
    return [values[0], 1, *values[1:]] if channels != 1 else [*values[:2], 1, values[2]]


def _pool1d(
    kind: str,
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    with op_scope(name, "MaxPool1d" if kind == "Max" else "AvgPool1D", [input]) as scope:
        layout = data_format or "NWC"
        if layout not in _SEQUENCES:
            raise ValueError(f'data_format must be "NWC" or "NCW", got {data_format!r}.')
        images, axis = _SEQUENCES[layout]
        channels = 1 if layout == "NCW" else 2
        compute = pooling.max_pool if kind == "Max" else pooling.avg_pool
        pooled = compute(
            array.expand_dims(input, axis),
            _of_sequences(ksize, channels, "ksize"),
            _of_sequences(strides, channels, "strides"),
            padding,
            images,
            scope,
        )
        return array.squeeze(pooled, [axis])


def _pool(
    kind: str,
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    value = convert_to_tensor(input, name="input")
    if value.dims is not None:
        axes = len(value.dims)
    elif data_format is not None:
        axes = len(data_format)
    else:
        raise ValueError("The input must have a rank or a data format must be given.")
    if axes == 3:
        return _pool1d(kind, value, ksize, strides, padding, data_format, name)
    if axes == 4:
        of_images = pooling.max_pool if kind == "Max" else pooling.avg_pool
        return of_images(value, ksize, strides, padding, data_format or "NHWC", name)
    if axes == 5:
        of_volumes = volumes.max_pool3d if kind == "Max" else volumes.avg_pool3d
        return of_volumes(value, ksize, strides, padding, data_format or "NDHWC", name)
    raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {axes}.")


def avg_pool1d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of sequences, padding not counted (tf.nn.avg_pool1d).

    Args:
        input: Floats [batch, width, channels], or [batch, channels, width] as data_format says.
        ksize: The window's width: one number, or one for each axis of the input.
        strides: How far the window moves, likewise.
        padding: "SAME" or "VALID".
        data_format: "NWC" or "NCW".
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.

    Raises:
        ValueError: The window does not fit, or an argument is none of those.
    """
    return _pool1d("Avg", input, ksize, strides, padding, data_format, name)


def max_pool1d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of sequences (tf.nn.max_pool1d).

    Args:
        input: Real numbers [batch, width, channels], or [batch, channels, width] as data_format says.
        ksize: The window's width: one number, or one for each axis of the input.
        strides: How far the window moves, likewise.
        padding: "SAME" or "VALID".
        data_format: "NWC" or "NCW".
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.

    Raises:
        ValueError: The window does not fit, or an argument is none of those.
    """
    return _pool1d("Max", input, ksize, strides, padding, data_format, name)


def avg_pool_v2(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The mean of each window of sequences, images or volumes, padding not counted (tf.nn.avg_pool_v2).

    Args:
        input: Floats [batch, ..., channels] with one to three axes of space, or as `data_format` says.
        ksize: The window's size: one number, one for each axis of space, or one for each axis of the input.
        strides: How far the window moves, likewise.
        padding: "SAME" or "VALID".
        data_format: The order of the axes, such as "NWC", "NCHW" or "NDHWC"; by default the channels are last.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.

    Raises:
        ValueError: The input has not three to five axes, or the window does not fit.
    """
    return _pool("Avg", input, ksize, strides, padding, data_format, name)


def max_pool_v2(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of sequences, images or volumes (tf.nn.max_pool_v2).

    Args:
        input: Real numbers [batch, ..., channels] with one to three axes of space, or as `data_format` says.
        ksize: The window's size: one number, one for each axis of space, or one for each axis of the input.
        strides: How far the window moves, likewise.
        padding: "SAME" or "VALID".
        data_format: The order of the axes, such as "NWC", "NCHW" or "NDHWC"; by default the channels are last.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.

    Raises:
        ValueError: The input has not three to five axes, or the window does not fit.
    """
    return _pool("Max", input, ksize, strides, padding, data_format, name)

"""Convolutions, pooling, and images padded and resized (tf.keras.backend)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow.keras import ops
from graphflow.keras.backend.settings import image_data_format

Pair = Sequence[int]


def _first(data_format: str | None) -> bool:
    return (data_format or image_data_format()) == "channels_first"


def channels_behind(x: Any, data_format: str, force_transpose: bool = False) -> tuple[Any, str]:
    """Images with their channels in the last axis, and the word that operations have for that."""
    return (ops.transpose(x, (0, 2, 3, 1)) if data_format == "channels_first" else x), "NHWC"


def padding_of_operations(padding: str) -> str:
    """The word that operations have for a padding; ValueError if it is none."""
    if padding not in ("same", "valid"):
        raise ValueError(f'padding is "same" or "valid", not {padding!r}.')
    return padding.upper()


def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Any:
    """A bias added to each channel (tf.keras.backend.bias_add).

    Args:
        x: A tensor of three axes or more.
        bias: A vector with an element for each channel.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.bias_add(x, bias, data_format="NCHW" if _first(data_format) else "NHWC")


def conv1d(
    x: TensorLike, kernel: TensorLike, strides: int = 1, padding: str = "valid", data_format: str | None = None,
    dilation_rate: int = 1,
) -> Any:  # fmt: skip
    """A convolution of sequences (tf.keras.backend.conv1d).

    Args:
        x: Sequences, floats [batch, steps, channels].
        kernel: Floats [width, channels, filters].
        strides: The steps from one window to the next.
        padding: "valid", "same", or "causal", where an output depends on no later input.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        dilation_rate: The distance of a window's elements, in steps.

    Returns:
        A tensor [batch, steps, filters].
    """
    tensor = ops.convert_to_tensor(x)
    if padding == "causal":
        before = dilation_rate * (ops.convert_to_tensor(kernel).shape.as_list()[0] - 1)
        around = [[0, 0], [0, 0], [before, 0]] if _first(data_format) else [[0, 0], [before, 0], [0, 0]]
        tensor, padding = ops.pad(tensor, around), "valid"
    layout = "NCW" if _first(data_format) else "NWC"
    return ops.conv1d(tensor, kernel, strides, padding.upper(), data_format=layout, dilations=dilation_rate)


def conv2d(
    x: TensorLike, kernel: TensorLike, strides: Pair = (1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: Pair = (1, 1),
) -> Any:  # fmt: skip
    """A convolution of images (tf.keras.backend.conv2d).

    Args:
        x: Images, floats [batch, rows, columns, channels].
        kernel: Floats [height, width, channels, filters].
        strides: The distance of windows, (rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        dilation_rate: The distance of a window's elements, (rows, columns).

    Returns:
        A tensor [batch, rows, columns, filters].
    """
    layout = "NCHW" if _first(data_format) else "NHWC"
    return ops.conv2d(
        x, kernel, tuple(strides), padding.upper(), data_format=layout, dilations=tuple(dilation_rate)
    )


def conv2d_transpose(
    x: TensorLike, kernel: TensorLike, output_shape: IntTensorLike, strides: Pair = (1, 1), padding: str = "valid",
    data_format: str | None = None,
) -> Any:  # fmt: skip
    """Images enlarged by a transposed convolution (tf.keras.backend.conv2d_transpose).

    Args:
        x: Images, floats [batch, rows, columns, channels].
        kernel: Floats [height, width, filters, channels].
        output_shape: The shape of the result, four ints.
        strides: How much larger the result is, (rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().

    Returns:
        A tensor of the output shape.
    """
    layout = "NCHW" if _first(data_format) else "NHWC"
    sizes = output_shape
    return ops.conv2d_transpose(x, kernel, sizes, tuple(strides), padding.upper(), data_format=layout)


def depthwise_conv2d(
    x: TensorLike, depthwise_kernel: TensorLike, strides: Pair = (1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: Pair = (1, 1),
) -> Any:  # fmt: skip
    """A convolution of images channel by channel (tf.keras.backend.depthwise_conv2d)."""
    first = _first(data_format)
    around = [1, 1, *strides] if first else [1, *strides, 1]
    layout = "NCHW" if first else "NHWC"
    return ops.depthwise_conv2d(
        x, depthwise_kernel, around, padding.upper(), rate=dilation_rate, data_format=layout
    )


def separable_conv2d(
    x: TensorLike, depthwise_kernel: TensorLike, pointwise_kernel: TensorLike, strides: Pair = (1, 1),
    padding: str = "valid", data_format: str | None = None, dilation_rate: Pair = (1, 1),
) -> Any:  # fmt: skip
    """A convolution channel by channel, then across channels (tf.keras.backend.separable_conv2d).

    Args:
        x: Images, floats [batch, rows, columns, channels].
        depthwise_kernel: Floats [height, width, channels, multiplier].
        pointwise_kernel: Floats [1, 1, channels * multiplier, filters].
        strides: The distance of windows, (rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        dilation_rate: The distance of a window's elements, (rows, columns).

    Returns:
        A tensor [batch, rows, columns, filters].
    """
    first = _first(data_format)
    around = [1, 1, *strides] if first else [1, *strides, 1]
    return ops.separable_conv2d(
        x, depthwise_kernel, pointwise_kernel, around, padding.upper(), rate=dilation_rate,
        data_format="NCHW" if first else "NHWC",
    )  # fmt: skip


def conv3d(
    x: TensorLike, kernel: TensorLike, strides: Pair = (1, 1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: Pair = (1, 1, 1),
) -> Any:  # fmt: skip
    """A convolution of volumes (tf.keras.backend.conv3d).

    Args:
        x: Volumes, floats [batch, depth, rows, columns, channels].
        kernel: Floats [depth, height, width, channels, filters].
        strides: The distance of windows, (depth, rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        dilation_rate: The distance of a window's elements, (depth, rows, columns).

    Returns:
        A tensor [batch, depth, rows, columns, filters].
    """
    layout = "NCDHW" if _first(data_format) else "NDHWC"
    return ops.conv3d(x, kernel, tuple(strides), padding.upper(), layout, tuple(dilation_rate))


def _pooled(function: Any, x: Any, pool: Pair, strides: Pair, padding: str, layout: str, first: bool) -> Any:
    around = [1, 1, *pool] if first else [1, *pool, 1]
    steps = [1, 1, *strides] if first else [1, *strides, 1]
    return function(x, around, steps, padding.upper(), data_format=layout)


def pool2d(
    x: TensorLike, pool_size: Pair, strides: Pair = (1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:  # fmt: skip
    """The largest, or with pool_mode "avg" the mean, of each window (tf.keras.backend.pool2d).

    Args:
        x: Images, floats [batch, rows, columns, channels].
        pool_size: The size of a window, (rows, columns).
        strides: The distance of windows, (rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        pool_mode: "max" or "avg".

    Returns:
        A tensor [batch, rows, columns, channels].
    """
    first = _first(data_format)
    function = {"max": ops.max_pool, "avg": ops.avg_pool}[pool_mode]
    return _pooled(function, x, pool_size, strides, padding, "NCHW" if first else "NHWC", first)


def pool3d(
    x: TensorLike, pool_size: Pair, strides: Pair = (1, 1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:  # fmt: skip
    """The largest, or with pool_mode "avg" the mean, of each window (tf.keras.backend.pool3d).

    Args:
        x: Volumes, floats [batch, depth, rows, columns, channels].
        pool_size: The size of a window, (depth, rows, columns).
        strides: The distance of windows, (depth, rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        pool_mode: "max" or "avg".

    Returns:
        A tensor [batch, depth, rows, columns, channels].
    """
    first = _first(data_format)
    function = {"max": ops.max_pool3d, "avg": ops.avg_pool3d}[pool_mode]
    return _pooled(function, x, pool_size, strides, padding, "NCDHW" if first else "NDHWC", first)


def temporal_padding(x: TensorLike, padding: Pair = (1, 1)) -> Any:
    """Zeros around sequences (tf.keras.backend.temporal_padding).

    Args:
        x: Sequences [batch, steps, channels].
        padding: How many zeros come before and after, (before, after).

    Returns:
        A tensor of the dtype of `x`.
    """
    return ops.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(
    x: TensorLike, padding: Sequence[Pair] = ((1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around images (tf.keras.backend.spatial_2d_padding).

    Args:
        x: Images [batch, rows, columns, channels].
        padding: A pair (before, after) for rows and one for columns.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().

    Returns:
        A tensor of the dtype of `x`.
    """
    inner = [list(p) for p in padding]
    return ops.pad(x, [[0, 0], [0, 0], *inner] if _first(data_format) else [[0, 0], *inner, [0, 0]])


def spatial_3d_padding(
    x: TensorLike, padding: Sequence[Pair] = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around volumes (tf.keras.backend.spatial_3d_padding).

    Args:
        x: Volumes [batch, depth, rows, columns, channels].
        padding: A pair (before, after) for each of depth, rows and columns.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().

    Returns:
        A tensor of the dtype of `x`.
    """
    return spatial_2d_padding(x, padding, data_format)


def resize_images(
    x: TensorLike, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Any:
    """Images enlarged by whole numbers (tf.keras.backend.resize_images).

    Args:
        x: Images [batch, rows, columns, channels].
        height_factor: How many times as many rows there will be.
        width_factor: How many times as many columns there will be.
        data_format: "channels_last", or "channels_first" for [batch, channels, rows, columns].
        interpolation: "nearest" or "bilinear".

    Returns:
        The larger images.
    """
    image = ops.convert_to_tensor(x)
    first = _first(data_format)
    image = ops.transpose(image, [0, 2, 3, 1]) if first else image
    known = image.shape.as_list()[1:3]
    sizes = ops.shape(image)[1:3] * ops.constant([height_factor, width_factor])
    resize = {"nearest": ops.resize_nearest_neighbor, "bilinear": ops.resize_bilinear}[interpolation]
    image = resize(image, sizes, half_pixel_centers=True)
    image.set_shape(
        [
            None,
            *(
                None if n is None else n * f
                for n, f in zip(known, (height_factor, width_factor), strict=True)
            ),
            None,
        ]
    )
    return ops.transpose(image, [0, 3, 1, 2]) if first else image


def resize_volumes(
    x: TensorLike, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Any:
    """Volumes enlarged by whole numbers (tf.keras.backend.resize_volumes).

    Args:
        x: Volumes [batch, depth, rows, columns, channels].
        depth_factor: How many times each layer is repeated.
        height_factor: How many times each row is repeated.
        width_factor: How many times each column is repeated.
        data_format: "channels_last", or "channels_first" for [batch, channels, depth, rows, columns].

    Returns:
        The larger volumes.
    """
    start = 2 if _first(data_format) else 1
    found = ops.convert_to_tensor(x)
    for axis, times in enumerate((depth_factor, height_factor, width_factor)):
        found = ops.repeat(found, times, start + axis)
    return found

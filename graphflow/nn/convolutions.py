"""Convolutions in their many wrappings: of sequences, transposed, by channel, dilated; and pooling by name.

TensorFlow dilates by moving pixels to the batch and back. Here the convolution itself is dilated, which gives the same
numbers without the copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import count_more
from graphflow._core.graph.types import IntsLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.nn import convolution, pooling, volumes
from graphflow._core.ops.nn.spatial import (
    batch_to_space_nd,
    required_space_to_batch_paddings,
    space_to_batch_nd,
)
from graphflow._core.ops.rules import deprecated

_SEQUENCES = {None: "NHWC", "NWC": "NHWC", "NHWC": "NHWC", "NCW": "NCHW", "NCHW": "NCHW"}


def number_along(value: Any, what: str) -> int:
    """One number, also from a list of one or of three with 1 around it."""
    values = [1] if value is None else list(value) if hasattr(value, "__len__") else [value]
    if len(values) not in (1, 3):
        raise ValueError(f"{what} should be of length 1 or 3 but was {len(values)}")
    return max(int(v) for v in values)


def _filter_channels(images: Tensor, kernel: Tensor, layout: str) -> None:
    if images.dims is None or kernel.dims is None or len(kernel.dims) < 2 or len(images.dims) < 3:
        return
    channels = images.dims[1] if layout.startswith("NC") else images.dims[-1]
    if None not in (channels, kernel.dims[-2]) and channels != kernel.dims[-2]:
        raise ValueError(
            "number of input channels does not match corresponding dimension of filter, "
            f"{channels} != {kernel.dims[-2]}"
        )


def conv1d(
    value: TensorLike | None = None,
    filters: TensorLike | None = None,
    stride: IntsLike | None = None,
    padding: str | None = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """The convolution of sequences [N, width, channels] with filters [width, channels, outputs] (tf.nn.conv1d).

    Args:
        value: Images, [batch, rows, columns, channels] or as `data_format` says.
        filters: The filter, whose shape is given above.
        stride: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        use_cudnn_on_gpu: Accepted, and not needed.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        name: A name for the operation.
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        dilations: How far apart the window's elements are along each axis.

    Returns:
        A tensor of the same dtype and layout.
    """
    value = deprecated(input, value, "input", "value")
    with op_scope(name, "conv1d", (value, filters)) as scope:
        if data_format not in _SEQUENCES:
            raise ValueError(f'data_format must be "NWC" or "NCW", got {data_format!r}.')
        layout = _SEQUENCES[data_format]
        spatial = 2 if layout == "NCHW" else 1
        images = array.expand_dims(value, spatial)
        given: Any = filters
        kernel = array.expand_dims(given, 0)
        result = convolution.conv2d(
            images, kernel, [1, number_along(stride, "stride")], padding,
            data_format=layout, dilations=[1, number_along(dilations, "dilations")], name=scope,
        )  # fmt: skip
        return array.squeeze(result, [spatial])


def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: IntTensorLike | None = None,
    strides: IntsLike | None = None,
    padding: str = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """The gradient of conv2d, used as a layer that enlarges images to `output_shape` (tf.nn.conv2d_transpose).

    The filter is [rows, columns, outputs, channels]; Zeiler et al. 2010.

    Args:
        value: Images, [batch, rows, columns, channels] or as `data_format` says.
        filter: The filter, whose shape is given above.
        output_shape: The shape of the result, a vector of int32.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        name: A name for the operation.
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        filters: The filter, whose shape is given above.
        dilations: How far apart the window's elements are along each axis.

    Returns:
        A tensor of the same dtype and layout.
    """
    value = deprecated(input, value, "input", "value")
    filter = deprecated(filters, filter, "filters", "filter")
    shape: Any = output_shape
    with op_scope(name, "conv2d_transpose", (value, filter, shape)) as scope:
        return convolution.conv2d_backprop_input(
            shape,
            filter,
            value,
            strides,
            padding,
            data_format=data_format,
            dilations=dilations,
            name=scope,
        )


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: IntsLike,
    padding: str,
    rate: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Each channel convolved with its own filters [rows, columns, channels, multiplier] (tf.nn.depthwise_conv2d).

    Output channel c * multiplier + m comes from input channel c.

    Args:
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        filter: The filter, whose shape is given above.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        rate: How far apart the window's elements are, (rows, columns).
        name: A name for the operation.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        dilations: How far apart the window's elements are along each axis.

    Returns:
        A tensor of the same dtype and layout.
    """
    rate = deprecated(dilations, rate, "dilations", "rate")
    with op_scope(name, "depthwise", (input, filter)) as scope:
        images = convert_to_tensor(input, name="tensor_in")
        kernel = convert_to_tensor(filter, name="filter_in")
        _check_dilation(strides, rate)
        count_more(2)  # Of the shape of the filter and the rate.
        return convolution.depthwise_conv2d_native(images, kernel, strides, padding, data_format, rate, scope)


def count_dilation(rate: Any, padding: Any) -> None:
    """Counts, for seeds, that TensorFlow moves a dilated window by putting space into the batch, and out of it."""
    if any(int(d) > 1 for d in (rate if hasattr(rate, "__len__") else [rate or 1])):
        count_more(10 if padding == "VALID" else 11)


def _check_dilation(strides: Any, rate: Any) -> None:
    steps = strides if hasattr(strides, "__len__") else [strides or 1]
    dilations = rate if hasattr(rate, "__len__") else [rate or 1]
    if any(int(s) > 1 for s in steps) and any(int(d) > 1 for d in dilations):
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: IntsLike,
    padding: str,
    rate: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """depthwise_conv2d, then conv2d with a filter [1, 1, channels * multiplier, outputs] (tf.nn.separable_conv2d).

    Args:
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        depthwise_filter: [rows, columns, channels, multiplier].
        pointwise_filter: [1, 1, channels * multiplier, outputs].
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        rate: How far apart the window's elements are, (rows, columns).
        name: A name for the operation.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        dilations: How far apart the window's elements are along each axis.

    Returns:
        A tensor of the same dtype and layout.
    """
    rate = deprecated(dilations, rate, "dilations", "rate")
    with op_scope(name, "separable_conv2d", (input, depthwise_filter, pointwise_filter)) as scope:
        images = convert_to_tensor(input, name="tensor_in")
        depthwise = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        if not shapes.compatible(pointwise.dims, (1, 1, None, None)):
            raise ValueError(
                f"The pointwise filter must be [1, 1, channels, outputs], got {pointwise.shape}."
            )
        _check_dilation(strides, rate)
        count_more(2)  # Of the shape of the filter and the rate.
        middle = convolution.depthwise_conv2d_native(
            images, depthwise, strides, padding, data_format, rate, "depthwise"
        )
        return convolution.conv2d(
            middle, pointwise, [1, 1, 1, 1], "VALID", data_format=data_format, name=scope
        )


def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """conv2d with window elements `rate` apart (tf.nn.atrous_conv2d; Yu and Koltun 2016).

    Args:
        value: Images [batch, rows, columns, channels].
        filters: [rows, columns, channels, outputs].
        rate: How far apart the window's elements are.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.
    """
    if rate < 1:
        raise ValueError(f"rate {rate} cannot be less than one")
    return convolution_nd(value, filters, padding, dilation_rate=[rate, rate], name=name)


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: IntTensorLike,
    rate: int,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The gradient of atrous_conv2d, used as a layer (tf.nn.atrous_conv2d_transpose).

    Args:
        value: Images, [batch, rows, columns, channels] or as `data_format` says.
        filters: The filter, whose shape is given above.
        output_shape: The shape of the result.
        rate: How far apart the window's elements are.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.
    """
    if rate < 1:
        raise ValueError(f"rate {rate} cannot be less than one")
    with op_scope(name, "atrous_conv2d_transpose", (value, filters, output_shape)) as scope:
        return convolution.conv2d_backprop_input(
            output_shape, filters, value, 1, padding, dilations=[rate, rate], name=scope
        )


def convolution_nd(
    input: TensorLike,
    filter: TensorLike | None = None,
    padding: str | None = None,
    strides: IntsLike | None = None,
    dilation_rate: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """The convolution over one to three axes, by the filter's rank, with strides or dilation (tf.nn.convolution).

    Args:
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        filter: The filter, whose shape is given above.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        strides: How far the window moves along each axis of the input.
        dilation_rate: How far apart the window's elements are, for each axis.
        name: A name for the operation.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        filters: The filter, whose shape is given above.
        dilations: How far apart the window's elements are along each axis.

    Returns:
        A tensor of the same dtype and layout.

    Raises:
        ValueError: If strides and dilations are both above 1, or the ranks do not fit.
    """
    filter = deprecated(filters, filter, "filters", "filter")
    rate = deprecated(dilations, dilation_rate, "dilations", "dilation_rate")
    with op_scope(name, "convolution", (input, filter)) as scope:
        images = convert_to_tensor(input, name="input")
        kernel = convert_to_tensor(filter, name="filter")
        rank = next((len(t.dims) - 2 for t in (kernel, images) if t.dims is not None), None)
        if rank not in (1, 2, 3):
            raise ValueError(
                f"convolution takes an input and a filter of rank 3 to 5, got {images!r} and {kernel!r}."
            )
        _filter_channels(images, kernel, data_format or "NHWC")
        _check_dilation(strides, rate)
        count_dilation(rate, padding)
        if rank == 1:
            return conv1d(
                images, kernel, strides, padding, data_format=data_format, name=scope, dilations=rate
            )
        function = convolution.conv2d if rank == 2 else volumes.conv3d
        return function(images, kernel, strides, padding, data_format=data_format, dilations=rate, name=scope)


def pool(
    input: TensorLike,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: IntsLike | None = None,
    strides: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """The largest ("MAX") or mean ("AVG") element of windows over one to three axes (tf.nn.pool).

    Args:
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        window_shape: The window's size along each axis.
        pooling_type: "MAX" or "AVG".
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        dilation_rate: How far apart the window's elements are.
        strides: How far the window moves along each axis of the input.
        name: A name for the operation.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        dilations: How far apart the window's elements are along each axis.

    Returns:
        A tensor of the same dtype and layout.

    Raises:
        ValueError: For another pooling type or rank, strides larger than the window, and for dilation together with
            strides or with padding "SAME".
    """
    rate = deprecated(dilations, dilation_rate, "dilations", "dilation_rate")
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type must be 'MAX' or 'AVG', got {pooling_type!r}.")
    rates = [int(r) for r in (rate if hasattr(rate, "__len__") else [rate or 1] * len(window_shape))]
    if strides is not None and any(step > size for step, size in zip(strides, window_shape, strict=False)):
        raise ValueError(
            "strides > window_shape not supported due to inconsistency between CPU and GPU implementations: "
            f"got {list(strides)} and {list(window_shape)}"
        )
    if max(rates) > 1:
        with op_scope(name, f"{pooling_type.lower()}_pool", (input,)):
            return _dilated_pool(input, window_shape, pooling_type, padding, rates, strides, data_format)
    definition = pooling.MAX_POOL if pooling_type == "MAX" else pooling.AVG_POOL
    with op_scope(name, f"{pooling_type.lower()}_pool", (input,)) as scope:
        images = convert_to_tensor(input, name="input")
        window, steps = list(window_shape), list(strides or [1] * len(window_shape))
        if len(window) == len(steps) == 3:
            of_volumes = volumes.max_pool3d if pooling_type == "MAX" else volumes.avg_pool3d
            return of_volumes(images, window, steps, padding, data_format, scope)
        sequence = len(window) == 1
        layout = _SEQUENCES.get(data_format) if sequence else convolution.check_layout(data_format)
        if layout is None or len(window) not in (1, 2) or len(steps) != len(window):
            raise ValueError(
                f"pool takes windows and strides of one to three axes, got {window} and {steps}."
            )
        spatial = 2 if layout == "NCHW" else 1
        if sequence:
            images = array.expand_dims(images, spatial)
            window, steps = [1, *window], [1, *steps]
        attrs = {
            "ksize": convolution.per_axis(window, layout, "window_shape"),
            "strides": convolution.per_axis(steps, layout, "strides"),
            "padding": convolution.check_padding(padding),
            "data_format": layout,
        }
        result = apply(definition, (images,), attrs, scope).outputs[0]
        return array.squeeze(result, [spatial]) if sequence else result


def _dilated_pool(
    input: TensorLike,
    window: Sequence[int],
    pooling_type: str,
    padding: str,
    rates: list[int],
    strides: Sequence[int] | None,
    data_format: str | None,
) -> Tensor:
    """Windows whose elements lie apart: those of the images that have every so many rows and columns."""
    if padding == "SAME":
        raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
    if strides is not None and max(strides) > 1:
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    images = convert_to_tensor(input, name="input")
    # Channels that come first are one axis more, of which nothing is taken apart.
    blocks = [1] * (data_format is not None and data_format.startswith("NC")) + rates
    paddings, crops = required_space_to_batch_paddings(array.shape(images)[1 : 1 + len(blocks)], blocks)
    apart = pool(
        space_to_batch_nd(images, blocks, paddings), window, pooling_type, padding, data_format=data_format
    )
    return batch_to_space_nd(apart, blocks, crops)

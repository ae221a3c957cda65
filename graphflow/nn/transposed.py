"""Convolutions the other way round, for sequences and for what has any number of axes."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntsLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.nn import convolution, volumes
from graphflow.nn.convolutions import conv2d_transpose, number_along


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: IntTensorLike,
    strides: IntsLike,
    padding: str = "SAME",
    data_format: str | None = "NWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of conv1d, used as a layer that lengthens sequences to `output_shape` (tf.nn.conv1d_transpose).

    Args:
        input: Sequences [batch, width, channels], or [batch, channels, width] as data_format says.
        filters: [width, outputs, channels].
        output_shape: The shape of the result, three numbers of int32.
        strides: How far the window moves: one number, or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NWC" or "NCW".
        dilations: How far apart the window's elements are, in the forms of `strides`; 1 by default.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.

    Raises:
        ValueError: The shapes do not fit, or an argument is none of those.
    """
    with op_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        layouts = {None: ("NHWC", 1), "NWC": ("NHWC", 1), "NCW": ("NCHW", 2)}
        if data_format not in layouts:
            raise ValueError(f'data_format must be "NWC" or "NCW", got {data_format!r}.')
        layout, axis = layouts[data_format]
        sizes = convert_to_tensor(output_shape, name="output_shape")
        known = constant_value(sizes)
        if known is not None and len(known) != 3:
            raise ValueError(f"output_shape must have three elements, got {list(known)}.")
        wide = array.concat([sizes[:axis], [1], sizes[axis:]], 0)
        result = convolution.conv2d_backprop_input(
            wide,
            array.expand_dims(filters, 0),
            array.expand_dims(input, axis),
            [1, number_along(strides, "stride")],
            padding,
            data_format=layout,
            dilations=[1, number_along(dilations, "dilations")],
            name=scope,
        )
        return array.squeeze(result, [axis])


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: IntTensorLike,
    strides: IntsLike,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of a convolution over one to three axes, as `output_shape` says (tf.nn.conv_transpose).

    Args:
        input: [batch, ..., channels], or as `data_format` says.
        filters: [..., outputs, channels].
        output_shape: The shape of the result: three to five numbers, or a tensor whose length is known.
        strides: How far the window moves: one number, one for each axis of space, or one for each axis.
        padding: "SAME" or "VALID".
        data_format: The order of the axes, such as "NWC", "NCHW" or "NDHWC"; by default the channels are last.
        dilations: How far apart the window's elements are, in the forms of `strides`; 1 by default.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.

    Raises:
        ValueError: output_shape has not three to five elements, or the shapes do not fit.
    """
    with op_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        shape: Any = output_shape
        if isinstance(shape, Tensor):
            count = None if shape.dims is None else shape.dims[0]
        elif hasattr(shape, "__len__"):
            count = len(shape)
        else:
            raise ValueError("output_shape must be a tensor or sized collection.")
        if count not in (3, 4, 5):
            raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {count}.")
        if count == 3:
            return conv1d_transpose(
                input, filters, shape, strides, padding, data_format or "NWC", dilations, scope
            )
        function: Any = conv2d_transpose if count == 4 else volumes.conv3d_transpose
        layout = data_format or ("NHWC" if count == 4 else "NDHWC")
        result: Tensor = function(input, filters, shape, strides, padding, layout, scope, dilations=dilations)
        return result

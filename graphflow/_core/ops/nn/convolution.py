"""Convolutions of images and their two gradients, whole and by channel.

The filter is [rows, columns, channels in, channels out]. Strides and dilations are kept for four axes in the order of
the data format, as TensorFlow's attributes are. The three ops are each other's
gradients: each is linear in both inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef, Signature, op_def
from graphflow._core.graph.shapes import Dims, merge, text
from graphflow._core.graph.types import IntsLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array import layout as layout_ops
from graphflow._core.ops.array.slicing import slice_
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope, partial_shape
from graphflow._core.ops.rules import deprecated, require_rank

LAYOUTS: Final = {"NHWC": (1, 2, 3), "NCHW": (2, 3, 1)}
"""The axes of rows, columns and channels."""


def windows_along(
    size: int | None, window: int | None, stride: int, padding: str, dilation: int = 1
) -> int | None:
    """The number of window positions along an axis; ValueError if the window is larger than the axis."""
    if stride <= 0 or dilation <= 0:
        raise ValueError(
            f"Strides and dilations must be positive, got stride {stride} and dilation {dilation}."
        )
    if size is None:
        return None
    if padding == "SAME":
        return -(-size // stride)
    if window is None:
        return None
    extent = (window - 1) * dilation + 1
    if size < extent:
        raise ValueError(
            f"Negative dimension size caused by subtracting {extent} from {size}: the window is larger than the input. "
            "Use padding 'SAME' or a smaller window."
        )
    return (size - extent) // stride + 1


def check_layout(data_format: Any) -> str:
    """The data format, NHWC if none is given; ValueError if it is another."""
    if data_format is None:
        return "NHWC"
    if data_format not in LAYOUTS:
        raise ValueError(f"data_format must be 'NHWC' or 'NCHW', got {data_format!r}.")
    return str(data_format)


def check_padding(padding: Any) -> str:
    """The padding's name; TypeError if it is no string, ValueError if it is neither SAME nor VALID."""
    if not isinstance(padding, str):
        raise TypeError(f"Expected string for argument 'padding' not {padding!r}.")
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"Value for attr 'padding' of {padding!r} is not one of 'SAME' and 'VALID'.")
    return padding


def per_axis(value: Any, data_format: str, what: str) -> list[int]:
    """One number for each of four axes, from one, two (rows and columns) or four; ValueError otherwise."""
    values = [1] if value is None else [value] if not hasattr(value, "__len__") else list(value)
    if len(values) == 1:
        values = values * 2
    if len(values) == 2:
        values = [1, 1, *values] if data_format == "NCHW" else [1, *values, 1]
    if len(values) != 4:
        raise ValueError(f"{what} should be of length 1, 2 or 4 but was {len(values)}")
    return [int(v) for v in values]


def _image(op: Operation, dims: Dims, what: str) -> tuple[int | None, int | None, int | None, int | None]:
    """Batch, rows, columns and channels of an image tensor."""
    image = require_rank(dims, 4, what) or ()
    rows, columns, channels = LAYOUTS[op.attrs["data_format"]]
    return image[0], image[rows], image[columns], image[channels]


def _arrange(
    op: Operation, batch: int | None, rows: int | None, columns: int | None, channels: int | None
) -> tuple[int | None, ...]:
    return (
        (batch, channels, rows, columns)
        if op.attrs["data_format"] == "NCHW"
        else (batch, rows, columns, channels)
    )


def _spatial(op: Operation, attr: str) -> tuple[int, int]:
    values = op.attrs.get(attr) or [1, 1, 1, 1]
    rows, columns, _ = LAYOUTS[op.attrs["data_format"]]
    return values[rows], values[columns]


def _output_rows_columns(
    op: Operation, rows: int | None, columns: int | None, filter_dims: tuple[int | None, ...]
) -> list[int | None]:
    padding = op.attrs["padding"]
    steps = zip(
        (rows, columns), filter_dims[:2], _spatial(op, "strides"), _spatial(op, "dilations"), strict=True
    )
    return [
        windows_along(size, window, stride, padding, dilation) for size, window, stride, dilation in steps
    ]


def _conv_infer(op: Operation) -> Signature:
    x, kernel = op.inputs
    batch, rows, columns, channels = _image(op, x.dims, "the input")
    window = require_rank(kernel.dims, 4, "the filter") or ()
    if channels is not None and window[2] is not None and channels != window[2]:
        raise ValueError(
            f"Dimensions must be equal, but are {channels} and {window[2]}: the input's channels (shape "
            f"{text(x.dims)}, {op.attrs['data_format']}) and the filter's third axis (shape {text(kernel.dims)})."
        )
    size = _output_rows_columns(op, rows, columns, window)
    return [(x.dtype, _arrange(op, batch, size[0], size[1], window[3]))]


def _depthwise_infer(op: Operation) -> Signature:
    x, kernel = op.inputs
    batch, rows, columns, channels = _image(op, x.dims, "the input")
    window = require_rank(kernel.dims, 4, "the filter") or ()
    if channels is not None and window[2] is not None and channels != window[2]:
        raise ValueError(
            f"Dimensions must be equal, but are {channels} and {window[2]}: the input's channels and the filter's "
            "third axis."
        )
    channels = window[2] if channels is None else channels
    made = None if channels is None or window[3] is None else channels * window[3]
    size = _output_rows_columns(op, rows, columns, window)
    return [(x.dtype, _arrange(op, batch, size[0], size[1], made))]


def _input_gradient_infer(op: Operation) -> Signature:
    sizes, kernel, gradient = op.inputs
    dims = merge(partial_shape(sizes), (None,) * 4)
    _, _, _, channels = _image(op, gradient.dims, "the gradient")
    window = require_rank(kernel.dims, 4, "the filter") or ()
    if op.op_def is CONV_INPUT and None not in (channels, window[3]) and channels != window[3]:
        raise ValueError(
            f"The gradient's {channels} channels are not the filter's {window[3]} outputs: a transposed convolution "
            "takes a filter [rows, columns, outputs, channels]."
        )
    return [(gradient.dtype, dims)]


def _filter_gradient_infer(op: Operation) -> Signature:
    return [(op.inputs[2].dtype, merge(partial_shape(op.inputs[1]), (None,) * 4))]


def _linear_attrs(op: Operation) -> dict[str, Any]:
    return {name: op.attrs[name] for name in ("strides", "padding", "data_format", "dilations")}


def linear_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of a convolution to its input and its filter."""
    x, kernel = op.inputs
    _, to_input, to_filter = _FAMILIES[op.type]
    attrs = _linear_attrs(op)
    return (
        apply(to_input, (array.shape(x), kernel, g), dict(attrs)).outputs[0],
        apply(to_filter, (x, array.shape(kernel), g), dict(attrs)).outputs[0],
    )


def input_gradient_gradient(op: Operation, g: Tensor) -> tuple[None, Tensor, Tensor]:
    """The gradients of a convolution's gradient to its input."""
    _, kernel, gradient = op.inputs
    forward, _, to_filter = _FAMILIES[op.type]
    attrs = _linear_attrs(op)
    return (
        None,
        apply(to_filter, (g, array.shape(kernel), gradient), dict(attrs)).outputs[0],
        apply(forward, (g, kernel), dict(attrs)).outputs[0],
    )


def filter_gradient_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None, Tensor]:
    """The gradients of a convolution's gradient to its filter."""
    x, _, gradient = op.inputs
    forward, to_input, _ = _FAMILIES[op.type]
    attrs = _linear_attrs(op)
    return (
        apply(to_input, (array.shape(x), g, gradient), dict(attrs)).outputs[0],
        None,
        apply(forward, (x, g), dict(attrs)).outputs[0],
    )


CONV = op_def("Conv2D", ("input: T=float", "filter: T"), infer=_conv_infer, gradient=linear_gradient)
CONV_INPUT = op_def(
    "Conv2DBackpropInput",
    ("input_sizes: int32", "filter: T=float", "out_backprop: T"),
    infer=_input_gradient_infer,
    gradient=input_gradient_gradient,
)
CONV_FILTER = op_def(
    "Conv2DBackpropFilter",
    ("input: T=float", "filter_sizes: int32", "out_backprop: T"),
    infer=_filter_gradient_infer,
    gradient=filter_gradient_gradient,
)
DEPTHWISE = op_def(
    "DepthwiseConv2dNative", ("input: T=float", "filter: T"), infer=_depthwise_infer, gradient=linear_gradient
)
DEPTHWISE_INPUT = op_def(
    "DepthwiseConv2dNativeBackpropInput",
    ("input_sizes: int32", "filter: T=float", "out_backprop: T"),
    infer=_input_gradient_infer,
    gradient=input_gradient_gradient,
)
DEPTHWISE_FILTER = op_def(
    "DepthwiseConv2dNativeBackpropFilter",
    ("input: T=float", "filter_sizes: int32", "out_backprop: T"),
    infer=_filter_gradient_infer,
    gradient=filter_gradient_gradient,
)
_FAMILIES: Final[dict[str, tuple[OpDef, OpDef, OpDef]]] = {}


def convolution_family(forward: OpDef, to_input: OpDef, to_filter: OpDef) -> None:
    """Declares an op linear in input and filter, and its gradients to both, to be each other's gradients."""
    for definition in (forward, to_input, to_filter):
        _FAMILIES[definition.name] = (forward, to_input, to_filter)


convolution_family(CONV, CONV_INPUT, CONV_FILTER)
convolution_family(DEPTHWISE, DEPTHWISE_INPUT, DEPTHWISE_FILTER)


def _attrs(strides: Any, padding: Any, data_format: Any, dilations: Any) -> dict[str, Any]:
    layout = check_layout(data_format)
    return {
        "strides": per_axis(strides, layout, "strides"),
        "padding": check_padding(padding),
        "data_format": layout,
        "dilations": per_axis(dilations, layout, "dilations"),
    }


def conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: IntsLike | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """The convolution of images with a filter (tf.nn.conv2d).

    Args:
        input: Floats [batch, rows, columns, channels], or [batch, channels, rows, columns] as data_format says.
        filter: Floats [rows, columns, channels, outputs].
        strides: The step of the window: one number, two (rows and columns), or four in the order of data_format.
        padding: "SAME", "VALID", or a pair of numbers of pixels, before and after, for each of the four axes.
        use_cudnn_on_gpu: Changes nothing.
        data_format: "NHWC" or "NCHW".
        dilations: The distance of the pixels that the filter meets, in the forms of `strides`; 1 by default.
        name: A name for the operation.
        filters: Another name of `filter`.

    Returns:
        A tensor of the same dtype, as the input but for `outputs` channels and as many rows and columns as windows.

    Raises:
        ValueError: The channels differ, the window does not fit, or an argument is none of those.

    Examples:
        >>> images, filters = gf.ones([1, 4, 4, 1]), gf.ones([3, 3, 1, 2])
        >>> gf.nn.conv2d(images, filters, strides=[1, 1, 1, 1], padding="VALID").shape
        TensorShape([1, 2, 2, 2])
    """
    filter = deprecated(filters, filter, "filters", "filter")
    if isinstance(padding, list | tuple):
        with op_scope(name, "Conv2D", (input, filter)) as scope:
            attrs = _attrs(strides, "VALID", data_format, dilations)
            padded = layout_ops.pad(
                convert_to_tensor(input, name="input"), _explicit(padding, attrs["data_format"])
            )
            return apply(CONV, (padded, filter), attrs, scope).outputs[0]
    return apply(CONV, (input, filter), _attrs(strides, padding, data_format, dilations), name).outputs[0]


def _explicit(padding: Any, data_format: str) -> list[list[int]]:
    pairs = [[int(v) for v in pair] for pair in padding if hasattr(pair, "__len__")]
    if len(padding) != 4 or len(pairs) != 4 or any(len(p) != 2 or min(p) < 0 for p in pairs):
        raise ValueError(f"Explicit padding must be four pairs of numbers of at least 0, got {padding!r}.")
    rows, columns, _ = LAYOUTS[data_format]
    if any(pairs[i] != [0, 0] for i in range(4) if i not in (rows, columns)):
        raise ValueError(f"Only rows and columns can be padded, got {padding!r} for {data_format}.")
    return pairs


def conv2d_backprop_input(
    input_sizes: IntTensorLike,
    filter: TensorLike | None = None,
    out_backprop: TensorLike | None = None,
    strides: IntsLike | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """The gradient of conv2d with regard to its input, of shape `input_sizes` (tf.nn.conv2d_backprop_input).

    Args:
        input_sizes: The shape of the input.
        filter: The filter, whose shape is given above.
        out_backprop: The gradient of the result.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        use_cudnn_on_gpu: Accepted, and not needed.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        dilations: How far apart the window's elements are along each axis.
        name: A name for the operation.
        filters: The filter, whose shape is given above.

    Returns:
        The gradient of the input.
    """
    filter = deprecated(filters, filter, "filters", "filter")
    if not isinstance(padding, list | tuple):
        attrs = _attrs(strides, padding, data_format, dilations)
        return apply(CONV_INPUT, (input_sizes, filter, out_backprop), attrs, name).outputs[0]
    attrs = _attrs(strides, "VALID", data_format, dilations)
    pairs = _explicit(padding, attrs["data_format"])
    with op_scope(name, "Conv2DBackpropInput", (input_sizes, filter, out_backprop)) as scope:
        sizes = convert_to_tensor(input_sizes, dtypes.int32, name="input_sizes")
        padded = sizes + [sum(pair) for pair in pairs]
        whole = apply(CONV_INPUT, (padded, filter, out_backprop), attrs).outputs[0]
        return slice_(whole, [before for before, _ in pairs], sizes, name=scope)


def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: IntTensorLike,
    out_backprop: TensorLike,
    strides: IntsLike | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of conv2d with regard to its filter, of shape `filter_sizes` (tf.nn.conv2d_backprop_filter).

    Args:
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        filter_sizes: The shape of the filter.
        out_backprop: The gradient of the result.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        use_cudnn_on_gpu: Accepted, and not needed.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        dilations: How far apart the window's elements are along each axis.
        name: A name for the operation.

    Returns:
        The gradient of the filter.
    """
    if not isinstance(padding, list | tuple):
        attrs = _attrs(strides, padding, data_format, dilations)
        return apply(CONV_FILTER, (input, filter_sizes, out_backprop), attrs, name).outputs[0]
    attrs = _attrs(strides, "VALID", data_format, dilations)
    with op_scope(name, "Conv2DBackpropFilter", (input, filter_sizes, out_backprop)) as scope:
        images = convert_to_tensor(input, name="input")
        padded = layout_ops.pad(images, _explicit(padding, attrs["data_format"]))
        return apply(CONV_FILTER, (padded, filter_sizes, out_backprop), attrs, scope).outputs[0]


def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Each channel convolved with its own filters [rows, columns, channels, multiplier].

    TensorFlow: tf.nn.depthwise_conv2d_native.

    Args:
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        filter: The filter, whose shape is given above.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        dilations: How far apart the window's elements are along each axis.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.
    """
    return apply(DEPTHWISE, (input, filter), _attrs(strides, padding, data_format, dilations), name).outputs[
        0
    ]

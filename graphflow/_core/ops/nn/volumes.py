"""Convolution and pooling over three axes, for volumes [N, depth, rows, columns, channels]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef, Signature, op_def
from graphflow._core.graph.shapes import Dims, merge
from graphflow._core.graph.types import IntsLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.array.transposing import transpose
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope, partial_shape
from graphflow._core.ops.nn.convolution import (
    check_padding,
    convolution_family,
    filter_gradient_gradient,
    input_gradient_gradient,
    linear_gradient,
    windows_along,
)
from graphflow._core.ops.rules import deprecated, require_rank

_LAYOUTS: Final = ("NDHWC", "NCDHW")


def _five(value: Any, what: str, data_format: str | None = "NDHWC") -> list[int]:
    """One number for each axis of NDHWC, from one, three, or five in the order of the format."""
    values = [1] if value is None else [value] if not hasattr(value, "__len__") else list(value)
    if len(values) == 1:
        values = values * 3
    if len(values) == 3:
        values = [1, *values, 1]
    if len(values) != 5:
        raise ValueError(f"{what} should be of length 1, 3 or 5 but was {len(values)}")
    if data_format == "NCDHW" and hasattr(value, "__len__") and len(value) == 5:
        values = [values[axis] for axis in _LAST]
    return [int(v) for v in values]


_LAST: Final = (0, 2, 3, 4, 1)
"""The order of the axes that makes NDHWC of NCDHW."""
_FIRST: Final = (0, 4, 1, 2, 3)
"""And back."""


def channels_last(
    data_format: str | None,
    volumes: Any,
    name: str | None,
    default: str,
    compute: Callable[[Any, str | None], Tensor],
) -> Tensor:
    """compute(volumes, name), for volumes in the format NCDHW with the channels brought to the end and back.

    ValueError for another format.
    """
    if data_format in (None, "NDHWC"):
        return compute(volumes, name)
    if data_format not in _LAYOUTS:
        raise ValueError(f"data_format must be 'NDHWC' or 'NCDHW', got {data_format!r}.")
    with op_scope(name, default, [volumes]) as scope:
        return transpose(compute(transpose(volumes, _LAST), None), _FIRST, name=scope)


def _windows(op: Operation, dims: tuple[int | None, ...], window: Any) -> list[int | None]:
    dilations = op.attrs.get("dilations", [1] * 5)
    return [
        windows_along(dims[i], window[i - 1], op.attrs["strides"][i], op.attrs["padding"], dilations[i])
        for i in (1, 2, 3)
    ]


def _conv_infer(op: Operation) -> Signature:
    x, kernel = op.inputs
    dims = require_rank(x.dims, 5, "the input") or ()
    window = require_rank(kernel.dims, 5, "the filter") or ()
    if None not in (dims[4], window[3]) and dims[4] != window[3]:
        raise ValueError(
            f"Dimensions must be equal, but are {dims[4]} and {window[3]}: the input's channels and the filter's "
            "fourth axis."
        )
    return [(x.dtype, (dims[0], *_windows(op, dims, window), window[4]))]


CONV = op_def("Conv3D", ("input: T=float", "filter: T"), infer=_conv_infer, gradient=linear_gradient)
CONV_INPUT = op_def(
    "Conv3DBackpropInputV2",
    ("input_sizes: index", "filter: T=float", "out_backprop: T"),
    infer=lambda op: [(op.inputs[2].dtype, merge(partial_shape(op.inputs[0]), (None,) * 5))],
    gradient=input_gradient_gradient,
)
CONV_FILTER = op_def(
    "Conv3DBackpropFilterV2",
    ("input: T=float", "filter_sizes: int32", "out_backprop: T"),
    infer=lambda op: [(op.inputs[2].dtype, merge(partial_shape(op.inputs[1]), (None,) * 5))],
    gradient=filter_gradient_gradient,
)
convolution_family(CONV, CONV_INPUT, CONV_FILTER)


def _pooled(op: Operation) -> Signature:
    dims = require_rank(op.inputs[0].dims, 5, "the input") or ()
    sizes: Dims = (dims[0], *_windows(op, dims, op.attrs["ksize"][1:4]), dims[4])
    return [(op.inputs[0].dtype, sizes)]


def _window(op: Operation) -> dict[str, Any]:
    return {name: op.attrs[name] for name in ("ksize", "strides", "padding", "data_format")}


def _volume_like(position: int) -> Any:
    return lambda op: [(op.inputs[position].dtype, require_rank(op.inputs[position].dims, 5, "the input"))]


def _zeros_and(definition: Any, op: Operation, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, y, _ = op.inputs
    return array.zeros_like(x), array.zeros_like(y), apply(definition, (x, y, g), _window(op)).outputs[0]


MAX_POOL: OpDef = op_def(
    "MaxPool3D",
    ("input: T=float",),
    infer=_pooled,
    gradient=lambda op, g: (apply(MAX_POOL_GRAD, (op.inputs[0], op.outputs[0], g), _window(op)).outputs[0],),
)
MAX_POOL_GRAD: OpDef = op_def(
    "MaxPool3DGrad",
    ("orig_input: T=float", "orig_output: T", "grad: T"),
    infer=_volume_like(0),
    gradient=lambda op, g: _zeros_and(MAX_POOL_GRAD_GRAD, op, g),
)
MAX_POOL_GRAD_GRAD: OpDef = op_def(
    "MaxPool3DGradGrad",
    ("orig_input: T=float", "orig_output: T", "grad: T"),
    infer=_volume_like(1),
    gradient=lambda op, g: _zeros_and(MAX_POOL_GRAD, op, g),
)
AVG_POOL = op_def(
    "AvgPool3D",
    ("input: T=float",),
    infer=_pooled,
    gradient=lambda op, g: (apply(AVG_POOL_GRAD, (array.shape(op.inputs[0]), g), _window(op)).outputs[0],),
)
AVG_POOL_GRAD: OpDef = op_def(
    "AvgPool3DGrad",
    ("orig_input_shape: int32", "grad: T=float"),
    infer=lambda op: [(op.inputs[1].dtype, merge(partial_shape(op.inputs[0]), (None,) * 5))],
    gradient=lambda op, g: (None, apply(AVG_POOL, (g,), _window(op)).outputs[0]),
)


def _attrs(strides: Any, padding: Any, data_format: str | None, dilations: Any) -> dict[str, Any]:
    return {
        "strides": _five(strides, "strides", data_format),
        "padding": check_padding(padding),
        "data_format": "NDHWC",
        "dilations": _five(dilations, "dilations", data_format),
    }


def conv3d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: IntsLike | None = None,
    padding: str | None = None,
    data_format: str | None = "NDHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """The convolution of volumes with a filter [depth, rows, columns, channels, outputs] (tf.nn.conv3d).

    Args:
        input: Volumes, [batch, planes, rows, columns, channels] or as `data_format` says.
        filter: The filter, whose shape is given above.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, "NDHWC" or "NCDHW".
        dilations: How far apart the window's elements are along each axis.
        name: A name for the operation.
        filters: The filter, whose shape is given above.

    Returns:
        A tensor of the same dtype and layout.
    """
    filter = deprecated(filters, filter, "filters", "filter")
    attrs = _attrs(strides, padding, data_format, dilations)
    return channels_last(
        data_format, input, name, "Conv3D", lambda x, name: apply(CONV, (x, filter), attrs, name).outputs[0]
    )


def conv3d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: IntTensorLike | None = None,
    strides: IntsLike | None = None,
    padding: str = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """The gradient of conv3d, used as a layer that enlarges volumes to `output_shape` (tf.nn.conv3d_transpose).

    Args:
        value: Volumes, [batch, planes, rows, columns, channels] or as `data_format` says.
        filter: The filter, whose shape is given above.
        output_shape: The shape of the result, a vector of int32.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, "NDHWC" or "NCDHW".
        name: A name for the operation.
        input: Volumes, [batch, planes, rows, columns, channels] or as `data_format` says.
        filters: The filter, whose shape is given above.
        dilations: How far apart the window's elements are along each axis.

    Returns:
        A tensor of the same dtype and layout.
    """
    value = deprecated(input, value, "input", "value")
    filter = deprecated(filters, filter, "filters", "filter")
    with op_scope(name, "conv3d_transpose", (value, filter, output_shape)) as scope:
        attrs = _attrs(strides, padding, data_format, dilations)
        sizes: Any = output_shape
        wanted: Dims = None
        if data_format == "NCDHW":
            given = convert_to_tensor(sizes, name="output_shape")
            sizes, wanted = gather(given, _LAST), partial_shape(given)
        result = channels_last(
            data_format,
            value,
            scope,
            "",
            lambda x, name: apply(CONV_INPUT, (sizes, filter, x), attrs, name).outputs[0],
        )
        if wanted is not None:
            result.set_shape(wanted)
        return result


def _pool(
    definition: Any, input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any, name: Any
) -> Tensor:
    attrs = {
        "ksize": _five(ksize, "ksize", data_format),
        "strides": _five(strides, "strides", data_format),
        "padding": check_padding(padding),
        "data_format": "NDHWC",
    }
    return channels_last(
        data_format,
        input,
        name,
        definition.name,
        lambda x, name: apply(definition, (x,), attrs, name).outputs[0],
    )


def max_pool3d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of volumes (tf.nn.max_pool3d).

    Args:
        input: Volumes, [batch, planes, rows, columns, channels] or as `data_format` says.
        ksize: The window's size along each axis of the input.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, "NDHWC" or "NCDHW".
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.
    """
    return _pool(MAX_POOL, input, ksize, strides, padding, data_format, name or "MaxPool3D")


def avg_pool3d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of volumes, padding not counted (tf.nn.avg_pool3d).

    Args:
        input: Volumes, [batch, planes, rows, columns, channels] or as `data_format` says.
        ksize: The window's size along each axis of the input.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, "NDHWC" or "NCDHW".
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.
    """
    return _pool(AVG_POOL, input, ksize, strides, padding, data_format, name or "AvgPool3D")

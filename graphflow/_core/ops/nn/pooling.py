"""Pooling of images: the largest or the mean element of each window, and its gradients.

The gradient of a maximum goes to the first largest element of the window, in row-major order, as in TensorFlow.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.graph.shapes import Dims, merge
from graphflow._core.graph.types import DTypeLike, IntsLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.shaping import reshape, shape
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope, partial_shape
from graphflow._core.ops.math.reductions import reduce_max
from graphflow._core.ops.nn.convolution import LAYOUTS, check_layout, check_padding, per_axis, windows_along
from graphflow._core.ops.rules import deprecated, require_rank


def _pooled(op: Operation) -> Dims:
    dims = list(require_rank(op.inputs[0].dims, 4, "the input") or ())
    for axis in LAYOUTS[op.attrs["data_format"]][:2]:
        dims[axis] = windows_along(
            dims[axis], op.attrs["ksize"][axis], op.attrs["strides"][axis], op.attrs["padding"]
        )
    if any(size < 1 for size in op.attrs["ksize"]):
        raise ValueError(f"The window must have positive sizes, got {op.attrs['ksize']}.")
    return tuple(dims)


def _pool_infer(op: Operation) -> Signature:
    return [(op.inputs[0].dtype, _pooled(op))]


def _first_input_shape(op: Operation) -> Signature:
    return [(op.inputs[0].dtype, require_rank(op.inputs[0].dims, 4, "the input"))]


def _window(op: Operation) -> dict[str, Any]:
    return {name: op.attrs[name] for name in ("ksize", "strides", "padding", "data_format")}


def _max_pool_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (apply(MAX_POOL_GRAD, (op.inputs[0], op.outputs[0], g), _window(op)).outputs[0],)


def _max_pool_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, y, _ = op.inputs
    second = apply(MAX_POOL_GRAD_GRAD, (x, y, g), _window(op)).outputs[0]
    return array.zeros_like(x), array.zeros_like(y), second


def _max_pool_grad_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, y, _ = op.inputs
    first = apply(MAX_POOL_GRAD, (x, y, g), _window(op)).outputs[0]
    return array.zeros_like(x), array.zeros_like(y), first


MAX_POOL = op_def("MaxPool", ("input: T=real(float32)",), infer=_pool_infer, gradient=_max_pool_gradient)
MAX_POOL_GRAD = op_def(
    "MaxPoolGrad",
    ("orig_input: T=real", "orig_output: T", "grad: T"),
    infer=_first_input_shape,
    gradient=_max_pool_grad_gradient,
)
MAX_POOL_GRAD_GRAD = op_def(
    "MaxPoolGradGrad",
    ("orig_input: T=real", "orig_output: T", "grad: T"),
    infer=lambda op: [(op.inputs[1].dtype, require_rank(op.inputs[1].dims, 4, "the pooled input"))],
    gradient=_max_pool_grad_grad_gradient,
)


def _avg_pool_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (apply(AVG_POOL_GRAD, (array.shape(op.inputs[0]), g), _window(op)).outputs[0],)


AVG_POOL = op_def("AvgPool", ("value: T=float",), infer=_pool_infer, gradient=_avg_pool_gradient)
AVG_POOL_GRAD = op_def(
    "AvgPoolGrad",
    ("orig_input_shape: int32", "grad: T=float"),
    infer=lambda op: [(op.inputs[1].dtype, merge(partial_shape(op.inputs[0]), (None,) * 4))],
    gradient=lambda op, g: (None, apply(AVG_POOL, (g,), _window(op)).outputs[0]),
)


def _argmax_gradient(op: Operation, g: Tensor, g_argmax: Tensor | None) -> tuple[Tensor]:
    return _max_pool_gradient(op, g)


MAX_POOL_WITH_ARGMAX = op_def(
    "MaxPoolWithArgmax",
    ("input: T=real",),
    infer=lambda op: [(op.inputs[0].dtype, _pooled(op)), (op.attrs["Targmax"], _pooled(op))],
    gradient=_argmax_gradient,
    outputs=("output", "argmax"),
)


def _pool_attrs(ksize: Any, strides: Any, padding: Any, data_format: Any) -> dict[str, Any]:
    layout = check_layout(data_format)
    return {
        "ksize": per_axis(ksize, layout, "ksize"),
        "strides": per_axis(strides, layout, "strides"),
        "padding": check_padding(padding),
        "data_format": layout,
    }


def max_pool(
    value: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The largest element of each window of images (tf.nn.max_pool).

    Args:
        value: Real numbers [batch, rows, columns, channels], or [batch, channels, rows, columns] as data_format
            says.
        ksize: The window: one number, two (rows and columns), or four in the order of data_format.
        strides: The step of the window, likewise.
        padding: "SAME" or "VALID".
        data_format: "NHWC" or "NCHW".
        name: A name for the operation.
        input: Another name of `value`.

    Returns:
        A tensor of the same dtype, with a row and a column for each window.

    Raises:
        ValueError: The window does not fit, or an argument is none of those.

    Examples:
        >>> images = gf.reshape(gf.range(16.0), [1, 4, 4, 1])
        >>> pooled = gf.nn.max_pool(images, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
        >>> gf.Session().run(gf.squeeze(pooled))
        array([[ 5.,  7.],
               [13., 15.]], dtype=float32)
    """
    value = deprecated(input, value, "input", "value")
    with op_scope(name, "MaxPool", (value,)) as scope:
        attrs = _pool_attrs(ksize, strides, padding, data_format)
        if attrs["data_format"] == "NHWC" and attrs["ksize"][3] > 1:
            return _largest_of_channels(convert_to_tensor(value), attrs, scope)
        return apply(MAX_POOL, (value,), attrs, scope).outputs[0]


def _largest_of_channels(value: Tensor, attrs: dict[str, Any], name: str | None) -> Tensor:
    """The largest of each so many channels: windows lie in the channels alone, and do not overlap."""
    window, steps = list(attrs["ksize"]), list(attrs["strides"])
    channels = value.shape.with_rank(4).as_list()[3]
    if window[:3] != [1, 1, 1] or steps != window or (channels is not None and channels % window[3]):
        raise ValueError(
            "MaxPooling supports exactly one of pooling across depth or pooling across width/height, and windows that "
            f"divide the {channels} channels and do not overlap: ksize is {window}, strides are {steps}."
        )
    sizes = shape(value)
    groups = reshape(value, [sizes[0], sizes[1], sizes[2], sizes[3] // window[3], window[3]])
    result = reduce_max(groups, 4, name=name)
    result.set_shape([*value.shape.as_list()[:3], None if channels is None else channels // window[3]])
    return result


def max_pool2d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of images (tf.nn.max_pool2d).

    Args:
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        ksize: The window's size along each axis of the input.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.
    """
    with op_scope(name, "MaxPool2d", (input,)) as scope:
        attrs = _pool_attrs(ksize, strides, padding, data_format)
        return apply(MAX_POOL, (input,), attrs, scope).outputs[0]


def avg_pool(
    value: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The mean of each window of images, padding not counted (tf.nn.avg_pool).

    Args:
        value: Images, [batch, rows, columns, channels] or as `data_format` says.
        ksize: The window's size along each axis of the input.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        name: A name for the operation.
        input: Images, [batch, rows, columns, channels] or as `data_format` says.

    Returns:
        A tensor of the same dtype and layout.

    Examples:
        >>> images = gf.reshape(gf.range(16.0), [1, 4, 4, 1])
        >>> pooled = gf.nn.avg_pool(images, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
        >>> gf.Session().run(gf.squeeze(pooled))
        array([[ 2.5,  4.5],
               [10.5, 12.5]], dtype=float32)
    """
    value = deprecated(input, value, "input", "value")
    with op_scope(name, "AvgPool", (value,)) as scope:
        attrs = _pool_attrs(ksize, strides, padding, data_format)
        return apply(AVG_POOL, (convert_to_tensor(value, name="value"),), attrs, scope).outputs[0]


def avg_pool2d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of images, padding not counted (tf.nn.avg_pool2d).

    Args:
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        ksize: The window's size along each axis of the input.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and layout.
    """
    return avg_pool(input, ksize, strides, padding, data_format, name)


def max_pool_with_argmax(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    Targmax: DTypeLike | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window and its place, (row * columns + column) * channels + channel.

    TensorFlow: tf.nn.max_pool_with_argmax.

    Args:
        input: Images, [batch, rows, columns, channels] or as `data_format` says.
        ksize: The window's size along each axis of the input.
        strides: How far the window moves along each axis of the input.
        padding: "SAME", "VALID", or for convolutions of images pairs (before, after) for each axis.
        data_format: The order of the axes, such as "NHWC" or "NCHW".
        Targmax: The dtype of the places.
        name: A name for the operation.
        output_dtype: A newer name of `Targmax`.
        include_batch_in_index: Whether the batch counts in the places.

    Returns:
        The largest elements, and their places.
    """
    dtype = dtypes.as_dtype(deprecated(output_dtype, Targmax, "output_dtype", "Targmax") or dtypes.int64)
    attrs = _pool_attrs(ksize, strides, padding, data_format)
    attrs |= {"Targmax": dtype, "include_batch_in_index": bool(include_batch_in_index)}
    output, argmax = apply(MAX_POOL_WITH_ARGMAX, (input,), attrs, name).outputs
    return output, argmax

"""Dilation and erosion of images by windows of numbers, grey-scale morphology (tf.nn.dilation2d, erosion2d).

Gradients go to the first largest sum of each window, in row-major order, as in TensorFlow.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import merge
from graphflow._core.graph.types import IntsLike, TensorLike
from graphflow._core.ops.array.layout import reverse
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math.math import negative
from graphflow._core.ops.nn.convolution import check_padding, windows_along
from graphflow._core.ops.rules import deprecated, require_rank


def _infer(op: Operation) -> Signature:
    images = require_rank(op.inputs[0].dims, 4, "the input") or ()
    window = require_rank(op.inputs[1].dims, 3, "the filter") or ()
    (channels,) = merge(images[3:], window[2:]) or (None,)
    places = []
    for axis in (1, 2):
        rate, stride = op.attrs["rates"][axis], op.attrs["strides"][axis]
        places.append(windows_along(images[axis], window[axis - 1], stride, op.attrs["padding"], rate))
    return [(op.inputs[0].dtype, (images[0], *places, channels))]


def _gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    given, attrs = (*op.inputs, g), dict(op.attrs)
    return (
        apply(DILATION_INPUT_GRADIENT, given, attrs).outputs[0],
        apply(DILATION_FILTER_GRADIENT, given, attrs).outputs[0],
    )


DILATION = op_def("Dilation2D", ("input: T=real", "filter: T"), infer=_infer, gradient=_gradient)
DILATION_INPUT_GRADIENT = op_def(
    "Dilation2DBackpropInput",
    ("input: T=real", "filter: T", "out_backprop: T"),
    infer=lambda op: [(op.inputs[0].dtype, op.inputs[0].dims)],
    gradient=NOT_DIFFERENTIABLE,
    outputs=("in_backprop",),
)
DILATION_FILTER_GRADIENT = op_def(
    "Dilation2DBackpropFilter",
    ("input: T=real", "filter: T", "out_backprop: T"),
    infer=lambda op: [(op.inputs[1].dtype, op.inputs[1].dims)],
    gradient=NOT_DIFFERENTIABLE,
    outputs=("filter_backprop",),
)


def _four(values: Any, what: str) -> list[int]:
    found = [int(value) for value in values]
    if len(found) != 4 or found[0] != 1 or found[3] != 1 or min(found) < 1:
        raise ValueError(
            f"{what} must be four positive numbers, 1 in the batch and the channels, got {found}."
        )
    return found


def dilation2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: IntsLike | None = None,
    rates: IntsLike | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """The largest sum of a window of images and a filter, for each window and channel (tf.nn.dilation2d).

    Args:
        input: Real numbers [batch, rows, columns, channels].
        filter: What is added to a window, [rows, columns, channels].
        strides: How far the window moves, [1, rows, columns, 1].
        rates: How far apart its elements are, [1, rows, columns, 1].
        padding: "SAME" or "VALID"; what is outside of the images counts for nothing.
        name: A name for the operation.
        filters: Another name of `filter`.
        dilations: Another name of `rates`.

    Returns:
        Images of the same dtype, with a row and a column for each window.

    Raises:
        ValueError: The window does not fit, or an argument is none of those.

    Examples:
        >>> image = gf.reshape([1.0, 5.0, 2.0], [1, 1, 3, 1])
        >>> wider = gf.nn.dilation2d(image, gf.zeros([1, 3, 1]), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
        >>> gf.Session().run(gf.squeeze(wider))
        array([5., 5., 5.], dtype=float32)
    """
    window = deprecated(filters, filter, "filters", "filter")
    apart = deprecated(dilations, rates, "dilations", "rates")
    return _dilated(input, window, strides, apart, padding, name)


def _dilated(input: Any, window: Any, strides: Any, rates: Any, padding: Any, name: str | None) -> Tensor:
    attrs = {
        "strides": _four(strides, "strides"), "rates": _four(rates, "rates"), "padding": check_padding(padding),
    }  # fmt: skip
    return apply(DILATION, (input, window), attrs, name).outputs[0]


def erosion2d(
    value: TensorLike,
    kernel: TensorLike,
    strides: IntsLike,
    rates: IntsLike,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The least difference of a window of images and a kernel, for each window and channel (tf.nn.erosion2d).

    Args:
        value: Real numbers [batch, rows, columns, channels].
        kernel: What is taken from a window, [rows, columns, channels].
        strides: How far the window moves, [1, rows, columns, 1].
        rates: How far apart its elements are, [1, rows, columns, 1].
        padding: "SAME" or "VALID".
        name: A name for the operation.

    Returns:
        Images of the same dtype, with a row and a column for each window.

    Raises:
        ValueError: The window does not fit, or an argument is none of those.
    """
    with op_scope(name, "erosion2d", (value, kernel)) as scope:
        turned = reverse(convert_to_tensor(kernel), [0, 1])
        widest = _dilated(negative(convert_to_tensor(value)), turned, strides, rates, padding, None)
        return negative(widest, name=scope)

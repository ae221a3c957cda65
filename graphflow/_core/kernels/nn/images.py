"""What convolutions, pools and patches share: windows over images, and the layout in which an op has its images.

The functions know images as NHWC only; an NCHW op is computed on transposed views, so that each layout has the same
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graphflow._core.kernels.nn.windows import Axis
from graphflow._core.kernels.registry import Kernel, Node
from graphflow.errors import InvalidArgumentError

Array: TypeAlias = npt.NDArray[Any]
Axes: TypeAlias = tuple[Axis, Axis]

_TO_NHWC = (0, 2, 3, 1)
_TO_NCHW = (0, 3, 1, 2)


def window_axes(
    shape: Sequence[int], size: Sequence[int], strides: Sequence[int], padding: str, dilations: Sequence[int]
) -> Axes:
    """The row and the column axis of windows of `size` over images of a shape."""
    if len(shape) != 4 or len(strides) != 4 or len(dilations) != 4:
        raise ValueError(
            f"images are NHWC and strides and dilations have four entries; got shape {tuple(shape)}, "
            f"strides {list(strides)}, dilations {list(dilations)}"
        )
    for name, values in (("strides", strides), ("dilations", dilations)):
        if values[0] != 1 or values[3] != 1:
            raise ValueError(f"{name} are {list(values)}; in the batch and the channels they must be 1")
    rows, columns = (
        Axis.of(int(shape[axis]), int(size[axis - 1]), int(strides[axis]), padding, int(dilations[axis]))
        for axis in (1, 2)
    )
    return rows, columns


def padded_shape(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    """The shape of images with their padding."""
    rows, columns = axes
    return (
        shape[0], rows.before + rows.inputs + rows.after, columns.before + columns.inputs + columns.after, shape[3],
    )  # fmt: skip


def padded_images(x: Array, axes: Axes, value: Any = 0) -> Array:
    """The images with their padding, or themselves if there is none."""
    rows, columns = axes
    widths = ((0, 0), (rows.before, rows.after), (columns.before, columns.after), (0, 0))
    if not any(sum(width) for width in widths):
        return x
    return np.pad(x, widths, constant_values=value)


def unpadded_images(x: Array, axes: Axes) -> Array:
    """The images without their padding, contiguous."""
    rows, columns = axes
    view = x[:, rows.before : rows.before + rows.inputs, columns.before : columns.before + columns.inputs]
    return np.ascontiguousarray(view)


def tap_views(padded: Array, axes: Axes) -> Iterator[tuple[tuple[int, int], Array]]:
    """For each element of the window, what all windows have there: [N, out rows, out columns, channels]."""
    rows, columns = axes

    def along(axis: Axis, k: int) -> slice:
        first = k * axis.dilation
        return slice(
            first, first + max(axis.outputs - 1, 0) * axis.stride + min(axis.outputs, 1), axis.stride
        )

    for i in range(rows.size):
        for j in range(columns.size):
            yield (i, j), padded[:, along(rows, i), along(columns, j)]


def _last_channels(values: Any) -> tuple[int, ...]:
    """Four numbers in the order NCHW, put in the order NHWC."""
    return tuple(int(values[axis]) for axis in _TO_NHWC)


def checked_images(function: Callable[..., Any]) -> Kernel:
    """The function, what does not fit raised as TensorFlow's class of error."""

    def run(*inputs: Any) -> Any:
        try:
            return function(*inputs)
        except ValueError as error:
            raise InvalidArgumentError(None, None, str(error)) from None

    return run


def image_kernel(
    function: Callable[..., Any],
    images: tuple[int, ...],
    sizes: int | None,
    image_result: bool,
    options: tuple[str, ...],
) -> Callable[[Node], Kernel]:
    """A factory around `function(*inputs, *options)`.

    `images` are the inputs that are images, `sizes` the input that is an image's shape, `image_result` says that the
    result is images; these follow the op's data format.
    """

    def factory(node: Node) -> Kernel:
        channels_first = node.attrs["data_format"] == "NCHW"
        values = [node.attrs[name] for name in options]
        ordered = [_last_channels(v) if channels_first and not isinstance(v, str) else v for v in values]

        def nhwc(*inputs: Any) -> Any:
            for position in images:
                if inputs[position].ndim != 4:
                    raise ValueError(f"images have four axes, got shape {inputs[position].shape}")
            return function(*inputs, *ordered)

        if not channels_first:
            return checked_images(nhwc)

        def nchw(*inputs: Any) -> Any:
            moved = [
                np.transpose(x, _TO_NHWC) if i in images and x.ndim == 4 else x for i, x in enumerate(inputs)
            ]
            if sizes is not None:
                moved[sizes] = np.array(_last_channels(inputs[sizes]))
            result = nhwc(*moved)
            return np.ascontiguousarray(np.transpose(result, _TO_NCHW)) if image_result else result

        return checked_images(nchw)

    return factory


def check_gradient(gradient: Array, axes: Axes, images: int, outputs: int) -> None:
    """ValueError if a gradient has not the shape of the output that it belongs to."""
    expected = (images, axes[0].outputs, axes[1].outputs, outputs)
    if gradient.shape != expected:
        raise ValueError(
            f"the gradient's shape is {gradient.shape}; the output that it belongs to has {expected}"
        )

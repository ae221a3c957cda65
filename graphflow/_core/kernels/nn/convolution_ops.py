"""The op types of convolution and pooling, on the NumPy functions of `convolution`.

Those know images as NHWC only; an NCHW op is computed on transposed views, so that each layout has the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.nn import convolution
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow.errors import InvalidArgumentError

_TO_NHWC = (0, 2, 3, 1)
_TO_NCHW = (0, 3, 1, 2)


def _last_channels(values: Any) -> tuple[int, ...]:
    """Four numbers in the order NCHW, put in the order NHWC."""
    return tuple(int(values[axis]) for axis in _TO_NHWC)


def _checked(function: Callable[..., Any]) -> Kernel:
    """The function, what does not fit raised as TensorFlow's class of error."""

    def run(*inputs: Any) -> Any:
        try:
            return function(*inputs)
        except ValueError as error:
            raise InvalidArgumentError(None, None, str(error)) from None

    return run


def _kernel(
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
            return _checked(nhwc)

        def nchw(*inputs: Any) -> Any:
            moved = [
                np.transpose(x, _TO_NHWC) if i in images and x.ndim == 4 else x for i, x in enumerate(inputs)
            ]
            if sizes is not None:
                moved[sizes] = np.array(_last_channels(inputs[sizes]))
            result = nhwc(*moved)
            return np.ascontiguousarray(np.transpose(result, _TO_NCHW)) if image_result else result

        return _checked(nchw)

    return factory


_CONV = ("strides", "padding", "dilations")
_POOL = ("ksize", "strides", "padding")

kernel("Conv2D")(_kernel(convolution.conv2d, (0,), None, True, _CONV))
kernel("Conv2DBackpropInput")(_kernel(convolution.conv2d_backprop_input, (2,), 0, True, _CONV))
kernel("Conv2DBackpropFilter")(_kernel(convolution.conv2d_backprop_filter, (0, 2), None, False, _CONV))
kernel("DepthwiseConv2dNative")(_kernel(convolution.depthwise_conv2d_native, (0,), None, True, _CONV))
kernel("DepthwiseConv2dNativeBackpropInput")(
    _kernel(convolution.depthwise_conv2d_native_backprop_input, (2,), 0, True, _CONV)
)
kernel("DepthwiseConv2dNativeBackpropFilter")(
    _kernel(convolution.depthwise_conv2d_native_backprop_filter, (0, 2), None, False, _CONV)
)
kernel("MaxPool")(_kernel(convolution.max_pool, (0,), None, True, _POOL))
kernel("MaxPoolGrad")(_kernel(convolution.max_pool_grad, (0, 1, 2), None, True, _POOL))
kernel("MaxPoolGradGrad")(_kernel(convolution.max_pool_grad_grad, (0, 1, 2), None, True, _POOL))
kernel("AvgPool")(_kernel(convolution.avg_pool, (0,), None, True, _POOL))
kernel("AvgPoolGrad")(_kernel(convolution.avg_pool_grad, (1,), 0, True, _POOL))


@kernel("ExtractImagePatches")
def _image_patches(node: Node) -> Kernel:
    options = [node.attrs[name] for name in ("ksizes", "strides", "rates", "padding")]
    return _checked(lambda x: convolution.image_patches(x, *options))


@kernel("MaxPoolWithArgmax")
def _max_pool_with_argmax(node: Node) -> Kernel:
    ksize, strides, padding = (node.attrs[name] for name in _POOL)
    dtype, with_batch = node.dtypes[1].as_numpy_dtype, node.attrs["include_batch_in_index"]

    def run(x: Any) -> tuple[Any, Any]:
        if node.attrs["data_format"] == "NCHW" or x.ndim != 4:
            raise ValueError(f"max_pool_with_argmax takes NHWC images, got shape {x.shape}")
        y = convolution.max_pool(x, ksize, strides, padding)
        # The place of each result is what max_pool_grad_grad picks from an array of places.
        size = math.prod(x.shape[1:])
        places = np.arange(size, dtype=np.float64).reshape(1, *x.shape[1:])
        shifts = np.arange(len(x), dtype=np.float64).reshape(-1, 1, 1, 1) * (size if with_batch else 0)
        argmax = convolution.max_pool_grad_grad(x, y, places + shifts, ksize, strides, padding)
        return y, argmax.astype(dtype)

    return _checked(run)

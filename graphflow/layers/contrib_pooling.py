"""The pooling layers of tf.contrib.layers."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, IntsLike, TensorLike
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow.layers import pooling
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.layers.contrib_scope import layout
from graphflow.layers.named_outputs import collect_named_outputs


def _pooled(
    kind: type[Any],
    how: tuple[Any, ...],
    inputs: Any,
    name: str | None,
    default: str,
    outputs_collections: Any,
) -> Tensor:
    with op_scope(name, default, [inputs]) as opened:
        outputs: Tensor = kind(*how, _scope=opened)(convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, opened, outputs)


@add_arg_scope
def max_pool2d(
    inputs: TensorLike,
    kernel_size: IntsLike,
    stride: IntsLike = 2,
    padding: str = "VALID",
    data_format: str | None = None,
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """The largest element of each window (tf.contrib.layers.max_pool2d).

    Args:
        inputs: A tensor.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NHWC" or "NCHW", or None for "NHWC".
        outputs_collections: Collections that the outputs are added to.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    how = (kernel_size, stride, padding, layout(data_format))
    return _pooled(pooling.MaxPooling2D, how, inputs, scope, "MaxPool2D", outputs_collections)


@add_arg_scope
def avg_pool2d(
    inputs: TensorLike,
    kernel_size: IntsLike,
    stride: IntsLike = 2,
    padding: str = "VALID",
    data_format: str | None = None,
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """The mean of each window (tf.contrib.layers.avg_pool2d).

    Args:
        inputs: A tensor.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NHWC" or "NCHW", or None for "NHWC".
        outputs_collections: Collections that the outputs are added to.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    how = (kernel_size, stride, padding, layout(data_format))
    return _pooled(pooling.AveragePooling2D, how, inputs, scope, "AvgPool2D", outputs_collections)


@add_arg_scope
def max_pool3d(
    inputs: TensorLike,
    kernel_size: IntsLike,
    stride: IntsLike = 2,
    padding: str = "VALID",
    data_format: str | None = None,
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """The largest element of each window (tf.contrib.layers.max_pool3d).

    Args:
        inputs: A tensor.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NDHWC" or "NCDHW", or None for "NDHWC".
        outputs_collections: Collections that the outputs are added to.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    how = (kernel_size, stride, padding, layout(data_format, 3))
    return _pooled(pooling.MaxPooling3D, how, inputs, scope, "MaxPool3D", outputs_collections)


@add_arg_scope
def avg_pool3d(
    inputs: TensorLike,
    kernel_size: IntsLike,
    stride: IntsLike = 2,
    padding: str = "VALID",
    data_format: str | None = None,
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """The mean of each window (tf.contrib.layers.avg_pool3d).

    Args:
        inputs: A tensor.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NDHWC" or "NCDHW", or None for "NDHWC".
        outputs_collections: Collections that the outputs are added to.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    how = (kernel_size, stride, padding, layout(data_format, 3))
    return _pooled(pooling.AveragePooling3D, how, inputs, scope, "AvgPool3D", outputs_collections)

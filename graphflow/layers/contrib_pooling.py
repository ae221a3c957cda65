"""The pooling layers of tf.contrib.layers."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, IntsLike, TensorLike
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow.layers import pooling
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.layers.arguments import integers
from graphflow.layers.contrib_scope import layout
from graphflow.layers.named_outputs import collect_named_outputs
from graphflow.nn import pool as pool_windows


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


@add_arg_scope
def pool(
    inputs: TensorLike,
    kernel_size: IntsLike,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: IntsLike = 1,
    stride: IntsLike = 1,
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """The largest or mean element of each window over one to three axes (TensorFlow's contrib.layers pool).

    Args:
        inputs: A tensor of rank 3 to 5.
        kernel_size: The window's size, an integer or one for each axis.
        pooling_type: "MAX" or "AVG".
        padding: "SAME" or "VALID".
        data_format: None for channels last, or that of gf.nn.pool.
        dilation_rate: How far apart the window's elements are, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        outputs_collections: Collections that the outputs are added to.
        scope: A name scope for the operations.

    Returns:
        The outputs, a tensor.

    Raises:
        ValueError: If the rank of the inputs is not known or below 3.
    """
    with op_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as opened:
        given = convert_to_tensor(inputs)
        if given.dims is None:
            raise ValueError("Rank of inputs must be known")
        axes = len(given.dims) - 2
        if axes < 1:
            raise ValueError("Rank of inputs must be >= 3")
        outputs = pool_windows(
            given, integers(kernel_size, axes, "kernel_size"), pooling_type, padding,
            integers(dilation_rate, axes, "dilation_rate"), integers(stride, axes, "stride"), opened, data_format,
        )  # fmt: skip
        result: Tensor = collect_named_outputs(outputs_collections, opened, outputs)
        return result

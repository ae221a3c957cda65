"""The residual networks (tf.contrib.slim.nets.resnet_v1): He et al., arXiv:1512.03385."""

from __future__ import annotations

from collections.abc import Iterable

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope, variable_scope
from graphflow.contrib.slim.nets.building import EndPoints, for_images_of
from graphflow.contrib.slim.nets.resnet_utils import (
    Block,
    blocks_of,
    bottlenecks,
    classified,
    conv2d_same,
    network_scope,
    resnet_arg_scope,
    rooted,
    stack_blocks_dense,
    subsample,
)
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.layers.contrib import conv2d
from graphflow.layers.named_outputs import collect_named_outputs
from graphflow.nn import relu

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v1",
    "resnet_v1_50",
    "resnet_v1_101",
    "resnet_v1_152",
    "resnet_v1_200",
    "resnet_v1_block",
]


@add_arg_scope
def bottleneck(
    inputs: TensorLike,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: CollectionNames | None = None,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """A residual unit, rectified behind the sum, with a bottleneck (tf.contrib.slim.nets.resnet_v1.bottleneck).

    Args:
        inputs: Features of shape [batch, rows, columns, channels].
        depth: The channels of the outputs.
        depth_bottleneck: The channels of the convolutions inside.
        stride: How far the window moves.
        rate: The distance of the elements in the window.
        outputs_collections: The collections of the outputs.
        scope: The variables' scope, by default bottleneck_v1.

    Returns:
        The features, every stride-th of them.
    """
    with variable_scope(scope, "bottleneck_v1", [inputs]) as opened:
        given = convert_to_tensor(inputs)
        if given.shape.as_list()[-1] == depth:
            shortcut = subsample(given, stride, "shortcut")
        else:
            shortcut = conv2d(given, depth, 1, stride=stride, activation_fn=None, scope="shortcut")
        net = conv2d(given, depth_bottleneck, 1, stride=1, scope="conv1")
        net = conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        net = conv2d(net, depth, 1, stride=1, activation_fn=None, scope="conv3")
        return collect_named_outputs(outputs_collections, opened.name, relu(shortcut + net))


@for_images_of(224)
def resnet_v1(
    inputs: TensorLike,
    blocks: Iterable[Block],
    num_classes: int | None = None,
    is_training: TensorLike = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    include_root_block: bool = True,
    reuse: bool | ReuseMode | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, EndPoints]:
    """A residual network of given blocks (tf.contrib.slim.nets.resnet_v1.resnet_v1).

    Args:
        inputs: Images of shape [batch, rows, columns, channels].
        blocks: The blocks.
        num_classes: The number of classes; with None there are no logits.
        is_training: Whether normalization takes a batch's moments.
        global_pool: Whether the mean over rows and columns is taken.
        output_stride: How far apart in the images the features are at most, a multiple of 4 with them; None
            for the blocks' own strides.
        include_root_block: Whether the first convolution and pooling come before the blocks.
        reuse: Whether the variables are there already.
        scope: The variables' scope.

    Returns:
        The logits of shape [batch, rows, columns, classes], or the features without classes; and the outputs of the
        layers, units and blocks, and the predictions by name.

    Raises:
        ValueError: output_stride cannot be reached.
    """
    with network_scope(scope, "resnet_v1", inputs, reuse, is_training, [bottleneck]) as collection:
        net = convert_to_tensor(inputs)
        if include_root_block:
            net, output_stride = rooted(net, output_stride)
        net = stack_blocks_dense(net, blocks, output_stride)
        return classified(net, num_classes, global_pool, collection)


def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """A block of bottleneck units (tf.contrib.slim.nets.resnet_v1.resnet_v1_block).

    Args:
        scope: The name of its scope.
        base_depth: The channels inside of the units, a quarter of those of its outputs.
        num_units: The number of units.
        stride: How far the window of the last unit moves.
    """
    return bottlenecks(bottleneck, scope, base_depth, num_units, stride)


def resnet_v1_50(
    inputs: TensorLike,
    num_classes: int | None = None,
    is_training: TensorLike = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    reuse: bool | ReuseMode | None = None,
    scope: str | VariableScope | None = "resnet_v1_50",
) -> tuple[Tensor, EndPoints]:
    """The network of 50 layers (tf.contrib.slim.nets.resnet_v1.resnet_v1_50).

    Args:
        inputs: Images of shape [batch, rows, columns, channels].
        num_classes: The number of classes; with None there are no logits.
        is_training: Whether normalization takes a batch's moments.
        global_pool: Whether the mean over rows and columns is taken.
        output_stride: How far apart in the images the features are at most, a multiple of 4; None for 32.
        reuse: Whether the variables are there already.
        scope: The variables' scope.

    Returns:
        The logits of shape [batch, rows, columns, classes], or the features without classes; and the outputs of the
        layers, units and blocks, and the predictions by name.

    Raises:
        ValueError: output_stride cannot be reached.
    """
    blocks = blocks_of(resnet_v1_block, 50)
    return resnet_v1(inputs, blocks, num_classes, is_training, global_pool, output_stride, True, reuse, scope)


def resnet_v1_101(
    inputs: TensorLike,
    num_classes: int | None = None,
    is_training: TensorLike = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    reuse: bool | ReuseMode | None = None,
    scope: str | VariableScope | None = "resnet_v1_101",
) -> tuple[Tensor, EndPoints]:
    """The network of 101 layers (tf.contrib.slim.nets.resnet_v1.resnet_v1_101).

    Args:
        inputs: Images of shape [batch, rows, columns, channels].
        num_classes: The number of classes; with None there are no logits.
        is_training: Whether normalization takes a batch's moments.
        global_pool: Whether the mean over rows and columns is taken.
        output_stride: How far apart in the images the features are at most, a multiple of 4; None for 32.
        reuse: Whether the variables are there already.
        scope: The variables' scope.

    Returns:
        The logits of shape [batch, rows, columns, classes], or the features without classes; and the outputs of the
        layers, units and blocks, and the predictions by name.

    Raises:
        ValueError: output_stride cannot be reached.
    """
    blocks = blocks_of(resnet_v1_block, 101)
    return resnet_v1(inputs, blocks, num_classes, is_training, global_pool, output_stride, True, reuse, scope)


def resnet_v1_152(
    inputs: TensorLike,
    num_classes: int | None = None,
    is_training: TensorLike = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    reuse: bool | ReuseMode | None = None,
    scope: str | VariableScope | None = "resnet_v1_152",
) -> tuple[Tensor, EndPoints]:
    """The network of 152 layers (tf.contrib.slim.nets.resnet_v1.resnet_v1_152).

    Args:
        inputs: Images of shape [batch, rows, columns, channels].
        num_classes: The number of classes; with None there are no logits.
        is_training: Whether normalization takes a batch's moments.
        global_pool: Whether the mean over rows and columns is taken.
        output_stride: How far apart in the images the features are at most, a multiple of 4; None for 32.
        reuse: Whether the variables are there already.
        scope: The variables' scope.

    Returns:
        The logits of shape [batch, rows, columns, classes], or the features without classes; and the outputs of the
        layers, units and blocks, and the predictions by name.

    Raises:
        ValueError: output_stride cannot be reached.
    """
    blocks = blocks_of(resnet_v1_block, 152)
    return resnet_v1(inputs, blocks, num_classes, is_training, global_pool, output_stride, True, reuse, scope)


def resnet_v1_200(
    inputs: TensorLike,
    num_classes: int | None = None,
    is_training: TensorLike = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    reuse: bool | ReuseMode | None = None,
    scope: str | VariableScope | None = "resnet_v1_200",
) -> tuple[Tensor, EndPoints]:
    """The network of 200 layers (tf.contrib.slim.nets.resnet_v1.resnet_v1_200).

    Args:
        inputs: Images of shape [batch, rows, columns, channels].
        num_classes: The number of classes; with None there are no logits.
        is_training: Whether normalization takes a batch's moments.
        global_pool: Whether the mean over rows and columns is taken.
        output_stride: How far apart in the images the features are at most, a multiple of 4; None for 32.
        reuse: Whether the variables are there already.
        scope: The variables' scope.

    Returns:
        The logits of shape [batch, rows, columns, classes], or the features without classes; and the outputs of the
        layers, units and blocks, and the predictions by name.

    Raises:
        ValueError: output_stride cannot be reached.
    """
    blocks = blocks_of(resnet_v1_block, 200)
    return resnet_v1(inputs, blocks, num_classes, is_training, global_pool, output_stride, True, reuse, scope)

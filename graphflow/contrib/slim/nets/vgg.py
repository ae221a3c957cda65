"""The networks of the Visual Geometry Group (tf.contrib.slim.nets.vgg): Simonyan and Zisserman, arXiv:1409.1556."""

from __future__ import annotations

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import NumberLike, TensorLike
from graphflow._core.ops.state.initializers import Zeros
from graphflow.contrib.slim.nets.building import (
    EndPoints,
    classified,
    end_points_of,
    for_images_of,
    rectified,
    without_space,
)
from graphflow.layers.arg_scope import Scope
from graphflow.layers.contrib import conv2d
from graphflow.layers.contrib_composed import repeat
from graphflow.layers.contrib_pooling import max_pool2d

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope", "vgg_d", "vgg_e"]


def vgg_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """The defaults of layers with which they were trained (tf.contrib.slim.nets.vgg.vgg_arg_scope).

    Args:
        weight_decay: The factor of the weights' squares in the loss.

    Returns:
        What `arg_scope` takes.
    """
    return rectified(weight_decay, Zeros())


def _network(
    inputs: TensorLike,
    repetitions: tuple[int, ...],
    num_classes: int,
    is_training: TensorLike,
    dropout_keep_prob: NumberLike,
    spatial_squeeze: bool,
    scope: str,
    default: str,
) -> tuple[Tensor, EndPoints]:
    """Groups of convolutions with windows of 3, halved after each group, and three dense layers."""
    with end_points_of(scope, default, inputs) as (opened, end_points):
        net = inputs
        for group, (count, channels) in enumerate(zip(repetitions, (64, 128, 256, 512, 512), strict=True), 1):
            net = repeat(net, count, conv2d, channels, [3, 3], scope=f"conv{group}")
            net = max_pool2d(net, 2, scope=f"pool{group}")
        logits = classified(net, 7, (4096, 4096, num_classes), is_training, dropout_keep_prob, False)
        if spatial_squeeze:
            logits = without_space(logits, opened, end_points)
    return logits, end_points


@for_images_of(224)
def vgg_a(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: NumberLike = 0.5,
    spatial_squeeze: bool = True,
    scope: str = "vgg_a",
) -> tuple[Tensor, EndPoints]:
    """The network of 11 layers, the paper's configuration A (tf.contrib.slim.nets.vgg.vgg_a).

    Args:
        inputs: Images of shape [batch, rows, columns, channels], 224 by 224 to be classified.
        num_classes: The number of classes.
        is_training: Whether dropout drops.
        dropout_keep_prob: The part that dropout keeps.
        spatial_squeeze: Whether the logits have no axes for rows and columns, which must be one each.
        scope: The name of the variables' scope.

    Returns:
        The logits, and the outputs of the layers by name.
    """
    return _network(
        inputs, (1, 1, 2, 2, 2), num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope, "vgg_a"
    )


@for_images_of(224)
def vgg_16(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: NumberLike = 0.5,
    spatial_squeeze: bool = True,
    scope: str = "vgg_16",
) -> tuple[Tensor, EndPoints]:
    """The network of 16 layers, the paper's configuration D (tf.contrib.slim.nets.vgg.vgg_16).

    Args:
        inputs: Images of shape [batch, rows, columns, channels], 224 by 224 to be classified.
        num_classes: The number of classes.
        is_training: Whether dropout drops.
        dropout_keep_prob: The part that dropout keeps.
        spatial_squeeze: Whether the logits have no axes for rows and columns, which must be one each.
        scope: The name of the variables' scope.

    Returns:
        The logits, and the outputs of the layers by name.
    """
    return _network(
        inputs, (2, 2, 3, 3, 3), num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope, "vgg_16"
    )


@for_images_of(224)
def vgg_19(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: NumberLike = 0.5,
    spatial_squeeze: bool = True,
    scope: str = "vgg_19",
) -> tuple[Tensor, EndPoints]:
    """The network of 19 layers, the paper's configuration E (tf.contrib.slim.nets.vgg.vgg_19).

    Args:
        inputs: Images of shape [batch, rows, columns, channels], 224 by 224 to be classified.
        num_classes: The number of classes.
        is_training: Whether dropout drops.
        dropout_keep_prob: The part that dropout keeps.
        spatial_squeeze: Whether the logits have no axes for rows and columns, which must be one each.
        scope: The name of the variables' scope.

    Returns:
        The logits, and the outputs of the layers by name.
    """
    return _network(
        inputs, (2, 2, 4, 4, 4), num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope, "vgg_19"
    )


vgg_d = vgg_16
vgg_e = vgg_19

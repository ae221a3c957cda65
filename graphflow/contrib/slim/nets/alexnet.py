"""AlexNet in its form of one tower (tf.contrib.slim.nets.alexnet): Krizhevsky, arXiv:1404.5997."""

from __future__ import annotations

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import NumberLike, TensorLike
from graphflow._core.ops.state.initializers import Constant
from graphflow.contrib.slim.nets.building import (
    EndPoints,
    classified,
    end_points_of,
    for_images_of,
    rectified,
    trunc_normal,
    without_space,
)
from graphflow.layers.arg_scope import Scope, arg_scope
from graphflow.layers.contrib import conv2d
from graphflow.layers.contrib_pooling import max_pool2d

__all__ = ["alexnet_v2", "alexnet_v2_arg_scope", "trunc_normal"]


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """The defaults of layers with which it was trained (tf.contrib.slim.nets.alexnet.alexnet_v2_arg_scope).

    Args:
        weight_decay: The factor of the weights' squares in the loss.

    Returns:
        What `arg_scope` takes.
    """
    with arg_scope(rectified(weight_decay, Constant(0.1))), arg_scope([max_pool2d], padding="VALID") as scope:
        return scope


@for_images_of(224)
def alexnet_v2(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: NumberLike = 0.5,
    spatial_squeeze: bool = True,
    scope: str = "alexnet_v2",
) -> tuple[Tensor, EndPoints]:
    """AlexNet, its dense layers as convolutions (tf.contrib.slim.nets.alexnet.alexnet_v2).

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
    with end_points_of(scope, "alexnet_v2", inputs) as (opened, end_points):
        net = conv2d(inputs, 64, 11, 4, padding="VALID", scope="conv1")
        net = max_pool2d(net, 3, 2, scope="pool1")
        net = conv2d(net, 192, 5, scope="conv2")
        net = max_pool2d(net, 3, 2, scope="pool2")
        net = conv2d(net, 384, 3, scope="conv3")
        net = conv2d(net, 384, 3, scope="conv4")
        net = conv2d(net, 256, 3, scope="conv5")
        net = max_pool2d(net, 3, 2, scope="pool5")
        net = classified(net, 5, (4096, 4096, num_classes), is_training, dropout_keep_prob, True)
        if spatial_squeeze:
            net = without_space(net, opened, end_points)
    return net, end_points

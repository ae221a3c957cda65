"""The second network of Inception (tf.contrib.slim.nets.inception_v2): Ioffe and Szegedy, arXiv:1502.03167."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import NumberLike, TensorLike
from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope, variable_scope
from graphflow.contrib.slim.nets.building import EndPoints, for_images_of, trunc_normal
from graphflow.contrib.slim.nets.inception_modules import (
    ChannelwiseConvolution,
    Convolution,
    Module,
    Pooling,
    Stage,
    built,
    network_scope,
    normalized,
    pooled_logits,
    scaled,
)
from graphflow.layers.arg_scope import Scope
from graphflow.layers.contrib_composed import softmax

__all__ = ["inception_v2", "inception_v2_arg_scope", "inception_v2_base", "trunc_normal"]


def _narrow(channels: int) -> Convolution:
    """The convolution that leaves few channels to the windows behind it."""
    return Convolution("Conv2d_0a_1x1", channels, deviation=0.09)


def _module(
    scope: str,
    ones: int,
    threes: tuple[int, int],
    doubled: tuple[int, int],
    pooled: int,
    kind: Literal["max", "mean"] = "mean",
) -> Module:
    """Windows of 1, 3, and twice 3 in place of 5, and a pooling."""
    pooling = Pooling("AvgPool_0a_3x3" if kind == "mean" else "MaxPool_0a_3x3", kind)
    return Module(
        scope,
        (
            [Convolution("Conv2d_0a_1x1", ones)],
            [_narrow(threes[0]), Convolution("Conv2d_0b_3x3", threes[1], 3)],
            [
                _narrow(doubled[0]),
                Convolution("Conv2d_0b_3x3", doubled[1], 3),
                Convolution("Conv2d_0c_3x3", doubled[1], 3),
            ],
            [pooling, Convolution("Conv2d_0b_1x1", pooled, deviation=0.1)],
        ),
    )


def _halving(scope: str, threes: tuple[int, int], doubled: tuple[int, int]) -> Module:
    """A module after which images have half of the rows and columns."""
    return Module(
        scope,
        (
            [_narrow(threes[0]), Convolution("Conv2d_1a_3x3", threes[1], 3, 2)],
            [
                _narrow(doubled[0]),
                Convolution("Conv2d_0b_3x3", doubled[1], 3),
                Convolution("Conv2d_1a_3x3", doubled[1], 3, 2),
            ],
            [Pooling("MaxPool_1a_3x3", stride=2)],
        ),
    )


_STAGES: tuple[Stage, ...] = (
    ChannelwiseConvolution("Conv2d_1a_7x7", 64, 7, 2, most=8),
    Pooling("MaxPool_2a_3x3", stride=2),
    Convolution("Conv2d_2b_1x1", 64, deviation=0.1),
    Convolution("Conv2d_2c_3x3", 192, 3),
    Pooling("MaxPool_3a_3x3", stride=2),
    _module("Mixed_3b", 64, (64, 64), (64, 96), 32),
    _module("Mixed_3c", 64, (64, 96), (64, 96), 64),
    _halving("Mixed_4a", (128, 160), (64, 96)),
    _module("Mixed_4b", 224, (64, 96), (96, 128), 128),
    _module("Mixed_4c", 192, (96, 128), (96, 128), 128),
    _module("Mixed_4d", 160, (128, 160), (128, 160), 96),
    _module("Mixed_4e", 96, (128, 192), (160, 192), 96),
    _halving("Mixed_5a", (128, 192), (192, 256)),
    _module("Mixed_5b", 352, (192, 320), (160, 224), 128),
    _module("Mixed_5c", 352, (192, 320), (192, 224), 128, "max"),
)


def inception_v2_base(
    inputs: TensorLike,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, EndPoints]:
    """The layers before the logits (tf.contrib.slim.nets.inception.inception_v2_base).

    Args:
        inputs: Images of shape [batch, rows, columns, channels].
        final_endpoint: The name of the last layer or module that is built, such as "Mixed_4c".
        min_depth: The fewest channels of a layer.
        depth_multiplier: By what the channels of each layer are multiplied.
        scope: The variables' scope, by default InceptionV2.

    Returns:
        The output of the last one, and those of all by name.

    Raises:
        ValueError: There is no final_endpoint of that name, or depth_multiplier is not positive.
    """
    depth = scaled(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV2", [inputs]):
        return built(inputs, _STAGES, final_endpoint, depth)


@for_images_of(224)
def inception_v2(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: NumberLike = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: bool | ReuseMode | None = None,
    scope: str | VariableScope | None = "InceptionV2",
) -> tuple[Tensor, EndPoints]:
    """The second network of Inception, with batch normalization (tf.contrib.slim.nets.inception.inception_v2).

    Args:
        inputs: Images of shape [batch, rows, columns, channels], made for 224 by 224.
        num_classes: The number of classes.
        is_training: Whether dropout drops, and normalization takes a batch's moments.
        dropout_keep_prob: The part that dropout keeps.
        min_depth: The fewest channels of a layer.
        depth_multiplier: By what the channels of each layer are multiplied.
        prediction_fn: Makes predictions of logits, with an argument `scope`.
        spatial_squeeze: Whether the logits have no axes for rows and columns, which must be one each.
        reuse: Whether the variables are there already.
        scope: The variables' scope.

    Returns:
        The logits, and the outputs of the layers, the logits and the predictions by name.

    Raises:
        ValueError: depth_multiplier is not positive.
    """
    with network_scope(scope, "InceptionV2", inputs, reuse, is_training) as opened:
        net, end_points = inception_v2_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=opened
        )
        _, logits = pooled_logits(net, 7, num_classes, dropout_keep_prob, spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars"
) -> Scope:
    """The defaults of layers with which it was trained (tf.contrib.slim.nets.inception.inception_v2_arg_scope).

    Args:
        weight_decay: The factor of the weights' squares in the loss.
        batch_norm_var_collection: The collection of the moving means and variances.

    Returns:
        What `arg_scope` takes.
    """
    return normalized(weight_decay, {}, batch_norm_var_collection)

"""The first network of Inception (tf.contrib.slim.nets.inception_v1): Szegedy et al., arXiv:1409.4842."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import NumberLike, TensorLike
from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope, variable_scope
from graphflow.contrib.slim.nets.building import EndPoints, for_images_of, trunc_normal
from graphflow.contrib.slim.nets.inception_modules import (
    Convolution,
    Module,
    Pooling,
    Stage,
    built,
    logits_of,
    network_scope,
    normalized,
    without_space,
)
from graphflow.layers.arg_scope import Scope
from graphflow.layers.contrib import dropout
from graphflow.layers.contrib_composed import softmax
from graphflow.layers.contrib_pooling import avg_pool2d

__all__ = ["inception_v1", "inception_v1_arg_scope", "inception_v1_base", "trunc_normal"]

_DEVIATION = 0.01


def _convolution(scope: str, channels: int, window: int = 1, stride: int = 1) -> Convolution:
    return Convolution(scope, channels, window, stride, deviation=_DEVIATION)


def _module(
    scope: str, ones: int, threes: tuple[int, int], fives: tuple[int, int], pooled: int, last: str = "0b"
) -> Module:
    """The paper's module; windows of 5 became windows of 3, and `last` is what one of them is called."""
    return Module(
        scope,
        (
            [_convolution("Conv2d_0a_1x1", ones)],
            [_convolution("Conv2d_0a_1x1", threes[0]), _convolution("Conv2d_0b_3x3", threes[1], 3)],
            [_convolution("Conv2d_0a_1x1", fives[0]), _convolution(f"Conv2d_{last}_3x3", fives[1], 3)],
            [Pooling("MaxPool_0a_3x3"), _convolution("Conv2d_0b_1x1", pooled)],
        ),
    )


_STAGES: tuple[Stage, ...] = (
    _convolution("Conv2d_1a_7x7", 64, 7, 2),
    Pooling("MaxPool_2a_3x3", stride=2),
    _convolution("Conv2d_2b_1x1", 64),
    _convolution("Conv2d_2c_3x3", 192, 3),
    Pooling("MaxPool_3a_3x3", stride=2),
    _module("Mixed_3b", 64, (96, 128), (16, 32), 32),
    _module("Mixed_3c", 128, (128, 192), (32, 96), 64),
    Pooling("MaxPool_4a_3x3", stride=2),
    _module("Mixed_4b", 192, (96, 208), (16, 48), 64),
    _module("Mixed_4c", 160, (112, 224), (24, 64), 64),
    _module("Mixed_4d", 128, (128, 256), (24, 64), 64),
    _module("Mixed_4e", 112, (144, 288), (32, 64), 64),
    _module("Mixed_4f", 256, (160, 320), (32, 128), 128),
    Pooling("MaxPool_5a_2x2", window=2, stride=2),
    _module("Mixed_5b", 256, (160, 320), (32, 128), 128, last="0a"),
    _module("Mixed_5c", 384, (192, 384), (48, 128), 128),
)


def inception_v1_base(
    inputs: TensorLike, final_endpoint: str = "Mixed_5c", scope: str | VariableScope | None = "InceptionV1"
) -> tuple[Tensor, EndPoints]:
    """The layers before the logits (tf.contrib.slim.nets.inception.inception_v1_base).

    Args:
        inputs: Images of shape [batch, rows, columns, channels].
        final_endpoint: The name of the last layer or module that is built, such as "Mixed_4c".
        scope: The variables' scope.

    Returns:
        The output of the last one, and those of all by name.

    Raises:
        ValueError: There is no final_endpoint of that name.
    """
    with variable_scope(scope, "InceptionV1", [inputs]):
        return built(inputs, _STAGES, final_endpoint, lambda channels: channels)


@for_images_of(224)
def inception_v1(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: NumberLike = 0.8,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: bool | ReuseMode | None = None,
    scope: str | VariableScope | None = "InceptionV1",
) -> tuple[Tensor, EndPoints]:
    """The first network of Inception, GoogLeNet (tf.contrib.slim.nets.inception.inception_v1).

    Args:
        inputs: Images of shape [batch, 224, 224, channels].
        num_classes: The number of classes.
        is_training: Whether dropout drops, and normalization takes a batch's moments.
        dropout_keep_prob: The part that dropout keeps.
        prediction_fn: Makes predictions of logits, with an argument `scope`.
        spatial_squeeze: Whether the logits have no axes for rows and columns, which must be one each.
        reuse: Whether the variables are there already.
        scope: The variables' scope.

    Returns:
        The logits, and the outputs of the layers, the logits and the predictions by name.
    """
    with network_scope(scope, "InceptionV1", inputs, reuse, is_training) as opened:
        net, end_points = inception_v1_base(inputs, scope=opened)
        with variable_scope("Logits"):
            net = avg_pool2d(net, 7, stride=1, scope="MaxPool_0a_7x7")
            net = dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = logits_of(net, num_classes, "Conv2d_0c_1x1")
            if spatial_squeeze:
                logits = without_space(logits)
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def inception_v1_arg_scope(
    weight_decay: float = 0.00004, use_batch_norm: bool = True, batch_norm_var_collection: str = "moving_vars"
) -> Scope:
    """The defaults of layers with which it was trained (tf.contrib.slim.nets.inception.inception_v1_arg_scope).

    Args:
        weight_decay: The factor of the weights' squares in the loss.
        use_batch_norm: Whether convolutions are normalized.
        batch_norm_var_collection: The collection of the moving means and variances.

    Returns:
        What `arg_scope` takes.
    """
    return normalized(weight_decay, {} if use_batch_norm else None, batch_norm_var_collection)

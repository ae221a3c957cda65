"""The third network of Inception (tf.contrib.slim.nets.inception_v3): Szegedy et al., arXiv:1512.00567."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import CollectionNames, NumberLike, TensorLike
from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope, variable_scope
from graphflow.contrib.slim.nets.building import EndPoints, for_images_of, trunc_normal
from graphflow.contrib.slim.nets.inception_modules import (
    Convolution,
    Depth,
    Fork,
    Module,
    Pooling,
    Stage,
    built,
    logits_of,
    named,
    network_scope,
    normalized,
    pooled_logits,
    reduced,
    scaled,
    without_space,
)
from graphflow.layers.arg_scope import Scope
from graphflow.layers.contrib import conv2d
from graphflow.layers.contrib_composed import softmax
from graphflow.layers.contrib_pooling import avg_pool2d

__all__ = ["inception_v3", "inception_v3_arg_scope", "inception_v3_base", "trunc_normal"]


def _first(channels: int) -> Convolution:
    return Convolution("Conv2d_0a_1x1", channels)


def _averaged(channels: int) -> list[Pooling | Convolution]:
    return [Pooling("AvgPool_0a_3x3", "mean"), Convolution("Conv2d_0b_1x1", channels)]


def _small(scope: str, pooled: int, fives: tuple[str, str] = ("Conv2d_0a_1x1", "Conv2d_0b_5x5")) -> Module:
    """Windows of 1, 5, and twice 3; `fives` are the names of the second branch, which are others in one module."""
    return Module(
        scope,
        (
            [_first(64)],
            [Convolution(fives[0], 48), Convolution(fives[1], 64, 5)],
            [_first(64), Convolution("Conv2d_0b_3x3", 96, 3), Convolution("Conv2d_0c_3x3", 96, 3)],
            _averaged(pooled),
        ),
    )


def _long(scope: str, channels: int) -> Module:
    """Windows of 7 by 7 as rows and columns, once and twice."""
    return Module(
        scope,
        (
            [_first(192)],
            [
                _first(channels),
                Convolution("Conv2d_0b_1x7", channels, (1, 7)),
                Convolution("Conv2d_0c_7x1", 192, (7, 1)),
            ],
            [
                _first(channels),
                Convolution("Conv2d_0b_7x1", channels, (7, 1)),
                Convolution("Conv2d_0c_1x7", channels, (1, 7)),
                Convolution("Conv2d_0d_7x1", channels, (7, 1)),
                Convolution("Conv2d_0e_1x7", 192, (1, 7)),
            ],
            _averaged(192),
        ),
    )


def _wide(scope: str, column: str) -> Module:
    """Windows whose rows and columns stand beside one another; `column` is the name of the second branch's one."""
    return Module(
        scope,
        (
            [_first(320)],
            [
                _first(384),
                Fork((Convolution("Conv2d_0b_1x3", 384, (1, 3)), Convolution(column, 384, (3, 1)))),
            ],
            [
                _first(448),
                Convolution("Conv2d_0b_3x3", 384, 3),
                Fork(
                    (
                        Convolution("Conv2d_0c_1x3", 384, (1, 3)),
                        Convolution("Conv2d_0d_3x1", 384, (3, 1)),
                    )
                ),
            ],
            _averaged(192),
        ),
    )


def _halved(scope: str, channels: int) -> Convolution:
    return Convolution(scope, channels, 3, 2, "VALID")


_POOLED = Pooling("MaxPool_1a_3x3", stride=2, padding="VALID")

_STAGES: tuple[Stage, ...] = (
    _halved("Conv2d_1a_3x3", 32),
    Convolution("Conv2d_2a_3x3", 32, 3, padding="VALID"),
    Convolution("Conv2d_2b_3x3", 64, 3),
    Pooling("MaxPool_3a_3x3", stride=2, padding="VALID"),
    Convolution("Conv2d_3b_1x1", 80, padding="VALID"),
    Convolution("Conv2d_4a_3x3", 192, 3, padding="VALID"),
    Pooling("MaxPool_5a_3x3", stride=2, padding="VALID"),
    _small("Mixed_5b", 32),
    _small("Mixed_5c", 64, ("Conv2d_0b_1x1", "Conv_1_0c_5x5")),
    _small("Mixed_5d", 64),
    Module(
        "Mixed_6a",
        (
            [_halved("Conv2d_1a_1x1", 384)],
            [_first(64), Convolution("Conv2d_0b_3x3", 96, 3), _halved("Conv2d_1a_1x1", 96)],
            [_POOLED],
        ),
    ),
    _long("Mixed_6b", 128),
    _long("Mixed_6c", 160),
    _long("Mixed_6d", 160),
    _long("Mixed_6e", 192),
    Module(
        "Mixed_7a",
        (
            [_first(192), _halved("Conv2d_1a_3x3", 320)],
            [
                _first(192),
                Convolution("Conv2d_0b_1x7", 192, (1, 7)),
                Convolution("Conv2d_0c_7x1", 192, (7, 1)),
                _halved("Conv2d_1a_3x3", 192),
            ],
            [_POOLED],
        ),
    ),
    _wide("Mixed_7b", "Conv2d_0b_3x1"),
    _wide("Mixed_7c", "Conv2d_0c_3x1"),
)
# Some names do not fit: Mixed_6a's windows, Conv_1_0c_5x5, a second 0b in Mixed_7b. Trained checkpoints have them.


def inception_v3_base(
    inputs: TensorLike,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, EndPoints]:
    """The layers before the logits (tf.contrib.slim.nets.inception.inception_v3_base).

    Args:
        inputs: Images of shape [batch, rows, columns, channels].
        final_endpoint: The name of the last layer or module that is built, such as "Mixed_6e".
        min_depth: The fewest channels of a layer.
        depth_multiplier: By what the channels of each layer are multiplied.
        scope: The variables' scope, by default InceptionV3.

    Returns:
        The output of the last one, and those of all by name.

    Raises:
        ValueError: There is no final_endpoint of that name, or depth_multiplier is not positive.
    """
    depth = scaled(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV3", [inputs]):
        return built(inputs, _STAGES, final_endpoint, depth)


def _auxiliary(net: Tensor, num_classes: int, depth: Depth, spatial_squeeze: bool) -> Tensor:
    """Logits from features in the middle, whose loss helps while it is trained."""
    with variable_scope("AuxLogits"):
        net = avg_pool2d(net, 5, stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = conv2d(net, depth(128), 1, scope="Conv2d_1b_1x1")
        window = reduced(net, 5)
        weights = trunc_normal(0.01)
        scope = named("Conv2d_2a", window)
        net = conv2d(net, depth(768), window, padding="VALID", weights_initializer=weights, scope=scope)
        logits = logits_of(net, num_classes, "Conv2d_2b_1x1", weights_initializer=trunc_normal(0.001))
        return without_space(logits) if spatial_squeeze else logits


@for_images_of(299)
def inception_v3(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: NumberLike = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: bool | ReuseMode | None = None,
    scope: str | VariableScope | None = "InceptionV3",
) -> tuple[Tensor, EndPoints]:
    """The third network of Inception (tf.contrib.slim.nets.inception.inception_v3).

    Args:
        inputs: Images of shape [batch, rows, columns, channels], made for 299 by 299.
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
        The logits; and the outputs of the layers, those before the logits, all logits and the predictions by name.

    Raises:
        ValueError: depth_multiplier is not positive.
    """
    depth = scaled(depth_multiplier, min_depth)
    with network_scope(scope, "InceptionV3", inputs, reuse, is_training) as opened:
        net, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=opened
        )
        end_points["AuxLogits"] = _auxiliary(end_points["Mixed_6e"], num_classes, depth, spatial_squeeze)
        features, logits = pooled_logits(net, 8, num_classes, dropout_keep_prob, spatial_squeeze)
        end_points["PreLogits"] = features
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: CollectionNames | None = GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Scope:
    """The defaults of layers with which it was trained (tf.contrib.slim.nets.inception.inception_v3_arg_scope).

    Args:
        weight_decay: The factor of the weights' squares in the loss.
        batch_norm_var_collection: The collection of the moving means and variances.
        batch_norm_decay: How much of the moving means and variances a step keeps.
        batch_norm_epsilon: What is added to variances.
        updates_collections: The collections of the updates; None if they are made at once.
        use_fused_batchnorm: Whether normalization is one operation.

    Returns:
        What `arg_scope` takes.
    """
    normalization = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "updates_collections": updates_collections,
        "fused": use_fused_batchnorm,
    }
    return normalized(weight_decay, normalization, batch_norm_var_collection)

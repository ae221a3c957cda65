"""Networks of Inception as tables: layers by name, and modules whose branches are joined along the channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import NumberLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.initializers import ContribVarianceScaling
from graphflow._core.ops.state.variable_scope import VariableScope, variable_scope
from graphflow.contrib.slim.nets.building import EndPoints, trunc_normal
from graphflow.layers.arg_scope import Scope, arg_scope
from graphflow.layers.contrib import batch_norm, conv2d, dropout, fully_connected
from graphflow.layers.contrib_channelwise import separable_conv2d
from graphflow.layers.contrib_pooling import avg_pool2d, max_pool2d
from graphflow.layers.regularizers import l2_regularizer
from graphflow.nn import relu

Window = int | tuple[int, int]
Depth = Callable[[int], int]
"""The channels that a layer has instead of those of the paper."""


class Convolution(NamedTuple):
    """A convolution; `deviation` is the standard deviation of its first weights, None for the default's."""

    scope: str
    channels: int
    window: Window = 1
    stride: int = 1
    padding: str = "SAME"
    deviation: float | None = None

    def __call__(self, net: TensorLike, depth: Depth) -> Tensor:
        """The convolution of features."""
        given: dict[str, Any] = (
            {} if self.deviation is None else {"weights_initializer": trunc_normal(self.deviation)}
        )
        return conv2d(
            net,
            depth(self.channels),
            self.window,
            stride=self.stride,
            padding=self.padding,
            scope=self.scope,
            **given,
        )


class ChannelwiseConvolution(NamedTuple):
    """A separable convolution of images of 3 channels, each of which gets up to `most` filters."""

    scope: str
    channels: int
    window: Window
    stride: int
    most: int

    def __call__(self, net: TensorLike, depth: Depth) -> Tensor:
        """The convolution of images."""
        channels = depth(self.channels)
        return separable_conv2d(
            net,
            channels,
            self.window,
            depth_multiplier=min(channels // 3, self.most),
            stride=self.stride,
            weights_initializer=trunc_normal(1.0),
            scope=self.scope,
        )


class Pooling(NamedTuple):
    """The largest elements or the means of windows."""

    scope: str
    kind: Literal["max", "mean"] = "max"
    window: int = 3
    stride: int = 1
    padding: str = "SAME"

    def __call__(self, net: TensorLike, depth: Depth) -> Tensor:
        """The pooled features."""
        pool = max_pool2d if self.kind == "max" else avg_pool2d
        return pool(net, self.window, stride=self.stride, padding=self.padding, scope=self.scope)


class Fork(NamedTuple):
    """Convolutions of the same features, joined."""

    ways: tuple[Convolution, ...]

    def __call__(self, net: TensorLike, depth: Depth) -> Tensor:
        """What all ways give."""
        return array.concat([way(net, depth) for way in self.ways], 3)


Layer = Convolution | ChannelwiseConvolution | Pooling | Fork


class Module(NamedTuple):
    """Branches of layers from the same features, joined; they are named Branch_0, Branch_1 and so on."""

    scope: str
    branches: tuple[Sequence[Layer], ...]

    def __call__(self, net: TensorLike, depth: Depth) -> Tensor:
        """What all branches give."""
        with variable_scope(self.scope):
            ends = []
            for number, branch in enumerate(self.branches):
                with variable_scope(f"Branch_{number}"):
                    end: Any = net
                    for layer in branch:
                        end = layer(end, depth)
                ends.append(end)
            return array.concat(ends, 3)


Stage = Convolution | ChannelwiseConvolution | Pooling | Module


def scaled(depth_multiplier: float, min_depth: int) -> Depth:
    """Channels times a factor, but no fewer than min_depth.

    Raises:
        ValueError: The factor is not positive.
    """
    if depth_multiplier <= 0:
        raise ValueError(f"depth_multiplier is not greater than zero, but {depth_multiplier!r}.")
    return lambda channels: max(int(channels * depth_multiplier), min_depth)


def built(
    inputs: TensorLike, stages: Iterable[Stage], final_endpoint: str, depth: Depth
) -> tuple[Tensor, EndPoints]:
    """The stages up to the one named final_endpoint, one behind the other, and the output of each by its name.

    Raises:
        ValueError: No stage has that name.
    """
    end_points: EndPoints = {}
    net: Any = inputs
    for stage in stages:
        net = end_points[stage.scope] = stage(net, depth)
        if stage.scope == final_endpoint:
            return net, end_points
    raise ValueError(f"Unknown final endpoint {final_endpoint}: the stages are {', '.join(end_points)}.")


@contextmanager
def network_scope(
    scope: str | VariableScope | None, default: str, inputs: TensorLike, reuse: Any, is_training: TensorLike
) -> Iterator[VariableScope]:
    """The variable scope of a network in which normalization and dropout know whether it is trained."""
    with (
        variable_scope(scope, default, [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        yield opened


def reduced(net: TensorLike, side: int) -> tuple[int, int]:
    """A window of side by side elements, or the whole image if that is smaller, or as large as it is."""
    _, rows, columns, _ = convert_to_tensor(net).shape.as_list()
    if rows is None or columns is None:
        return side, side
    return min(rows, side), min(columns, side)


def named(prefix: str, window: tuple[int, int]) -> str:
    """The name of a layer with its window, such as AvgPool_1a_7x7."""
    return f"{prefix}_{window[0]}x{window[1]}"


def logits_of(net: TensorLike, num_classes: int, scope: str, **given: Any) -> Tensor:
    """A convolution to the classes, neither normalized nor activated."""
    return conv2d(net, num_classes, 1, activation_fn=None, normalizer_fn=None, scope=scope, **given)


def without_space(net: Tensor) -> Tensor:
    """Logits of shape [batch, classes] out of [batch, 1, 1, classes]."""
    return array.squeeze(net, [1, 2], name="SpatialSqueeze")


def pooled_logits(
    net: TensorLike,
    side: int,
    num_classes: int,
    dropout_keep_prob: NumberLike,
    spatial_squeeze: bool,
) -> tuple[Tensor, Tensor]:
    """What dropout leaves of the means of windows, and the logits from it, as the second and third network have it."""
    with variable_scope("Logits"):
        window = reduced(net, side)
        pooled = avg_pool2d(net, window, padding="VALID", scope=named("AvgPool_1a", window))
        features = dropout(pooled, dropout_keep_prob, scope="Dropout_1b")
        logits = logits_of(features, num_classes, "Conv2d_1c_1x1")
        return features, without_space(logits) if spatial_squeeze else logits


def normalized(
    weight_decay: float,
    normalization: dict[str, Any] | None,
    moving_variables: str | None,
) -> Scope:
    """Defaults of layers: decaying weights, and convolutions normalized, if that is asked for, and rectified."""
    how: dict[str, Any] = {"normalizer_fn": None, "normalizer_params": {}}
    if normalization is not None:
        collections = {
            "beta": None,
            "gamma": None,
            "moving_mean": [moving_variables],
            "moving_variance": [moving_variables],
        }
        parameters = {"decay": 0.9997, "epsilon": 0.001, "updates_collections": GraphKeys.UPDATE_OPS}
        parameters |= {**normalization, "variables_collections": collections}
        how = {"normalizer_fn": batch_norm, "normalizer_params": parameters}
    with (
        arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay)),
        arg_scope([conv2d], weights_initializer=ContribVarianceScaling(), activation_fn=relu, **how) as scope,
    ):
        return scope

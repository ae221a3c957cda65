"""What the residual networks share (tf.contrib.slim.nets.resnet_utils): He et al., arXiv:1512.03385."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.array.layout import pad
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import reductions
from graphflow._core.ops.state.initializers import ContribVarianceScaling
from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope, variable_scope
from graphflow.contrib.slim.nets.building import EndPoints
from graphflow.layers.arg_scope import Scope, add_arg_scope, arg_scope
from graphflow.layers.contrib import batch_norm, conv2d
from graphflow.layers.contrib_composed import softmax
from graphflow.layers.contrib_pooling import max_pool2d
from graphflow.layers.named_outputs import collect_named_outputs, convert_collection_to_dict
from graphflow.layers.regularizers import l2_regularizer
from graphflow.nn import relu

__all__ = ["Block", "conv2d_same", "resnet_arg_scope", "stack_blocks_dense", "subsample"]


class Block(NamedTuple):
    """Residual units one behind the other (tf.contrib.slim.nets.resnet_utils.Block).

    Args:
        scope: The name of their scope.
        unit_fn: Makes a unit of features, with `rate` and what args say.
        args: The arguments of each unit; "stride" is how far its windows move.
    """

    scope: str
    unit_fn: Callable[..., Tensor]
    args: Sequence[Mapping[str, Any]]


def subsample(inputs: TensorLike, factor: int, scope: str | None = None) -> Tensor:
    """Every factor-th row and column (tf.contrib.slim.nets.resnet_utils.subsample).

    Args:
        inputs: Features of shape [batch, rows, columns, channels].
        factor: The distance; with 1 the features are returned as they are.
        scope: The name of the operation.
    """
    if factor == 1:
        return convert_to_tensor(inputs)
    return max_pool2d(inputs, 1, stride=factor, scope=scope)


def conv2d_same(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: int,
    stride: int,
    rate: int = 1,
    scope: str | None = None,
) -> Tensor:
    """A convolution padded alike for images of any size (tf.contrib.slim.nets.resnet_utils.conv2d_same).

    What SAME pads depends on the size if the window moves by more than one; here it is the window's half on each side.

    Args:
        inputs: Features of shape [batch, rows, columns, channels].
        num_outputs: The channels of the outputs.
        kernel_size: The side of the window.
        stride: How far the window moves.
        rate: The distance of the elements in a window.
        scope: The variables' scope.
    """
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope)
    more = (kernel_size - 1) * rate
    around = [more // 2, more - more // 2]
    padded = pad(inputs, [[0, 0], around, around, [0, 0]])
    return conv2d(padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(
    net: TensorLike,
    blocks: Iterable[Block],
    output_stride: int | None = None,
    outputs_collections: CollectionNames | None = None,
) -> Tensor:
    """Blocks one behind the other, up to a stride in all (tf.contrib.slim.nets.resnet_utils.stack_blocks_dense).

    Once features are apart by output_stride, windows do not move farther, but reach farther: the same weights give
    features that lie closer.

    Args:
        net: Features of shape [batch, rows, columns, channels].
        blocks: The blocks.
        output_stride: How far apart in the inputs the features are at most; None for the blocks' own strides.
        outputs_collections: The collections of the blocks' outputs.

    Returns:
        The features behind the last block.

    Raises:
        ValueError: The strides step over output_stride, or do not reach it.
    """
    features: Any = net
    stride, rate = 1, 1
    for block in blocks:
        with variable_scope(block.scope, "block", [features]) as opened:
            for number, arguments in enumerate(block.args, 1):
                with variable_scope(f"unit_{number}", values=[features]):
                    moved = arguments.get("stride", 1)
                    if stride == output_stride:
                        features = block.unit_fn(features, rate=rate, **{**arguments, "stride": 1})
                        rate *= moved
                    else:
                        features = block.unit_fn(features, rate=1, **arguments)
                        stride *= moved
                        _check_stride(output_stride, stride <= (output_stride or stride), stride)
            features = collect_named_outputs(outputs_collections, opened.name, features)
    _check_stride(output_stride, output_stride in (None, stride), stride)
    outputs: Tensor = features
    return outputs


def _check_stride(wanted: int | None, reachable: bool, stride: int) -> None:
    if not reachable:
        raise ValueError(
            f"The target output_stride cannot be reached: it is {wanted}, and the strides of the blocks make {stride}."
        )


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Scope:
    """The defaults of layers with which they were trained (tf.contrib.slim.nets.resnet_utils.resnet_arg_scope).

    Args:
        weight_decay: The factor of the weights' squares in the loss.
        batch_norm_decay: How much of the moving means and variances a step keeps.
        batch_norm_epsilon: What is added to variances.
        batch_norm_scale: Whether normalization has a factor, gamma.

    Returns:
        What `arg_scope` takes.
    """
    normalization = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with (
        arg_scope(
            [conv2d],
            weights_regularizer=l2_regularizer(weight_decay),
            weights_initializer=ContribVarianceScaling(),
            activation_fn=relu,
            normalizer_fn=batch_norm,
            normalizer_params=normalization,
        ),
        arg_scope([batch_norm], **normalization),
        arg_scope([max_pool2d], padding="SAME") as scope,
    ):
        return scope


def bottlenecks(
    unit_fn: Callable[..., Tensor], scope: str, base_depth: int, num_units: int, stride: int
) -> Block:
    """A block of bottleneck units, the last of which moves by `stride`; it has four times base_depth channels."""
    sizes = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    return Block(scope, unit_fn, [{**sizes, "stride": 1}] * (num_units - 1) + [{**sizes, "stride": stride}])


_UNITS: Final = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}
"""By the number of its layers, how many units each block of a network has."""


def blocks_of(block: Callable[..., Block], layers: int) -> list[Block]:
    """The four blocks of the network of so many layers."""
    strides = (2, 2, 2, 1)
    return [
        block(f"block{number}", base_depth=32 * 2**number, num_units=count, stride=stride)
        for number, (count, stride) in enumerate(zip(_UNITS[layers], strides, strict=True), 1)
    ]


@contextmanager
def network_scope(
    scope: str | VariableScope | None,
    default: str,
    inputs: TensorLike,
    reuse: bool | ReuseMode | None,
    is_training: TensorLike,
    gathered: Sequence[Callable[..., Any]],
) -> Iterator[str]:
    """The variable scope of a network, whose layers' outputs are gathered in the collection that is given."""
    with variable_scope(scope, default, [inputs], reuse=reuse) as opened:
        collection = f"{opened.original_name_scope}_end_points"
        with (
            arg_scope([conv2d, stack_blocks_dense, *gathered], outputs_collections=collection),
            arg_scope([batch_norm], is_training=is_training),
        ):
            yield collection


def rooted(net: TensorLike, output_stride: int | None, **convolution: Any) -> tuple[Tensor, int | None]:
    """The first convolution and pooling, which make a stride of 4, and the stride that is left to the blocks.

    Raises:
        ValueError: output_stride is no multiple of 4.
    """
    if output_stride is not None:
        if output_stride % 4:
            raise ValueError(f"The output_stride needs to be a multiple of 4, got {output_stride}.")
        output_stride //= 4
    with arg_scope([conv2d], **convolution):
        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
    return max_pool2d(net, 3, stride=2, scope="pool1"), output_stride


def classified(
    net: Tensor, num_classes: int | None, global_pool: bool, collection: str
) -> tuple[Tensor, EndPoints]:
    """The mean over rows and columns, the logits and the predictions, as far as they are asked for."""
    if global_pool:
        net = reductions.reduce_mean(net, [1, 2], keepdims=True, name="pool5")
    if num_classes is not None:
        net = conv2d(net, num_classes, 1, activation_fn=None, normalizer_fn=None, scope="logits")
    end_points: EndPoints = convert_collection_to_dict(collection)
    if num_classes is not None:
        end_points["predictions"] = softmax(net, scope="predictions")
    return net, end_points

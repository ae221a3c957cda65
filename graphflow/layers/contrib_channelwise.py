"""Layers of tf.contrib.layers that enlarge their inputs, or convolve channel by channel: `channelwise`'s, renamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, Initializer, IntsLike, Regularizer, TensorLike
from graphflow._core.ops.array.array import tile
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Zeros, xavier_initializer
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.layers import channelwise
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.layers.arguments import integers
from graphflow.layers.contrib_scope import WEIGHTS, Activation, collections_of, finished, layer_scope, layout
from graphflow.layers.model_variables import model_variable
from graphflow.layers.named_outputs import last_dimension
from graphflow.nn import bias_add, depthwise_conv2d, relu

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope

_SEPARATE_WEIGHTS = {
    "bias": "biases", "depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights",
}  # fmt: skip


@add_arg_scope
def conv2d_transpose(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: IntsLike,
    stride: IntsLike = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    activation_fn: Activation = relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Initializer = xavier_initializer(),
    weights_regularizer: Regularizer | None = None,
    biases_initializer: Initializer = Zeros(),
    biases_regularizer: Regularizer | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """activation_fn(images enlarged by a transposed convolution + biases) (tf.contrib.layers.conv2d_transpose).

    Args:
        inputs: A tensor.
        num_outputs: How many channels or columns the outputs have.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NHWC" or "NCHW", or None for "NHWC".
        activation_fn: A function of the outputs; None for none.
        normalizer_fn: Takes the place of the biases, with normalizer_params as its arguments.
        normalizer_params: A dictionary of its arguments.
        weights_initializer: What the variable begins with; None for biases makes none.
        weights_regularizer: From the variable to a scalar that is added to the losses, or None.
        biases_initializer: What the variable begins with; None for biases makes none.
        biases_regularizer: From the variable to a scalar that is added to the losses, or None.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    with layer_scope(scope, "Conv2d_transpose", inputs, reuse, WEIGHTS, variables_collections) as opened:
        layer = channelwise.Conv2DTranspose(
            num_outputs, kernel_size, stride, padding, layout(data_format), None,
            not normalizer_fn and biases_initializer is not None, weights_initializer, biases_initializer,
            weights_regularizer, biases_regularizer, trainable=trainable, name=opened.name, _scope=opened,
            _reuse=reuse,
        )  # fmt: skip
        outputs = layer(convert_to_tensor(inputs))
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, opened.name
        )


@add_arg_scope
def separable_conv2d(
    inputs: TensorLike,
    num_outputs: int | None,
    kernel_size: IntsLike,
    depth_multiplier: int = 1,
    stride: IntsLike = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: IntsLike = 1,
    activation_fn: Activation = relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Initializer = xavier_initializer(),
    pointwise_initializer: Initializer | None = None,
    weights_regularizer: Regularizer | None = None,
    biases_initializer: Initializer = Zeros(),
    biases_regularizer: Regularizer | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Images convolved channel by channel, then mixed, + biases, activated (tf.contrib.layers.separable_conv2d).

    Args:
        inputs: A tensor.
        num_outputs: None leaves the mixing out; there are then channels * depth_multiplier outputs.
        kernel_size: The window's size, an integer or one for each axis.
        depth_multiplier: How many outputs each channel gives before they are mixed.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NHWC" or "NCHW", or None for "NHWC".
        rate: How far apart the window's elements are, an integer or one for each axis.
        activation_fn: A function of the outputs; None for none.
        normalizer_fn: Takes the place of the biases.
        normalizer_params: A dictionary of its arguments.
        weights_initializer: What the variable begins with; None for biases makes none.
        pointwise_initializer: By default weights_initializer.
        weights_regularizer: From the variable to a scalar that is added to the losses, or None.
        biases_initializer: What the variable begins with; None for biases makes none.
        biases_regularizer: From the variable to a scalar that is added to the losses, or None.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    channels = layout(data_format)
    biased = not normalizer_fn and biases_initializer is not None
    with layer_scope(
        scope, "SeparableConv2d", inputs, reuse, _SEPARATE_WEIGHTS, variables_collections
    ) as opened:
        images = convert_to_tensor(inputs)
        if num_outputs is None:

            def weight(name: str, shape: Any, initializer: Any, regularizer: Any) -> Any:
                return get_variable(name, shape, images.dtype, initializer, regularizer, trainable)

            outputs = _by_channel(
                images, kernel_size, depth_multiplier, stride, padding, data_format, rate,
                weight,
                (weights_initializer, weights_regularizer),
                (biases_initializer, biases_regularizer) if biased else None,
            )  # fmt: skip
        else:
            mixing = weights_initializer if pointwise_initializer is None else pointwise_initializer
            layer = channelwise.SeparableConv2D(
                num_outputs, kernel_size, stride, padding, channels, rate, depth_multiplier, None, biased,
                weights_initializer, mixing, biases_initializer, weights_regularizer, weights_regularizer,
                biases_regularizer, trainable=trainable, name=opened.name, _scope=opened, _reuse=reuse,
            )  # fmt: skip
            outputs = layer(images)
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, opened.name
        )


def _by_channel(
    images: Tensor,
    kernel_size: Any,
    multiplier: int,
    stride: Any,
    padding: str,
    data_format: str,
    rate: Any,
    weight: Any,
    weights: tuple[Any, Any],
    biases: tuple[Any, Any] | None,
) -> Tensor:
    first = data_format == "NCHW"
    size = None if images.dims is None or len(images.dims) != 4 else images.dims[1 if first else -1]
    if size is None:
        raise ValueError(
            f"separable_conv2d: images of four axes and a known number of channels are needed, got {images.shape}."
        )
    kernel = weight(
        "depthwise_weights", [*integers(kernel_size, 2, "kernel_size"), size, multiplier], *weights
    )
    steps = integers(stride, 2, "stride")
    outputs = depthwise_conv2d(
        images, kernel, (1, 1, *steps) if first else (1, *steps, 1), padding, integers(rate, 2, "rate"),
        data_format=data_format,
    )  # fmt: skip
    if biases is not None:
        outputs = bias_add(outputs, weight("biases", [size * multiplier], *biases), data_format=data_format)
    return outputs


@add_arg_scope
def conv2d_in_plane(
    inputs: TensorLike,
    kernel_size: IntsLike,
    stride: IntsLike = 1,
    padding: str = "SAME",
    activation_fn: Activation = relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Initializer = xavier_initializer(),
    weights_regularizer: Regularizer | None = None,
    biases_initializer: Initializer = Zeros(),
    biases_regularizer: Regularizer | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Images of which each channel is convolved with the same window (tf.contrib.layers.conv2d_in_plane).

    Args:
        inputs: Images [batch, height, width, channels]; the number of channels has to be known.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        activation_fn: A function of the outputs; None for none.
        normalizer_fn: Takes the place of the biases.
        normalizer_params: A dictionary of its arguments.
        weights_initializer: What the variable begins with; None for biases makes none.
        weights_regularizer: From the variable to a scalar that is added to the losses, or None.
        biases_initializer: What the variable begins with; None for biases makes none.
        biases_regularizer: From the variable to a scalar that is added to the losses, or None.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default "ConvInPlane", made unique.

    Returns:
        A tensor of as many channels.

    Raises:
        ValueError: If the inputs have not four axes, or the number of channels is not known.
    """
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as opened:
        images = convert_to_tensor(inputs)
        channels = last_dimension(images.shape, 4)

        def variable(name: str, shape: list[int], initializer: Any, regularizer: Any) -> Any:
            collections = collections_of(variables_collections, name)
            return model_variable(
                name, shape, images.dtype, initializer, regularizer, trainable, collections=collections
            )

        size = integers(kernel_size, 2, "kernel_size")
        window = variable("weights", [*size, 1, 1], weights_initializer, weights_regularizer)
        steps = (1, *integers(stride, 2, "stride"), 1)
        outputs = depthwise_conv2d(images, tile(window, [1, 1, channels, 1]), steps, padding)
        if normalizer_fn is None and biases_initializer is not None:
            biases = variable("biases", [channels], biases_initializer, biases_regularizer)
            outputs = bias_add(outputs, biases)
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, opened.name
        )

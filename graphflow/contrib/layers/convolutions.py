"""Convolutions of tf.contrib.layers along one, two or three axes, whichever the inputs have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, Initializer, IntsLike, Regularizer, TensorLike
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.initializers import Zeros, xavier_initializer
from graphflow.layers import channelwise, convolutional
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.layers.contrib_scope import WEIGHTS, Activation, finished, layer_scope, layout
from graphflow.nn import relu

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope

_BY_RANK: Final[Mapping[int, Callable[..., Any]]] = {
    3: convolutional.Conv1D,
    4: convolutional.Conv2D,
    5: convolutional.Conv3D,
}
_FORMATS: Final = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")


@add_arg_scope
def convolution(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: IntsLike,
    stride: IntsLike = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: IntsLike = 1,
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
    conv_dims: int | None = None,
) -> Tensor:
    """activation_fn(the inputs convolved with weights + biases), of one to three axes (tf.contrib.layers.convolution).

    Args:
        inputs: A tensor.
        num_outputs: How many channels the outputs have.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NWC", "NHWC", "NDHWC", or with the C second; None for channels last.
        rate: How far apart the window's elements are, an integer or one for each axis.
        activation_fn: A function of the outputs; None for none.
        normalizer_fn: A function that takes the place of the biases, such as batch_norm.
        normalizer_params: A dictionary of its arguments.
        weights_initializer: What the variable begins with.
        weights_regularizer: From the variable to a scalar that is added to the losses, or None.
        biases_initializer: What the variable begins with; None for no biases.
        biases_regularizer: From the variable to a scalar that is added to the losses, or None.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default the function's name, made unique.
        conv_dims: How many axes there must be, or None.

    Returns:
        The outputs, a tensor.

    Raises:
        ValueError: If the inputs have another rank, or `data_format` is not known.
    """
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with layer_scope(scope, "Conv", inputs, reuse, WEIGHTS, variables_collections) as opened:
        given = convert_to_tensor(inputs)
        rank = None if given.dims is None else len(given.dims)
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        if rank is None or rank not in _BY_RANK:
            raise ValueError(f"Convolution not supported for input with rank {rank}")
        layer = _BY_RANK[rank](
            num_outputs, kernel_size, stride, padding,
            "channels_first" if data_format and data_format.startswith("NC") else "channels_last", rate, None,
            not normalizer_fn and biases_initializer is not None, weights_initializer, biases_initializer,
            weights_regularizer, biases_regularizer, trainable=trainable, name=opened.name, _scope=opened,
            _reuse=reuse,
        )  # fmt: skip
        outputs = layer(given)
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, opened.name
        )


@add_arg_scope
def conv1d(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: IntsLike,
    stride: IntsLike = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: IntsLike = 1,
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
    """activation_fn(sequences convolved with weights + biases) (tf.contrib.layers.conv1d).

    Args:
        inputs: A tensor.
        num_outputs: How many channels the outputs have.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NWC" or "NCW"; None for "NWC".
        rate: How far apart the window's elements are, an integer or one for each axis.
        activation_fn: A function of the outputs; None for none.
        normalizer_fn: A function that takes the place of the biases, such as batch_norm.
        normalizer_params: A dictionary of its arguments.
        weights_initializer: What the variable begins with.
        weights_regularizer: From the variable to a scalar that is added to the losses, or None.
        biases_initializer: What the variable begins with; None for no biases.
        biases_regularizer: From the variable to a scalar that is added to the losses, or None.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.

    Raises:
        ValueError: If the inputs have another rank than 3, or `data_format` is not known.
    """
    return convolution(
        inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
        normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
        variables_collections, outputs_collections, trainable, scope, conv_dims=1,
    )  # fmt: skip


@add_arg_scope
def conv3d(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: IntsLike,
    stride: IntsLike = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: IntsLike = 1,
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
    """activation_fn(volumes convolved with weights + biases) (tf.contrib.layers.conv3d).

    Args:
        inputs: A tensor.
        num_outputs: How many channels the outputs have.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NDHWC" or "NCDHW"; None for "NDHWC".
        rate: How far apart the window's elements are, an integer or one for each axis.
        activation_fn: A function of the outputs; None for none.
        normalizer_fn: A function that takes the place of the biases, such as batch_norm.
        normalizer_params: A dictionary of its arguments.
        weights_initializer: What the variable begins with.
        weights_regularizer: From the variable to a scalar that is added to the losses, or None.
        biases_initializer: What the variable begins with; None for no biases.
        biases_regularizer: From the variable to a scalar that is added to the losses, or None.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.

    Raises:
        ValueError: If the inputs have another rank than 5, or `data_format` is not known.
    """
    return convolution(
        inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
        normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
        variables_collections, outputs_collections, trainable, scope, conv_dims=3,
    )  # fmt: skip


@add_arg_scope
def conv3d_transpose(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: IntsLike,
    stride: IntsLike = 1,
    padding: str = "SAME",
    data_format: str = "NDHWC",
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
    """activation_fn(volumes enlarged by a transposed convolution + biases) (tf.contrib.layers.conv3d_transpose).

    Args:
        inputs: A tensor.
        num_outputs: How many channels the outputs have.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NDHWC" or "NCDHW".
        activation_fn: A function of the outputs; None for none.
        normalizer_fn: A function that takes the place of the biases, such as batch_norm.
        normalizer_params: A dictionary of its arguments.
        weights_initializer: What the variable begins with.
        weights_regularizer: From the variable to a scalar that is added to the losses, or None.
        biases_initializer: What the variable begins with; None for no biases.
        biases_regularizer: From the variable to a scalar that is added to the losses, or None.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.

    Raises:
        ValueError: If `data_format` is not known.
    """
    with layer_scope(scope, "Conv3d_transpose", inputs, reuse, WEIGHTS, variables_collections) as opened:
        layer = channelwise.Conv3DTranspose(
            num_outputs, kernel_size, stride, padding, layout(data_format, 3), None,
            not normalizer_fn and biases_initializer is not None, weights_initializer, biases_initializer,
            weights_regularizer, biases_regularizer, trainable=trainable, name=opened.name, _scope=opened,
            _reuse=reuse,
        )  # fmt: skip
        outputs = layer(convert_to_tensor(inputs))
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, opened.name
        )

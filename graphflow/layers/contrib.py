"""Layers of tf.contrib.layers: those of gf.layers, with other names of variables, relu and Glorot's draws by default.

They are kept for programs that have them and for their checkpoints. All take defaults from arg_scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.random_seed import count_more
from graphflow._core.graph.types import (
    CollectionNames,
    Initializer,
    IntsLike,
    IntTensorLike,
    NumberLike,
    Regularizer,
    TensorLike,
)
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Ones, Zeros, xavier_initializer
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.layers import convolutional, core, normalization
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.layers.contrib_scope import WEIGHTS, Activation, finished, layer_scope, layout
from graphflow.layers.named_outputs import collect_named_outputs
from graphflow.nn import batch_normalization, elu, moments, relu, relu6, weighted_moments

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope


@add_arg_scope
def fully_connected(
    inputs: TensorLike,
    num_outputs: int,
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
    """activation_fn(inputs @ weights + biases) (tf.contrib.layers.fully_connected).

    Args:
        inputs: A tensor.
        num_outputs: How many channels or columns the outputs have.
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
    with layer_scope(scope, "fully_connected", inputs, reuse, WEIGHTS, variables_collections) as opened:
        layer = core.Dense(
            num_outputs, None, not normalizer_fn and biases_initializer is not None, weights_initializer,
            biases_initializer, weights_regularizer, biases_regularizer, trainable=trainable, name=opened.name,
            _scope=opened, _reuse=reuse,
        )  # fmt: skip
        outputs = layer(convert_to_tensor(inputs))
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, opened.name
        )


@add_arg_scope
def conv2d(
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
    """activation_fn(images convolved with weights + biases) (tf.contrib.layers.conv2d); see fully_connected.

    Args:
        inputs: A tensor.
        num_outputs: How many channels or columns the outputs have.
        kernel_size: The window's size, an integer or one for each axis.
        stride: How far the window moves, an integer or one for each axis.
        padding: "SAME" or "VALID".
        data_format: "NHWC" or "NCHW", or None for "NHWC".
        rate: How far apart the window's elements are, an integer or one for each axis.
        activation_fn: A function of the outputs; None for none.
        normalizer_fn: A function that takes the place of the biases, such as batch_norm.
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
    with layer_scope(scope, "Conv", inputs, reuse, WEIGHTS, variables_collections) as opened:
        images = convert_to_tensor(inputs)
        if images.dims is not None and len(images.dims) != 4:
            raise ValueError(f"Convolution expects input with rank 4, got {len(images.dims)}")
        layer = convolutional.Conv2D(
            num_outputs, kernel_size, stride, padding, layout(data_format), rate, None,
            not normalizer_fn and biases_initializer is not None, weights_initializer, biases_initializer,
            weights_regularizer, biases_regularizer, trainable=trainable, name=opened.name, _scope=opened,
            _reuse=reuse,
        )  # fmt: skip
        outputs = layer(images)
        return finished(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, opened.name
        )


class _BetaFirst(normalization.BatchNormalization):
    example_weights: Tensor | None = None
    """How much each example counts in moments."""

    def _build_factors(self, shape: list[int]) -> None:
        self._build_beta(shape)
        self._build_gamma(shape)

    def _moments(self, inputs: Tensor, over: list[int], keepdims: bool) -> tuple[Tensor, Tensor]:
        if self.example_weights is None:
            return super()._moments(inputs, over, keepdims)
        return weighted_moments(inputs, over, self.example_weights, keepdims=keepdims)


class _Debiased(_BetaFirst):
    def _is_debiased(self, variable: Any) -> bool:
        return variable is self.moving_mean


def _of_the_other(fused: bool, is_training: Any, updates_at_once: bool) -> int:
    """How many operations more TensorFlow's other implementation of batch_norm makes, by which seeds are counted."""
    if is_training is False:
        return 0
    if is_training is True:
        return -3 if fused else int(updates_at_once)
    if not updates_at_once:
        return 0
    return 4 if fused else -17


@add_arg_scope
def batch_norm(
    inputs: TensorLike,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Activation = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: CollectionNames | None = GraphKeys.UPDATE_OPS,
    is_training: TensorLike = True,
    reuse: bool | ReuseMode | None = None,
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    batch_weights: TensorLike | None = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: str | VariableScope | None = None,
    renorm: bool = False,
    renorm_clipping: Mapping[str, TensorLike] | None = None,
    renorm_decay: float = 0.99,
    adjustment: Callable[..., Any] | None = None,
) -> Tensor:
    """gf.layers.batch_normalization with a scale only if asked for (tf.contrib.layers.batch_norm).

    Args:
        inputs: A tensor.
        decay: Of the moving averages, near 1.
        center: Whether beta is added.
        scale: Whether the result is multiplied by gamma.
        epsilon: Added to the variance.
        activation_fn: A function of the outputs; None for none.
        param_initializers: By the names beta, gamma, moving_mean and moving_variance.
        param_regularizers: By the names beta, gamma, moving_mean and moving_variance.
        updates_collections: Of the operations that a training step must run, or None: then the outputs wait
            for them.
        is_training: Whether the model trains, a bool or a scalar bool tensor.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        batch_weights: How much each example counts in mean and variance, a vector; by default all the same.
        fused: Accepted: whether images are normalised by one kernel.
        data_format: "NHWC" or "NCHW", or None for "NHWC".
        zero_debias_moving_mean: Whether the mean's average is corrected for having begun at zero, by two variables
            more, moving_mean/biased and moving_mean/local_step.
        scope: The variable scope; by default the function's name, made unique.
        renorm: As gf.layers.BatchNormalization's.
        renorm_clipping: As gf.layers.BatchNormalization's.
        renorm_decay: As gf.layers.BatchNormalization's renorm_momentum.
        adjustment: As gf.layers.BatchNormalization's; not used, as in TensorFlow, together with `batch_weights`,
            `zero_debias_moving_mean` or other `updates_collections`.

    Returns:
        The outputs, a tensor.

    Raises:
        ValueError: For renorm together with batch_weights, zero_debias_moving_mean or other updates_collections, and
            for batch_weights of another number than the inputs.
    """
    layout(data_format)  # Raises for others.
    images = convert_to_tensor(inputs)
    flat = images.dims is not None and len(images.dims) == 2
    initial, losses = param_initializers or {}, param_regularizers or {}
    is_fused = fused is not False and batch_weights is None and not renorm and adjustment is None
    with layer_scope(scope, "BatchNorm", inputs, reuse, {}, variables_collections) as opened:
        # For these TensorFlow has other implementations, which make the variables in the other order.
        swapped = updates_collections != GraphKeys.UPDATE_OPS or zero_debias_moving_mean
        swapped = swapped or batch_weights is not None
        if swapped and renorm:
            raise ValueError(
                "batch_norm: renorm is not supported with batch_weights, updates_collections or "
                "zero_debias_moving_mean"
            )
        if swapped:
            adjustment = None
        other = _Debiased if zero_debias_moving_mean else _BetaFirst
        layer = (other if swapped or flat and is_fused else normalization.BatchNormalization)(
            1 if data_format == "NCHW" else -1, decay, epsilon, center, scale, initial.get("beta", Zeros()),
            initial.get("gamma", Ones()), initial.get("moving_mean", Zeros()),
            initial.get("moving_variance", Ones()), losses.get("beta"), losses.get("gamma"), renorm=renorm,
            renorm_clipping=renorm_clipping, renorm_momentum=renorm_decay, adjustment=adjustment, fused=is_fused,
            trainable=trainable, name=opened.name, _scope=opened, _reuse=reuse,
        )  # fmt: skip
        if isinstance(layer, _BetaFirst) and batch_weights is not None:
            counts = convert_to_tensor(batch_weights)
            images.shape[:1].assert_is_compatible_with(counts.shape)
            layer.example_weights = array.reshape(counts, [-1, *[1] * (len(images.shape.as_list()) - 1)])
        wide = array.expand_dims(array.expand_dims(images, 1), 1) if flat and is_fused else images
        collection = get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS)
        before = len(collection)
        outputs = layer(wide, training=is_training)
        if wide is not images:
            outputs = array.squeeze(outputs, [1, 2])
            count_more(-1)  # TensorFlow reshapes before and behind.
        if isinstance(layer, _BetaFirst):
            count_more(_of_the_other(is_fused, is_training, updates_collections is None))
        if updates_collections is None:
            del collection[before:]
            with outputs.graph.control_dependencies(layer.updates):
                outputs = array.identity(outputs)
        elif updates_collections not in (GraphKeys.UPDATE_OPS, [GraphKeys.UPDATE_OPS]):
            del collection[before:]
            for update in layer.updates:
                outputs.graph.add_to_collections(updates_collections, update)
        return finished(outputs, None, None, activation_fn, outputs_collections, opened.name)


@add_arg_scope
def layer_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    activation_fn: Activation = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """gamma * (x - mean) / deviation + beta over the axes from begin_norm_axis on (tf.contrib.layers.layer_norm).

    The method is that of Ba, Kiros and Hinton (2016). gamma and beta have the shape of the axes from begin_params_axis
    on, which must be known: ValueError if it is not.

    Args:
        inputs: A tensor.
        center: Whether beta is added.
        scale: Whether the result is multiplied by gamma.
        activation_fn: A function of the outputs; None for none.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        begin_norm_axis: The first axis that is normalised.
        begin_params_axis: The first axis of gamma and beta.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    with layer_scope(scope, "LayerNorm", inputs, reuse, {}, variables_collections) as opened:
        x = convert_to_tensor(inputs)
        if x.dims is None:
            raise ValueError("layer_norm: the inputs have an undefined rank.")
        rank = len(x.dims)
        first = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if not (first < rank and begin_params_axis < rank):
            raise ValueError(
                f"layer_norm: begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) "
                f"must be < rank(inputs) ({rank})."
            )
        shape = x.dims[begin_params_axis:]
        if None in shape:
            raise ValueError(
                f"layer_norm: the shape of the axes {begin_params_axis} on is not fully defined: it is {x.shape}."
            )

        def weight(name: str, initializer: Any) -> Any:
            return get_variable(name, list(shape), x.dtype, initializer, trainable=trainable)

        beta = weight("beta", Zeros()) if center else None
        gamma = weight("gamma", Ones()) if scale else None
        mean, variance = moments(x, list(range(first, rank)), keepdims=True)
        # 1e-12 is 0 in float16.
        epsilon = 1e-3 if x.dtype.base_dtype == dtypes.float16 else 1e-12
        outputs = batch_normalization(x, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(x.shape)
        return finished(outputs, None, None, activation_fn, outputs_collections, opened.name)


@add_arg_scope
def dropout(
    inputs: TensorLike,
    keep_prob: NumberLike = 0.5,
    noise_shape: IntTensorLike | None = None,
    is_training: TensorLike = True,
    outputs_collections: CollectionNames | None = None,
    scope: str | VariableScope | None = None,
    seed: int | None = None,
) -> Tensor:
    """Keeps elements with probability keep_prob while is_training (tf.contrib.layers.dropout).

    Args:
        inputs: A tensor.
        keep_prob: The share of elements that are kept.
        noise_shape: The shape in which is drawn, whose axes of size 1 are repeated.
        is_training: Whether the model trains, a bool or a scalar bool tensor.
        outputs_collections: Collections that the outputs are added to.
        scope: The variable scope; by default the function's name, made unique.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        The outputs, a tensor.
    """
    with variable_scope(scope, "Dropout", [inputs]) as opened:
        layer = core.Dropout(1 - keep_prob, noise_shape, seed, opened.name, _scope=opened)
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        return collect_named_outputs(outputs_collections, opened.name, outputs)


@add_arg_scope
def flatten(
    inputs: TensorLike, outputs_collections: CollectionNames | None = None, scope: str | None = None
) -> Tensor:
    """All axes but the first joined to one (tf.contrib.layers.flatten).

    Args:
        inputs: A tensor.
        outputs_collections: Collections that the outputs are added to.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    with op_scope(scope, "Flatten", [inputs]) as opened:
        outputs = core.flatten(convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, opened, outputs)


linear = partial(fully_connected, activation_fn=None)
relu_layer = partial(fully_connected, activation_fn=relu)
relu6_layer = partial(fully_connected, activation_fn=relu6)
elu_layer = partial(fully_connected, activation_fn=elu)
linear.__doc__ = "fully_connected without activation (tf.contrib.layers.linear); takes its arguments."
relu_layer.__doc__ = "fully_connected with relu (tf.contrib.layers.relu); takes its arguments."
relu6_layer.__doc__ = "fully_connected with relu6 (tf.contrib.layers.relu6); takes its arguments."
elu_layer.__doc__ = "fully_connected with elu (tf.contrib.layers.elu); takes its arguments."

"""Layers of tf.contrib.layers: those of gf.layers, with other names of variables, relu and Glorot's draws by default.

They are kept for programs that have them and for their checkpoints. All take defaults from arg_scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from graphflow.graph.defaults import get_default_graph
from graphflow.graph.elements import Tensor
from graphflow.graph.keys import GraphKeys
from graphflow.layers import convolutional, core, normalization, pooling
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.nn import batch_normalization, moments, relu
from graphflow.ops import array
from graphflow.ops.core import convert_to_tensor, op_scope
from graphflow.ops.get_variable import get_variable
from graphflow.ops.initializers import Ones, Zeros, xavier_initializer
from graphflow.ops.variable_scope import VariableScope, variable_scope

Activation = Callable[[Tensor], Any] | None
_FORMATS: Mapping[Any, str] = {None: "channels_last", "NHWC": "channels_last", "NCHW": "channels_first"}


def _layout(data_format: Any) -> str:
    if data_format not in _FORMATS:
        raise ValueError(f"data_format has to be either NCHW or NHWC, got {data_format!r}.")
    return _FORMATS[data_format]


def _collections(variables_collections: Any, last: str) -> list[Any]:
    """The collections for a variable, from a list or from one for each variable's name."""
    given = variables_collections
    if isinstance(given, Mapping):
        given = given.get(last)
    return [given] if isinstance(given, str) else list(given or ())


def _scope(
    scope: Any,
    default: str,
    inputs: Any,
    reuse: Any,
    names: Mapping[str, str],
    variables_collections: Any = None,
) -> AbstractContextManager[VariableScope]:
    """A variable scope whose variables are renamed, and are in MODEL_VARIABLES and in the given collections too."""

    def renamed(getter: Any, *args: Any, **kwargs: Any) -> Any:
        before, slash, last = kwargs.pop("name", args[0] if args else "").rpartition("/")
        own = names.get(last, last)
        kwargs["collections"] = [
            *(kwargs.pop("collections", None) or [GraphKeys.GLOBAL_VARIABLES]),
            GraphKeys.MODEL_VARIABLES, *_collections(variables_collections, own),
        ]  # fmt: skip
        return getter(f"{before}{slash}{own}", *args[1:], **kwargs)

    return variable_scope(scope, default, [inputs], reuse=reuse, custom_getter=renamed)


def _finished(
    outputs: Any, normalizer: Any, normalizer_params: Any, activation_fn: Activation, outputs_collections: Any
) -> Any:
    """The outputs normalised and activated, and in their collections."""
    if normalizer is not None:
        outputs = normalizer(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    if outputs_collections:
        get_default_graph().add_to_collections(outputs_collections, outputs)
    return outputs


_WEIGHTS = {"kernel": "weights", "bias": "biases"}


@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Activation = relu,
    normalizer_fn: Any = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = xavier_initializer(),
    weights_regularizer: Any = None,
    biases_initializer: Any = Zeros(),
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """activation_fn(inputs @ weights + biases) (tf.contrib.layers.fully_connected).

    normalizer_fn: takes the place of the biases, with normalizer_params as its arguments.
    """
    with _scope(scope, "fully_connected", inputs, reuse, _WEIGHTS, variables_collections) as opened:
        layer = core.Dense(
            num_outputs, None, not normalizer_fn and biases_initializer is not None, weights_initializer,
            biases_initializer, weights_regularizer, biases_regularizer, trainable=trainable, name=opened.name,
            _scope=opened, _reuse=reuse,
        )  # fmt: skip
        outputs = layer(convert_to_tensor(inputs))
        return _finished(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections)


@add_arg_scope
def conv2d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Activation = relu,
    normalizer_fn: Any = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = xavier_initializer(),
    weights_regularizer: Any = None,
    biases_initializer: Any = Zeros(),
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """activation_fn(images convolved with weights + biases) (tf.contrib.layers.conv2d); see fully_connected."""
    with _scope(scope, "Conv", inputs, reuse, _WEIGHTS, variables_collections) as opened:
        layer = convolutional.Conv2D(
            num_outputs, kernel_size, stride, padding, _layout(data_format), rate, None,
            not normalizer_fn and biases_initializer is not None, weights_initializer, biases_initializer,
            weights_regularizer, biases_regularizer, trainable=trainable, name=opened.name, _scope=opened,
            _reuse=reuse,
        )  # fmt: skip
        outputs = layer(convert_to_tensor(inputs))
        return _finished(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections)


def _pooled(layer: Any, inputs: Any, name: str | None, default: str, outputs_collections: Any) -> Any:
    with op_scope(name, default, [inputs]):
        return _finished(layer(convert_to_tensor(inputs)), None, None, None, outputs_collections)


@add_arg_scope
def max_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str | None = None,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """The largest element of each window (tf.contrib.layers.max_pool2d)."""
    layer = pooling.MaxPooling2D(kernel_size, stride, padding, _layout(data_format))
    return _pooled(layer, inputs, scope, "MaxPool2D", outputs_collections)


@add_arg_scope
def avg_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str | None = None,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """The mean of each window (tf.contrib.layers.avg_pool2d)."""
    layer = pooling.AveragePooling2D(kernel_size, stride, padding, _layout(data_format))
    return _pooled(layer, inputs, scope, "AvgPool2D", outputs_collections)


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: Any = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Activation = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    fused: bool | None = None,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """gf.layers.batch_normalization with a scale only if asked for (tf.contrib.layers.batch_norm).

    updates_collections: UPDATE_OPS, whose operations a training step must run, or None: then the outputs wait for them.
    """
    images = convert_to_tensor(inputs)
    flat = images.dims is not None and len(images.dims) == 2
    initial, losses = param_initializers or {}, param_regularizers or {}
    if updates_collections not in (None, GraphKeys.UPDATE_OPS, [GraphKeys.UPDATE_OPS]):
        raise ValueError(
            f"batch_norm: updates_collections must be gf.GraphKeys.UPDATE_OPS or None, got {updates_collections!r}."
        )
    with _scope(scope, "BatchNorm", inputs, reuse, {}, variables_collections) as opened:
        layer = normalization.BatchNormalization(
            1 if data_format == "NCHW" else -1, decay, epsilon, center, scale, initial.get("beta", Zeros()),
            initial.get("gamma", Ones()), initial.get("moving_mean", Zeros()),
            initial.get("moving_variance", Ones()), losses.get("beta"), losses.get("gamma"), fused=fused,
            trainable=trainable, name=opened.name, _scope=opened, _reuse=reuse,
        )  # fmt: skip
        wide = array.expand_dims(array.expand_dims(images, 1), 1) if flat and fused is not False else images
        collection = get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS)
        before = len(collection)
        outputs = layer(wide, training=is_training)
        if wide is not images:
            outputs = array.squeeze(outputs, [1, 2])
        if updates_collections is None:
            del collection[before:]
            with outputs.graph.control_dependencies(layer.updates):
                outputs = array.identity(outputs)
        return _finished(outputs, None, None, activation_fn, outputs_collections)


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Activation = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """gamma * (x - mean) / deviation + beta over the axes from begin_norm_axis on (tf.contrib.layers.layer_norm).

    The method is that of Ba, Kiros and Hinton (2016). gamma and beta have the shape of the axes from begin_params_axis
    on, which must be known: ValueError where it is not.
    """
    with _scope(scope, "LayerNorm", inputs, reuse, {}, variables_collections):
        x = convert_to_tensor(inputs)
        if x.dims is None:
            raise ValueError("layer_norm: the inputs have an undefined rank.")
        rank = len(x.dims)
        first = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if not (first < rank and begin_params_axis < rank):
            raise ValueError(
                f"layer_norm: begin_norm_axis {begin_norm_axis} and begin_params_axis {begin_params_axis} must be less "
                f"than the rank {rank} of the inputs."
            )
        shape = x.dims[begin_params_axis:]
        if None in shape:
            raise ValueError(
                f"layer_norm: the shape of axes {begin_params_axis} on must be known, but is {x.shape}."
            )

        def weight(name: str, initializer: Any) -> Any:
            return get_variable(name, list(shape), x.dtype, initializer, trainable=trainable)

        beta = weight("beta", Zeros()) if center else None
        gamma = weight("gamma", Ones()) if scale else None
        mean, variance = moments(x, list(range(first, rank)), keepdims=True)
        outputs = batch_normalization(x, mean, variance, beta, gamma, 1e-12)
        outputs.set_shape(x.shape)
        return _finished(outputs, None, None, activation_fn, outputs_collections)


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """Keeps elements with probability keep_prob while is_training (tf.contrib.layers.dropout)."""
    with variable_scope(scope, "Dropout", [inputs]) as opened:
        layer = core.Dropout(1 - keep_prob, noise_shape, seed, opened.name, _scope=opened)
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        return _finished(outputs, None, None, None, outputs_collections)


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """All axes but the first joined to one (tf.contrib.layers.flatten)."""
    with op_scope(scope, "Flatten", [inputs]):
        return _finished(core.flatten(convert_to_tensor(inputs)), None, None, None, outputs_collections)


@add_arg_scope
def linear(inputs: Any, num_outputs: int, **arguments: Any) -> Any:
    """fully_connected without activation (tf.contrib.layers.linear); takes its arguments."""
    return fully_connected(inputs, num_outputs, **{"activation_fn": None, **arguments})


CONTRIB_LAYERS_EXPORTS: dict[str, Any] = {
    f.__name__: f
    for f in (
        avg_pool2d, batch_norm, conv2d, dropout, flatten, fully_connected, layer_norm, linear, max_pool2d,
    )
} | {"convolution2d": conv2d}  # fmt: skip

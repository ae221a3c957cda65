"""Layers of tf.contrib.layers that are a few functions of gf.nn, or several layers one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import count_more
from graphflow._core.graph.types import CollectionNames, Initializer, IntTensorLike, Regularizer, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.compositions import meshgrid
from graphflow._core.ops.array.creation import linspace, one_hot
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Constant, Ones, Zeros
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.layers.contrib_scope import Activation, collections_of, finished, layer_scope, layout
from graphflow.layers.model_variables import model_variable
from graphflow.layers.named_outputs import collect_named_outputs, last_dimension
from graphflow.nn import batch_normalization, embedding_lookup, moments
from graphflow.nn import bias_add as add_bias
from graphflow.nn import softmax as softmax_of

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope


def _channels(x: Tensor, data_format: str, layer: str) -> tuple[int, int]:
    """The axis of the channels and their number; ValueError if it is not known."""
    axis = 1 if layout(data_format) == "channels_first" else -1
    size = x.dims[axis] if x.dims else None
    if x.dims is None or size is None:
        raise ValueError(
            f"{layer}: the number of channels must be known, but the inputs' shape is {x.shape}: undefined "
            f"{'rank' if x.dims is None else 'channels dimension'}."
        )
    return axis % len(x.dims), size


@add_arg_scope
def bias_add(
    inputs: TensorLike,
    activation_fn: Activation = None,
    initializer: Initializer = Zeros(),
    regularizer: Regularizer | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: str | VariableScope | None = None,
) -> Tensor:
    """activation_fn(inputs + biases), a bias for each channel (tf.contrib.layers.bias_add); also as a normalizer_fn.

    Args:
        inputs: A tensor.
        activation_fn: A function of the outputs; None for none.
        initializer: What it begins with.
        regularizer: From the variable to a scalar that is added to the losses.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        data_format: "NHWC" or "NCHW", or None for "NHWC".
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    with layer_scope(scope, "BiasAdd", inputs, reuse, {}, variables_collections) as opened:
        x = convert_to_tensor(inputs)
        _, size = _channels(x, data_format, "bias_add")
        biases = get_variable("biases", [size], x.dtype, initializer, regularizer, trainable)
        outputs = add_bias(x, biases, data_format=data_format)
        return finished(outputs, None, None, activation_fn, outputs_collections, opened.name)


@add_arg_scope
def instance_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Activation = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: str | VariableScope | None = None,
) -> Tensor:
    """gamma * (x - mean) / deviation + beta, by example and channel (tf.contrib.layers.instance_norm).

    The method is that of Ulyanov, Vedaldi and Lempitsky (2016).

    Args:
        inputs: A tensor.
        center: Whether beta is added.
        scale: Whether the result is multiplied by gamma.
        epsilon: Added to the variance.
        activation_fn: A function of the outputs; None for none.
        param_initializers: By the names beta, gamma, moving_mean and moving_variance.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        data_format: "NHWC" or "NCHW", or None for "NHWC".
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.

    Raises:
        ValueError: If the rank or the number of channels is not known.
    """
    x = convert_to_tensor(inputs)
    axis, size = _channels(x, data_format, "instance_norm")
    initial = param_initializers or {}
    with layer_scope(scope, "InstanceNorm", inputs, reuse, {}, variables_collections) as opened:
        rank = len(x.dims or ())
        spread = [1, size, *[1] * (rank - 2)] if axis != rank - 1 else None

        def weight(name: str, default: Any) -> Any:
            made = get_variable(name, [size], x.dtype, initial.get(name, default), trainable=trainable)
            return made if spread is None else array.reshape(made, spread)

        beta = weight("beta", Zeros()) if center else None
        gamma = weight("gamma", Ones()) if scale else None
        over = [other for other in range(1, rank) if other != axis]
        mean, variance = moments(x, over, keepdims=True)
        outputs = batch_normalization(x, mean, variance, beta, gamma, epsilon, name="instancenorm")
        return finished(outputs, None, None, activation_fn, outputs_collections, opened.name)


@add_arg_scope
def group_norm(
    inputs: TensorLike,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Activation = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    mean_close_to_zero: bool = False,
) -> Tensor:
    """gamma * (x - mean) / deviation + beta, by example and group of channels (tf.contrib.layers.group_norm).

    The method is that of Wu and He (2018).

    Args:
        inputs: A tensor, of which all sizes but that of the batch are known.
        groups: How many groups the channels are divided into.
        channels_axis: The axis of the channels.
        reduction_axes: The axes that means and deviations are taken over, beside the channels of a group.
        center: Whether beta is added.
        scale: Whether the result is multiplied by gamma.
        epsilon: Added to the variance.
        activation_fn: A function of the outputs; None for none.
        param_initializers: By the names beta and gamma.
        reuse: Whether to take the variables that are there in the scope.
        variables_collections: Collections that the variables are added to, one for all or by the variable's
            name.
        outputs_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default the function's name, made unique.
        mean_close_to_zero: Whether the variance is that of squares less the square of the mean, in one pass.

    Returns:
        The outputs, a tensor.

    Raises:
        ValueError: If the rank, the number of channels or the size of a reduced axis is not known, for axes that are
            not there or both, and for channels that cannot be divided so.
    """
    x = convert_to_tensor(inputs)
    axis, over = _axes_of_groups(x, groups, channels_axis, reduction_axes)
    known = x.dims or ()
    present = array.shape(x)
    sizes: list[Any] = [present[i] if size is None else size for i, size in enumerate(known)]
    parts = [groups, sizes[axis] // groups]
    spread = [*[1] * axis, *parts, *[1] * (len(sizes) - axis - 1)]
    initial = param_initializers or {}
    with layer_scope(scope, "GroupNorm", inputs, reuse, {}, variables_collections) as opened:

        def weight(name: str, default: Any) -> Tensor:
            made = get_variable(name, [sizes[axis]], x.dtype, initial.get(name, default), trainable=trainable)
            return array.reshape(made, spread)

        beta = weight("beta", Zeros()) if center else None
        gamma = weight("gamma", Ones()) if scale else None
        cut = array.reshape(x, [*sizes[:axis], *parts, *sizes[axis + 1 :]])
        within = [axis + 1, *(other + (other > axis) for other in over)]
        if mean_close_to_zero:
            mean = reductions.reduce_mean(cut, within, keepdims=True)
            variance = reductions.reduce_mean(math.square(cut), within, keepdims=True) - math.square(mean)
        else:
            mean, variance = moments(cut, within, keepdims=True)
        normed = batch_normalization(cut, mean, variance, beta, gamma, epsilon, name="groupnorm")
        outputs = array.reshape(normed, sizes)
        outputs.set_shape(known)
        return finished(outputs, None, None, activation_fn, outputs_collections, opened.name)


def _axes_of_groups(
    x: Tensor, groups: int, channels_axis: int, reduction_axes: Sequence[int]
) -> tuple[int, list[int]]:
    """The axis of the channels and the others that are reduced, none negative; ValueError if they do not fit."""
    if x.dims is None:
        raise ValueError(f"group_norm: the inputs {x.name} have undefined rank.")
    rank = len(x.dims)
    for axis in (channels_axis, *reduction_axes):
        if not -rank <= axis < rank:
            raise ValueError(
                f"group_norm: Axis is out of bounds. It is {axis}, and the inputs' shape is {x.shape}."
            )
    channels, over = channels_axis % rank, [axis % rank for axis in reduction_axes]
    count = x.dims[channels]
    if count is None:
        raise ValueError(f"group_norm: the inputs {x.name} have an undefined channel dimension: {channels}.")
    for axis in over:
        if axis == channels:
            raise ValueError(
                f"group_norm: reduction_axes must be mutually exclusive with channels_axis, got {list(reduction_axes)} "
                f"and {channels_axis}."
            )
        if x.dims[axis] is None:
            raise ValueError(f"group_norm: the inputs {x.name} have undefined dimensions {axis}.")
    if not 0 < groups <= count:
        raise ValueError(f"group_norm: Invalid groups {groups} for {count} channels.")
    if count % groups:
        raise ValueError(f"group_norm: {count} channels is not commensurate with {groups} groups.")
    return channels, over


@add_arg_scope
def unit_norm(
    inputs: TensorLike, dim: int, epsilon: float = 1e-7, scope: str | VariableScope | None = None
) -> Tensor:
    """Inputs of length 1 along the axis `dim`, which is not negative (tf.contrib.layers.unit_norm).

    Args:
        inputs: A tensor.
        dim: The axis.
        epsilon: The least squared norm.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    with variable_scope(scope, "UnitNorm", [inputs]):
        x = convert_to_tensor(inputs)
        if x.dims is None or not 0 <= dim < len(x.dims):
            raise ValueError(f"unit_norm: dim {dim} must be an axis of the inputs, whose shape is {x.shape}.")
        squares = reductions.reduce_sum(math.square(x), dim, keepdims=True)
        count_more(13)  # TensorFlow tiles the lengths.
        result: Tensor = x / math.sqrt(epsilon + squares)
        return result


def spatial_softmax(
    features: TensorLike,
    temperature: float | None = None,
    name: str | None = None,
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Tensor:
    """For each channel of pictures the place that its softmax over all places expects (Finn et al., 2016).

    TensorFlow: tf.contrib.layers.spatial_softmax. Places go from -1 to 1 along both axes.

    Args:
        features: A tensor of shape [batch, height, width, channels], or as data_format says; the number of channels
            has to be known.
        temperature: What the features are divided by, a variable that begins with this; by default with 1.
        name: The variable scope; by default the function's name, made unique.
        variables_collections: Collections that the variable is added to, if it is trained.
        trainable: Whether the variable is among those that optimizers train.
        data_format: "NHWC" or "NCHW".

    Returns:
        A tensor of shape [batch, 2 * channels]: of each channel the place along the height, then along the width.

    Raises:
        ValueError: For another data_format, and for a number of channels that is not known.
    """
    with variable_scope(name, "spatial_softmax"):
        x = convert_to_tensor(features)
        axis, channels = _channels(x, data_format, "spatial_softmax")
        if axis != 1:
            x = array.transpose(x, [0, 3, 1, 2])
        height, width = array.shape(x)[2], array.shape(x)[3]
        scale = model_variable(
            "temperature",
            (),
            dtypes.float32,
            Ones() if temperature is None else Constant(temperature),
            collections=collections_of(variables_collections, "temperature") if trainable else None,
            trainable=trainable,
        )
        odds = softmax_of(array.reshape(x, [-1, height * width]) / scale)
        grid = meshgrid(linspace(-1.0, 1.0, height), linspace(-1.0, 1.0, width), indexing="ij")
        places = [
            reductions.reduce_sum(array.reshape(place, [height * width]) * odds, [1], keepdims=True)
            for place in grid
        ]
        result: Tensor = array.reshape(array.concat(places, 1), [-1, 2 * channels])
        return result


@add_arg_scope
def one_hot_encoding(
    labels: TensorLike,
    num_classes: IntTensorLike,
    on_value: TensorLike = 1.0,
    off_value: TensorLike = 0.0,
    outputs_collections: CollectionNames | None = None,
    scope: str | None = None,
) -> Tensor:
    """A row for each label, on_value at its class and off_value elsewhere (tf.contrib.layers.one_hot_encoding).

    Args:
        labels: Class numbers, integers.
        num_classes: How many classes there are.
        on_value: The value at the class.
        off_value: The value elsewhere.
        outputs_collections: Collections that the outputs are added to.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    with op_scope(scope, "OneHotEncoding", [labels]) as opened:
        numbers = convert_to_tensor(labels)
        if numbers.dtype == dtypes.int32:
            numbers = math.cast(numbers, dtypes.int64)
        outputs = one_hot(numbers, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, opened, outputs)


@add_arg_scope
def softmax(logits: TensorLike, scope: str | VariableScope | None = None) -> Tensor:
    """The softmax of the last axis, whose size must be known (tf.contrib.layers.softmax).

    Args:
        logits: A tensor of floats.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        The outputs, a tensor.
    """
    with variable_scope(scope, "softmax", [logits]):
        x = convert_to_tensor(logits)
        rows = array.reshape(x, [-1, last_dimension(x.shape, min_rank=2)])
        result = array.reshape(softmax_of(rows), array.shape(x))
        result.set_shape(x.shape)
        return result


_LONG_NAMES: Final = {
    **{f"conv{axes}d": f"convolution{axes}d" for axes in (1, 2, 3)},
    **{f"conv{axes}d_transpose": f"convolution{axes}d_transpose" for axes in (2, 3)},
    "conv2d_in_plane": "convolution2d_in_plane",
    "separable_conv2d": "separable_convolution2d",
}
"""Functions of contrib.layers that TensorFlow defines by longer names, which the scopes of their repetitions have."""


def _name_of(layer: Any, default: str) -> str:
    """The name of a layer, or of the one that a functools.partial calls."""
    called = layer if hasattr(layer, "__name__") else getattr(layer, "func", None)
    name = str(getattr(called, "__name__", default))
    if str(getattr(called, "__module__", "")).startswith("graphflow."):
        return _LONG_NAMES.get(name, name)
    return name


def _one_after_another(
    inputs: Any, layer: Callable[..., Any], arguments: Iterable[Any], scope: Any, kind: str, kwargs: Any
) -> Any:
    with variable_scope(scope, kind, [inputs]):
        name = _name_of(layer, kind.lower()) if scope is None else scope
        outputs = convert_to_tensor(inputs)
        for number, given in enumerate(arguments, 1):
            outputs = layer(outputs, *given, **kwargs, scope=f"{name}_{number}")
        return outputs


def repeat(
    inputs: TensorLike, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any
) -> Tensor | Any:
    """A layer applied `repetitions` times, each time with variables of its own (tf.contrib.layers.repeat).

    Its scopes are scope/scope_1, scope/scope_2 and so on.

    Args:
        inputs: A tensor.
        repetitions: How often.
        layer: A function of inputs, with an argument `scope`.
        *args: With `kwargs`: the layer's arguments behind the inputs.
        **kwargs: See `args`.

    Returns:
        The outputs, a tensor.
    """
    scope = kwargs.pop("scope", None)
    return _one_after_another(inputs, layer, [args] * repetitions, scope, "Repeat", kwargs)


def stack(
    inputs: TensorLike, layer: Callable[..., Any], stack_args: Sequence[Any], **kwargs: Any
) -> Tensor | Any:
    """A layer applied once for each element of stack_args, its arguments or its one (tf.contrib.layers.stack).

    Its scopes are scope/scope_1, scope/scope_2 and so on.

    Args:
        inputs: A tensor.
        layer: A function of inputs.
        stack_args: Its second arguments, one or a tuple for each layer.
        **kwargs: Further arguments of each.

    Raises:
        ValueError: If stack_args is no list or tuple.
    """
    if not isinstance(stack_args, list | tuple):
        raise ValueError(f"stack_args need to be a list or tuple, got {stack_args!r}")
    scope = kwargs.pop("scope", None)
    arguments = [given if isinstance(given, list | tuple) else [given] for given in stack_args]
    return _one_after_another(inputs, layer, arguments, scope, "Stack", kwargs)


def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: bool | ReuseMode | None = None,
) -> Tensor:
    """The rows of a variable `embeddings` for ids [batch, length] (tf.contrib.layers.embed_sequence).

    `unique` changes no number here.

    Args:
        ids: [batch, length] of integers.
        vocab_size: With `embed_dim`: the variable's shape, not needed if it is shared.
        embed_dim: See `vocab_size`.
        unique: Changes no number.
        initializer: What it begins with.
        regularizer: From the variable to a scalar that is added to the losses.
        trainable: Whether its variables are among those that optimizers train.
        scope: The variable scope; by default the function's name, made unique.
        reuse: Whether to take the variables that are there in the scope.

    Returns:
        [batch, length, embed_dim].
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            f"Must specify vocab size and embedding dimension when not reusing. Got vocab_size={vocab_size} and "
            f"embed_dim={embed_dim}"
        )
    with layer_scope(scope, "EmbedSequence", ids, reuse, {}):
        shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
        embeddings = get_variable("embeddings", shape, None, initializer, regularizer, trainable)
        result: Tensor = embedding_lookup(embeddings, ids)
        return result

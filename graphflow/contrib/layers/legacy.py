"""fully_connected as it was before, of inputs of any rank (tf.contrib.layers.legacy_fully_connected)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import Initializer, Regularizer, TensorLike
from graphflow._core.ops.array.array import reshape, shape, stack, unstack
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Zeros, xavier_initializer
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.nn import bias_add, relu

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope


@add_arg_scope
def legacy_fully_connected(
    x: TensorLike,
    num_output_units: int,
    activation_fn: Callable[[Tensor], Tensor] | None = None,
    weight_init: Initializer = xavier_initializer(),
    bias_init: Initializer | None = Zeros(),
    name: str | VariableScope | None = None,
    weight_collections: Iterable[str] | None = (GraphKeys.WEIGHTS,),
    bias_collections: Iterable[str] | None = (GraphKeys.BIASES,),
    output_collections: Iterable[str] | None = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Regularizer | None = None,
    bias_regularizer: Regularizer | None = None,
) -> Tensor:
    """activation_fn(x @ weights + bias) along the last axis (tf.contrib.layers.legacy_fully_connected).

    Args:
        x: A tensor of rank 2 or more, whose last size is known.
        num_output_units: The last size of the outputs.
        activation_fn: A function of the outputs; None for none.
        weight_init: What the weights begin with.
        bias_init: What the bias begins with; None for no bias.
        name: The variable scope; by default "fully_connected", made unique.
        weight_collections: Collections that the weights are added to.
        bias_collections: Collections that the bias is added to.
        output_collections: Collections that the outputs are added to.
        trainable: Whether its variables are among those that optimizers train.
        weight_regularizer: From the variable to a scalar that is added to the losses, or None.
        bias_regularizer: From the variable to a scalar that is added to the losses, or None.

    Returns:
        The outputs, a tensor.

    Raises:
        ValueError: If the rank of `x` is below 2, or it or the last size is not known.
    """
    with variable_scope(name, "fully_connected", [x]):
        given = convert_to_tensor(x)
        if given.dims is None:
            raise ValueError("dims of x must be known but is None")
        rank, size = len(given.dims), given.dims[-1] if given.dims else None
        if rank < 2:
            raise ValueError(f"rank of x must be at least 2 not: {rank}")
        if size is None:
            raise ValueError("last dimension of x must be known but is None")
        always = GraphKeys.GLOBAL_VARIABLES
        weights = get_variable(
            "weights", [size, num_output_units], given.dtype, weight_init, weight_regularizer, trainable,
            sorted({*(weight_collections or ()), always}),
        )  # fmt: skip
        outputs = matmul(given if rank == 2 else reshape(given, [-1, size]), weights)
        if bias_init is not None:
            bias = get_variable(
                "bias", [num_output_units], given.dtype, bias_init, bias_regularizer, trainable,
                sorted({*(bias_collections or ()), always}),
            )  # fmt: skip
            outputs = bias_add(outputs, bias)
        if rank > 2:
            outputs = reshape(outputs, stack([*unstack(shape(given))[:-1], num_output_units]))
            outputs.set_shape([*given.dims[:-1], num_output_units])
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        get_default_graph().add_to_collections(list(output_collections or ()), outputs)
        return outputs


legacy_linear = partial(legacy_fully_connected, activation_fn=None)
legacy_relu = partial(legacy_fully_connected, activation_fn=relu)
legacy_linear.__doc__ = "legacy_fully_connected without activation (tf.contrib.layers.legacy_linear)."
legacy_relu.__doc__ = "legacy_fully_connected with relu (tf.contrib.layers.legacy_relu)."

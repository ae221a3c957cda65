"""What the networks of slim share: initial values, end points, and the dense end of the early networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import Initializer, IntsLike, NumberLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.state.initializers import Constant, TruncatedNormal, Zeros
from graphflow._core.ops.state.variable_scope import VariableScope, variable_scope
from graphflow.layers.arg_scope import Scope, arg_scope
from graphflow.layers.contrib import conv2d, dropout, fully_connected
from graphflow.layers.contrib_pooling import max_pool2d
from graphflow.layers.named_outputs import convert_collection_to_dict
from graphflow.layers.regularizers import l2_regularizer
from graphflow.nn import relu

EndPoints = dict[str, Tensor]
"""The outputs of layers by name."""

_Network = TypeVar("_Network", bound=Callable[..., object])


def for_images_of(size: int) -> Callable[[_Network], _Network]:
    """A decorator: a network's attribute default_image_size is the side of the images that it was made for."""

    def marked(network: _Network) -> _Network:
        vars(network)["default_image_size"] = size
        return network

    return marked


def trunc_normal(stddev: float) -> Initializer:
    """Normal values around zero, none farther than two standard deviations.

    Args:
        stddev: The standard deviation.
    """
    return TruncatedNormal(0.0, stddev)


@contextmanager
def end_points_of(name: str, default: str, inputs: TensorLike) -> Iterator[tuple[VariableScope, EndPoints]]:
    """The variable scope of a network, and the dictionary that its layers' outputs fill at the end."""
    end_points: EndPoints = {}
    with variable_scope(name, default, [inputs]) as opened:
        gathered = f"{opened.original_name_scope}_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=[gathered]):
            yield opened, end_points
        # A program may add its own: what stands there already, the logits, comes behind the layers.
        own = dict(end_points)
        end_points.clear()
        end_points.update(convert_collection_to_dict(gathered))
        end_points.update(own)


def rectified(weight_decay: float, biases: Initializer) -> Scope:
    """Defaults of layers with rectifiers and decaying weights, without normalization, and SAME convolutions."""
    with (
        arg_scope(
            [conv2d, fully_connected],
            activation_fn=relu,
            weights_regularizer=l2_regularizer(weight_decay),
            biases_initializer=biases,
        ),
        arg_scope([conv2d], padding="SAME") as scope,
    ):
        return scope


def classified(
    net: TensorLike,
    window: IntsLike,
    widths: tuple[int, int, int],
    is_training: TensorLike,
    dropout_keep_prob: NumberLike,
    small_weights: bool,
) -> Tensor:
    """Three dense layers as convolutions, fc6 to fc8, with dropout between them: the logits.

    Args:
        net: Images or features of shape [batch, rows, columns, channels].
        window: The window of the first layer, the whole image if that has the expected size.
        widths: The channels of each layer, the last of which are the classes.
        is_training: Whether dropout drops.
        dropout_keep_prob: The part that dropout keeps.
        small_weights: Whether weights begin with a standard deviation of 0.005, and biases with 0.1.
    """
    with ExitStack() as stack:
        if small_weights:
            stack.enter_context(
                arg_scope([conv2d], weights_initializer=trunc_normal(0.005), biases_initializer=Constant(0.1))
            )
        net = conv2d(net, widths[0], window, padding="VALID", scope="fc6")
        net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout6")
        net = conv2d(net, widths[1], 1, scope="fc7")
        net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout7")
        biases: dict[str, Any] = {"biases_initializer": Zeros()} if small_weights else {}
        return conv2d(net, widths[2], 1, activation_fn=None, normalizer_fn=None, scope="fc8", **biases)


def without_space(net: Tensor, opened: VariableScope, end_points: EndPoints) -> Tensor:
    """Logits of shape [batch, classes] out of [batch, 1, 1, classes], which take their place among the end points."""
    net = array.squeeze(net, [1, 2], name="fc8/squeezed")
    end_points[f"{opened.name}/fc8"] = net
    return net

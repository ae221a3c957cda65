"""Summaries of the outputs of layers (tf.contrib.layers.summaries)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.io.summaries import histogram, scalar
from graphflow._core.ops.math.comparison import greater, less
from graphflow._core.ops.math.math import cast
from graphflow._core.ops.math.reductions import reduce_mean
from graphflow._core.ops.math.transcendental import SOFTPLUS
from graphflow._core.ops.nn.nn import RELU, RELU6
from graphflow._core.ops.state.variable import Variable

_BOUNDED: Final = (RELU, SOFTPLUS, RELU6)


def summarize_tensor(tensor: Tensor | Variable, tag: str | None = None) -> Tensor:
    """A summary of a scalar's value, or of the distribution of any other tensor.

    Args:
        tensor: A tensor or a variable.
        tag: A name for the summary; by default that of the operation, with _summary behind it.
    """
    summary = scalar if tensor.get_shape().ndims == 0 else histogram
    return summary(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Tensor) -> Tensor:
    """A summary of the distribution of a layer's output, and of the share of zeros, and sixes, of a bounded one.

    Args:
        op: The output.
    """
    name = op.op.name
    if op.op.op_def in _BOUNDED:
        scalar(f"{name}/zeros", reduce_mean(cast(less(op, cast(0.0, op.dtype)), "float32")))
    if op.op.op_def is RELU6:
        scalar(f"{name}/sixes", reduce_mean(cast(greater(op, cast(6.0, op.dtype)), "float32")))
    return histogram(f"{name}/activation", op)


def summarize_tensors(
    tensors: Iterable[Tensor | Variable], summarizer: Callable[[Any], Tensor] = summarize_tensor
) -> list[Tensor]:
    """A summary of each tensor.

    Args:
        tensors: Tensors or variables.
        summarizer: What makes the summary of one.
    """
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str,
    name_filter: str | None = None,
    summarizer: Callable[[Any], Tensor] = summarize_tensor,
) -> list[Tensor]:
    """A summary of each tensor of a collection of the graph.

    Args:
        collection: The collection's name.
        name_filter: A regular expression that the beginning of an operation's name fits; None for all.
        summarizer: What makes the summary of one.
    """
    found = get_default_graph().get_collection(collection)
    fitting = [one for one in found if name_filter is None or re.match(name_filter, one.op.name)]
    return summarize_tensors(fitting, summarizer)


def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Tensor] = summarize_activation
) -> list[Tensor]:
    """A summary of each output that the graph has in its collection of activations.

    Args:
        name_filter: A regular expression that the beginning of an operation's name fits; None for all.
        summarizer: What makes the summary of one.
    """
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)

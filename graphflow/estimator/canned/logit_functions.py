"""The logits of ready-made models for model functions of one's own (tf.estimator.experimental)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import Partitioner
from graphflow.estimator.canned.models import DnnOptions, dnn_logits, linear_logits


def call_logit_fn(
    logit_fn: Callable[..., Any], features: Any, mode: str, params: Any, config: Any
) -> Tensor | dict[str, Tensor]:
    """The logits that a function gives (tf.estimator.experimental.call_logit_fn).

    Args:
        logit_fn: Takes features, and may take mode, params and config.
        features: Tensors by name.
        mode: One of gf.estimator.ModeKeys.
        params: Whatever the function takes.
        config: A RunConfig.

    Returns:
        A tensor, or tensors by name.

    Raises:
        ValueError: The function gives something else.
    """
    named = {"mode": mode, "params": params, "config": config}
    taken = signature(logit_fn).parameters
    found = logit_fn(features=features, **{name: value for name, value in named.items() if name in taken})
    if isinstance(found, Tensor):
        return found
    if isinstance(found, dict) and all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in found.items()
    ):
        return found
    raise ValueError(
        f"logit_fn should return a Tensor or a dictionary mapping strings to Tensors, it returned {found!r}."
    )


def dnn_logit_fn_builder(
    units: int, hidden_units: Sequence[int], feature_columns: Iterable[Any],
    activation_fn: Callable[..., Any] | None, dropout: float | None,
    input_layer_partitioner: Partitioner | None, batch_norm: bool,
) -> Callable[..., Tensor]:  # fmt: skip
    """A function that gives the logits of a network (tf.estimator.experimental.dnn_logit_fn_builder).

    Args:
        units: How many logits an example has.
        hidden_units: The size of each hidden layer.
        feature_columns: Dense columns: what it takes of the features.
        activation_fn: Of hidden layers.
        dropout: The share of hidden units that is left out in training; None for none.
        input_layer_partitioner: Of the variables of columns; None for parts of 64 MB on parameter servers.
        batch_norm: Whether hidden layers are normalised.

    Returns:
        A function of features and a mode, whose variables are in the variable scope of its call.

    Raises:
        ValueError: The number of units is none.
    """
    if not isinstance(units, int):
        raise ValueError(f"units must be an int. Given type: {type(units)}")
    options = DnnOptions(
        hidden_units, feature_columns, activation_fn, dropout, batch_norm, input_layer_partitioner
    )

    def dnn_logit_fn(features: Mapping[str, Any], mode: str) -> Tensor:
        return dnn_logits(features, mode, units, options, None)

    return dnn_logit_fn


def linear_logit_fn_builder(
    units: int, feature_columns: Iterable[Any], sparse_combiner: str = "sum"
) -> Callable[..., Tensor]:
    """A function that gives the logits of a linear model (tf.estimator.experimental.linear_logit_fn_builder).

    Args:
        units: How many logits an example has.
        feature_columns: Columns: what it takes of the features.
        sparse_combiner: How several ids of an example are put together: "sum", "mean" or "sqrtn".

    Returns:
        A function of features, whose variables are in the scope "linear_model" in the variable scope of its call.
    """

    def linear_logit_fn(features: Mapping[str, Any]) -> Tensor:
        return linear_logits(features, units, feature_columns, sparse_combiner)

    return linear_logit_fn

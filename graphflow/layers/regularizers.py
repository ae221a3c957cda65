"""Regularizers: functions of a variable whose scalar result is added to the loss (tf.contrib.layers)."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.nn import nn

Regularizer = Callable[[Any], Tensor | None]


def _nothing(weights: Any) -> None:
    """The regularizer of scale 0."""


def _scaled(scale: Any, scope: str | None, default: str, measure: Callable[[Any], Tensor]) -> Regularizer:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}. Write it as a float.")
    if isinstance(scale, numbers.Real):
        if float(scale) < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}")
        if float(scale) == 0.0:
            return _nothing

    def regularizer(weights: Any) -> Tensor:
        with op_scope(scope, default, (weights,)) as name:
            factor = convert_to_tensor(scale, dtype=weights.dtype, name="scale")
            return math.multiply(factor, measure(weights), name=name)

    return regularizer


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """scale * sum(|weights|) (tf.contrib.layers.l1_regularizer); a scale of 0.0 is none.

    Args:
        scale: Whether the result is multiplied by gamma.
        scope: The variable scope; by default the function's name, made unique.

    Raises:
        ValueError: If the scale is negative or an integer.
    """
    return _scaled(scale, scope, "l1_regularizer", lambda weights: reductions.reduce_sum(math.abs_(weights)))


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """scale * sum(weights ** 2) / 2 (tf.contrib.layers.l2_regularizer); a scale of 0.0 is none.

    Args:
        scale: Whether the result is multiplied by gamma.
        scope: The variable scope; by default the function's name, made unique.

    Raises:
        ValueError: If the scale is negative or an integer.
    """
    return _scaled(scale, scope, "l2_regularizer", nn.l2_loss)


def l1_l2_regularizer(
    scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None
) -> Regularizer | None:
    """The sum of l1_regularizer and l2_regularizer (tf.contrib.layers.l1_l2_regularizer).

    Args:
        scale_l1: The factor of the sum of absolute values.
        scale_l2: The factor of half the sum of squares.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        A function of a variable.

    Raises:
        ValueError: For integers, and for negative factors.
    """
    for scale in (scale_l1, scale_l2):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"scale cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    if isinstance(scale_l1, numbers.Real) and float(scale_l1) == 0.0:
        return l2_regularizer(scale_l2, scope)
    if isinstance(scale_l2, numbers.Real) and float(scale_l2) == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope)


def sum_regularizer(
    regularizer_list: Iterable[Regularizer | None], scope: str | None = None
) -> Regularizer | None:
    """The sum of regularizers (tf.contrib.layers.sum_regularizer); None if there is none.

    Args:
        regularizer_list: Functions of a variable.
        scope: The variable scope; by default the function's name, made unique.

    Returns:
        A function of a variable.
    """
    given = [regularizer for regularizer in regularizer_list if regularizer is not None]
    if not given:
        return None

    def regularizer(weights: Any) -> Tensor | None:
        with op_scope(scope, "sum_regularizer", (weights,)) as name:
            found = [tensor for tensor in (part(weights) for part in given) if tensor is not None]
            return math.add_n(found, name=name) if found else None

    return regularizer


def apply_regularization(regularizer: Regularizer, weights_list: Sequence[Any] | None = None) -> Tensor:
    """The sum of a regularizer's results for some weights, also added to REGULARIZATION_LOSSES.

    TensorFlow: tf.contrib.layers.apply_regularization.

    Args:
        regularizer: From a variable to a scalar.
        weights_list: By default the collection WEIGHTS.

    Raises:
        ValueError: If there are none, or a result is no scalar.
    """
    graph = get_default_graph()
    weights = list(weights_list or graph.get_collection(GraphKeys.WEIGHTS))
    if not weights:
        raise ValueError("No weights to regularize.")
    with op_scope(None, "get_regularization_penalty", weights) as name:
        found = [regularizer(weight) for weight in weights]
        penalties = [constant(0.0) if penalty is None else penalty for penalty in found]
        for penalty in penalties:
            if penalty.dims != ():
                raise ValueError(f"A regularizer must return a scalar tensor, but returned {penalty!r}.")
        total = math.add_n(penalties, name=name)
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total

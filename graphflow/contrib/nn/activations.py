"""Activations and a dropout that only tf.contrib.nn has."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.array.array import shape
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.math import cast, greater_equal, minimum
from graphflow._core.ops.math.transcendental import softplus
from graphflow._core.ops.random import random_uniform

_ALPHA = -1.7580993408473766
"""What self-normalizing activations give for large negative numbers."""


def alpha_dropout(
    x: TensorLike,
    keep_prob: float | TensorLike,
    noise_shape: IntTensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Dropout that keeps mean and variance, for layers of selu (Klambauer et al. 2017; tf.contrib.nn.alpha_dropout).

    Args:
        x: Floats.
        keep_prob: How likely an element is kept, above 0 and at most 1.
        noise_shape: The shape of what is kept together; by default that of x.
        seed: A seed of the operation.
        name: A name for the operations.

    Returns:
        A tensor like x.

    Raises:
        ValueError: keep_prob is none.
    """
    with op_scope(name, "alpha_dropout", [x]):
        given = convert_to_tensor(x, name="x")
        if isinstance(keep_prob, int | float) and not 0 < keep_prob <= 1:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob:g}"
            )
        if isinstance(keep_prob, int | float) and keep_prob == 1:
            return given
        kept_share: Any = convert_to_tensor(keep_prob, dtype=given.dtype, name="keep_prob")
        wanted = shape(given) if noise_shape is None else noise_shape
        drawn = random_uniform(wanted, seed=seed, dtype=given.dtype)
        kept = cast(greater_equal(drawn, 1 - kept_share), given.dtype)
        mixed = given * kept + _ALPHA * (1 - kept)
        factor = (kept_share + kept_share * (1 - kept_share) * _ALPHA**2) ** -0.5
        result: Tensor = factor * mixed - factor * _ALPHA * (1 - kept_share)
        result.set_shape(given.dims)
        return result


def scaled_softplus(
    x: TensorLike, alpha: NumberLike, clip: NumberLike | None = None, name: str | None = None
) -> Tensor:
    """alpha * log(1 + exp(x / alpha)), at most `clip` (tf.contrib.nn.scaled_softplus).

    Args:
        x: Floats.
        alpha: How wide the bend is.
        clip: The largest value; None for no bound.
        name: A name for the operations.

    Returns:
        A tensor like x.
    """
    with op_scope(name, "scaled_softplus", [x, alpha]):
        given = convert_to_tensor(x, name="x")
        width: Any = convert_to_tensor(alpha, dtype=given.dtype, name="alpha")
        found = width * softplus(given / width)
        return found if clip is None else minimum(found, convert_to_tensor(clip, dtype=given.dtype))

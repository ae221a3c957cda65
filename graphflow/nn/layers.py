"""Dropout and the affine layers: what a network's layer does besides its activation."""

from __future__ import annotations

import numbers
from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape, as_dims
from graphflow._core.graph.types import IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math import linalg, math
from graphflow._core.ops.nn import nn
from graphflow._core.ops.random import random_uniform
from graphflow._core.ops.rules import deprecated


def dropout(
    x: TensorLike,
    keep_prob: NumberLike | None = None,
    noise_shape: IntTensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: NumberLike | None = None,
) -> Tensor:
    """Sets elements to zero by chance, and scales the others so that the expected sum stays (tf.nn.dropout).

    Args:
        x: A tensor of floats.
        keep_prob: 1 - rate, its old form.
        noise_shape: A shape that broadcasts to that of `x`: elements along an extent of 1 are kept or dropped
            together.
        seed: The op's seed; see gf.random_uniform.
        name: A name for the scope of the operations.
        rate: The probability that an element becomes zero, in [0, 1); the others are multiplied by 1 / (1 - rate).

    Returns:
        A tensor of the same dtype and shape; `x` itself if the rate is 0.

    Raises:
        ValueError: The rate is outside [0, 1), not given or given twice, or `x` is not of floats.

    Examples:
        >>> gf.Session().run(gf.nn.dropout(gf.ones([3]), rate=0.0))
        array([1., 1., 1.], dtype=float32)
    """
    try:
        complement = None if keep_prob is None else 1.0 - keep_prob
    except TypeError:
        raise ValueError(f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})") from None
    rate = deprecated(rate, complement, "rate", "keep_prob")
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    with op_scope(name, "dropout", (x,)):
        if isinstance(rate, numbers.Real) and not 0 <= float(rate) < 1:
            raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate}")
        given = convert_to_tensor(x, name="x")
        if not given.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. "
                f"Got a {given.dtype.name} tensor instead."
            )
        if isinstance(rate, numbers.Real) and rate == 0:
            return given
        dropped = convert_to_tensor(rate, dtype=given.dtype, name="rate")
        dropped.shape.assert_is_compatible_with([])
        known = constant_value(dropped)
        if known is not None and known == 0:
            return given
        draws = random_uniform(_noise_shape(given, noise_shape), seed=seed, dtype=given.dtype)
        scale = 1 / (1 - dropped)
        kept = draws >= dropped
        result: Tensor = given * scale * math.cast(kept, given.dtype)
        result.set_shape(given.shape)
        return result


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    if noise_shape is None:
        return array.shape(x)
    if isinstance(noise_shape, Tensor):
        return noise_shape
    try:
        wanted = as_dims(noise_shape)
    except (TypeError, ValueError):
        return noise_shape
    if wanted is None or x.dims is None or len(wanted) != len(x.dims):
        return noise_shape
    filled = tuple(own if asked is None else asked for own, asked in zip(x.dims, wanted, strict=True))
    if shapes.size_of(filled) is None:
        own_shape = array.shape(x)
        return array.stack([own_shape[i] if d is None else d for i, d in enumerate(filled)])
    return TensorShape(filled)


def xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """matmul(x, weights) + biases (tf.nn.xw_plus_b).

    Args:
        x: [batch, inputs].
        weights: [inputs, outputs].
        biases: [outputs].
        name: A name for the operation.

    Returns:
        [batch, outputs].
    """
    with op_scope(name, "xw_plus_b", (x, weights, biases)) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return nn.bias_add(linalg.matmul(x, weights), biases, name=scope)


def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """relu(matmul(x, weights) + biases) (tf.nn.relu_layer).

    Args:
        x: [batch, inputs].
        weights: [inputs, outputs].
        biases: [outputs].
        name: A name for the operation.

    Returns:
        [batch, outputs].
    """
    with op_scope(name, "relu_layer", (x, weights, biases)) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return nn.relu(nn.bias_add(linalg.matmul(x, weights), biases), name=scope)

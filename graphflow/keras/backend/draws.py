"""Random tensors (tf.keras.backend)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import DTypeLike, IntTensorLike
from graphflow.keras import ops
from graphflow.keras.backend.settings import floatx


def random_normal(
    shape: IntTensorLike,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Any:
    """Normal draws (tf.keras.backend.random_normal).

    Args:
        shape: The shape, ints.
        mean: The mean.
        stddev: The standard deviation.
        dtype: The dtype; by default that of K.floatx().
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of new draws each time it is computed.
    """
    return ops.random_normal(shape, mean, stddev, dtype or floatx(), seed)


def random_uniform(
    shape: IntTensorLike, minval: float = 0.0, maxval: float = 1.0, dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Any:  # fmt: skip
    """Uniform draws (tf.keras.backend.random_uniform).

    Args:
        shape: The shape, ints.
        minval: The smallest value.
        maxval: The end of the range, which is not in it.
        dtype: The dtype; by default that of K.floatx().
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of new draws each time it is computed.
    """
    return ops.random_uniform(shape, minval, maxval, dtype or floatx(), seed)


def random_binomial(
    shape: IntTensorLike, p: float = 0.0, dtype: DTypeLike | None = None, seed: int | None = None
) -> Any:
    """1 with a probability, else 0 (tf.keras.backend.random_binomial).

    Args:
        shape: The shape, ints.
        p: The probability of a 1.
        dtype: The dtype; by default that of K.floatx().
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of new draws each time it is computed.
    """
    kind = dtype or floatx()
    drawn = ops.random_uniform(shape, dtype=kind, seed=seed) <= p
    return ops.cast(drawn, kind)


def truncated_normal(
    shape: IntTensorLike,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Any:
    """Normal draws within two deviations (tf.keras.backend.truncated_normal).

    Args:
        shape: The shape, ints.
        mean: The mean.
        stddev: The standard deviation; what is further than two of them is drawn again.
        dtype: The dtype; by default that of K.floatx().
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of new draws each time it is computed.
    """
    return ops.truncated_normal(shape, mean, stddev, dtype or floatx(), seed)

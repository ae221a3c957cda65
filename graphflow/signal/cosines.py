"""Discrete cosine transforms, made of Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, numeric, transcendental
from graphflow.signal.transforms import irfft, rfft


def _check(type: int, axis: int, norm: str | None, n: Any) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3):
        raise ValueError("Only Types I, II and III (I)DCT are supported.")
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform of type 1, 2 or 3 over the last axis (tf.signal.dct).

    Args:
        input: float32.
        type: 1, 2 or 3.
        n: To how many elements the last axis is cut or filled up with zeros; by default its own.
        axis: -1 alone.
        norm: None, or "ortho" for an orthogonal one, which type 1 has not.
        name: A name for the scope of the operations.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: An argument is none of those, or type 1 is asked of less than two elements.
        NotImplementedError: For another axis.
    """
    _check(type, axis, norm, n)
    with op_scope(name, "dct", [input]):
        x = convert_to_tensor(input, dtypes.float32)
        if n is not None:
            x = _of_length(x, n)
        size = x.dims[-1] if x.dims is not None else None
        count: Any = array.shape(x)[-1] if size is None else size
        if type == 1:
            if size is not None and size < 2:
                raise ValueError("Type-I DCT requires the dimension to be greater than one.")
            return numeric.real(rfft(array.concat([x, x[..., -2:0:-1]], -1)))
        length = casting.cast(convert_to_tensor(count), dtypes.float32)
        angles = array.range_(length) * (math.pi * 0.5) / length
        if type == 2:
            turned = 2.0 * transcendental.exp(_imaginary(-angles))
            whole = rfft(x, array.stack([2 * count]))[..., :count]
            result = numeric.real(arithmetic.multiply(whole, turned))
            return result * _weights(0.5 * transcendental.rsqrt(length), count) if norm == "ortho" else result
        x = x * (_weights(transcendental.sqrt(length), count, 0.5) if norm == "ortho" else length)
        turned = 2.0 * transcendental.exp(_imaginary(angles))
        whole = arithmetic.multiply(turned, casting.cast(x, dtypes.complex64))
        return irfft(whole, array.stack([2 * count]))[..., :count]


def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of a discrete cosine transform, up to a factor if it is not orthogonal (tf.signal.idct).

    Args:
        input: float32.
        type: Of the transform that is undone: 1, 2 or 3.
        n: None: the whole axis is transformed.
        axis: -1 alone.
        norm: None, or "ortho" for an orthogonal one, which type 1 has not.
        name: A name for the scope of the operations.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: An argument is none of those.
        NotImplementedError: For another axis.
    """
    _check(type, axis, norm, n)
    return dct(input, {1: 1, 2: 3, 3: 2}[type], n, axis, norm, name)


def _imaginary(angles: Tensor) -> Tensor:
    return numeric.complex_(array.zeros_like(angles), angles)


def _weights(first: Tensor, count: Any, power: float = 2.0) -> Tensor:
    """The first, and for all others the first times the square root of `power`."""
    alone = array.reshape(first, [1])
    others = array.fill(array.stack([count - 1]), 1.0) * first * math.sqrt(power)
    return array.concat([alone, others], 0)


def _of_length(x: Tensor, n: int) -> Tensor:
    """The first n elements of the last axis, with zeros behind if there are less."""
    cut = x[..., :n]
    behind = arithmetic.maximum(0, n - array.shape(cut)[-1:])
    zeros = array.zeros(array.concat([array.shape(cut)[:-1], behind], 0), x.dtype)
    result = array.concat([cut, zeros], -1)
    if x.dims is not None:
        result.set_shape([*x.dims[:-1], n])
    return result

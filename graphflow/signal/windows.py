"""Windows that frames are weighted with."""

from __future__ import annotations

import math

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, transcendental
from graphflow._core.ops.rules import require_rank


def hann_window(
    window_length: IntTensorLike,
    periodic: bool | TensorLike = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """A Hann window: 0.5 - 0.5 cos(2 pi n / N) (tf.signal.hann_window).

    Args:
        window_length: How many elements, a scalar.
        periodic: Whether N is the length, and not one less, which makes it symmetric.
        dtype: A dtype of floats.
        name: A name for the scope of the operations.

    Returns:
        A vector.

    Raises:
        ValueError: The dtype is not one of floats, or the length is no scalar.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(
    window_length: IntTensorLike,
    periodic: bool | TensorLike = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """A Hamming window: 0.54 - 0.46 cos(2 pi n / N) (tf.signal.hamming_window).

    Args:
        window_length: How many elements, a scalar.
        periodic: Whether N is the length, and not one less, which makes it symmetric.
        dtype: A dtype of floats.
        name: A name for the scope of the operations.

    Returns:
        A vector.

    Raises:
        ValueError: The dtype is not one of floats, or the length is no scalar.
    """
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(
    name: str | None,
    default: str,
    window_length: IntTensorLike,
    periodic: bool | TensorLike,
    dtype: DTypeLike,
    a: float,
    b: float,
) -> Tensor:
    kind = as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {kind!r}")
    with op_scope(name, default, [window_length, periodic]):
        length = convert_to_tensor(window_length, dtypes.int32, name="window_length")
        require_rank(length.dims, 0, "window_length")
        whole = casting.cast(convert_to_tensor(periodic, dtypes.bool_, name="periodic"), dtypes.int32)
        even = 1 - length + 2 * (length // 2)
        # A window of one element is 1, whatever it is divided by.
        turns = casting.cast(arithmetic.maximum(length + whole * even - 1, 1), kind)
        places = casting.cast(array.range_(length), kind)
        angles = (2 * math.pi) * places / turns
        window = a - b * transcendental.cos(angles)
        single = casting.cast(arithmetic.maximum(2 - length, 0), kind)
        return window + single * (1 - window)

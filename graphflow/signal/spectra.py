"""Fourier transforms of short stretches of a signal, and the signal that they are of."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, reductions, transcendental
from graphflow._core.ops.rules import require_rank, require_rank_at_least
from graphflow.signal.framing import frame, overlap_and_add
from graphflow.signal.transforms import irfft, rfft
from graphflow.signal.windows import hann_window

Window = Callable[..., Tensor]


def stft(
    signals: TensorLike,
    frame_length: IntTensorLike,
    frame_step: IntTensorLike,
    fft_length: IntTensorLike | None = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The Fourier transforms of frames of signals, each weighted by a window (tf.signal.stft).

    Args:
        signals: float32 [..., samples].
        frame_length: How long a frame is, a scalar.
        frame_step: How far one frame is behind the one before, a scalar.
        fft_length: The length that is transformed; by default the least power of 2 that holds a frame.
        window_fn: A function of a length and `dtype` that gives a window, or None.
        pad_end: Whether frames that reach behind the end are given as well, filled up with zeros.
        name: A name for the scope of the operations.

    Returns:
        complex64 [..., frames, fft_length / 2 + 1].

    Raises:
        ValueError: The signals have no axis, or a length is no scalar.
    """
    with op_scope(name, "stft", [signals, frame_length, frame_step]):
        x = convert_to_tensor(signals, name="signals")
        require_rank_at_least(x.dims, 1, "signals")
        length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
        whole = _enclosing_power(length) if fft_length is None else _scalar(fft_length, "fft_length")
        frames = frame(x, length, step, pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames, _vector(whole))


def inverse_stft(
    stfts: TensorLike,
    frame_length: IntTensorLike,
    frame_step: IntTensorLike,
    fft_length: IntTensorLike | None = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signals whose frames have these Fourier transforms (tf.signal.inverse_stft).

    They are those of stft if window_fn is what inverse_stft_window_fn makes of its window.

    Args:
        stfts: complex64 [..., frames, fft_length / 2 + 1].
        frame_length: How long a frame is, a scalar.
        frame_step: How far one frame is behind the one before, a scalar.
        fft_length: The length that was transformed; by default the least power of 2 that holds a frame.
        window_fn: A function of a length and `dtype` that gives a window, or None.
        name: A name for the scope of the operations.

    Returns:
        float32 [..., samples].

    Raises:
        ValueError: The transforms have less than two axes, or a length is no scalar.
    """
    with op_scope(name, "inverse_stft", [stfts]):
        x = convert_to_tensor(stfts, name="stfts")
        require_rank_at_least(x.dims, 2, "stfts")
        length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
        whole = _enclosing_power(length) if fft_length is None else _scalar(fft_length, "fft_length")
        frames = irfft(x, _vector(whole))
        known = constant_value(length)
        static = frames.dims
        cut = frames[..., :length]
        behind = arithmetic.maximum(0, length - array.shape(cut)[-1])
        zeros = array.zeros(array.concat([array.shape(cut)[:-1], _vector(behind)], 0), cut.dtype)
        frames = array.concat([cut, zeros], -1)
        if static is not None and known is not None:
            frames.set_shape([*static[:-1], int(known)])
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, step)


def inverse_stft_window_fn(
    frame_step: IntTensorLike, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """The window with which inverse_stft gives back the signal that stft took (tf.signal.inverse_stft_window_fn).

    Args:
        frame_step: How far one frame is behind the one before, a scalar.
        forward_window_fn: The window of stft.
        name: A name for the scope of the operations.

    Returns:
        A function of a length and a dtype that gives a window.
    """

    def inverse_window(frame_length: IntTensorLike, dtype: DType) -> Tensor:
        with op_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
            window = forward_window_fn(length, dtype=dtype)
            squares = transcendental.square(window)
            overlaps = -(-length // step)
            padded = array.concat([squares, array.zeros(_vector(overlaps * step - length), squares.dtype)], 0)
            sums = reductions.reduce_sum(
                array.reshape(padded, array.stack([overlaps, step])), 0, keepdims=True
            )
            weights = array.reshape(array.tile(sums, array.stack([overlaps, 1])), _vector(overlaps * step))
            return arithmetic.divide(window, weights[:length])

    return inverse_window


def _scalar(value: IntTensorLike, name: str) -> Tensor:
    number = convert_to_tensor(value, dtypes.int32, name=name)
    require_rank(number.dims, 0, name)
    return number


def _vector(number: Tensor) -> Tensor:
    known = constant_value(number)
    return array.reshape(number, [1]) if known is None else convert_to_tensor([int(known)], dtypes.int32)


def _enclosing_power(length: Tensor) -> Tensor:
    """The least power of 2 that is not less."""
    known: Any = constant_value(length)
    if known is not None:
        return convert_to_tensor(int(2 ** math.ceil(math.log(int(known)) / math.log(2.0))), dtypes.int32)
    power = transcendental.ceil(transcendental.log(casting.cast(length, dtypes.float32)) / math.log(2.0))
    return casting.cast(arithmetic.pow_(2.0, power), dtypes.int32)

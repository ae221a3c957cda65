"""Spectra as ears hear them: bands that are equally wide in mel, and their cepstra."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.creation import linspace
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, transcendental
from graphflow.signal.cosines import dct

_BREAK_HERTZ = 700.0
_HIGH_Q = 1127.0


def _mel(hertz: Tensor) -> Tensor:
    return _HIGH_Q * transcendental.log(1.0 + hertz / _BREAK_HERTZ)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: IntTensorLike = 129,
    sample_rate: NumberLike = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """A matrix that makes bands of a mel scale of the magnitudes of a spectrum (tf.signal.linear_to_mel_weight_matrix).

    Args:
        num_mel_bins: How many bands.
        num_spectrogram_bins: How many frequencies a spectrum has, as fft_length / 2 + 1.
        sample_rate: Samples a second.
        lower_edge_hertz: The lowest frequency of the first band.
        upper_edge_hertz: The highest frequency of the last band.
        dtype: A dtype of floats.
        name: A name for the scope of the operations.

    Returns:
        [num_spectrogram_bins, num_mel_bins].

    Raises:
        ValueError: A number is negative, the edges are in the wrong order, or the last one is above half the rate.
    """
    with op_scope(name, "linear_to_mel_weight_matrix", []):
        kind = as_dtype(dtype)
        rate = constant_value(sample_rate) if isinstance(sample_rate, Tensor) else sample_rate
        _check_bands(num_mel_bins, num_spectrogram_bins, rate, lower_edge_hertz, upper_edge_hertz, kind)
        nyquist = casting.cast(convert_to_tensor(sample_rate, name="sample_rate"), kind) / 2.0
        zero = convert_to_tensor(0.0, kind)
        bins = array.expand_dims(_mel(linspace(zero, nyquist, num_spectrogram_bins)[1:]), 1)
        edges = linspace(
            _mel(convert_to_tensor(lower_edge_hertz, kind)),
            _mel(convert_to_tensor(upper_edge_hertz, kind)),
            num_mel_bins + 2,
        )
        lower, center, upper = (array.expand_dims(edges[n : num_mel_bins + n], 0) for n in range(3))
        rising = (bins - lower) / (center - lower)
        falling = (upper - bins) / (upper - center)
        weights = arithmetic.maximum(zero, arithmetic.minimum(rising, falling))
        return array.pad(weights, [[1, 0], [0, 0]])


def _check_bands(bands: int, spectrum: Any, rate: Any, lower: float, upper: float, dtype: Any) -> None:
    if bands <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bands}")
    if not isinstance(spectrum, Tensor) and spectrum <= 0:
        raise ValueError(f"num_spectrogram_bins must be positive. Got: {spectrum}")
    if lower < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if rate is not None:
        if rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {rate}")
        if upper > rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
                f"Got {upper} for sample_rate: {rate}"
            )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype!r}")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike, name: str | None = None) -> Tensor:
    """The cepstra of logarithmic spectra in mel, as orthogonal cosine transforms.

    TensorFlow: tf.signal.mfccs_from_log_mel_spectrograms.

    Args:
        log_mel_spectrograms: float32 [..., bands].
        name: A name for the scope of the operations.

    Returns:
        float32 of the same shape.

    Raises:
        ValueError: There are no bands.
    """
    with op_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = convert_to_tensor(log_mel_spectrograms)
        size = None if x.dims is None else x.dims[-1]
        if size == 0:
            raise ValueError("num_mel_bins must be at least 1. Got: 0")
        count = casting.cast(array.shape(x)[-1] if size is None else convert_to_tensor(size), dtypes.float32)
        return dct(x, 2) * transcendental.rsqrt(count * 2.0)

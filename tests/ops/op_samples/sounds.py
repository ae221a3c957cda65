"""Samples of ops on sound."""

from __future__ import annotations

import cmath
import math
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import Draw, Random, Sample, draw, scalar, strings


def _file(samples: Any, rate: int) -> bytes:
    """A WAV file of int16 samples [frames, channels]."""
    data, channels = samples.astype("<i2").tobytes(), samples.shape[1]
    layout = struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16)
    body = b"WAVEfmt " + layout + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _read(random: Random) -> Iterable[Sample]:
    for frames, channels, wanted in ((5, 1, (-1, -1)), (4, 2, (1, 6)), (3, 1, (3, 2)), (0, 1, (-1, -1))):
        samples = random.integers(-(1 << 15), 1 << 15, (frames, channels))
        many, length = channels if wanted[0] == -1 else wanted[0], frames if wanted[1] == -1 else wanted[1]
        expected = np.zeros((length, many), np.float32)
        for row, channel in np.ndindex(min(length, frames), many):
            expected[row, channel] = samples[row, min(channel, channels - 1)] / 32768
        yield Sample(
            (strings(_file(samples, 8000)),),
            {"desired_channels": wanted[0], "desired_samples": wanted[1]},
            lambda contents, expected=expected: (expected, scalar(8000)),
        )


def _written(random: Random) -> Iterable[Sample]:
    for shape in ((4, 1), (3, 2)):
        samples = random.integers(-(1 << 15), 1 << 15, shape)
        wanted = strings(_file(samples, 16000))
        yield Sample(
            ((samples / 32768).astype(np.float32), scalar(16000)),
            {},
            lambda audio, rate, wanted=wanted: wanted,
        )


def _spectrum(random: Random) -> Iterable[Sample]:
    for frames, channels, size, stride, squared in (
        (20, 1, 8, 3, True),
        (13, 2, 6, 5, False),
        (4, 1, 5, 1, True),
    ):
        width = 2 ** math.ceil(math.log2(size))

        def expected(
            sound: Any, size: int = size, stride: int = stride, squared: bool = squared, width: int = width
        ) -> Any:
            rows = max(0, (len(sound) - size) // stride + 1)
            found = np.zeros((sound.shape[1], rows, width // 2 + 1), np.float32)
            for channel, row, place in np.ndindex(found.shape):
                total = 0j
                for n in range(size):
                    weight = 0.5 - 0.5 * math.cos(2 * math.pi * n / size)
                    turned = cmath.exp(-2j * math.pi * n * place / width)
                    total += float(sound[row * stride + n, channel]) * weight * turned
                found[channel, row, place] = abs(total) ** 2 if squared else abs(total)
            return found

        attrs = {"window_size": size, "stride": stride, "magnitude_squared": squared}
        yield Sample((draw(random, np.float32, (frames, channels)),), attrs, expected, tolerance=10)


def _coefficients(random: Random) -> Iterable[Sample]:
    for bins, rate, bands, wanted, lowest, highest in (
        (17, 8000, 6, 4, 20.0, 3900.0),
        (9, 100, 2, 2, 0.0, 30.0),
    ):

        def expected(
            energies: Any, given: Any, bands: int = bands, wanted: int = wanted, ends: Any = (lowest, highest)
        ) -> Any:
            width = 0.5 * int(given) / (energies.shape[-1] - 1)

            def mel(hertz: float) -> float:
                return 1127.0 * math.log(1 + hertz / 700.0)

            space = (mel(ends[1]) - mel(ends[0])) / (bands + 1)
            result = np.zeros((*energies.shape[:2], wanted), np.float32)
            for outer in np.ndindex(energies.shape[:2]):
                sums = [0.0] * bands
                for place in range(int(1.5 + ends[0] / width), int(ends[1] / width) + 1):
                    position = (mel(place * width) - mel(ends[0])) / space
                    for band in range(bands):
                        height = max(0.0, 1 - abs(position - band - 1))
                        sums[band] += math.sqrt(float(energies[(*outer, place)])) * height
                for k in range(wanted):
                    result[(*outer, k)] = sum(
                        math.sqrt(2 / bands)
                        * math.cos(math.pi / bands * k * (band + 0.5))
                        * math.log(max(s, 1e-12))
                        for band, s in enumerate(sums)
                    )
            return result

        attrs = {
            "upper_frequency_limit": highest, "lower_frequency_limit": lowest, "filterbank_channel_count": bands,
            "dct_coefficient_count": wanted,
        }  # fmt: skip
        energies = draw(random, np.float32, (2, 3, bins), 0.5, 4)
        yield Sample((energies, scalar(rate)), attrs, expected, tolerance=10)


def _turns(count: int, other: int, sign: int) -> Any:
    """The matrix of a Fourier transform of `count` elements, its first `other` rows."""
    turns = [cmath.exp(sign * 2j * math.pi * k * n / count) for k in range(other) for n in range(count)]
    return np.array(turns, np.complex128).reshape(other, count)


def _along(x: Any, axis: int, matrix: Any) -> Any:
    return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


def _transform(axes: int, inverse: bool) -> Draw:
    def reference(x: Any) -> Any:
        wide = x.astype(np.complex128)
        for axis in range(-axes, 0):
            count = x.shape[axis]
            wide = _along(
                wide, axis, _turns(count, count, 1 if inverse else -1) / ((count or 1) if inverse else 1)
            )
        return wide.astype(x.dtype)

    def generate(random: Random) -> Iterable[Sample]:
        for dtype in (np.complex128, np.complex64):
            for shape in ((2, 3, 4), (1, 2, 5), (2, 0, 3)):
                yield Sample((draw(random, dtype, shape),), {}, reference, tolerance=20)

    return generate


def _real_transform(axes: int) -> Draw:
    def reference(x: Any, length: Any) -> Any:
        wide = x.astype(np.complex128)
        for axis, count in zip(range(-axes, 0), length.tolist(), strict=True):
            wide = np.take(wide, range(count), axis)
            wide = _along(wide, axis, _turns(count, count if axis != -1 else count // 2 + 1, -1))
        return wide.astype(np.complex64 if x.dtype == np.float32 else np.complex128)

    def generate(random: Random) -> Iterable[Sample]:
        for shape, cut in (((2, 3, 4), 0), ((1, 2, 5), 0), ((2, 3, 4), 1)):
            length = np.array([max(n - cut, 1) for n in shape[-axes:]], np.int32)
            for dtype in (np.float64, np.float32):
                yield Sample((draw(random, dtype, shape), length), {}, reference, tolerance=50)

    return generate


def _real_inverse(axes: int) -> Draw:
    def reference(x: Any, length: Any) -> Any:
        counts = length.tolist()
        half = counts[-1] // 2 + 1
        wide = np.take(x.astype(np.complex128), range(half), -1)
        for axis, count in zip(range(-axes, -1), counts[:-1], strict=True):
            wide = _along(np.take(wide, range(count), axis), axis, _turns(count, count, 1) / count)
        weights = np.array([1 if k in (0, counts[-1] / 2) else 2 for k in range(half)])
        turns = _turns(counts[-1], half, 1).T * weights / counts[-1]
        return _along(wide, -1, turns).real.astype(np.float32 if x.dtype == np.complex64 else np.float64)

    def generate(random: Random) -> Iterable[Sample]:
        for shape, length in (((2, 3, 3), (2, 3, 4)), ((1, 2, 3), (1, 2, 5)), ((2, 3, 4), (1, 2, 4))):
            last = np.array(length[-axes:], np.int32)
            for dtype in (np.complex128, np.complex64):
                yield Sample((draw(random, dtype, shape), last), {}, reference, tolerance=50)

    return generate


_TRANSFORMS: dict[str, Draw] = {}
for _axes, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    _TRANSFORMS |= {
        f"FFT{_suffix}": _transform(_axes, False),
        f"IFFT{_suffix}": _transform(_axes, True),
        f"RFFT{_suffix}": _real_transform(_axes),
        f"IRFFT{_suffix}": _real_inverse(_axes),
    }

TABLE: dict[str, Draw] = {
    **_TRANSFORMS,
    "DecodeWav": _read,
    "EncodeWav": _written,
    "AudioSpectrogram": _spectrum,
    "Mfcc": _coefficients,
}

"""Kernels of sound: WAV files of 16 bits a sample, spectrograms and mel-frequency cepstral coefficients."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from graphflow._core.common.limits import check_size
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel

_LEAST_ENERGY = 1e-12
"""What counts as silence, whose logarithm is no more infinite."""


def wav(samples: Any, rate: float) -> bytes:
    """Sound between -1 and 1, [frames, channels], as a WAV file of 16 bits a sample."""
    scaled = np.trunc(samples * np.float32(1 << 15) + np.copysign(np.float32(0.5), samples))
    data: bytes = np.nan_to_num(np.clip(scaled, -(1 << 15), (1 << 15) - 1)).astype("<i2").tobytes()
    channels, hertz = samples.shape[1], round(rate)
    size = channels * 2
    layout = struct.pack("<IHHIIHH", 16, 1, channels, hertz, hertz * size, size, 16)
    body = b"WAVEfmt " + layout + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _parts(data: bytes) -> dict[bytes, bytes]:
    """The parts of a WAV file by their names, the first of each; InvalidArgumentError for another file."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise invalid(f"No WAV file: it begins with {data[:12]!r} in place of b'RIFF....WAVE'")
    found: dict[bytes, bytes] = {}
    at = 12
    while b"data" not in found:
        if at + 8 > len(data):
            raise invalid(f"A WAV file of {len(data)} bytes ends before its part b'data'")
        name, (size,) = data[at : at + 4], struct.unpack_from("<I", data, at + 4)
        if size > len(data) - at - 8:
            raise invalid(
                f"A WAV file of {len(data)} bytes ends in its part {name!r}, which has {size} from byte {at + 8} on"
            )
        found.setdefault(name, data[at + 8 : at + 8 + size])
        at += 8 + size
    return found


def _decoded(data: bytes) -> tuple[Any, int]:
    """The samples of a WAV file, [frames, channels] of int16, and its frames per second."""
    parts = _parts(data)
    layout = parts.get(b"fmt ", b"")
    if len(layout) < 16:
        raise invalid(
            f"A WAV file whose part b'fmt ' has {len(layout)} bytes, not 16 or more, before b'data'"
        )
    form, channels, rate, _, size, bits = struct.unpack_from("<HHIIHH", layout)
    if form != 1 or bits != 16:
        raise invalid(
            f"A WAV file of format {form} with {bits} bits a sample: only format 1, PCM, with 16 bits is decoded"
        )
    if not channels or size != 2 * channels:
        raise invalid(f"A WAV file of {channels} channels whose frames have {size} bytes")
    samples = np.frombuffer(parts[b"data"][: len(parts[b"data"]) // size * size], "<i2")
    return samples.reshape(-1, channels), rate


@kernel("DecodeWav")
def _decode_wav(node: Node) -> Kernel:
    wanted_channels, wanted_samples = node.attrs["desired_channels"], node.attrs["desired_samples"]

    def run(contents: Any) -> tuple[Any, Any]:
        value = np.asarray(contents, object)[()]
        samples, rate = _decoded(value if isinstance(value, bytes) else str(value).encode())
        frames = len(samples) if wanted_samples == -1 else wanted_samples
        channels = samples.shape[1] if wanted_channels == -1 else wanted_channels
        check_size(f"Sound of {frames} frames in {channels} channels", frames * channels * 4)
        heard = min(frames, len(samples))
        # Channels that the file lacks are its last one again.
        taken = np.minimum(np.arange(channels), samples.shape[1] - 1)
        result = np.zeros((frames, channels), np.float32)
        np.multiply(samples[:heard, taken], np.float32(1 / (1 << 15)), out=result[:heard])
        return result, np.int32(rate)

    return run


@kernel("EncodeWav")
def _encode_wav(node: Node) -> Kernel:
    def run(audio: Any, sample_rate: Any) -> Any:
        rate = int(sample_rate)
        if rate < 1:
            raise invalid(f"sample_rate must be at least 1, got {rate}")
        if not audio.size or audio.shape[1] > 0xFFFF:
            raise invalid(
                f"audio must have frames and 1 to 65535 channels, got the shape {list(audio.shape)}"
            )
        result = np.empty((), object)
        result[()] = wav(audio, rate)
        return result

    return run


@kernel("AudioSpectrogram")
def _spectrogram(node: Node) -> Kernel:
    size, stride, squared = (node.attrs[name] for name in ("window_size", "stride", "magnitude_squared"))
    width = 1 << (size - 1).bit_length()
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)

    def run(sound: Any) -> Any:
        samples = np.ascontiguousarray(sound.T)
        frames = max(0, 1 + (samples.shape[1] - size) // stride)
        result = np.empty((len(samples), frames, width // 2 + 1), np.float32)
        if not frames:
            return result
        windows = np.lib.stride_tricks.sliding_window_view(samples, size, axis=1)[:, ::stride]
        for target, channel in zip(result, windows, strict=True):  # A channel at a time takes less memory.
            found = np.fft.rfft(channel * window, width)
            energy = np.square(found.real) + np.square(found.imag)
            target[:] = energy if squared else np.sqrt(energy)
        return result

    return run


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log1p(hertz / 700.0)


def _filters(bins: int, rate: float, channels: int, lowest: float, highest: float) -> Any:
    """Triangles over the bins of a spectrum whose tops are equally far apart in mel, [bins, channels]."""
    hertz = 0.5 * rate / (bins - 1)
    first, last = int(1.5 + lowest / hertz), int(highest / hertz)
    if last >= bins:
        raise invalid(
            f"upper_frequency_limit, {highest}, is above half the sample rate of {rate:g}, where the spectrogram's "
            f"{bins} bins end"
        )
    ends = np.linspace(_mel(lowest), _mel(highest), channels + 2)
    result = np.zeros((bins, channels))
    used = np.arange(first, last + 1)
    places = _mel(used * hertz)
    # Each bin lies between two tops, ends[left] and ends[left + 1], and counts for both.
    left = np.searchsorted(ends[1:-1], places, side="left")
    falling = (ends[left + 1] - places) / (ends[left + 1] - ends[left])
    down, up = left > 0, left < channels
    result[used[down], left[down] - 1] = falling[down]
    result[used[up], left[up]] = 1 - falling[up]
    return result


@kernel("Mfcc")
def _mfcc(node: Node) -> Kernel:
    channels, coefficients, lowest, highest = (
        node.attrs[name]
        for name in (
            "filterbank_channel_count",
            "dct_coefficient_count",
            "lower_frequency_limit",
            "upper_frequency_limit",
        )
    )
    cosines = np.sqrt(2 / channels) * np.cos(
        np.pi / channels * np.outer(np.arange(channels) + 0.5, np.arange(coefficients))
    )

    def run(spectrogram: Any, sample_rate: Any) -> Any:
        bins, rate = spectrogram.shape[-1], int(sample_rate)
        if bins < 2 or rate < 1:
            raise invalid(
                f"A spectrogram of {bins} bins at a sample rate of {rate}: at least 2 and 1 are needed"
            )
        filters = _filters(bins, rate, channels, lowest, highest)
        energy = np.sqrt(spectrogram.astype(np.float64)) @ filters
        return (np.log(np.maximum(energy, _LEAST_ENERGY)) @ cosines).astype(np.float32)

    return run

"""Sound: WAV files, spectrograms, and the coefficients that tell words (tf.audio, audio_ops of tf.contrib)."""

from __future__ import annotations

from typing import NamedTuple

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NO_GRADIENT, Signature, op_def
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import require_rank


def _decode_infer(op: Operation) -> Signature:
    require_rank(op.inputs[0].dims, 0, "contents")
    wanted = [op.attrs["desired_samples"], op.attrs["desired_channels"]]
    for name, size in zip(("desired_samples", "desired_channels"), wanted, strict=True):
        if size < -1:
            raise ValueError(f"{name} must be at least 0, or -1 for what the file has, got {size}.")
    frames, channels = (None if size == -1 else size for size in wanted)
    return [(dtypes.float32, (frames, channels)), (dtypes.int32, ())]


def _encode_infer(op: Operation) -> Signature:
    require_rank(op.inputs[0].dims, 2, "audio")
    require_rank(op.inputs[1].dims, 0, "sample_rate")
    return [(dtypes.string, ())]


def _spectrogram_infer(op: Operation) -> Signature:
    frames, channels = require_rank(op.inputs[0].dims, 2, "input") or (None, None)
    size, stride = op.attrs["window_size"], op.attrs["stride"]
    if size < 2:
        raise ValueError(f"window_size must be at least 2, got {size}.")
    if stride < 1:
        raise ValueError(f"stride must be at least 1, got {stride}.")
    rows = None if frames is None else max(0, 1 + (frames - size) // stride)
    return [(dtypes.float32, (channels, rows, (1 << (size - 1).bit_length()) // 2 + 1))]


def _mfcc_infer(op: Operation) -> Signature:
    dims = require_rank(op.inputs[0].dims, 3, "spectrogram")
    require_rank(op.inputs[1].dims, 0, "sample_rate")
    lowest, highest = op.attrs["lower_frequency_limit"], op.attrs["upper_frequency_limit"]
    if not 0 <= lowest < highest:
        raise ValueError(
            f"lower_frequency_limit must be at least 0 and below upper_frequency_limit, got {lowest} and {highest}."
        )
    channels, coefficients = op.attrs["filterbank_channel_count"], op.attrs["dct_coefficient_count"]
    if not 1 <= coefficients <= channels:
        raise ValueError(
            "dct_coefficient_count must be at least 1 and at most filterbank_channel_count, got "
            f"{coefficients} and {channels}."
        )
    return [(dtypes.float32, (*dims[:2], coefficients))] if dims else []


DECODE_WAV = op_def(
    "DecodeWav", ("contents: string",), infer=_decode_infer, gradient=NO_GRADIENT, dynamic_shape=True,
    outputs=("audio", "sample_rate"),
)  # fmt: skip
ENCODE_WAV = op_def(
    "EncodeWav", ("audio: float32", "sample_rate: int32"), infer=_encode_infer, gradient=NO_GRADIENT,
    outputs=("contents",),
)  # fmt: skip
AUDIO_SPECTROGRAM = op_def(
    "AudioSpectrogram", ("input: float32",), infer=_spectrogram_infer, gradient=NO_GRADIENT,
    outputs=("spectrogram",),
)  # fmt: skip
MFCC = op_def(
    "Mfcc", ("spectrogram: float32", "sample_rate: int32"), infer=_mfcc_infer, gradient=NO_GRADIENT,
)  # fmt: skip


class DecodeWav(NamedTuple):
    """What decode_wav gives."""

    audio: Tensor
    """The samples, [frames, channels]."""
    sample_rate: Tensor
    """Frames per second, an int32 scalar."""


def decode_wav(
    contents: TensorLike, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodeWav:
    """The samples of a WAV file in a scalar string, float32 between -1 and 1 (tf.audio.decode_wav).

    The file must be PCM with 16 bits a sample.

    Args:
        contents: The bytes of a file, a scalar string.
        desired_channels: How many channels to give: those that the file has beyond it are left out, those that it
            lacks are its last one again. -1 for as many as it has.
        desired_samples: How many frames to give: the end is cut off, or zeros are added. -1 for as many as it has.
        name: A name for the operation.

    Returns:
        The samples [frames, channels], and the frames per second.

    Raises:
        InvalidArgumentError: At the run for another file.
    """
    attrs = {"desired_channels": int(desired_channels), "desired_samples": int(desired_samples)}
    return DecodeWav(*apply(DECODE_WAV, (contents,), attrs, name).outputs)


def encode_wav(audio: TensorLike, sample_rate: IntTensorLike, name: str | None = None) -> Tensor:
    """A WAV file of 16 bits a sample, as a scalar string (tf.audio.encode_wav).

    Args:
        audio: Float32 between -1 and 1, [frames, channels]; what is beyond is cut off.
        sample_rate: Frames per second, an int32 scalar.
        name: A name for the operation.

    Examples:
        >>> sound = gf.sin(gf.reshape(gf.range(8.0), [4, 2]))
        >>> again = gf.audio.decode_wav(gf.audio.encode_wav(sound, 16000))
        >>> with gf.Session() as session:
        ...     print(session.run(gf.reduce_max(abs(again.audio - sound))) < 1e-4, session.run(again.sample_rate))
        True 16000
    """
    return apply(ENCODE_WAV, (audio, sample_rate), name=name).outputs[0]


def audio_spectrogram(
    input: TensorLike, window_size: int, stride: int, magnitude_squared: bool = False, name: str | None = None
) -> Tensor:
    """How strong each frequency is in windows of a sound (audio_spectrogram of tf.contrib.framework's audio_ops).

    A window is weighted by a periodic Hann window and filled with zeros to a power of two.

    Args:
        input: Float32, [frames, channels].
        window_size: How many frames a window has, at least 2.
        stride: How many frames it moves on.
        magnitude_squared: Whether energies are given and not magnitudes.
        name: A name for the operation.

    Returns:
        Float32, [channels, windows, frequencies]: half of that power of two, and one.

    Raises:
        ValueError: For a window_size below 2 or a stride below 1.
    """
    attrs = {
        "window_size": int(window_size),
        "stride": int(stride),
        "magnitude_squared": bool(magnitude_squared),
    }
    return apply(AUDIO_SPECTROGRAM, (input,), attrs, name).outputs[0]


def mfcc(
    spectrogram: TensorLike, sample_rate: IntTensorLike, upper_frequency_limit: float = 4000.0,
    lower_frequency_limit: float = 20.0, filterbank_channel_count: int = 40, dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Mel-frequency cepstral coefficients of a spectrogram of energies (mfcc of tf.contrib.framework's audio_ops).

    Args:
        spectrogram: What audio_spectrogram gives with magnitude_squared, [channels, windows, frequencies].
        sample_rate: Frames per second of the sound, an int32 scalar.
        upper_frequency_limit: The highest frequency that counts, in hertz, at most half the sample rate.
        lower_frequency_limit: The lowest.
        filterbank_channel_count: How many bands they are summed up to.
        dct_coefficient_count: How many coefficients are given, at most as many.
        name: A name for the operation.

    Returns:
        Float32, [channels, windows, dct_coefficient_count].

    Raises:
        ValueError: For limits or counts that cannot be.
    """
    attrs = {
        "upper_frequency_limit": float(upper_frequency_limit), "lower_frequency_limit": float(lower_frequency_limit),
        "filterbank_channel_count": int(filterbank_channel_count), "dct_coefficient_count": int(dct_coefficient_count),
    }  # fmt: skip
    return apply(MFCC, (spectrogram, sample_rate), attrs, name).outputs[0]

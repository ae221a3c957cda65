"""Sound: WAV files, spectrograms and mel-frequency cepstral coefficients."""

import struct

import numpy as np
from harness import Family

FAMILY = Family("audio")


def _ops(tf):
    """The four functions, wherever they are."""
    try:
        from tensorflow.contrib.framework.python.ops import audio_ops
    except ImportError:
        return tf.audio
    return audio_ops if tf.__name__ == "tensorflow" else tf.audio


def _sound(frames, channels=1, rate=8000.0):
    times = np.arange(frames)[:, None] / rate
    return np.float32(
        0.4 * np.sin(2 * np.pi * 440 * (np.arange(channels) + 1) * times) + 0.3 * np.cos(9000 * times)
    )


def _file(samples, channels, rate=16000, form=1, bits=16, before=b"", declared=None):
    data = struct.pack("<%dh" % len(samples), *samples)
    size = channels * bits // 8
    layout = struct.pack("<IHHIIHH", 16, form, channels, rate, rate * size, size, bits)
    length = len(data) if declared is None else declared
    body = b"WAVE" + before + b"fmt " + layout + b"data" + struct.pack("<I", length) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


STEREO = _file([0, 1, -1, 32767, -32768, 16384, 5, -5], 2)


def _decoded(**wanted):
    def build(tf, t):
        found = _ops(tf).decode_wav(t.ph(STEREO), **wanted)
        return found.audio, found.sample_rate

    return build


for _name, _wanted in {
    "as it is": {},
    "one channel": {"desired_channels": 1},
    "three channels": {"desired_channels": 3},
    "three frames": {"desired_samples": 3},
    "six frames of one channel": {"desired_channels": 1, "desired_samples": 6},
}.items():
    FAMILY.generated("decode_wav, " + _name, _decoded(**_wanted), _name)


@FAMILY.case()
def files_that_are_no_sound(tf, t):
    decode = _ops(tf).decode_wav
    contents = tf.placeholder(tf.string, [])
    audio = decode(contents).audio
    mono = _file([1, 2, 3], 1)
    bad = (
        b"", b"RIFF", b"no sound at all, but long enough to be a header of one", mono[:40], mono[:-2],
        mono.replace(b"WAVE", b"WAVY"), _file([1, 2], 1, form=3), _file([1, 2], 1, bits=8), _file([], 0),
        _file([1, 2], 1, declared=400),
    )  # fmt: skip
    return (
        [t.error(lambda file=file: t.run(audio, {contents: file}).shape) for file in bad],
        t.error(lambda: decode(tf.constant([b"a"]))),
        t.error(lambda: t.run(decode(mono, desired_channels=0).audio)),
        t.error(lambda: t.run(decode(mono, desired_samples=-2).audio)),
    )


@FAMILY.case()
def files_that_are_written(tf, t):
    encode = _ops(tf).encode_wav
    sound = np.float32([[0, 1], [-1, 0.5], [2, -3], [1.49 / 32768, 1.5 / 32768], [-1.5 / 32768, 0.25]])
    return encode(t.ph(sound), t.ph(np.int32(8000))), encode(t.ph(sound[:, :1], [None, 1]), 44100)


@FAMILY.case()
def sound_that_cannot_be_written(tf, t):
    encode = _ops(tf).encode_wav
    return (
        t.error(lambda: encode(tf.zeros([3]), 8000)),
        t.error(lambda: encode(tf.zeros([3, 1]), [8000])),
        t.error(lambda: t.run(encode(tf.zeros([0, 1]), 8000))),
        t.error(lambda: t.run(encode(tf.zeros([1, 0]), 8000))),
        t.error(lambda: t.run(encode(tf.zeros([1, 1]), 0))),
    )


@FAMILY.case(tolerance=(1e-4, 1e-4))
def spectrograms(tf, t):
    find = _ops(tf).audio_spectrogram
    # TensorFlow goes on in the second channel with what is left of the first, so nothing is left here.
    mono, stereo = t.ph(_sound(50)), t.ph(_sound(64, 2), [None, 2])
    return (
        find(mono, 16, 8), find(mono, 20, 7, magnitude_squared=True), find(stereo, 16, 16), find(mono, 60, 2),
        find(stereo, 32, 32), find(mono, 2, 20), find(t.ph(_sound(64)), window_size=64, stride=64),
    )  # fmt: skip


@FAMILY.case(tolerance=(1e-4, 1e-4))
def coefficients(tf, t):
    ops = _ops(tf)
    energies = ops.audio_spectrogram(t.ph(_sound(1024, 2)), 256, 256, magnitude_squared=True)
    return (
        ops.mfcc(energies, 8000, upper_frequency_limit=3900.0),
        ops.mfcc(energies, t.ph(np.int32(16000)), dct_coefficient_count=5),
        ops.mfcc(energies, 8000, 3000.0, 300.0, 10, 10),
        ops.mfcc(tf.zeros([1, 2, 65]), 16000),
        ops.mfcc(t.ph(np.float32(np.ones([1, 2, 33])), [None, None, 33]), 16000, filterbank_channel_count=20),
    )


@FAMILY.case()
def what_a_spectrogram_cannot_be(tf, t):
    ops = _ops(tf)
    return (
        t.error(lambda: ops.audio_spectrogram(tf.zeros([9]), 4, 2)),
        t.error(lambda: t.run(ops.audio_spectrogram(tf.zeros([9, 1]), 1, 2))),
        t.error(lambda: ops.mfcc(tf.zeros([2, 33]), 8000)),
        t.error(lambda: t.run(ops.mfcc(tf.zeros([1, 2, 33]), 8000, dct_coefficient_count=50))),
        t.error(lambda: t.run(ops.mfcc(tf.zeros([1, 2, 33]), 8000, lower_frequency_limit=5000.0))),
        t.error(lambda: t.run(ops.mfcc(tf.zeros([1, 2, 1]), 8000))),
        t.error(lambda: t.run(ops.mfcc(tf.zeros([1, 2, 33]), 0))),
    )

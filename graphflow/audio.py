"""Sound (tf.audio, and audio_ops of tf.contrib.framework)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.ops.io.audio import audio_spectrogram, decode_wav, encode_wav, mfcc

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.audio", globals())

__all__ = ["audio_spectrogram", "decode_wav", "encode_wav", "mfcc"]

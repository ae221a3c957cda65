"""Encoders and decoders of sequences: attention, decoding, beam search, losses (tf.contrib.seq2seq)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

"""Sequences as lists with a tensor for each step: losses, decoders, models (tf.contrib.legacy_seq2seq)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

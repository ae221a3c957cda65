"""Signals, as tf.signal: Fourier and cosine transforms, frames, windows, spectra and their mel bands."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

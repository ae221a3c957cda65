"""Strategies by the names that they have in later versions of TensorFlow 1 (tf.distribute.experimental)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

"""Layers, regularizers and initial values (tf.contrib.layers)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

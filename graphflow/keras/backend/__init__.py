"""Functions that keras is written with, and programs too (tf.keras.backend)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

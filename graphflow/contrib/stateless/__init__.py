"""Random numbers that follow from their seeds alone, under their older names (tf.contrib.stateless)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

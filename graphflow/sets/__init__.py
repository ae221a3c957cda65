"""Sets of values in the last axis of tensors (tf.sets)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

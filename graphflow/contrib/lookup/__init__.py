"""Tables of keys and values, and functions that make them of vocabularies (tf.contrib.lookup)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

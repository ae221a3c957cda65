"""A model's layers in few lines, its training and its evaluation (tf.contrib.slim)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

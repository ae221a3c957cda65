"""Feature columns: how rows of raw features become the input of a model (tf.feature_column)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

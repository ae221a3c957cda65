"""Columns of sequences, and what puts them side by side (tf.contrib.feature_column)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

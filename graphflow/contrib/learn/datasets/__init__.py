"""Small data sets, from files that are there (tf.contrib.learn.datasets)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

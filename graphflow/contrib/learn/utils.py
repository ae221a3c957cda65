"""What SavedModels are given, and when they are written (tf.contrib.learn.utils)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

"""Losses of vectors that are to be near each other if their labels are the same (tf.contrib.losses.metric_learning)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

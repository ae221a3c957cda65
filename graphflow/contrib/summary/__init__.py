"""Summaries that the graph itself writes, as a step of it runs (tf.contrib.summary)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

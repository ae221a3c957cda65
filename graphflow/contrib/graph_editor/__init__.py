"""Operations of a graph that others need, or that need others (tf.contrib.graph_editor)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

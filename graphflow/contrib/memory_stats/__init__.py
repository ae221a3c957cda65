"""The memory of this process, told in a run (tf.contrib.memory_stats)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

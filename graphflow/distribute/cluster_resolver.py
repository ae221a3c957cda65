"""Which cluster and task a process is, as the engine tells that has started it (tf.distribute.cluster_resolver)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

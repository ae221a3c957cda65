"""Random forests that learn batch by batch (tf.contrib.tensor_forest)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

"""Networks for images, as architectures with weights from local files (tf.keras.applications)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

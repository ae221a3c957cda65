"""TPUEstimator and what belongs to it, which run on the CPU or a GPU as with use_tpu=False (tf.contrib.tpu)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

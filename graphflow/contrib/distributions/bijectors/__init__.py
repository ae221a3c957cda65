"""Functions that can be inverted, and how much they stretch space (tf.contrib.distributions.bijectors)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

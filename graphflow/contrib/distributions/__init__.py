"""The distributions of gf.distributions under contrib's name, and those that only tf.contrib.distributions has."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

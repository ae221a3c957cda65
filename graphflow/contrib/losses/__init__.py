"""Losses with predictions before labels, and weights by example (tf.contrib.losses): gf.losses with other arguments."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

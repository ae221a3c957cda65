"""Sums over towers of which every tower has one: ways to share the work among devices (tf.contrib.all_reduce)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

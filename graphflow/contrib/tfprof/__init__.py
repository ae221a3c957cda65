"""Profiles of a graph by their former names (tf.contrib.tfprof); gf.profiler has them."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

"""What a model has: parameters, floating-point operations, times, by name scope or type of operation (tf.profiler)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

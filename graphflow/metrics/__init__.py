"""Measures gathered over many steps (tf.metrics)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing

globals().update(exports("metrics.averages", "metrics.counts", "metrics.curves", "metrics.classes"))
__getattr__ = missing("gf.metrics", globals())

"""Curves, histograms, images and graphs for TensorBoard (tf.summary)."""

from __future__ import annotations

from graphflow.namespaces import exports, missing

globals().update(exports())
__getattr__ = missing("gf.summary", globals())

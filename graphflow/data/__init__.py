"""Input pipelines (tf.data)."""

from __future__ import annotations

from graphflow.namespaces import exports, missing

globals().update(exports("data.dataset"))
__getattr__ = missing("gf.data", globals())

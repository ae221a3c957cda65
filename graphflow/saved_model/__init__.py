"""Models that others can load and serve (tf.saved_model)."""

from __future__ import annotations

from graphflow.namespaces import exports, missing

globals().update(exports())
__getattr__ = missing("gf.saved_model", globals())

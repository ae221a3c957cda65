"""Programs with flags (tf.app)."""

from __future__ import annotations

from graphflow.namespaces import exports, missing

globals().update(exports())
__getattr__ = missing("gf.app", globals())

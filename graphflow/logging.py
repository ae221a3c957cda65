"""The program's log (tf.logging)."""

from __future__ import annotations

from graphflow.namespaces import exports, missing

globals().update(exports())
__getattr__ = missing("gf.logging", globals())

"""Values known while the graph is built (tf.contrib.util)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing

globals().update(exports("_core.ops.core", names="CONTRIB_UTIL_EXPORTS"))
__getattr__ = missing("gf.contrib.util", globals())

"""What programs use of TensorFlow 2's names (tf.compat.v2)."""

from __future__ import annotations

from graphflow._core.common.namespaces import missing
from graphflow._core.ops.array.indexing import where_v2 as where

__all__ = ["where"]

__getattr__ = missing("gf.compat.v2", globals())

"""What programs use of TensorFlow 2's names (tf.compat.v2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.ops.array.indexing import where_v2 as where

__all__ = ["where"]

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.compat.v2", globals())

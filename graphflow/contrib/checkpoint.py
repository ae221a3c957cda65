"""What programs use of tf.contrib.checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow.train.saving.checkpoint import CheckpointManager

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.contrib.checkpoint", globals())

__all__ = ["CheckpointManager"]

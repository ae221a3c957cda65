"""The usual tags of a meta graph (tf.saved_model.tag_constants)."""

from __future__ import annotations

from typing import Final

SERVING: Final = "serve"
TRAINING: Final = "train"
EVAL: Final = "eval"
GPU: Final = "gpu"
TPU: Final = "tpu"

"""Recurrent layers as cuDNN has them, which run anywhere, and cells of the same weights (tf.contrib.cudnn_rnn)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

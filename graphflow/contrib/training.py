"""Hyperparameters, steps of training, evaluation of checkpoints, load balancing (tf.contrib.training)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

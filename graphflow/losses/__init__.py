"""Losses for training, as tf.losses: each returns a scalar and adds it to the collection GraphKeys.LOSSES."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

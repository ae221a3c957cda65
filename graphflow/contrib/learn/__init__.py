"""Estimators, experiments and preprocessing of before gf.estimator (tf.contrib.learn)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

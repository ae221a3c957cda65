"""Estimators of models written for TPUs, which run on the CPU or a GPU as with use_tpu=False (gf.estimator.tpu)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

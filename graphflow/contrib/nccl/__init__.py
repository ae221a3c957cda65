"""Sums over devices by the names of NVIDIA's collectives (tf.contrib.nccl)."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

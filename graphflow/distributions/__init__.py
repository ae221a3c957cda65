"""Distributions of random numbers, as tf.distributions: samples, densities, entropies and divergences."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)

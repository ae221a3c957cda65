"""Keras as of TensorFlow 1.15, on graphs (tf.keras): layers, models, and what trains, saves and prepares for them."""

from __future__ import annotations

from graphflow._core.common.namespaces import attach

__version__ = "2.2.4-tf"
"""The version of Keras's interface that TensorFlow 1.15 has."""

__getattr__, __dir__, __all__ = attach(__name__)

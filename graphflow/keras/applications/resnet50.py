"""The residual network of 50 layers (tf.keras.applications.resnet50)."""

from __future__ import annotations

from graphflow.keras.applications.resnet import ResNet50, decode_predictions, preprocess_input

__all__ = ["ResNet50", "decode_predictions", "preprocess_input"]

"""Layers with variables of their own (tf.layers)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing

globals().update(
    exports(
        "layers.core",
        "layers.convolutional",
        "layers.channelwise",
        "layers.pooling",
        "layers.normalization",
    )
)
__getattr__ = missing("gf.layers", globals())

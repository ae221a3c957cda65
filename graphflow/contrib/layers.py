"""Layers, regularizers and initial values (tf.contrib.layers)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing

globals().update(
    exports(
        "_core.ops.state.initializers", "layers.regularizers", "layers.contrib", "layers.contrib_channelwise",
        "layers.contrib_composed", "layers.optimize_loss",
        names="CONTRIB_LAYERS_EXPORTS",
    )
)  # fmt: skip
__getattr__ = missing("gf.contrib.layers", globals())

"""A model's layers in few lines, its training and its evaluation (tf.contrib.slim)."""

from __future__ import annotations

from graphflow.namespaces import exports, missing, namespace

utils = namespace(
    "contrib.slim.utils",
    "The outputs of layers by name (tf.contrib.slim.utils).",
    exports("layers.named_outputs", names="CONTRIB_UTILS_EXPORTS"),
)
__getattr__ = missing("gf.contrib.slim", globals())

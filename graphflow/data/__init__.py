"""Input pipelines (tf.data)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing, namespace

globals().update(exports("data.dataset", "data.files"))
experimental = namespace(
    "data.experimental",
    "Transformations for Dataset.apply (tf.data.experimental).",
    exports("data.transformations", names="EXPERIMENTAL_EXPORTS"),
)
__getattr__ = missing("gf.data", globals())

"""Models that others can load and serve (tf.saved_model)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing

globals().update(
    exports(
        "saved_model.builder", "saved_model.constants", "saved_model.loader", "saved_model.main_op",
        "saved_model.signature_constants", "saved_model.signature_def_utils", "saved_model.tag_constants",
        "saved_model.utils",
    )
)  # fmt: skip
__getattr__ = missing("gf.saved_model", globals())

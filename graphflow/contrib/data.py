"""Transformations for Dataset.apply (tf.contrib.data)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing

globals().update(exports("data.transformations", names="CONTRIB_DATA_EXPORTS"))
__getattr__ = missing("gf.contrib.data", globals())

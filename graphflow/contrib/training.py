"""Load balancing (tf.contrib.training)."""

from __future__ import annotations

from graphflow.namespaces import exports, missing

globals().update(exports("cluster.device_setter", names="CONTRIB_TRAINING_EXPORTS"))
__getattr__ = missing("gf.contrib.training", globals())

"""Structures, branches, default arguments and the global step (tf.contrib.framework)."""

from __future__ import annotations

from graphflow import nest as nest
from graphflow.namespaces import exports, missing
from graphflow.ops.sorting import argsort as argsort
from graphflow.train import steps

globals().update(
    exports("ops.smart_cond", "layers.arg_scope", "layers.model_variables", names="CONTRIB_FRAMEWORK_EXPORTS")
)
globals().update({name: made for name, made in steps.EXPORTS.items() if name.endswith("global_step")})
__getattr__ = missing("gf.contrib.framework", globals())

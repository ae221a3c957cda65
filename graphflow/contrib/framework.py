"""Structures, branches, default arguments, variables, checkpoints and the global step (tf.contrib.framework)."""

from __future__ import annotations

from graphflow import nest as nest
from graphflow._core.common.namespaces import exports, missing
from graphflow._core.ops.math.sorting import argsort as argsort
from graphflow._core.ops.math.sorting import sort as sort
from graphflow.train import steps
from graphflow.train.checkpoint_utils import init_from_checkpoint as init_from_checkpoint
from graphflow.train.checkpoint_utils import list_variables as list_variables
from graphflow.train.checkpoint_utils import load_checkpoint as load_checkpoint
from graphflow.train.checkpoint_utils import load_variable as load_variable

globals().update(
    exports(
        "_core.ops.control_flow.smart_cond", "layers.arg_scope", "layers.model_variables", "contrib.variables",
        names="CONTRIB_FRAMEWORK_EXPORTS",
    )
)  # fmt: skip
globals().update({name: made for name, made in steps.EXPORTS.items() if name.endswith("global_step")})
__getattr__ = missing("gf.contrib.framework", globals())

"""A model's layers in few lines, its training and its evaluation (tf.contrib.slim)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing, namespace
from graphflow._core.ops.state import initializers as _initializers
from graphflow.contrib import layers as layers
from graphflow.contrib import losses as losses
from graphflow.contrib import metrics as metrics
from graphflow.contrib.slim import evaluation as evaluation
from graphflow.contrib.slim import learning as learning
from graphflow.contrib.slim import model_analyzer as model_analyzer
from graphflow.contrib.slim import queues as queues
from graphflow.contrib.slim import summaries as summaries
from graphflow.layers import regularizers as _regularizers
from graphflow.train import steps as _steps

initializers = namespace(
    "contrib.slim.initializers",
    "Initial values of weights (tf.contrib.slim.initializers).",
    _initializers.CONTRIB_LAYERS_EXPORTS,
)
regularizers = namespace(
    "contrib.slim.regularizers",
    "Losses of weights (tf.contrib.slim.regularizers).",
    _regularizers.CONTRIB_LAYERS_EXPORTS,
)
utils = namespace(
    "contrib.slim.utils",
    "The outputs of layers by name (tf.contrib.slim.utils).",
    exports("layers.named_outputs", names="CONTRIB_UTILS_EXPORTS"),
)
globals().update({name: made for name, made in vars(layers).items() if not name.startswith("_")})
globals().update(
    exports(
        "layers.arg_scope", "layers.model_variables", "contrib.variables", names="CONTRIB_FRAMEWORK_EXPORTS"
    )
)
globals().update({name: made for name, made in _steps.EXPORTS.items() if name.endswith("global_step")})
__getattr__ = missing("gf.contrib.slim", globals())

"""Hyperparameters, steps of training, evaluation of checkpoints, load balancing (tf.contrib.training)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing

globals().update(
    exports(
        "_core.cluster.client.device_setter",
        "contrib.train_op",
        "contrib.evaluation",
        "contrib.hparams",
        names="CONTRIB_TRAINING_EXPORTS",
    )
)
__getattr__ = missing("gf.contrib.training", globals())

"""Training: optimizers, learning-rate decays, steps, moving averages, device placement (gf.train)."""

from __future__ import annotations

from graphflow.namespaces import exports, missing

globals().update(
    exports(
        "train.optimizers", "train.decays", "train.steps", "train.moving_averages", "train.device_setter",
        "cluster.cluster_spec",
    )
)  # fmt: skip
__getattr__ = missing("gf.train", globals())

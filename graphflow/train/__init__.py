"""Training: optimizers, learning-rate decays, steps, moving averages, device placement (gf.train)."""

from __future__ import annotations

from graphflow.namespaces import exports, missing

globals().update(
    exports(
        "train.optimizers", "train.decays", "train.steps", "train.moving_averages", "train.device_setter",
        "train.saver", "train.saveables", "train.checkpoint_management", "train.checkpoint_utils",
        "train.coordinator", "train.queue_runner", "train.producers", "train.batching", "cluster.cluster_spec",
        "train.timers", "train.session_run_hook", "train.basic_hooks", "train.saving_hooks", "train.scaffold",
        "train.session_manager", "train.session_creators", "train.monitored_session", "train.training_session",
        "train.supervisor", "train.meta_graph",
    )
)  # fmt: skip
globals().update(exports("summary.writer", names="TRAIN_EXPORTS"))
__getattr__ = missing("gf.train", globals())

"""Training: optimizers, learning-rate decays, steps, moving averages, device placement (gf.train)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from graphflow._core.common.namespaces import exports, missing

globals().update(
    exports(
        "train.optimizers",
        "train.decays",
        "train.steps",
        "train.moving_averages",
        "_core.cluster.client.device_setter",
        "train.balance",
        "train.saver",
        "train.saveables",
        "train.checkpoint_management",
        "train.checkpoint_utils",
        "train.coordinator",
        "train.queue_runner",
        "train.producers",
        "train.batching",
        "_core.cluster.cluster_spec",
        "_core.cluster.server.server",
        "_core.cluster.environment",
        "_core.cluster.server.control",
        "train.timers",
        "train.session_run_hook",
        "train.basic_hooks",
        "train.saving_hooks",
        "train.scaffold",
        "train.session_manager",
        "train.session_creators",
        "train.monitored_session",
        "train.training_session",
        "train.supervisor",
        "train.meta_graph",
        "train.sync_replicas",
        "train.bounded_staleness",
    )
)
globals().update(exports("summary.writer", names="TRAIN_EXPORTS"))
_MESSAGES = {
    "Example": "example_pb2",
    "SequenceExample": "example_pb2",
    "BytesList": "feature_pb2",
    "FloatList": "feature_pb2",
    "Int64List": "feature_pb2",
    "Feature": "feature_pb2",
    "Features": "feature_pb2",
    "FeatureList": "feature_pb2",
    "FeatureLists": "feature_pb2",
}
"""Protobuf messages, which are made when they are first used."""
_missing = missing("gf.train", globals())


def __getattr__(name: str) -> Any:
    if name not in _MESSAGES:
        return _missing(name)
    globals()[name] = message = getattr(import_module(f"graphflow.protos.{_MESSAGES[name]}"), name)
    return message

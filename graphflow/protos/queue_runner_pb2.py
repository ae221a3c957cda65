"""QueueRunnerDef: how a graph's queue runners are written into a MetaGraphDef (TensorFlow's module of that name)."""

from __future__ import annotations

from typing import Any

from graphflow.protos.fields import messages

_MADE = messages(
    "queue_runner",
    {
        "QueueRunnerDef": (
            "string queue_name = 1",
            "repeated string enqueue_op_name = 2",
            "string close_op_name = 3",
            "string cancel_op_name = 4",
            "repeated int32 queue_closed_exception_types = 5",
        )
    },
)
DESCRIPTOR: Any = _MADE["DESCRIPTOR"]
QueueRunnerDef: Any = _MADE["QueueRunnerDef"]

"""ServerDef: a server of a cluster, under the name of TensorFlow's module."""

from __future__ import annotations

from typing import Any

import graphflow.protos as protos
from graphflow.protos.fields import messages

_MADE = messages(
    "tensorflow_server",
    {
        "ServerDef": (
            "ClusterDef cluster = 1",
            "string job_name = 2",
            "int32 task_index = 3",
            "ConfigProto default_session_config = 4",
            "string protocol = 5",
        )
    },
    imports=(protos.cluster_pb2, protos.config_pb2),
)
DESCRIPTOR: Any = _MADE["DESCRIPTOR"]
ServerDef: Any = _MADE["ServerDef"]

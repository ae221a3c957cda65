"""SavedModel: what lies in saved_model.pb, under the name of TensorFlow's module."""

from __future__ import annotations

from typing import Any

import graphflow.protos as protos
from graphflow.protos.fields import messages

_MADE = messages(
    "saved_model",
    {"SavedModel": ("int64 saved_model_schema_version = 1", "repeated MetaGraphDef meta_graphs = 2")},
    imports=(protos.meta_graph_pb2,),
)
DESCRIPTOR: Any = _MADE["DESCRIPTOR"]
SavedModel: Any = _MADE["SavedModel"]

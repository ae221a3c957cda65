"""Example and SequenceExample: the records that training data is kept in, under the name of TensorFlow's module."""

from __future__ import annotations

from typing import Any

from graphflow.protos import feature_pb2
from graphflow.protos.fields import messages

_MADE = messages(
    "example",
    {
        "Example": ("Features features = 1",),
        "SequenceExample": ("Features context = 1", "FeatureLists feature_lists = 2"),
    },
    imports=(feature_pb2,),
)
DESCRIPTOR: Any = _MADE["DESCRIPTOR"]
Example: Any = _MADE["Example"]
SequenceExample: Any = _MADE["SequenceExample"]

"""What stands in the index of a checkpoint of TensorFlow's, under the name of TensorFlow's module."""

from __future__ import annotations

from typing import Any

import graphflow.protos as protos
from graphflow.protos.fields import messages

_MADE = messages(
    "tensor_bundle",
    {
        "BundleHeaderProto": ("int32 num_shards = 1", "int32 endianness = 2", "VersionDef version = 3"),
        "TensorSliceProto": ("repeated TensorSliceProto.Extent extent = 1",),
        "TensorSliceProto.Extent": ("int64 start = 1", "oneof has_length int64 length = 2"),
        "BundleEntryProto": (
            "DataType dtype = 1", "TensorShapeProto shape = 2", "int32 shard_id = 3", "int64 offset = 4",
            "int64 size = 5", "fixed32 crc32c = 6", "repeated TensorSliceProto slices = 7",
        ),
    },
    imports=(protos.types_pb2, protos.tensor_shape_pb2, protos.versions_pb2),
)  # fmt: skip
DESCRIPTOR: Any = _MADE["DESCRIPTOR"]
BundleHeaderProto: Any = _MADE["BundleHeaderProto"]
BundleEntryProto: Any = _MADE["BundleEntryProto"]
TensorSliceProto: Any = _MADE["TensorSliceProto"]

"""The record of a traced run as TensorFlow's RunMetadata message: TensorBoard shows time and memory from it."""

from __future__ import annotations

import time
from typing import Any

import graphflow.protos as protos
from graphflow._core.graph.attributes import shape_to_proto
from graphflow._core.graph.dtypes import as_dtype
from graphflow.config import NodeStats, RunMetadata


def run_metadata_message(metadata: RunMetadata) -> Any:
    """The protobuf RunMetadata of one of ours. Times count from now on, since the message's are those of a clock."""
    message = protos.config_pb2.RunMetadata()
    origin = int(time.time() * 1e6)
    for device in metadata.step_stats.dev_stats:
        listed = message.step_stats.dev_stats.add(device=device.device)
        for stats in device.node_stats:
            _write_node(stats, listed.node_stats.add(), origin)
    return message


def _write_node(stats: NodeStats, proto: Any, origin: int) -> None:
    duration = max(1, round(stats.duration_us))
    proto.node_name = stats.node_name
    proto.timeline_label = f"{stats.node_name} = {stats.op}"
    proto.all_start_micros = proto.scheduled_micros = origin + int(stats.start_us)
    proto.op_end_rel_micros = proto.all_end_rel_micros = duration
    proto.all_start_nanos = proto.scheduled_nanos = int((origin + stats.start_us) * 1e3)
    proto.op_end_rel_nanos = proto.all_end_rel_nanos = max(1, round(stats.duration_us * 1e3))
    proto.thread_id = stats.thread % (1 << 32)
    total = sum(output.bytes for output in stats.outputs)
    proto.memory.add(allocator_name="cpu", total_bytes=total, peak_bytes=total)
    for slot, output in enumerate(stats.outputs):
        description = proto.output.add(slot=slot).tensor_description
        description.dtype = as_dtype(output.dtype).as_datatype_enum
        shape_to_proto(output.shape, description.shape)
        description.allocation_description.requested_bytes = output.bytes
        description.allocation_description.allocator_name = "cpu"

"""The record of a traced run as TensorFlow's RunMetadata message: TensorBoard shows time and memory from it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import graphflow.protos as protos

_NAMES: Final = {"float16": "HALF", "float32": "FLOAT", "float64": "DOUBLE"}
"""Dtypes whose name in messages is another than their own in capitals."""


def run_metadata_message(metadata: Any) -> Any:
    """The protobuf RunMetadata of one of ours. Times count from now on, since the message's are those of a clock.

    Args:
        metadata: A gf.RunMetadata.

    Returns:
        TensorFlow's message.
    """
    message = protos.config_pb2.RunMetadata()
    write_run_metadata(metadata, message)
    return message


def write_run_metadata(metadata: Any, message: Any) -> None:
    """Writes one of our records into a message.

    Args:
        metadata: A gf.RunMetadata.
        message: TensorFlow's.
    """
    origin = int(time.time() * 1e6)
    for device in metadata.step_stats.dev_stats:
        listed = message.step_stats.dev_stats.add(device=device.device)
        for stats in device.node_stats:
            _write_node(stats, listed.node_stats.add(), origin)
    message.partition_graphs.extend(metadata.partition_graphs)


def _write_node(stats: Any, proto: Any, origin: int) -> None:
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
        name = _NAMES.get(output.dtype, output.dtype.upper())
        description.dtype = protos.types_pb2.DataType.Value(f"DT_{name}")
        for size in output.shape:
            description.shape.dim.add(size=size)
        description.allocation_description.requested_bytes = output.bytes
        description.allocation_description.allocator_name = "cpu"


def read_devices(message: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What a message tells: each device with the fields of NodeStats, whose outputs are those of OutputStats.

    Args:
        message: TensorFlow's RunMetadata.

    Returns:
        An iterator over devices, each with the fields of its operations.
    """
    names = {f"DT_{short}": name for name, short in _NAMES.items()}
    for device in message.step_stats.dev_stats:
        found = []
        for proto in device.node_stats:
            outputs = []
            for output in proto.output:
                told = output.tensor_description
                kind = protos.types_pb2.DataType.Name(told.dtype)
                dtype = names.get(kind, kind.removeprefix("DT_").lower())
                shape = tuple(dim.size for dim in told.shape.dim)
                outputs.append((dtype, shape, told.allocation_description.requested_bytes))
            found.append(
                {
                    "node_name": proto.node_name,
                    "op": proto.timeline_label.partition(" = ")[2].partition("(")[0],
                    "device": device.device,
                    "start_us": float(proto.all_start_micros),
                    "duration_us": float(proto.all_end_rel_micros),
                    "thread": proto.thread_id,
                    "outputs": outputs,
                }
            )
        yield device.device, found

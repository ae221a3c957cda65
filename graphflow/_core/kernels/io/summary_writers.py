"""Kernels of summaries that the graph writes. A writer is a box in the store, whose file an op opens."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import graphflow.protos as protos
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.event_files import SummaryFile


@kernel("SummaryWriter", stateful=True)
def _writer(node: Node) -> Kernel:
    key = resource_name(node.attrs, node.name, "summary_writer/")
    name = node.attrs["shared_name"] or node.name
    return lambda run: run.store.other(key, lambda: SummaryFile(name))


@kernel("CreateSummaryFileWriter", stateful=True)
def _open(node: Node) -> Kernel:
    def run(_: Any, writer: SummaryFile, logdir: Any, max_queue: Any, millis: Any, suffix: Any) -> None:
        writer.open(user_path(_text(logdir)), int(max_queue), int(millis) / 1000, _text(suffix))

    return run


@kernel("FlushSummaryWriter", stateful=True)
def _flush(node: Node) -> Kernel:
    return lambda run, writer: writer.flush()


@kernel("CloseSummaryWriter", stateful=True)
def _close(node: Node) -> Kernel:
    return lambda run, writer: writer.close()


@kernel("WriteRawProtoSummary", stateful=True)
def _write(node: Node) -> Kernel:
    def run(_: Any, writer: SummaryFile, step: Any, tensor: Any) -> None:
        event = protos.event_pb2.Event(wall_time=time.time(), step=int(step))
        for summary in np.asarray(tensor, object).reshape(-1).tolist():
            event.summary.MergeFromString(summary)
        writer.write(event.SerializeToString())

    return run


@kernel("WriteGraphSummary", stateful=True)
def _write_graph(node: Node) -> Kernel:
    def run(_: Any, writer: SummaryFile, step: Any, tensor: Any) -> None:
        graph = np.asarray(tensor, object).item()
        event = protos.event_pb2.Event(wall_time=time.time(), step=int(step), graph_def=graph)
        writer.write(event.SerializeToString())

    return run


@kernel("ImportEvent", stateful=True)
def _import(node: Node) -> Kernel:
    return lambda run, writer, event: writer.write(np.asarray(event, object).item())


def _text(value: Any) -> str:
    text: bytes = np.asarray(value, object).item()
    return text.decode()

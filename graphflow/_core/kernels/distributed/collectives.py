"""The collectives: whole operations, and the halves that plans make of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.collectives.arithmetic import Call, Collectives
from graphflow._core.graph import shapes
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.services import CollectiveService
from graphflow._core.resources.store import ResourceStore


def _collectives(run: Any) -> CollectiveService:
    """The collectives of a task, or those of one process."""
    store: ResourceStore = run.store
    return store.collectives or store.other("collectives", Collectives)


def _call(node: Node) -> Call:
    attrs = node.attrs
    kind = attrs.get("kind", node.type)
    dims = shapes.as_dims(attrs["shape"]) if "shape" in attrs else None
    return Call(
        kind, attrs.get("name", node.name), node.device, attrs["group_size"], attrs["group_key"],
        attrs["instance_key"], attrs["timeout_seconds"], attrs.get("merge_op", "Add"), attrs.get("final_op", "Id"),
        kind != "CollectiveGather" or bool(dims and dims[0] is not None),
        attrs["T"].as_numpy_dtype if kind == "CollectiveBcastRecv" else None, dims,
    )  # fmt: skip


@kernel("CollectiveReduce", "CollectiveGather", "CollectiveGatherGrad", "CollectiveAllToAll", "CollectiveBcastSend",
        "CollectiveBcastRecv", stateful=True)  # fmt: skip
def _whole(node: Node) -> Kernel:
    call = _call(node)

    def collective(run: Any, *values: Any) -> Any:
        collectives = _collectives(run)
        return collectives.end(run, call, collectives.begin(run, call, *values))

    return collective


@kernel("CollectiveBegin", stateful=True)
def _begin(node: Node) -> Kernel:
    call = _call(node)

    def begin(run: Any, *values: Any) -> Any:
        return np.array(_collectives(run).begin(run, call, *values), np.int64)

    return begin


@kernel("CollectiveEnd", stateful=True)
def _end(node: Node) -> Kernel:
    call = _call(node)

    def end(run: Any, handle: Any) -> Any:
        number, key, count = handle.tolist()
        return _collectives(run).end(run, call, (number, key, count))

    return end

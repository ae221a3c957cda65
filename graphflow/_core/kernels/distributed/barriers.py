"""The ops of barriers. A barrier lives in the store, under its shared name or its op's; its handle is itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph import shapes
from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.queue_config import QueueConfig
from graphflow._core.resources.staged.barriers import Barrier


@kernel("Barrier", stateful=True)
def _barrier(node: Node) -> Kernel:
    attrs = node.attrs
    listed = tuple(shapes.as_dims(s) for s in attrs["shapes"])
    config = QueueConfig("Barrier", tuple(attrs["component_types"]), listed or None, attrs["capacity"])
    name = attrs["shared_name"] or node.name
    key = resource_name(attrs, node.name, "barrier/")

    def find(run: Any) -> Barrier:
        found: Barrier = run.store.other(key, lambda: Barrier(name, config))
        found.config.check_same(name, config)
        return found

    return find


@kernel("BarrierInsertMany", stateful=True)
def _insert(node: Node) -> Kernel:
    component = node.attrs["component_index"]
    return lambda run, barrier, keys, values: barrier.insert(
        run, component, np.asarray(keys, object).ravel().tolist(), values
    )


@kernel("BarrierTakeMany", stateful=True)
def _take(node: Node) -> Kernel:
    small = node.attrs["allow_small_batch"]

    def take(run: Any, barrier: Barrier, count: Any) -> Any:
        return barrier.batch(barrier.take(run, int(count), small))

    return take


@kernel("BarrierClose", stateful=True)
def _close(node: Node) -> Kernel:
    cancel = node.attrs["cancel_pending_enqueues"]
    return lambda run, barrier: barrier.close(run, cancel)


@kernel("BarrierReadySize")
def _ready_size(node: Node) -> Kernel:
    return lambda barrier: np.int32(barrier.ready_size)


@kernel("BarrierIncompleteSize")
def _incomplete_size(node: Node) -> Kernel:
    return lambda barrier: np.int32(barrier.incomplete_size)

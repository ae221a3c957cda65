"""The ops of queues. A queue lives in the store, under its shared name or its op's; its handle is the queue itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.queue_config import QueueConfig
from graphflow._core.resources.queue_kinds import KINDS
from graphflow._core.resources.queue_values import rows
from graphflow._core.resources.queues import Queue
from graphflow.errors import FailedPreconditionError, InvalidArgumentError


def _config(node: Node) -> QueueConfig:
    attrs = node.attrs
    kind = node.type.removesuffix("V2")
    listed = [shapes.as_dims(s) for s in attrs["shapes"]]
    types = tuple(attrs["component_types"])
    if kind == "PriorityQueue":
        types = (dtypes.int64, *types)
        listed = [(), *listed] if listed else []
    return QueueConfig(
        kind,
        types,
        tuple(listed) if listed else None,
        attrs["capacity"],
        attrs.get("min_after_dequeue", 0),
        (attrs.get("seed", 0), attrs.get("seed2", 0)),
    )


@kernel("FIFOQueueV2", "RandomShuffleQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", stateful=True)
def _queue(node: Node) -> Kernel:
    config = _config(node)
    name = node.attrs["shared_name"] or node.name
    key = resource_name(node.attrs, node.name, "queue/")

    def find(run: Any) -> Queue:
        queue: Queue = run.store.other(key, lambda: KINDS[config.kind](name, config))
        queue.config.check_same(queue.name, config)
        return queue

    return find


def _own(value: Any) -> Any:
    """A copy that nobody else changes; a scalar cannot be changed."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _check_types(queue: Queue, found: tuple[DType, ...]) -> None:
    expected = queue.config.dtypes
    if found != expected:  # compared by identity first
        raise InvalidArgumentError(
            None,
            None,
            f"The queue {queue.name!r} has components of types {[d.name for d in expected]}, but the op is for "
            f"{[d.name for d in found]}.",
        )


@kernel("QueueEnqueueV2", stateful=True)
def _enqueue(node: Node) -> Kernel:
    types = tuple(node.attrs["Tcomponents"])

    def enqueue(run: Any, queue: Queue, *components: Any) -> None:
        _check_types(queue, types)
        queue.enqueue(run, [tuple(map(_own, components))])

    return enqueue


@kernel("QueueEnqueueManyV2", stateful=True)
def _enqueue_many(node: Node) -> Kernel:
    types = tuple(node.attrs["Tcomponents"])

    def enqueue_many(run: Any, queue: Queue, *components: Any) -> None:
        _check_types(queue, types)
        sizes = [np.shape(c)[:1] for c in components]
        if () in sizes or len(set(sizes)) > 1:
            raise InvalidArgumentError(
                None,
                None,
                "All components must have the same size in the first axis, but their shapes are "
                f"{', '.join(str(list(np.shape(c))) for c in components)}.",
            )
        apart = not queue.leaves_in_order
        split = [rows(np.asarray(c), t, apart) for c, t in zip(components, types, strict=True)]
        queue.enqueue(run, list(zip(*split, strict=True)), rows=True)

    return enqueue_many


def check_runners(queue: str, store: Any) -> None:
    """FailedPreconditionError if what fills a queue, by its op's name, is a queue runner that was not started."""
    if store.graph is not None and store.graph.lacks_queue_runner(queue, store):
        raise FailedPreconditionError(
            None,
            None,
            f"The queue {queue!r} is empty, and its queue runner, which fills it, was not started in this "
            "session. Call gf.train.start_queue_runners(sess) before the first run, or use a MonitoredSession, "
            "which does.",
        )


def source_of(node: Node, position: int) -> str:
    """The name of the op that makes an input."""
    return node.inputs[position].partition(":")[0]


@kernel("QueueDequeueV2", stateful=True)
def _dequeue(node: Node) -> Kernel:
    types = tuple(node.attrs["component_types"])
    source = source_of(node, 0)

    def dequeue(run: Any, queue: Queue) -> Any:
        _check_types(queue, types)
        (element,) = queue.dequeue(run, 1, stall_check=lambda: check_runners(source, run.store))
        return element if len(element) > 1 else element[0]

    return dequeue


def _dequeue_many(node: Node, up_to: bool) -> Kernel:
    types = tuple(node.attrs["component_types"])
    source = source_of(node, 0)

    def dequeue_many(run: Any, queue: Queue, count: Any) -> Any:
        _check_types(queue, types)
        if queue.config.shapes is None:
            raise InvalidArgumentError(
                None,
                None,
                f"{queue.config.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes: "
                f"give the queue {queue.name!r} its shapes.",
            )
        taken = queue.dequeue(run, int(count), up_to, lambda: check_runners(source, run.store))
        batch = queue.batch(taken)
        return batch if len(batch) > 1 else batch[0]

    return dequeue_many


kernel("QueueDequeueManyV2", stateful=True)(partial(_dequeue_many, up_to=False))
kernel("QueueDequeueUpToV2", stateful=True)(partial(_dequeue_many, up_to=True))


@kernel("QueueCloseV2", stateful=True)
def _close(node: Node) -> Kernel:
    cancel = node.attrs["cancel_pending_enqueues"]
    return lambda run, queue: queue.close(run, cancel)


@kernel("QueueIsClosedV2")
def _is_closed(node: Node) -> Kernel:
    return lambda queue: np.bool_(queue.closed)


@kernel("QueueSizeV2")
def _size(node: Node) -> Kernel:
    return lambda queue: np.int32(queue.size)

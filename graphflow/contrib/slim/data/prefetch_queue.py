"""A queue of batches that threads fill beforehand (tf.contrib.slim.prefetch_queue)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import graphflow.train as train
from graphflow._core.ops.io.queues import FIFOQueue, PaddingFIFOQueue
from graphflow._core.ops.state.scopes import name_scope
from graphflow.contrib.slim.data.parallel_reader import how_full

__all__ = ["prefetch_queue"]


def prefetch_queue(
    tensors: Mapping[str, Any] | Sequence[Any],
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """A queue that a queue runner fills with tensors beforehand (tf.contrib.slim.prefetch_queue.prefetch_queue).

    Args:
        tensors: A list or a dictionary of tensors.
        capacity: How many batches may wait.
        num_threads: How many threads fill it.
        dynamic_pad: Whether sizes may differ from batch to batch.
        shared_name: Queues of one shared name are one.
        name: A name for the operations.

    Returns:
        The queue, whose `dequeue` gives what was put into it.
    """
    names = sorted(tensors) if isinstance(tensors, Mapping) else None
    listed = [tensors[one] for one in names] if isinstance(tensors, Mapping) and names else list(tensors)
    with name_scope(name or "prefetch_queue"):
        make = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue: Any = make(
            capacity,
            [one.dtype for one in listed],
            [one.shape for one in listed],
            names=names,
            shared_name=shared_name,
        )
        train.add_queue_runner(train.QueueRunner(queue, [queue.enqueue(tensors)] * num_threads))
        how_full(queue, capacity)
        return queue

"""A graph's queue runners for the length of a block (tf.contrib.slim.queues)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphflow._core.graph.types import SessionLike
from graphflow.train.coordinator import Coordinator
from graphflow.train.queue_runner import start_queue_runners


@contextmanager
def QueueRunners(session: SessionLike) -> Iterator[None]:
    """Starts the threads of the graph's queue runners, and stops them at the end of the block.

    TensorFlow: tf.contrib.slim.queues.QueueRunners. Raises what a thread failed with at the end.

    Args:
        session: The session.
    """
    coordinator = Coordinator()
    threads = start_queue_runners(session, coordinator)
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads)

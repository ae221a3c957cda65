"""Batches of examples of a kind: each has a queue of its own, from which whole batches go into one that is read."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.control_flow.flow_basics import group, no_op
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.io.queues import FIFOQueue, PaddingFIFOQueue
from graphflow._core.ops.io.summaries import scalar
from graphflow._core.ops.math.comparison import equal, less, less_equal, logical_and
from graphflow._core.ops.math.math import cast
from graphflow._core.ops.math.reductions import reduce_min
from graphflow.errors import CancelledError, OutOfRangeError
from graphflow.train.queue_runner import QueueRunner, add_queue_runner
from graphflow.train.sparse_components import SparseComponent, in_form_of, listed, queued, restored


def bucket(
    tensors: Any,
    which_bucket: IntTensorLike,
    batch_size: IntTensorLike | Sequence[IntTensorLike],
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: TensorLike = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Batches whose examples are all of one bucket (tf.contrib.training.bucket).

    Args:
        tensors: A list or dictionary, one example.
        which_bucket: The bucket of the example, a scalar in [0, num_buckets).
        batch_size: How many examples a batch has, or a list with that for each bucket.
        num_buckets: How many buckets there are.
        num_threads: How many threads enqueue.
        capacity: How many batches wait at most, and how many examples in each bucket.
        bucket_capacities: How many examples wait in each bucket instead.
        shapes: Of an example's tensors; by default theirs.
        dynamic_pad: Whether examples of different sizes are padded with zeros to the largest of a batch.
        allow_smaller_final_batch: Whether the last batch of each bucket may have fewer examples.
        keep_input: Whether to enqueue the example, a scalar bool.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operations.

    Returns:
        The bucket of the batch, an int32 scalar, and the batch in the form of `tensors`.

    Raises:
        ValueError: There are no tensors, or a list does not have an item for each bucket.
    """
    components = listed(tensors)
    sizes = list(batch_size) if isinstance(batch_size, list | tuple) else [batch_size] * num_buckets
    capacities = [capacity] * num_buckets if bucket_capacities is None else list(bucket_capacities)
    for what, found in (("batch_size", sizes), ("bucket_capacities", capacities)):
        if len(found) != num_buckets:
            raise ValueError(
                f"If {what} is a list it must have num_buckets elements, got {len(found)} vs. {num_buckets}."
            )
    if not components:
        raise ValueError("Expected at least one tensor in bucket().")
    with op_scope(name, "bucket", [*components, which_bucket]):
        sparse = [SparseComponent.of([tensor], False) for tensor in components]
        values = [queued(tensor, False) for tensor in components]
        keep = convert_to_tensor(keep_input)
        size_tensors = [convert_to_tensor(s, dtype=dtypes.int32, name="batch_size") for s in sizes]
        types = [value.dtype for value in values]
        found_shapes = [value.shape.as_list() for value in values] if shapes is None else shapes
        wanted = [s if d is None else [3] for s, d in zip(found_shapes, sparse, strict=True)]
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            kind(room, types, wanted, None, _part(shared_name, i), name=f"bucket_queue_{i}")
            for i, room in enumerate(capacities)
        ]
        known = {None if c is None else int(c) for c in map(constant_value, size_tensors)}
        rows = known.pop() if len(known) == 1 and not allow_smaller_final_batch else None
        top = PaddingFIFOQueue(
            capacity,
            [dtypes.int32, *types],
            [[], *([rows, *shape] for shape in wanted)],
            None,
            shared_name,
            name="top_queue",
        )

        def put() -> Operation:
            puts = [
                smart_cond(
                    equal(which_bucket, i),
                    functools.partial(queue.enqueue, values, name=f"bucket_queue_{i}_enqueue"),
                    no_op,
                )
                for i, queue in enumerate(queues)
            ]
            return group(*(p.op if isinstance(p, Tensor) else p for p in puts), name="group_enqueues")

        incoming = smart_cond(keep, put, no_op)
        through = []
        for i, (queue, size) in enumerate(zip(queues, size_tensors, strict=True)):
            take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
            taken = take(size, name=f"read_bucket_{i}")
            batch = taken if isinstance(taken, list) else [taken]
            through.append(top.enqueue([np.array(i, np.int32), *batch], name=f"enqueue_from_bucket_{i}"))
        ended = (OutOfRangeError, CancelledError)
        add_queue_runner(QueueRunner(top, through, queue_closed_exception_types=ended))
        add_queue_runner(
            QueueRunner(
                queues[0],
                [incoming] * num_threads,
                close_op=group(*(queue.close() for queue in queues)),
                cancel_op=group(*(queue.close(cancel_pending_enqueues=True) for queue in queues)),
                queue_closed_exception_types=ended,
            )
        )
        for queue in queues:
            scalar(f"bucket/{queue.name}/size", cast(queue.size(), dtypes.float32))
        full = cast(top.size(), dtypes.float32) * (1.0 / capacity)
        scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", full)
        which, *rest = top.dequeue(name="dequeue_top")
        return which, in_form_of(tensors, restored(rest, sparse))


def bucket_by_sequence_length(
    input_length: IntTensorLike,
    tensors: Any,
    batch_size: IntTensorLike | Sequence[IntTensorLike],
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: TensorLike = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Batches whose examples are about as long as one another (tf.contrib.training.bucket_by_sequence_length).

    Args:
        input_length: The length of the example, a scalar of int32.
        tensors: A list or dictionary, one example.
        batch_size: How many examples a batch has, or a list with that for each bucket.
        bucket_boundaries: The lengths with which the buckets behind the first one begin, rising integers.
        num_threads: How many threads enqueue.
        capacity: How many batches wait at most, and how many examples in each bucket.
        bucket_capacities: How many examples wait in each bucket instead.
        shapes: Of an example's tensors; by default theirs.
        dynamic_pad: Whether examples of different sizes are padded with zeros to the largest of a batch.
        allow_smaller_final_batch: Whether the last batch of each bucket may have fewer examples.
        keep_input: Whether to enqueue the example, a scalar bool.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operations.

    Returns:
        The lengths of the batch's examples, and the batch in the form of `tensors`.

    Raises:
        TypeError: A boundary is no integer.
        ValueError: There are no boundaries, or they do not rise.
    """
    boundaries = list(bucket_boundaries)
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for boundary in boundaries:
        if not isinstance(boundary, int | np.integer):
            raise TypeError(f"bucket boundaries must be integers, but saw: {boundary}")
    for low, high in itertools.pairwise(boundaries):
        if low >= high:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}"
            )
    components = listed(tensors)
    with op_scope(name, "bucket_by_sequence_length", [*components, input_length]):
        length = convert_to_tensor(input_length, dtype=dtypes.int32, name="input_length")
        limits = np.iinfo(np.int32)
        inside = logical_and(
            less_equal(np.array([limits.min, *boundaries], np.int32), length),
            less(length, np.array([*boundaries, limits.max], np.int32)),
        )
        which = cast(reduce_min(where(inside)), dtypes.int32)
        wanted = None if shapes is None else [[], *shapes]
        _, (lengths, *batches) = bucket(
            [length, *components], which, batch_size, len(boundaries) + 1, num_threads, capacity, bucket_capacities,
            wanted, dynamic_pad, allow_smaller_final_batch, keep_input, shared_name,
        )  # fmt: skip
        return lengths, in_form_of(tensors, batches)


def _part(shared_name: str | None, number: int) -> str | None:
    return None if shared_name is None else f"{shared_name}_bucket_{number}"

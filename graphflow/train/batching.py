"""Batches by queues: examples are put into a queue by threads of a QueueRunner and taken from it many at a time.

They stay for programs that have them; gf.data does the same with less.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.io.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from graphflow._core.ops.io.summaries import scalar as scalar_summary
from graphflow._core.ops.math.math import cast, maximum
from graphflow._core.ops.math.segments import dynamic_partition
from graphflow.train.queue_runner import QueueRunner, add_queue_runner
from graphflow.train.sparse_components import SparseComponent, in_form_of, listed, queued, restored


def batch(
    tensors: Any,
    batch_size: IntTensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the tensors, collected in a queue by a QueueRunner (tf.train.batch).

    The batches end with OutOfRangeError when the input does; with `allow_smaller_final_batch` the last one
    holds what is left.

    Args:
        tensors: A list or dictionary, one example, or several along the first axis with `enqueue_many`. The
            result is alike, a single tensor for a list of one.
        batch_size: How many examples a batch has.
        num_threads: With more than one the order is no longer fixed.
        capacity: How many elements the queue holds at most.
        enqueue_many: Whether the tensors hold several examples, along their first axis.
        shapes: Of an example, by default those of the tensors, which have to be known (ValueError); with
            `dynamic_pad` sizes may be None, and examples are filled up with zeros to the largest of their
            batch.
        dynamic_pad: Whether examples of different sizes are padded with zeros to the largest of a batch.
        allow_smaller_final_batch: Whether the last batch may have fewer examples.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """
    return _batch(
        tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_batch(
    tensors: Any,
    keep_input: TensorLike,
    batch_size: IntTensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the examples for which `keep_input` is true (tf.train.maybe_batch); see batch.

    It is a bool, or with `enqueue_many` a vector of one for each example.

    Args:
        tensors: A list or dictionary of tensors.
        keep_input: Whether to enqueue the example, a bool or a scalar bool tensor.
        batch_size: How many examples a batch has.
        num_threads: How many threads enqueue.
        capacity: How many elements the queue holds at most.
        enqueue_many: Whether the tensors hold several examples, along their first axis.
        shapes: Of an example's tensors; by default theirs.
        dynamic_pad: Whether examples of different sizes are padded with zeros to the largest of a batch.
        allow_smaller_final_batch: Whether the last batch may have fewer examples.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """
    return _batch(
        tensors, keep_input, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: IntTensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of examples from several sources, each in a thread of its own (tf.train.batch_join); see batch.

    Args:
        tensors_list: A list of such lists or dictionaries, one for each source.
        batch_size: How many examples a batch has.
        capacity: How many elements the queue holds at most.
        enqueue_many: Whether the tensors hold several examples, along their first axis.
        shapes: Of an example's tensors; by default theirs.
        dynamic_pad: Whether examples of different sizes are padded with zeros to the largest of a batch.
        allow_smaller_final_batch: Whether the last batch may have fewer examples.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """
    return _batch_join(
        tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
        shared_name, name,
    )  # fmt: skip


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: TensorLike,
    batch_size: IntTensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """batch_join with the condition of maybe_batch (tf.train.maybe_batch_join).

    Args:
        tensors_list: A list of such lists or dictionaries, one for each source.
        keep_input: Whether to enqueue the example, a bool or a scalar bool tensor.
        batch_size: How many examples a batch has.
        capacity: How many elements the queue holds at most.
        enqueue_many: Whether the tensors hold several examples, along their first axis.
        shapes: Of an example's tensors; by default theirs.
        dynamic_pad: Whether examples of different sizes are padded with zeros to the largest of a batch.
        allow_smaller_final_batch: Whether the last batch may have fewer examples.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """
    return _batch_join(
        tensors_list, keep_input, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def shuffle_batch(
    tensors: Any,
    batch_size: IntTensorLike,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches in random order (tf.train.shuffle_batch).

    min_after_dequeue examples stay behind to be mixed with those that come. The rest as for batch.

    Args:
        tensors: A list or dictionary of tensors.
        batch_size: How many examples a batch has.
        capacity: How many elements the queue holds at most.
        min_after_dequeue: How many examples stay behind to be mixed.
        num_threads: How many threads enqueue.
        seed: The op's own seed; with the graph's it decides what is drawn.
        enqueue_many: Whether the tensors hold several examples, along their first axis.
        shapes: Of an example's tensors; by default theirs.
        allow_smaller_final_batch: Whether the last batch may have fewer examples.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.

    Raises:
        ValueError: If capacity is not larger.
    """
    return _shuffle_batch(
        tensors, True, batch_size, capacity, min_after_dequeue, num_threads, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: IntTensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """shuffle_batch with the condition of maybe_batch (tf.train.maybe_shuffle_batch).

    Args:
        tensors: A list or dictionary of tensors.
        batch_size: How many examples a batch has.
        capacity: How many elements the queue holds at most.
        min_after_dequeue: How many examples stay behind to be mixed.
        keep_input: Whether to enqueue the example, a bool or a scalar bool tensor.
        num_threads: How many threads enqueue.
        seed: The op's own seed; with the graph's it decides what is drawn.
        enqueue_many: Whether the tensors hold several examples, along their first axis.
        shapes: Of an example's tensors; by default theirs.
        allow_smaller_final_batch: Whether the last batch may have fewer examples.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """
    return _shuffle_batch(
        tensors, keep_input, batch_size, capacity, min_after_dequeue, num_threads, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: IntTensorLike,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """shuffle_batch of examples from several sources (tf.train.shuffle_batch_join); see batch_join.

    Args:
        tensors_list: A list of such lists or dictionaries, one for each source.
        batch_size: How many examples a batch has.
        capacity: How many elements the queue holds at most.
        min_after_dequeue: How many examples stay behind to be mixed.
        seed: The op's own seed; with the graph's it decides what is drawn.
        enqueue_many: Whether the tensors hold several examples, along their first axis.
        shapes: Of an example's tensors; by default theirs.
        allow_smaller_final_batch: Whether the last batch may have fewer examples.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """
    return _shuffle_batch_join(
        tensors_list, True, batch_size, capacity, min_after_dequeue, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: IntTensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """shuffle_batch_join with the condition of maybe_batch (tf.train.maybe_shuffle_batch_join).

    Args:
        tensors_list: A list of such lists or dictionaries, one for each source.
        batch_size: How many examples a batch has.
        capacity: How many elements the queue holds at most.
        min_after_dequeue: How many examples stay behind to be mixed.
        keep_input: Whether to enqueue the example, a bool or a scalar bool tensor.
        seed: The op's own seed; with the graph's it decides what is drawn.
        enqueue_many: Whether the tensors hold several examples, along their first axis.
        shapes: Of an example's tensors; by default theirs.
        allow_smaller_final_batch: Whether the last batch may have fewer examples.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """
    return _shuffle_batch_join(
        tensors_list, keep_input, batch_size, capacity, min_after_dequeue, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


# ---- how they are built ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Examples:
    """The examples that are put into the queue: for each source its tensors, and the condition."""

    sources: list[list[Tensor]]
    keep: Tensor
    many: bool
    types: list[DType]
    shapes: list[Any]
    sparse: list[SparseComponent | None]
    """Those that are SparseTensors: the queue holds three strings for them."""

    @staticmethod
    def of(sources: Sequence[Any], keep_input: Any, many: bool, shapes: Any) -> _Examples:
        if not all(sources):
            raise ValueError("Expected at least one tensor in batch().")
        sparse = [SparseComponent.of(column, many) for column in zip(*sources, strict=True)]
        converted = [[queued(t, many) for t in tensors] for tensors in sources]
        keep = _condition(keep_input, many)
        types = [t.dtype for t in converted[0]]
        for tensors in converted[1:]:
            if [t.dtype for t in tensors] != types:
                raise TypeError(
                    f"Expected types to be consistent: {', '.join(d.name for d in types)} vs. "
                    f"{', '.join(t.dtype.name for t in tensors)}."
                )
        found = (
            [_example_shape(column, many) for column in zip(*converted, strict=True)]
            if shapes is None
            else shapes
        )
        wanted = [s if d is None else [3] for s, d in zip(found, sparse, strict=True)]
        return _Examples(converted, keep, many, types, wanted, sparse)

    def fill(self, queue: QueueBase, threads: int) -> None:
        """Adds the QueueRunner that puts the examples into the queue, each source by so many threads."""
        put = queue.enqueue_many if self.many else queue.enqueue
        operations: list[Operation] = []
        for tensors in self.sources:
            if self.keep.shape.ndims == 1:
                chosen = cast(self.keep, dtypes.int32)
                operation = put([dynamic_partition(t, chosen, 2)[1] for t in tensors])
            else:
                operation = smart_cond(self.keep, functools.partial(put, tensors), no_op)
            operations += [operation] * threads
        add_queue_runner(QueueRunner(queue, operations))


def _batch(
    tensors: Any, keep_input: Any, batch_size: Any, threads: int, capacity: int, many: bool, shapes: Any, pad: bool,
    smaller: bool, shared_name: str | None, name: str | None,
) -> Any:  # fmt: skip
    with op_scope(name, "batch", [*listed(tensors), keep_input]) as scope:
        examples = _Examples.of([listed(tensors)], keep_input, many, shapes)
        queue = (PaddingFIFOQueue if pad else FIFOQueue)(
            capacity, examples.types, examples.shapes, None, shared_name
        )
        examples.fill(queue, threads)
        _fullness(queue, capacity)
        return _taken(queue, batch_size, smaller, scope, tensors, examples.sparse)


def _batch_join(
    tensors_list: Sequence[Any], keep_input: Any, batch_size: Any, capacity: int, many: bool, shapes: Any, pad: bool,
    smaller: bool, shared_name: str | None, name: str | None,
) -> Any:  # fmt: skip
    sources = _sources(tensors_list)
    with op_scope(name, "batch_join", [*(t for s in sources for t in s), keep_input]) as scope:
        examples = _Examples.of(sources, keep_input, many, shapes)
        queue = (PaddingFIFOQueue if pad else FIFOQueue)(
            capacity, examples.types, examples.shapes, None, shared_name
        )
        examples.fill(queue, 1)
        _fullness(queue, capacity)
        return _taken(queue, batch_size, smaller, scope, tensors_list[0], examples.sparse)


def _shuffle_batch(
    tensors: Any, keep_input: Any, batch_size: Any, capacity: int, least: int, threads: int, seed: int | None,
    many: bool, shapes: Any, smaller: bool, shared_name: str | None, name: str | None,
) -> Any:  # fmt: skip
    with op_scope(name, "shuffle_batch", [*listed(tensors), keep_input]) as scope:
        _check_capacity(capacity, least)
        examples = _Examples.of([listed(tensors)], keep_input, many, shapes)
        queue = RandomShuffleQueue(capacity, least, examples.types, examples.shapes, None, seed, shared_name)
        examples.fill(queue, threads)
        _fullness(queue, capacity, least)
        return _taken(queue, batch_size, smaller, scope, tensors, examples.sparse)


def _shuffle_batch_join(
    tensors_list: Sequence[Any], keep_input: Any, batch_size: Any, capacity: int, least: int, seed: int | None,
    many: bool, shapes: Any, smaller: bool, shared_name: str | None, name: str | None,
) -> Any:  # fmt: skip
    sources = _sources(tensors_list)
    with op_scope(name, "shuffle_batch_join", [*(t for s in sources for t in s), keep_input]) as scope:
        _check_capacity(capacity, least)
        examples = _Examples.of(sources, keep_input, many, shapes)
        queue = RandomShuffleQueue(capacity, least, examples.types, examples.shapes, None, seed, shared_name)
        examples.fill(queue, 1)
        _fullness(queue, capacity, least)
        return _taken(queue, batch_size, smaller, scope, tensors_list[0], examples.sparse)


def _sources(tensors_list: Sequence[Any]) -> list[list[Any]]:
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    first = tensors_list[0]
    if isinstance(first, Mapping) and any(set(tensors) != set(first) for tensors in tensors_list):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [listed(tensors) for tensors in tensors_list]


def _condition(keep_input: Any, many: bool) -> Tensor:
    keep = convert_to_tensor(keep_input)
    if keep.shape.ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if keep.shape.ndims == 1 and not many:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _example_shape(column: Sequence[Tensor], many: bool) -> list[int | None]:
    for tensor in column:
        if tensor.shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    found = [t.shape.with_rank_at_least(1)[1:] if many else t.shape for t in column]
    merged: TensorShape = found[0]
    for other in found[1:]:
        merged.merge_with(other)
    return merged.as_list()


def _check_capacity(capacity: int, least: int) -> None:
    if capacity <= least:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {least}.")


def _fullness(queue: QueueBase, capacity: int, least: int | None = None) -> None:
    """Adds a summary of how full the queue is."""
    if least is None:
        scalar_summary(f"fraction_of_{capacity}_full", cast(queue.size(), dtypes.float32) * (1.0 / capacity))
        return
    room = capacity - least
    full = cast(maximum(0, queue.size() - least), dtypes.float32) * (1.0 / room)
    scalar_summary(f"fraction_over_{least}_of_{room}_full", full)


def _taken(
    queue: QueueBase,
    batch_size: Any,
    smaller: bool,
    scope: str,
    like: Any,
    sparse: Sequence[SparseComponent | None],
) -> Any:
    """The batch, in the form of the tensors that were given."""
    take = queue.dequeue_up_to if smaller else queue.dequeue_many
    taken = take(batch_size, name=scope)
    return in_form_of(like, restored(taken, sparse))

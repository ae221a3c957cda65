"""Producers: queues that are filled, again and again, with the rows of a tensor, the start of a pipeline of queues.

Each adds a QueueRunner to the graph's collection, which gf.train.start_queue_runners starts. They stay for programs
that have them; gf.data does the same with less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import IntTensorLike, ShapeLike, TensorLike
from graphflow._core.ops.array.array import gather, shape, size
from graphflow._core.ops.array.creation import range_
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.io.files import matching_files
from graphflow._core.ops.io.queues import FIFOQueue, QueueBase
from graphflow._core.ops.io.summaries import scalar as scalar_summary
from graphflow._core.ops.math.math import cast, greater
from graphflow._core.ops.random import random_shuffle
from graphflow._core.ops.state.variable import Variable
from graphflow.train.queue_runner import QueueRunner, add_queue_runner


def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """The tensor, `num_epochs` times, and OutOfRangeError after that (tf.train.limit_epochs).

    It counts in a local variable `epochs`: run gf.local_variables_initializer() first. Without num_epochs it is the
    tensor itself.

    Args:
        tensor: A tensor.
        num_epochs: How often; None for ever.
        name: A name for the operation.

    Returns:
        The tensor.

    Raises:
        ValueError: If num_epochs is not positive.
    """
    if num_epochs is None:
        return convert_to_tensor(tensor)
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with op_scope(name, "limit_epochs", [tensor]) as scope:
        zero = constant(0, dtype=dtypes.int64)
        epochs = Variable(zero, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        with get_default_graph().control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: TensorLike,
    element_shape: ShapeLike = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """A queue of the rows of a tensor, which a QueueRunner fills again and again (tf.train.input_producer).

    Args:
        input_tensor: A tensor.
        element_shape: The shape of an element, if `input_tensor` does not say.
        num_epochs: End with OutOfRangeError after so many times; see limit_epochs.
        shuffle: Put the rows in random order, another one each time.
        seed: The op's own seed; with the graph's it decides what is drawn.
        capacity: How many elements the queue holds at most.
        shared_name: Resources of one shared name are one; by default the operation's name.
        summary_name: Of a summary of how full the queue is.
        name: A name for the operation.
        cancel_op: What ends the enqueues that wait; by default closing the queue.

    Raises:
        ValueError: If the shape of a row is not known, from the tensor or `element_shape`.
    """
    with op_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        row_shape = rows.shape.with_rank_at_least(1)[1:].merge_with(element_shape)
        if not row_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity, [rows.dtype], [row_shape], shared_name=shared_name, name=name or "fifo_queue"
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            scalar_summary(summary_name, cast(queue.size(), dtypes.float32) * (1.0 / capacity))
        return queue


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """A local variable with the names of the files that match, looked up when it is initialized.

    (tf.train.match_filenames_once.) So all epochs see the same files. Run gf.local_variables_initializer() first.

    Args:
        pattern: A pattern of names, or a vector of patterns.
        name: Of the variable.

    Returns:
        A variable of strings, of unknown length, sorted.
    """
    with op_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            matching_files(pattern),
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            validate_shape=False,
            name=scope,
        )


def string_input_producer(
    string_tensor: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """A queue of strings, such as names of files (tf.train.string_input_producer); see input_producer.

    Args:
        string_tensor: A vector of strings.
        num_epochs: How often the elements are given before OutOfRangeError; None for ever.
        shuffle: Whether each epoch has an order of its own.
        seed: The op's own seed; with the graph's it decides what is drawn.
        capacity: How many elements the queue holds at most.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
        cancel_op: What ends the enqueues that wait; by default closing the queue.

    Returns:
        The queue.

    Raises:
        ValueError: For an empty list.
        InvalidArgumentError: When a tensor turns out to be empty.
    """
    refused = "string_input_producer requires a non-null input tensor"
    given: Any = string_tensor
    if not isinstance(given, Tensor | Variable) and not len(given):
        raise ValueError(refused)
    with op_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=dtypes.string)
        with get_default_graph().control_dependencies([assert_(greater(size(strings), 0), [refused])]):
            strings = identity(strings)
        return input_producer(
            strings, [], num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", scope,
            cancel_op,
        )  # fmt: skip


def range_input_producer(
    limit: IntTensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue of the integers below `limit` (tf.train.range_input_producer); see input_producer.

    Args:
        limit: An int32 scalar.
        num_epochs: How often the elements are given before OutOfRangeError; None for ever.
        shuffle: Whether each epoch has an order of its own.
        seed: The op's own seed; with the graph's it decides what is drawn.
        capacity: How many elements the queue holds at most.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.

    Returns:
        The queue.
    """
    with op_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            range_(limit), [], num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full",
            scope,
        )  # fmt: skip


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """One row of each tensor, the same row of all (tf.train.slice_input_producer); see input_producer.

    Args:
        tensor_list: Tensors of equal first axis.
        num_epochs: How often the elements are given before OutOfRangeError; None for ever.
        shuffle: Whether each epoch has an order of its own.
        seed: The op's own seed; with the graph's it decides what is drawn.
        capacity: How many elements the queue holds at most.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.

    Returns:
        A row of each.
    """
    with op_scope(name, "input_producer", list(tensor_list)):
        if not tensor_list:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        tensors = [convert_to_tensor(t) for t in tensor_list]
        queue = range_input_producer(shape(tensors[0])[0], num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]

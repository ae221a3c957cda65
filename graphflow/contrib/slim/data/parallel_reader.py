"""Records of many files, which several readers put into one queue (tf.contrib.slim.parallel_reader)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graphflow.gfile as gfile
import graphflow.summary as summary
import graphflow.train as train
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.io.queues import FIFOQueue, RandomShuffleQueue
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.math import add_n
from graphflow._core.ops.state.scopes import name_scope

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]


class ParallelReader:
    """Several readers that put records into one queue (tf.contrib.slim.parallel_reader.ParallelReader).

    Args:
        reader_class: Makes a reader, such as gf.TFRecordReader.
        common_queue: A queue of pairs of strings.
        num_readers: How many readers there are.
        reader_kwargs: Arguments of the readers.

    Raises:
        TypeError: If the queue is of others.
    """

    def __init__(
        self,
        reader_class: Callable[..., Any],
        common_queue: Any,
        num_readers: int = 4,
        reader_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if [one.base_dtype for one in common_queue.dtypes] != [dtypes.string] * 2:
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._queue = common_queue

    @property
    def num_readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    @property
    def common_queue(self) -> Any:
        """The queue of the records."""
        return self._queue

    def read(self, queue: Any, name: str | None = None) -> list[Tensor]:
        """The next record; a queue runner fills the queue.

        Args:
            queue: A queue of the names of files.
            name: A name for the operation.

        Returns:
            The key and the value, two scalar strings.
        """
        self._fill_from(queue)
        found: list[Tensor] = self._queue.dequeue(name=name)
        return found

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> list[Tensor]:
        """The next records, fewer at the end.

        Args:
            queue: A queue of the names of files.
            num_records: How many at most.
            name: A name for the operation.

        Returns:
            The keys and the values, two vectors of strings.
        """
        self._fill_from(queue)
        found: list[Tensor] = self._queue.dequeue_up_to(num_records, name)
        return found

    def _fill_from(self, queue: Any) -> None:
        operations = [self._queue.enqueue(reader.read(queue)) for reader in self._readers]
        train.add_queue_runner(train.QueueRunner(self._queue, operations))

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records were read, an int64 scalar.

        Args:
            name: A name for the operation.
        """
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files were read, an int64 scalar.

        Args:
            name: A name for the operation.
        """
        return add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def parallel_read(
    data_sources: str | Sequence[str],
    reader_class: Callable[..., Any],
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Sequence[DTypeLike] | None = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> list[Tensor]:
    """The next record of many files, which several readers read (tf.contrib.slim.parallel_reader.parallel_read).

    Args:
        data_sources: Files, or patterns of their names.
        reader_class: Makes a reader, such as gf.TFRecordReader.
        num_epochs: How often all is read, which a local variable counts; None for without end.
        num_readers: How many readers there are.
        reader_kwargs: Arguments of the readers.
        shuffle: Whether files and records come in random order.
        dtypes: Those of key and value; strings by default.
        capacity: How many records may wait.
        min_after_dequeue: How many wait at least, of which one is drawn.
        seed: Of the random order.
        scope: A name for the operations.

    Returns:
        The key and the value, two scalar strings.

    Raises:
        ValueError: If there is no file.
    """
    files = get_data_files(data_sources)
    with name_scope(scope or "parallel_read"):
        names = train.string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        types = list(dtypes or _STRINGS)
        queue: Any
        if shuffle:
            queue = RandomShuffleQueue(capacity, min_after_dequeue, types, seed=seed, name="common_queue")
        else:
            queue = FIFOQueue(capacity, types, name="common_queue")
        how_full(queue, capacity)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


_STRINGS = (dtypes.string, dtypes.string)


def how_full(queue: Any, capacity: int) -> None:
    """A summary of the part of a queue that is taken."""
    summary.scalar(f"fraction_of_{capacity}_full", cast(queue.size(), dtypes.float32) * (1.0 / capacity))


def single_pass_read(
    data_sources: str | Sequence[str],
    reader_class: Callable[..., Any],
    reader_kwargs: Mapping[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """The next record of files that are read once, in order (tf.contrib.slim.parallel_reader.single_pass_read).

    Args:
        data_sources: Files, or patterns of their names.
        reader_class: Makes a reader, such as gf.TFRecordReader.
        reader_kwargs: Arguments of the reader.
        scope: A name for the operations.

    Returns:
        The key and the value, two scalar strings.
    """
    files = get_data_files(data_sources)
    with name_scope(scope or "single_pass_read"):
        names = train.string_input_producer(files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: str | Sequence[str]) -> list[str]:
    """The files that names and patterns stand for (tf.contrib.slim.parallel_reader.get_data_files).

    Args:
        data_sources: A name, or a pattern such as "train-*", or a list of these.

    Returns:
        The names of files.

    Raises:
        ValueError: If there are none.
    """
    if isinstance(data_sources, list | tuple):
        found = [file for source in data_sources for file in get_data_files(source)]
    else:
        source = str(data_sources)
        found = gfile.Glob(source) if any(sign in source for sign in "*?[") else [source]
    if not found:
        raise ValueError(f"No data files found in {data_sources}")
    return found

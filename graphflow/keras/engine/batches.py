"""Where batches come from: arrays, generators, sequences and datasets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import graphflow.errors as errors
import graphflow.logging as logging
from graphflow._core.graph.defaults import get_default_graph
from graphflow.data.dataset import Dataset
from graphflow.data.iterators import Iterator as DatasetIterator
from graphflow.keras.backend import state
from graphflow.keras.utils.sequences import Enqueued, is_sequence

Batch = tuple[int, list[Any]]
"""How many examples, and the arrays to feed."""


class ArrayBatches:
    """Batches of arrays, shuffled before each epoch.

    shuffle: False, True, or "batch", which keeps the examples of a batch together.
    """

    def __init__(self, arrays: Sequence[Any], size: int, shuffle: Any, steps: int | None = None) -> None:
        self._arrays = list(arrays)
        self._size = size
        self._shuffle = shuffle
        self.samples: int | None = len(arrays[0]) if arrays else 0
        self.steps: int | None = steps

    def epoch(self) -> Iterator[Batch]:
        """The batches of an epoch."""
        count = self.samples or 0
        if self.steps is not None:  # Whole arrays, as often as was asked.
            for _ in range(self.steps):
                yield count, self._arrays
            return
        order = np.arange(count)
        if self._shuffle == "batch":
            order = _by_batches(order, self._size)
        elif self._shuffle:
            np.random.shuffle(order)
        for begin in range(0, count, self._size):
            rows = order[begin : begin + self._size]
            if len(rows) == count and not self._shuffle:
                yield count, self._arrays
            elif self._shuffle:
                yield len(rows), [a[rows] for a in self._arrays]
            else:
                yield len(rows), [a[begin : begin + self._size] for a in self._arrays]

    def close(self) -> None:
        """Nothing."""


def _by_batches(order: Any, size: int) -> Any:
    whole = len(order) // size
    rows = order[: whole * size].reshape(whole, size)
    np.random.shuffle(rows)
    return np.append(rows.reshape(-1), order[whole * size :])


class DatasetBatches:
    """Batches of a dataset, an element each; begun anew at each epoch if the steps of one are not said."""

    def __init__(self, dataset: Any, steps: int | None, prepare: Callable[[Any], Batch]) -> None:
        self.samples: int | None = None
        self.steps = steps
        self._prepare = prepare
        self._whole = steps is None
        if isinstance(dataset, Dataset):
            with get_default_graph().control_dependencies(None):
                iterator = dataset.make_initializable_iterator()
            self._initializer: Any = iterator.initializer
        else:
            iterator, self._initializer = dataset, None
        self._element = iterator.get_next()
        self._fresh = False

    def epoch(self) -> Iterator[Batch]:
        """The batches of an epoch."""
        session = state.get_session()
        if self._initializer is not None and (self._whole or not self._fresh):
            session.run(self._initializer)
            self._fresh = True
        done = 0
        while self.steps is None or done < self.steps or self._whole:
            try:
                element = session.run(self._element)
            except errors.OutOfRangeError:
                if self._whole and done:
                    self.steps = done
                    return
                of = "" if self._whole else f" of {self.steps}"
                logging.warning(
                    "The dataset ended after %d%s steps of an epoch; so does training. Dataset.repeat() gives more.",
                    done, of,
                )  # fmt: skip
                raise StopTraining from None
            done += 1
            yield self._prepare(element)

    def close(self) -> None:
        """Nothing."""


class StopTraining(Exception):
    """There is no more data."""


class GeneratorBatches:
    """Batches of a generator or a Sequence, made ahead by threads or processes."""

    def __init__(
        self,
        source: Any,
        steps: int | None,
        prepare: Callable[[Any], Batch],
        shuffle: bool,
        workers: int,
        processes: bool,
        ahead: int,
    ) -> None:
        self.samples: int | None = None
        if steps is None and is_sequence(source):
            steps = len(source)
        if steps is None:
            raise ValueError(
                "When the data is a generator, say the steps of an epoch: steps_per_epoch for training, steps for "
                "evaluation and prediction, validation_steps for validation."
            )
        self.steps = steps
        self._prepare = prepare
        self._batches = Enqueued(source, shuffle, workers, processes, ahead)

    def epoch(self) -> Iterator[Batch]:
        """The batches of an epoch."""
        for done in range(self.steps or 0):
            try:
                given = next(self._batches)
            except StopIteration:
                logging.warning(
                    "Your generator ran out of data after %d of %d steps; training ends.", done, self.steps
                )
                raise StopTraining from None
            yield self._prepare(given)

    def close(self) -> None:
        """Ends what makes batches ahead."""
        self._batches.close()


def is_stream(data: Any) -> bool:
    """Whether data is a dataset, an iterator of one, a generator or a Sequence."""
    return is_dataset(data) or is_sequence(data) or inspect.isgenerator(data) or _is_iterator(data)


def is_dataset(data: Any) -> bool:
    """Whether data is a dataset, or an iterator of one."""
    return isinstance(data, Dataset | DatasetIterator)


def _is_iterator(data: Any) -> bool:
    return hasattr(data, "__next__") and not isinstance(data, np.ndarray)

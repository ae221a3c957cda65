"""Sequence, and batches that are made ahead (tf.keras.utils)."""

from __future__ import annotations

import multiprocessing
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any


class Sequence:
    """Batches by number, to be derived from (tf.keras.utils.Sequence): `__getitem__` and `__len__`."""

    def __getitem__(self, index: int) -> Any:
        """The batch at a number."""
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__.")

    def __len__(self) -> int:
        """The number of batches."""
        raise NotImplementedError(f"{type(self).__name__} does not define __len__.")

    def on_epoch_end(self) -> None:
        """After an epoch."""

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]


def is_sequence(data: Any) -> bool:
    """Whether data is a Sequence, or one of the package keras."""
    return isinstance(data, Sequence) or (
        hasattr(data, "__getitem__") and hasattr(data, "__len__") and hasattr(data, "on_epoch_end")
    )


def _at(source: Any, index: int) -> Any:
    return source[index]


class Enqueued:
    """The batches of a generator or Sequence, some made ahead by threads or processes.

    A generator is asked by one thread alone. A Sequence gives its batches in order, or shuffled anew each time round.
    """

    def __init__(self, source: Any, shuffle: bool, workers: int, processes: bool, ahead: int) -> None:
        self._source = source
        self._shuffle = shuffle
        self._ahead = max(ahead, 1)
        self._pending: deque[Future[Any]] = deque()
        self._order: deque[int] = deque()
        self._lock = threading.Lock()
        self._pool: Any = None
        self._indexed = is_sequence(source)
        if workers > 0 and (self._indexed or not processes):
            if processes and self._indexed:
                context = multiprocessing.get_context("fork")
                self._pool = ProcessPoolExecutor(workers, mp_context=context)
            else:
                self._pool = ThreadPoolExecutor(workers if self._indexed else 1)

    def _next_index(self) -> int:
        if not self._order:
            order = list(range(len(self._source)))
            if self._shuffle:
                random.shuffle(order)
            self._order.extend(order)
        return self._order.popleft()

    def _ask(self) -> Callable[[], Any]:
        if not self._indexed:
            return lambda: next(self._source)
        index = self._next_index()
        if not self._order:
            # What the program does between epochs comes before the next one's batches are asked for.
            found = self._source[index] if self._pool is None else None
            if found is not None:
                self._source.on_epoch_end()
                return lambda: found
        return lambda: self._source[index]

    def __next__(self) -> Any:
        if self._pool is None:
            return self._ask()()
        while len(self._pending) < self._ahead:
            if not self._indexed:
                self._pending.append(self._pool.submit(_next_of, self._source, self._lock))
                continue
            index = self._next_index()
            self._pending.append(self._pool.submit(_at, self._source, index))
            if not self._order:
                self._pending[-1].add_done_callback(lambda _: self._source.on_epoch_end())
                break
        found = self._pending.popleft().result()
        if found is _END:
            raise StopIteration
        return found

    def close(self) -> None:
        """Ends the threads or processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


class _End:
    """Stands for the end of a generator, which a thread cannot raise."""


_END = _End()


def _next_of(source: Any, lock: threading.Lock) -> Any:
    with lock:
        return next(source, _END)

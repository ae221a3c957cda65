"""Readers: take names of files from a queue and return the records of these files, one at a time.

A reader lives in the store like a queue. One run reads at a time, the others wait for their turn. A reader waits for a
name in the queue as a dequeue does.

A run on a task of a cluster may be given up after records were taken for it. They go back, and are the next ones
(runtime/context.py). The name of a file that was taken from the queue stays with the reader, with the file's records.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.resources.compressed import open_to_read, read_lines, read_whole, reading_errors
from graphflow._core.resources.queues import Queue
from graphflow._core.resources.records import read_records
from graphflow.errors import DataLossError

Record: TypeAlias = tuple[bytes, bytes]
"""Key and value."""
Split: TypeAlias = Callable[[str], Iterator[Record]]
"""The records of a file."""
_Taken: TypeAlias = tuple[int, int, Record]
"""A record, after its number among all and that of its file."""


class Reader:
    """One reader; `split` gives the records of a file, the key without the name. Thread-safe; Saveable."""

    def __init__(self, name: str, split: Split) -> None:
        self.name = name
        self._split = split
        self._condition = Condition()
        self._busy = False
        self._work = ""
        self._given = 0
        self._records: Iterator[Record] | None = None
        self._file = 0
        """How many files were begun."""
        self._taken = 0
        """How many records were taken from files."""
        self._life = 0
        """How often it began again. Records that were taken before that do not come back."""
        self._returned: list[_Taken] = []
        """A heap of the records that came back; only the run whose turn it is takes from it."""
        self._waits_at: Queue | None = None
        self.produced = 0
        self.completed = 0

    def read(
        self, run: Any, queue: Queue, most: int, stall_check: Callable[[], None] | None = None
    ) -> list[Record]:
        """The next records, at most so many, and never of two files; waits for a file's name in the queue.

        OutOfRangeError if the queue is closed and empty; NotFoundError and DataLossError of a file, after which the
        next one is read. stall_check: as for Queue.dequeue.
        """
        run.store.wait(self._condition, self._claim, run, lambda: f"its turn at the reader {self.name!r}")
        life = self._life
        try:
            while not (found := self._first_returned(most)):
                if self._records is None:
                    self._await_file(run, queue, stall_check)
                    continue
                records = self._next(most)
                found = [(self._taken + n, self._file, record) for n, record in enumerate(records, 1)]
                self._given += len(found)
                self._taken += len(found)
                if found:
                    break
                self._records = None
                self.completed += 1
            with self._condition:
                self.produced += len(found)
                run.took(partial(self._give_back, life, found))
            return [record for _, _, record in found]
        finally:
            with self._condition:
                self._busy = False
                if run.store.closed:
                    self._records = None
                self._condition.notify_all()

    def release(self) -> None:
        """Closes the open file because the store is closed: at once, or the run that is reading does."""
        with self._condition:
            if not self._busy:
                self._records = None

    def _await_file(self, run: Any, queue: Queue, stall_check: Callable[[], None] | None) -> None:
        """Begins the next file of the queue, unless a record comes back first."""
        self._waits_at = queue
        try:
            names = queue.dequeue(run, 1, stall_check=stall_check, instead=lambda: bool(self._returned))
        finally:
            self._waits_at = None
        for (name,) in names:
            self._begin(os.fsdecode(np.asarray(name, object).item()), 0)

    def _first_returned(self, most: int) -> list[_Taken]:
        """The first of the records that came back, at most so many, of one file."""
        found: list[_Taken] = []
        with self._condition:
            returned = self._returned
            while returned and len(found) < most and (not found or returned[0][1] == found[0][1]):
                found.append(heapq.heappop(returned))
        return found

    def _give_back(self, life: int, records: Sequence[_Taken]) -> None:
        """Takes records back, from any thread."""
        with self._condition:
            if life != self._life:
                return
            for record in records:
                heapq.heappush(self._returned, record)
            self.produced -= len(records)
            queue = self._waits_at
        if queue is not None:
            queue.wake()

    def _claim(self) -> bool | None:
        if self._busy:
            return None
        self._busy = True
        return True

    def _begin(self, work: str, skip: int) -> None:
        self._work, self._given = work, skip
        self._file += 1
        self._records = islice(self._split(work), skip, None)

    def _next(self, most: int) -> list[Record]:
        """The next records of the file, none at its end. If a record cannot be read, the file is given up."""
        records, self._records = self._records, None
        assert records is not None
        try:
            found = list(islice(records, most))
        except reading_errors as error:
            message = f"{self._work}: the file is damaged or cut off: {error}"
            raise DataLossError(None, None, message) from error
        self._records = records
        return found

    def reset(self) -> None:
        """Begins again, with nothing read."""
        with self._condition:
            self._records = None
            self._live_anew()
            self.produced = self.completed = 0

    def _live_anew(self) -> None:
        """From now on records that were taken before do not come back."""
        self._life += 1
        self._returned = []

    def get_state(self) -> Mapping[str, Any]:
        """The file that is being read, how many of its records were given, and the counts."""
        with self._condition:
            reading = self._records is not None
            state = {
                "work": np.array(os.fsencode(self._work) if reading else b"", object),
                "given": np.array(self._given if reading else -1),
                "counts": np.array([self.produced, self.completed]),
            }
            if self._returned:
                _, files, found = zip(*sorted(self._returned), strict=True)
                state["files"] = np.array(files)
                state["keys"], state["values"] = arrays(found)
            return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned; ValueError for anything that it cannot have returned."""
        work, given, counts = (np.asarray(state.get(key)) for key in ("work", "given", "counts"))
        text = work.item() if work.shape == () else None
        whole = (
            given.shape == ()
            and given.dtype.kind == "i"
            and counts.shape == (2,)
            and counts.dtype.kind == "i"
        )
        if not whole or not isinstance(text, bytes) or counts.min() < 0:
            raise ValueError(f"This is no state of the reader {self.name!r}.")
        returned = [np.atleast_1d(np.asarray(state.get(key, ()))) for key in ("files", "keys", "values")]
        if len({array.shape for array in returned}) > 1:
            raise ValueError(f"This is no state of the reader {self.name!r}.")
        with self._condition:
            self.produced, self.completed = (int(n) for n in counts)
            self._records = None
            self._live_anew()
            for file, key, value in zip(*(array.tolist() for array in returned), strict=True):
                self._taken += 1
                self._file = max(self._file, int(file))
                self._returned.append((self._taken, int(file), (key, value)))
            if given >= 0:
                self._begin(os.fsdecode(text), int(given))


def lines(skip: int) -> Split:
    """The lines of a text, without their ends, by number; the first `skip` are left out."""

    def split(path: str) -> Iterator[Record]:
        with open_to_read(path) as file:
            for number, line in enumerate(read_lines(file, path), 1):
                if number > skip:
                    yield _key(path, number), line

    return split


def records(compression: str) -> Split:
    """The records of a TFRecord file, by the byte they begin at."""

    def split(path: str) -> Iterator[Record]:
        offset = 0
        with open_to_read(path, compression) as file:
            for data in read_records(file, path):
                yield _key(path, offset), data
                offset += len(data) + 16

    return split


def whole(path: str) -> Iterator[Record]:
    """The file itself, by its name."""
    with open_to_read(path) as file:
        yield os.fsencode(path), read_whole(file, path)


def identity(path: str) -> Iterator[Record]:
    """The name itself."""
    yield os.fsencode(path), os.fsencode(path)


def blocks(header: int, size: int, footer: int, hop: int, compression: str) -> Split:
    """Blocks of `size` bytes, each `hop` after the last (0: after its end), between header and footer; by number."""

    def split(path: str) -> Iterator[Record]:
        with open_to_read(path, compression) as file:
            data = read_whole(file, path, compression)
        end, step = len(data) - footer, hop or size
        for number, start in enumerate(range(header, end - size + 1, step)):
            yield _key(path, number), data[start : start + size]

    return split


def _key(path: str, number: int) -> bytes:
    return os.fsencode(f"{path}:{number}")


def arrays(found: Sequence[Record]) -> tuple[Any, Any]:
    """Keys and values as vectors."""
    keys, values = np.empty(len(found), object), np.empty(len(found), object)
    for number, (key, value) in enumerate(found):
        keys[number], values[number] = key, value
    return keys, values

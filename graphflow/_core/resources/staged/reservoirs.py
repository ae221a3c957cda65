"""A reservoir of records: files read epoch after epoch into a buffer, of which records leave at random.

No record of an epoch comes before all of the epoch before have left. A run that takes and is given up puts its records
back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.common.records import dataclass
from graphflow._core.resources.compressed import open_to_read, reading_errors
from graphflow._core.resources.records import read_records
from graphflow.errors import DataLossError, NotFoundError, OpError, OutOfRangeError


@dataclass(frozen=True)
class ReservoirConfig:
    """Which files are read, and how they are mixed.

    shift: the part of the shuffled files by which the first one moves. size: how many records the buffer holds.
    """

    pattern: str
    seed: int
    shift: float
    size: int
    compression: str


class RecordReservoir:
    """Records of files that match a pattern, for ever, in an order that a seed decides. Thread-safe."""

    def __init__(self, config: ReservoirConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._random = np.random.Generator(np.random.Philox(config.seed))
        self._buffer: list[bytes] = []
        self._records: Iterator[bytes] = iter(())
        self._taken_back: list[bytes] = []

    def take(self, run: Any, count: int) -> list[bytes]:
        """So many records, of the next epoch if this one ends."""
        with self._lock:
            found: list[bytes] = []
            try:
                while len(found) < count:
                    found.append(self._taken_back.pop() if self._taken_back else self._next())
            except OpError:
                self._give_back(found)
                raise
            run.took(partial(self._give_back, found))
            return found

    def _give_back(self, records: Sequence[bytes]) -> None:
        # Called while the lock is held if the run is over already, and by another thread otherwise.
        self._taken_back += reversed(records)

    def _next(self) -> bytes:
        buffer = self._buffer
        self._fill()
        if not buffer:
            self._records = self._epoch()
            self._fill()
        if not buffer:
            raise OutOfRangeError(
                None, None, f"The files that match {self._config.pattern!r} hold no records."
            )
        place = int(self._random.integers(len(buffer)))
        buffer[place], buffer[-1] = buffer[-1], buffer[place]
        return buffer.pop()

    def _fill(self) -> None:
        while len(self._buffer) < self._config.size:
            record = next(self._records, None)
            if record is None:
                return
            self._buffer.append(record)

    def _epoch(self) -> Iterator[bytes]:
        """The records of all files, whose order is another in each epoch."""
        paths = storage.matching(user_path(self._config.pattern))
        if not paths:
            raise NotFoundError(None, None, f"Found no files at {self._config.pattern}")
        order = self._random.permutation(len(paths))
        for place in np.roll(order, -int(self._config.shift * len(paths))):
            yield from self._read(paths[place])

    def _read(self, path: str) -> Iterator[bytes]:
        with open_to_read(path, self._config.compression) as file:
            try:
                yield from read_records(file, path)
            except OpError:
                raise
            except reading_errors as error:
                raise DataLossError(None, None, f"{path} cannot be read: {error}") from error

"""Remembers the last runs of each program, which it may repeat (request_ids.py), in bounded memory.

A run belongs to a call of the program, such as one of a step function, which is repeated as a whole. A thread makes its
calls one after the other, in a line of calls. So only the last call of each line may be repeated, with all its runs:
when the next call comes, the client has all answers of the one before.

There may be more lines than are remembered, as programs end without saying so. Then the lines that were not heard of
for longest are forgotten, except for the fact that they were. If a run of a forgotten line is repeated, that is an
error, since nobody can tell what the first attempt has changed. A Bloom filter keeps the fact: it knows every forgotten
line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from hashlib import blake2b
from typing import Final, Generic, TypeVar

from graphflow._core.common.records import dataclass
from graphflow._core.common.request_ids import RunId
from graphflow.errors import AbortedError, DataLossError

MOST_LINES: Final = 4096
"""Lines of calls that are remembered, those that were heard of last."""
MOST_VALUES: Final = 1 << 20
"""Runs that are remembered, of all lines together."""
_FILTER_BITS: Final = 1 << 23
_HASHES: Final = 4


Value = TypeVar("Value")


@dataclass(slots=True)
class _Call(Generic[Value]):
    """The last call of a line. whole: whether nothing of it may have been forgotten."""

    number: int
    whole: bool
    runs: dict[int, Value] = field(default_factory=dict)


class LastRuns(Generic[Value]):
    """A value for each of the runs that may be repeated. Not thread-safe."""

    def __init__(self, most_lines: int = MOST_LINES, most_values: int = MOST_VALUES) -> None:
        self._most_lines, self._most_values = most_lines, most_values
        self._lines: dict[str, _Call[Value]] = {}
        self._count = 0
        self._forgotten: bytearray | None = None

    def get(self, run: RunId | None) -> Value | None:
        """What is remembered of a run, None if there is nothing.

        AbortedError if a later call of its line has begun; DataLossError if it is repeated, and what was
        remembered of it may have been forgotten.
        """
        if run is None:
            return None
        call = self._lines.get(run.line)
        if call is None or call.number < run.call:
            found, whole = None, call is not None or not run.repeated or not self._was_forgotten(run.line)
        elif call.number > run.call:
            raise AbortedError(None, None, "A later run of this program has begun.")
        else:
            found, whole = call.runs.get(run.index), call.whole
        if found is None and run.repeated and not whole:
            raise DataLossError(
                None, None,
                "This run is a repetition, and the task has forgotten what its first attempt has changed: more than "
                f"{self._most_lines} programs and threads were heard of since. Go on from a checkpoint.",
            )  # fmt: skip
        return found

    def put(self, run: RunId | None, value: Value) -> None:
        """Remembers something of a run, if the run has a name."""
        if run is None:
            return
        call = self._lines.pop(run.line, None)
        if call is None or call.number < run.call:
            self._count -= 0 if call is None else len(call.runs)
            anew = run.index == 0 and not run.repeated
            call = _Call(run.call, call is not None or anew or not self._was_forgotten(run.line))
        self._lines[run.line] = call  # The last one now.
        self._count += run.index not in call.runs
        call.runs[run.index] = value
        while len(self._lines) > self._most_lines or self._count > self._most_values and len(self._lines) > 1:
            line = next(iter(self._lines))
            self._count -= len(self._lines.pop(line).runs)
            self._note_forgotten(line)

    def _note_forgotten(self, line: str) -> None:
        if self._forgotten is None:
            self._forgotten = bytearray(_FILTER_BITS // 8)
        for bit in _bits(line):
            self._forgotten[bit >> 3] |= 1 << (bit & 7)

    def _was_forgotten(self, line: str) -> bool:
        forgotten = self._forgotten
        return forgotten is not None and all(forgotten[bit >> 3] & 1 << (bit & 7) for bit in _bits(line))

    def items(self) -> Iterator[tuple[RunId, Value]]:
        """All that is remembered, with the runs."""
        for line, call in self._lines.items():
            for index, value in call.runs.items():
                yield RunId(line, call.number, index), value

    def clear(self) -> None:
        """Forgets everything."""
        self._lines.clear()
        self._count = 0

    def __len__(self) -> int:
        return self._count


def _bits(line: str) -> list[int]:
    """The bits that stand for a line."""
    digest = blake2b(line.encode(errors="surrogatepass"), digest_size=4 * _HASHES).digest()
    return [int.from_bytes(digest[i : i + 4], "little") % _FILTER_BITS for i in range(0, 4 * _HASHES, 4)]

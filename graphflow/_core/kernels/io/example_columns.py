"""Many Example messages at once: native code finds the features in their bytes, and numbers are copied from there.

Only what is plain is read so: if a message is damaged, or written as hardly anybody writes them, or does not hold what
is asked for, nothing is returned, and the caller reads one message after the other and words the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType

LEAST: Final = 4
"""So many messages are worth it: fewer are read sooner one by one."""
_KINDS: Final = {"string": 1, "float32": 2, "int64": 3}
_KIND, _BEGIN, _END, _TOTAL = range(4)


class ExampleCode(Protocol):
    """Native code that reads messages: runtime.example_code.NativeExamples."""

    def scan(self, data: bytes, offsets: Any, keys: Sequence[bytes]) -> Any:
        """An int64 table [examples, keys, 4] of kind, begin, end and number; None if a message is not plain."""

    def numbers(self, data: bytes, table: Any, which: int, starts: Any, target: Any) -> None:
        """Copies the numbers of a feature, those of each example from their start in a flat target on."""


class _Code:
    """Where the native code comes from: the room above knows how it is made; without it there is none."""

    find: Callable[[], ExampleCode | None] = staticmethod(lambda: None)


def use_code(find: Callable[[], ExampleCode | None]) -> None:
    """Has messages read by what find() gives, which may be None for now."""
    _Code.find = staticmethod(find)


@dataclass(frozen=True)
class Column:
    """A feature that is asked for: dims None for any length, dims[0] None for a sequence of rows; its default value,
    which is empty if there is none.
    """

    key: str
    dtype: DType
    dims: tuple[int | None, ...] | None = None
    default: Any = None


def read_columns(messages: Sequence[bytes], columns: Sequence[Column]) -> list[Any] | None:
    """What each column holds in all messages; None if they have to be read one by one.

    That is an array [messages, *dims] for dense ones, padded to the longest if dims[0] is None, and for the others
    indices, values and shape of a sparse tensor.
    """
    code = _Code.find() if len(messages) >= LEAST else None
    if code is None:
        return None
    data = b"".join(messages)
    if not data:
        return None
    offsets = np.zeros(len(messages) + 1, np.int64)
    np.cumsum([len(message) for message in messages], out=offsets[1:])
    keys = list(dict.fromkeys(column.key for column in columns))
    if not all(key.isascii() for key in keys):
        return None
    table = code.scan(data, offsets, [key.encode() for key in keys])
    if table is None:
        return None
    reader = _Reader(code, data, table)
    found: list[Any] = []
    for column in columns:
        values = reader.column(keys.index(column.key), column)
        if values is None:
            return None
        found.append(values)
    return found


class _Reader:
    """Takes columns out of messages that were scanned."""

    def __init__(self, code: ExampleCode, data: bytes, table: Any) -> None:
        self._code = code
        self._data = data
        self._table = table
        self._rows = len(table)

    def column(self, which: int, column: Column) -> Any:
        """A column; None if a message does not hold what is asked for."""
        kinds = self._table[:, which, _KIND]
        wanted = _KINDS[column.dtype.name]
        there = kinds != 0
        everywhere = bool(there.all())
        if not (kinds == wanted).all() and not ((kinds == wanted) | (kinds == 0)).all():
            return None
        totals = self._table[:, which, _TOTAL]
        if column.dims is None:
            return self._sparse(which, column, totals)
        size = 1
        for dim in column.dims:
            size *= 1 if dim is None else dim
        if size == 0:
            return None
        default = column.default
        if None in column.dims:
            return self._sequence(which, column, totals, size)
        if (totals[there] != size).any() or (not everywhere and default.size != size):
            return None
        shape: Any = (self._rows, *column.dims)
        found = np.empty(shape, column.dtype.native)
        if not everywhere:
            found[...] = default.reshape(column.dims)
        self._fill(which, column.dtype, np.arange(self._rows, dtype=np.int64) * size, found, there)
        return found

    def _fill(self, which: int, dtype: DType, starts: Any, target: Any, there: Any) -> None:
        """Puts the values of each message that has some into a contiguous target, from its start on."""
        flat = target.reshape(-1)
        if dtype is not dtypes.string:
            self._code.numbers(self._data, self._table, which, starts, flat)
            return
        data = self._data
        begins, ends, totals = (self._table[:, which, k].tolist() for k in (_BEGIN, _END, _TOTAL))
        if all(total == 1 for total in totals) and len(flat) == len(totals):
            flat[:] = [data[begin:end] for begin, end in zip(begins, ends, strict=True)]
            return
        for row in np.flatnonzero(there).tolist():
            start = int(starts[row])
            if totals[row] == 1:
                flat[start] = data[begins[row] : ends[row]]
            elif totals[row]:
                flat[start : start + totals[row]] = _strings(data, begins[row], ends[row])

    def _sequence(self, which: int, column: Column, totals: Any, size: int) -> Any:
        if (totals % size).any():
            return None
        assert column.dims is not None
        longest = int(totals.max(initial=0)) // size
        default = column.default
        fill: Any = default.reshape(-1)[0] if default.size else (b"" if column.dtype is dtypes.string else 0)
        shape: Any = (self._rows, longest, *column.dims[1:])
        found: Any = np.full(shape, fill, column.dtype.native)
        starts = np.arange(self._rows, dtype=np.int64) * (longest * size)
        self._fill(which, column.dtype, starts, found, totals > 0)
        return found

    def _sparse(self, which: int, column: Column, totals: Any) -> tuple[Any, Any, Any]:
        ends = np.cumsum(totals)
        count = int(ends[-1])
        starts = ends - totals
        indices = np.empty((count, 2), np.int64)
        indices[:, 0] = np.repeat(np.arange(self._rows, dtype=np.int64), totals)
        indices[:, 1] = np.arange(count, dtype=np.int64) - np.repeat(starts, totals)
        values = np.empty(count, column.dtype.native)
        if count:
            self._fill(which, column.dtype, starts, values, totals > 0)
        return indices, values, np.array([self._rows, int(totals.max(initial=0))], np.int64)


def _strings(data: bytes, begin: int, end: int) -> list[bytes]:
    """The items of a list of bytes, which the scan has found whole."""
    found: list[bytes] = []
    while begin < end:
        begin += 1  # the tag
        length = shift = 0
        while True:
            byte = data[begin]
            begin += 1
            length |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
        found.append(data[begin : begin + length])
        begin += length
    return found

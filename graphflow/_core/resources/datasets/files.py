"""Datasets of what files hold: the lines of texts, and records."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.compressed import open_to_read, read_lines, reading_errors, whole_lines
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import Context, DatasetBase, Element, Elements
from graphflow._core.resources.datasets.states import State
from graphflow._core.resources.records import read_records


class FilesDataset(DatasetBase):
    """Strings read from files one after the other; subclasses say how one is read.

    compression: "", "GZIP" or "ZLIB".
    """

    def __init__(self, origin: Origin, paths: Sequence[str], compression: str) -> None:
        super().__init__(origin)
        self.paths = paths
        self.compression = compression

    def walk(self, context: Context) -> Elements:
        """A walk from the beginning of the first file on."""
        return FilesElements(self)

    def open(self, path: str) -> Any:
        """A file to read bytes from; NotFoundError if there is none."""
        try:
            return open_to_read(path, self.compression)
        except errors.OpError as error:
            raise self.error(error.message, type(error)) from None

    @abstractmethod
    def read(self, file: Any, path: str) -> Iterator[bytes]:
        """The strings of an open file; DataLossError if it is damaged."""

    def element(self, string: bytes) -> Element:
        """The element that a string is."""
        return (np.array(string, object),)


class TextLineDataset(FilesDataset):
    """The lines of text files, without their ends."""

    def read(self, file: Any, path: str) -> Iterator[bytes]:
        """The lines."""
        try:
            yield from read_lines(file, path)
        except errors.InvalidArgumentError as error:
            raise self.error(error.message, errors.InvalidArgumentError) from error


class CsvDataset(FilesDataset):
    """The records of files of comma-separated values, which go on in the next line inside quotes.

    A record ends at a line feed, a carriage return or both. header: whether the first record of each file is passed
    over. quotes: whether fields may be in quotes. parse: gives the values of a record; what it raises is told with the
    record.
    """

    def __init__(
        self, origin: Origin, paths: Sequence[str], compression: str, header: bool, quotes: bool, delimiter: bytes,
        parse: Callable[[bytes], Element],
    ) -> None:  # fmt: skip
        super().__init__(origin, paths, compression)
        self._header, self._quotes, self._parse = header, quotes, parse
        self._delimiter = delimiter
        self._ends = re.compile(b"[\r\n" + re.escape(delimiter) + b"]")

    def read(self, file: Any, path: str) -> Iterator[bytes]:
        """The records."""
        records = self._records(file, path)
        if self._header and next(records, None) is None:
            raise self.error(f"Can't read header of file {path}: it is empty", errors.InvalidArgumentError)
        return records

    def _records(self, file: Any, path: str) -> Iterator[bytes]:
        try:
            lines = whole_lines(file, path)
            for line in lines:
                if b"\r" not in line and (not self._quotes or b'"' not in line):
                    yield line.removesuffix(b"\n")
                    continue
                data, start = line, 0
                while start < len(data):
                    found = self._end(data, start)
                    if found is None:
                        data, start = data[start:] + self._more(lines, path), 0
                        continue
                    yield data[start : found[0]]
                    start = found[1]
        except errors.InvalidArgumentError as error:
            raise self.error(error.message, errors.InvalidArgumentError) from error

    def _more(self, lines: Iterator[bytes], path: str) -> bytes:
        """The lines up to the next one with a quote."""
        found = []
        for line in lines:
            found.append(line)
            if b'"' in line:
                return b"".join(found)
        raise errors.InvalidArgumentError(
            None, None, f"Reached end of file without closing quoted field in record: {path}"
        )

    def _end(self, data: bytes, position: int) -> tuple[int, int] | None:
        """Where a record ends, and the next begins; None inside quotes. What is quoted wrongly ends somewhere, too."""
        while True:
            if self._quotes and data[position : position + 1] == b'"':
                while True:
                    position = data.find(b'"', position + 1)
                    if position < 0:
                        return None
                    following = data[position + 1 : position + 2]
                    if following in (b"", b"\n", b"\r", self._delimiter):
                        break
                    position += following == b'"'
            end = self._ends.search(data, position)
            if end is None:
                return len(data), len(data)
            if end.group() != self._delimiter:
                return end.start(), end.end() + (data[end.start() : end.end() + 1] == b"\r\n")
            position = end.end()

    def element(self, string: bytes) -> Element:
        """The values of a record."""
        try:
            return self._parse(string)
        except errors.InvalidArgumentError as error:
            raise self.error(f"{error.message}: {string[:60]!r}", errors.InvalidArgumentError) from None


class TFRecordDataset(FilesDataset):
    """The records of TFRecord files."""

    def read(self, file: Any, path: str) -> Iterator[bytes]:
        """The records."""
        try:
            yield from read_records(file, path)
        except errors.DataLossError as error:
            raise self.error(error.message, errors.DataLossError) from error


class FixedLengthRecordDataset(FilesDataset):
    """Blocks of so many bytes, between a header and a footer of each file.

    sizes: of the header, of a record and of the footer, in bytes.
    """

    def __init__(
        self, origin: Origin, paths: Sequence[str], compression: str, sizes: tuple[int, int, int]
    ) -> None:
        super().__init__(origin, paths, compression)
        self._sizes = sizes

    def read(self, file: Any, path: str) -> Iterator[bytes]:
        """The records. As much is read ahead as the footer is long, which is no record."""
        header, record, footer = self._sizes
        if not self.compression:  # Of others the size is known at the end.
            self._check(path, file.seek(0, os.SEEK_END) - header - footer)
            file.seek(0)
        file.read(header)
        body = 0
        ahead = file.read(footer)
        while True:
            ahead += file.read(record)
            if len(ahead) - footer < record:
                break
            yield ahead[:record]
            body += record
            ahead = ahead[record:]
        self._check(path, body + len(ahead) - footer)

    def _check(self, path: str, body: int) -> None:
        """InvalidArgumentError if so many bytes, between header and footer, are not a whole number of records."""
        header, record, footer = self._sizes
        if body < 0 or body % record:
            raise self.error(
                f'Excluding the header ({header} bytes) and footer ({footer} bytes), input file "{path}" has body '
                f"length {body} bytes, which is not an exact multiple of the record length ({record} bytes).",
                errors.InvalidArgumentError,
            )


class FilesElements(Elements):
    """A walk over files; it goes on from a saved state by reading its file again up to there."""

    fresh = True

    def __init__(self, dataset: FilesDataset) -> None:
        self._dataset = dataset
        self._file = 0
        self._given = 0
        self._skip = 0
        self._strings: Iterator[bytes] | None = None

    def next(self, run: Any) -> Element | None:
        """The next string."""
        while self._file < len(self._dataset.paths):
            if self._strings is None:
                self._strings = self._read(self._dataset.paths[self._file])
            for string in self._strings:
                self._given += 1
                if self._given > self._skip:
                    return self._dataset.element(string)
            self._file, self._given, self._skip, self._strings = self._file + 1, 0, 0, None
        return None

    def _read(self, path: str) -> Iterator[bytes]:
        dataset = self._dataset
        try:
            with dataset.open(path) as file:
                yield from dataset.read(file, path)
        except reading_errors as error:
            raise dataset.error(f"{path}: {error}", errors.DataLossError) from error

    def get_state(self) -> State:
        """Which file, and how many strings of it were given."""
        given = max(self._given, self._skip)
        return {"file": states.number(self._file), "given": states.number(given)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on after so many strings of that file."""
        self._file, self._skip = states.integer(state, "file"), states.integer(state, "given")
        self._given, self._strings = 0, None

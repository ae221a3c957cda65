"""Reads checkpoint files through a memory map. Every checksum is compared before an array is returned."""

from __future__ import annotations

import difflib
import mmap
import os
import stat
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.atomic import os_error
from graphflow._core.checkpoint.bundle_names import INDEX
from graphflow._core.checkpoint.donation import donated
from graphflow._core.checkpoint.layout import (
    BLOCK,
    SUFFIX,
    CorruptError,
    Record,
    blocks,
    decode_header,
    tensor_checksum,
)
from graphflow._core.checkpoint.parallel import run_all
from graphflow._core.checkpoint.regions import Region, overlapping, slabs, uncovered, whole
from graphflow._core.checkpoint.strings import decode_strings
from graphflow._core.common.files import storage
from graphflow._core.graph.dtypes import DType

_TO_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_GIVEN = 64 << 10
"""From so many bytes on, an array's buffer is worth donating."""
HIDDEN = "graphflow/"
"""Names that begin so are graphflow's own state and not variables."""


class CheckpointData:
    """The tensors of a checkpoint's bytes.

    Every array that it gives is either fresh or a read-only view of the bytes. `where` names the file in errors.
    """

    def __init__(self, data: memoryview, where: str) -> None:
        try:
            records, metadata, begin = decode_header(data)
        except CorruptError as error:
            raise errors.DataLossError(
                None, None, f"{where} is not a whole checkpoint: {error}. Restore an older one."
            ) from None
        self._data = data[begin:]
        self._hold(where, records, metadata)

    def _hold(self, where: str, records: Sequence[Record], metadata: Mapping[str, str]) -> None:
        self._where = where
        self._records = records
        self._metadata = metadata
        self._by_name: dict[str, list[Record]] = {}
        for record in records:
            self._by_name.setdefault(record.name, []).append(record)

    @property
    def where(self) -> str:
        """The file."""
        return self._where

    @property
    def metadata(self) -> Mapping[str, str]:
        """The entries of the header beside the tensors."""
        return self._metadata

    @property
    def records(self) -> Sequence[Record]:
        """All tensors and slices, in the order of the file."""
        return self._records

    def names(self, hidden: bool = False) -> list[str]:
        """The names of the tensors, sorted; with `hidden` those of graphflow's own state too."""
        return sorted(name for name in self._by_name if hidden or not name.startswith(HIDDEN))

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def shape(self, name: str) -> tuple[int, ...]:
        """The full shape of a tensor; KeyError if it is not there."""
        return self._by_name[name][0].shape

    def dtype(self, name: str) -> DType:
        """The dtype of a tensor; KeyError if it is not there."""
        return self._by_name[name][0].dtype

    def missing(self, names: Iterable[str]) -> None:
        """Raises NotFoundError with all names that are not there and what is near them."""
        absent = [name for name in names if name not in self._by_name]
        if not absent:
            return
        told = []
        for name in absent[:20]:
            near = difflib.get_close_matches(name, self.names(), 3)
            told.append(f"{name!r}" + (f" (near: {', '.join(near)})" if near else ""))
        more = f" and {len(absent) - 20} more" if len(absent) > 20 else ""
        raise errors.NotFoundError(
            None,
            None,
            f"Key {absent[0]} not found in checkpoint {self._where}: {', '.join(told)}{more}. "
            f"`graphflow checkpoint show` lists what is in it.",
        )

    # ---- checksums ------------------------------------------------------------------------------------------------

    def bytes_of(self, record: Record) -> memoryview:
        """The bytes of a record, unchecked."""
        return self._data[record.begin : record.end]

    def _copy(self, target: memoryview, position: int) -> None:
        """Copies data from a position on into memory."""
        target[:] = self._data[position : position + len(target)]

    def damaged(
        self,
        records: Sequence[Record],
        progress: Callable[[int], None] | None = None,
        into: Mapping[Record, memoryview] = MappingProxyType({}),
    ) -> list[tuple[Record, str]]:
        """The records whose checksums do not hold, each with the checksum that was found.

        progress: called with the number of bytes of each block that was checked, from several threads. into: memory
        for copies of some records, whose checksums are those of the copies.
        """
        import xxhash

        parts = [self.bytes_of(record) for record in records]
        digests = [[b""] * sum(1 for _ in blocks(part)) for part in parts]

        def hash_block(place: tuple[int, int, memoryview]) -> None:
            number, index, block = place
            target = into.get(records[number])
            if target is not None:
                block = target[index * BLOCK : (index + 1) * BLOCK]
                self._copy(block, records[number].begin + index * BLOCK)
            digests[number][index] = xxhash.xxh3_128_digest(block)
            if progress is not None:
                progress(len(block))

        places = ((n, i, block) for n, part in enumerate(parts) for i, block in enumerate(blocks(part)))
        run_all(hash_block, places, sum(map(len, parts)))
        found = [tensor_checksum(d, r.label) for d, r in zip(digests, records, strict=True)]
        return [(r, checksum) for r, checksum in zip(records, found, strict=True) if checksum != r.checksum]

    def verify(
        self,
        records: Sequence[Record] | None = None,
        into: Mapping[Record, memoryview] = MappingProxyType({}),
    ) -> None:
        """Raises DataLossError, which names each tensor of these, by default of all, whose checksum does not hold.

        into: memory for copies of some of them.
        """
        bad = self.damaged(self._records if records is None else records, into=into)
        if bad:
            told = "; ".join(
                f"tensor {r.name!r}{f' slice {r.slice_text}' if r.slice_text else ''}: expected checksum {r.checksum}, "
                f"found {found}"
                for r, found in bad[:10]
            )
            more = f"; and {len(bad) - 10} more" if len(bad) > 10 else ""
            raise errors.DataLossError(
                None, None, f"{self._where} is damaged: {told}{more}. Restore an older checkpoint."
            )

    # ---- values ---------------------------------------------------------------------------------------------------

    def read(self, wanted: Sequence[tuple[str, Region | None]], donate: Collection[int] = ()) -> list[Any]:
        """The arrays of tensors, or of regions of them, after the checksums of all that they are read from.

        donate: the positions of those whose buffers are donated (checkpoint/donation.py) if they are large.
        NotFoundError if a name or a part of a region is not there, DataLossError if a checksum does not hold.
        """
        self.missing(name for name, _ in wanted)
        used: dict[Record, None] = {}
        plans: list[tuple[str, Region, list[tuple[Record, Region]]]] = []
        for name, asked in wanted:
            records = self._by_name[name]
            region = whole(records[0].shape) if asked is None else asked
            plans.append((name, region, self._sources(name, region, records)))
            used.update(dict.fromkeys(record for record, _ in plans[-1][2]))
        buffers = {n: _fresh(plans[n][2]) for n in donate}
        buffers = {n: array for n, array in buffers.items() if array is not None}
        into = {
            plans[n][2][0][0]: memoryview(array.reshape(-1).view(np.uint8)) for n, array in buffers.items()
        }
        self.verify(list(used), into)
        try:
            return [
                donated(buffers[n]) if n in buffers else self._assembled(name, region, sources)
                for n, (name, region, sources) in enumerate(plans)
            ]
        except ValueError as error:
            raise errors.DataLossError(None, None, f"{self._where} is damaged: {error}.") from None

    def _sources(self, name: str, region: Region, records: list[Record]) -> list[tuple[Record, Region]]:
        """The records that have parts of a region, and which."""
        if not records[0].slice_text:
            return [(records[0], region)]
        regions = [record.region for record in records]
        if overlapping(regions) is not None:
            raise errors.DataLossError(None, None, f"{self._where}: the slices of {name!r} overlap.")
        if uncovered(region, regions):
            raise errors.NotFoundError(
                None,
                None,
                f"The checkpoint {self._where} holds only parts of {name!r}, shape {list(records[0].shape)}: "
                f"{', '.join(r.slice_text for r in records[:10])}. The slice {region.text} is not in them.",
            )
        return [(records[number], overlap) for number, overlap in slabs(region, regions)]

    def _assembled(self, name: str, region: Region, sources: list[tuple[Record, Region]]) -> Any:
        if len(sources) == 1:
            record, _ = sources[0]
            return self._array(record)[region.within(record.region)]
        result = np.empty(region.lengths, self.dtype(name).as_numpy_dtype)
        for record, overlap in sources:
            result[overlap.within(region)] = self._array(record)[overlap.within(record.region)]
        return result

    def _array(self, record: Record) -> Any:
        data, shape = self.bytes_of(record), record.region.lengths
        if record.dtype.name == "string":
            return decode_strings(data, shape)
        if record.dtype.is_bool and data.nbytes and np.frombuffer(data, np.uint8).max() > 1:
            raise ValueError(f"the tensor {record.name!r} of bool has other values than 0 and 1")
        kind = np.dtype(record.dtype.as_numpy_dtype).newbyteorder("<")
        return np.frombuffer(data, kind).reshape(shape)


class CheckpointFile(CheckpointData):
    """A checkpoint on disk, mapped into memory.

    NotFoundError if there is no such file, DataLossError if its header is not whole. The file may be removed or
    replaced while it is mapped, but must not be cut short in place, which graphflow never does.
    """

    def __init__(self, path: str) -> None:
        with _opened(path) as descriptor:
            data = _map(descriptor)
            self._descriptor = os.dup(descriptor)
        weakref.finalize(self, os.close, self._descriptor)
        super().__init__(data, path)
        self._begin = len(data) - len(self._data)
        """The position in the file at which the data begin."""

    def _copy(self, target: memoryview, position: int) -> None:
        """Reads the file, which costs less than the faults of a map whose pages are used once."""
        position += self._begin
        try:
            while target and (count := os.preadv(self._descriptor, [target], position)):
                target, position = target[count:], position + count
        except OSError as error:
            raise os_error(error, self._where, "Cannot read") from error


def _fresh(sources: list[tuple[Record, Region]]) -> Any:
    """Memory for a large tensor that is one record, whatever its bytes are; None for any other."""
    record, region = sources[0]
    if len(sources) > 1 or region != record.region or record.end - record.begin < _GIVEN:
        return None
    if record.dtype.is_bool or not record.dtype.is_numpy_compatible or record.dtype.name == "string":
        return None
    return np.empty(region.lengths, np.dtype(record.dtype.as_numpy_dtype).newbyteorder("<"))


def mapped(path: str) -> memoryview:
    """The bytes of a regular file."""
    with _opened(path) as descriptor:
        return _map(descriptor)


def _map(descriptor: int) -> memoryview:
    size = os.fstat(descriptor).st_size
    return memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) if size else b"")


@contextmanager
def _opened(path: str) -> Iterator[int]:
    """The descriptor of a regular file, open meanwhile; errors of the operating system become graphflow's."""
    try:
        descriptor = storage.local_copy(path) if storage.is_remote(path) else os.open(path, _TO_READ)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise errors.InvalidArgumentError(None, None, f"{path} is not a regular file.")
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise os_error(error, path, "Cannot read") from error
    except ValueError as error:  # A name with a zero byte.
        raise errors.InvalidArgumentError(None, None, f"Cannot read {path!r}: {error}.") from None


def checkpoint_path(prefix: str) -> str:
    """The file of a prefix.

    Args:
        prefix: A prefix, or the file's own name.

    Returns:
        The path.
    """
    return prefix if prefix.endswith(SUFFIX) else prefix + SUFFIX


def existing_path(prefix: str) -> str:
    """The file of a prefix, or its index in TensorFlow's format: whichever is there, or was written last.

    If neither is there, a file of the prefix's own name is one of TensorFlow's first version.
    """
    path = checkpoint_path(prefix)
    index = prefix + INDEX
    if not storage.is_file(index):
        return prefix if not storage.is_file(path) and storage.is_file(prefix) else path
    with suppress(OSError):  # One that is removed meanwhile.
        if storage.is_file(path) and storage.status(path).modified >= storage.status(index).modified:
            return path
    return index

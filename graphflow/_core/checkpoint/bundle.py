"""Reads checkpoints in TensorFlow's format: a tensor bundle, which is an index and one or more files of data.

The index is a sorted table as LevelDB writes it: blocks of keys, each key given by what differs from the one before it,
with a checksum a block. It maps names to BundleEntryProto messages, which say where in which file of data a tensor
lies, and its checksum. A tensor in parts has an entry that lists the parts, and one for each part under a key that
orders as its position does.

LevelDB's tables have a second block of keys, for what a program wants to say besides, which TensorFlow leaves empty and
never reads. There bundle_writer puts the seal (see bundle_names) and the entries of graphflow's own state, so that for
TensorFlow's programs a checkpoint holds the variables and nothing else.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.bundle_entries import BundleEntry, BundleHeader, read_varint
from graphflow._core.checkpoint.bundle_names import INDEX, data_path, former_path, seal_of
from graphflow._core.checkpoint.crc32c import masked_checksum, masked_checksum_of
from graphflow._core.checkpoint.layout import MOST_SLICES, CorruptError, Record
from graphflow._core.checkpoint.reader import HIDDEN, CheckpointFile, mapped
from graphflow._core.checkpoint.regions import MOST_AXES, Region
from graphflow._core.common.files import storage
from graphflow._core.graph.dtypes import as_dtype

_FOOTER: Final = 48
MAGIC: Final = 0xDB4775248B80FB57
SEAL: Final = b"graphflow/seal"
"""Where the second block of keys has the seal."""
_ALL: Final = -1
"""The length along an axis of which a part has everything, if the text of the part was "-"."""
_TRAILER: Final = 5
"""Bytes after a block: how it is compressed, and a checksum."""
_MOST_SHARDS: Final = 100_000
_TRIES: Final = 5
"""How often an index is read again that does not fit its data: they change one after the other, under a reader."""


class BundleFile(CheckpointFile):
    """A checkpoint in TensorFlow's format, mapped into memory; `prefix` is its path without .index.

    NotFoundError if a file of it is missing, DataLossError if the index is damaged or is that of other data.
    """

    def __init__(self, prefix: str) -> None:
        where = prefix + INDEX
        found, shards = _opened(prefix)
        self._hold(where, list(found), {"format": "TensorFlow"})
        self._shard_of = {record.key: shard for record, shard in found.items()}
        self._shards = shards
        ends: dict[int, int] = {}
        for record, shard in sorted(found.items(), key=lambda item: (item[0].begin, item[0].end)):
            if record.begin < ends.get(
                shard, 0
            ):  # Few bytes could be as many tensors as the index has room for.
                raise errors.DataLossError(
                    None, None, f"{where}: the tensor {record.name!r} and another one are the same bytes."
                )
            ends[shard] = record.end
            if record.end > len(self._shards[shard]):
                raise errors.DataLossError(
                    None,
                    None,
                    f"{where}: the tensor {record.name!r} lies behind the end of its file of data.",
                )

    def bytes_of(self, record: Record) -> memoryview:
        """The bytes of a record, unchecked."""
        return self._shards[self._shard_of[record.key]][record.begin : record.end]

    def damaged(
        self,
        records: Sequence[Record],
        progress: Callable[[int], None] | None = None,
        into: Mapping[Record, memoryview] = MappingProxyType({}),
    ) -> list[tuple[Record, str]]:
        """The records whose checksums do not hold, each with the checksum that was found; see CheckpointData."""
        bad = []
        for record in records:
            data = self.bytes_of(record)
            if record in into:
                into[record][:] = data
                data = into[record]
            if record.dtype.name == "string":
                found = read_strings(data, record.region.size)[1]
            else:
                found = f"{masked_checksum(data):08x}"
            if progress is not None:
                progress(len(data))
            if found != record.checksum:
                bad.append((record, found))
        return bad

    def _array(self, record: Record) -> Any:
        if not record.dtype.is_numpy_compatible:
            raise errors.UnimplementedError(
                None,
                None,
                f"The tensor {record.name!r} of {self.where} is of {record.dtype.name}, which NumPy does not have. "
                "Convert it in TensorFlow.",
            )
        if record.dtype.name != "string":
            return super()._array(record)
        values, _ = read_strings(self.bytes_of(record), record.region.size)
        result = np.empty(record.region.size, object)
        result[:] = values
        return result.reshape(record.region.lengths)


def _opened(prefix: str) -> tuple[dict[Record, int], dict[int, memoryview]]:
    """What an index says, each tensor with the number of its file of data, and these files by their numbers."""
    where = prefix + INDEX
    for _ in range(_TRIES):
        index = mapped(where)
        try:
            besides = dict(read_table(index, besides=True))
            found, count = _records(read_table(index), besides)
        except CorruptError as error:
            raise errors.DataLossError(
                None, None, f"{where} is not a whole checkpoint: {error}. Restore an older one."
            ) from None
        shards = _shards(prefix, set(found.values()), count, bytes(besides.get(SEAL, b"")))
        if shards is not None:
            return found, shards
    raise errors.DataLossError(
        None,
        None,
        f"{where} and {data_path(prefix)} are of two different saves. Restore an older checkpoint.",
    )


def _shards(prefix: str, wanted: set[int], count: int, seal: bytes) -> dict[int, memoryview] | None:
    """The files of data that an index means, by their numbers; None if what lies there is that of another index."""
    if count > 1:
        return {shard: mapped(data_path(prefix, shard, count)) for shard in sorted(wanted)}
    try:
        data = mapped(data_path(prefix))
    except errors.NotFoundError:
        former = _former(prefix, seal)
        if former is None and wanted:
            raise
        return {} if former is None else {0: former}
    if seal_of(data) == seal:
        return {0: data}
    former = _former(prefix, seal)
    if former is not None:
        return {0: former}
    return None if seal else {0: data}


def _former(prefix: str, seal: bytes) -> memoryview | None:
    """Data of this seal that were there before those that are, while these take their place; see bundle_names."""
    path = former_path(prefix, seal)
    if storage.is_remote(prefix) or not os.path.isfile(path):
        return None
    try:
        data = mapped(path)
    except errors.NotFoundError:
        return None
    return data if seal_of(data) == seal else None


# ---- what the index says --------------------------------------------------------------------------------------------


def _records(
    table: Iterator[tuple[bytes, memoryview]], besides: Mapping[bytes, memoryview]
) -> tuple[dict[Record, int], int]:
    """All tensors and parts of tensors, each with the number of its file of data; and how many such files there are."""
    entries: dict[bytes, BundleEntry] = {}
    header = BundleHeader()
    for number, (key, value) in enumerate(table):
        if number == 0 and key == b"":
            header = BundleHeader.of(value)
        else:
            entries[key] = BundleEntry.of(value)
    for key, value in besides.items():
        if key.startswith(HIDDEN.encode()) and key != SEAL:
            if key in entries:
                raise CorruptError(f"{_named(key)!r} stands twice in its index")
            entries[key] = BundleEntry.of(value)
    if header.endianness != 0:
        raise CorruptError("its numbers are big-endian, which graphflow does not read")
    if not 0 < header.num_shards <= _MOST_SHARDS:
        raise CorruptError(f"it says that it has {header.num_shards} files of data")
    found: dict[Record, int] = {}
    parts: set[bytes] = set()
    for key, entry in entries.items():
        parts.update(part_key(key, numbers) for _, numbers in parts_of(entry))
    for key, entry in entries.items():
        if key in parts:
            continue
        name, shape = _named(key), _shape(entry)
        if not entry.slices:
            found[_record(name, name, shape, "", entry, header.num_shards)] = entry.shard_id
            continue
        for region, numbers in parts_of(entry):
            part = entries.get(part_key(key, numbers))
            if part is None or _shape(part) != region.lengths or part.dtype != entry.dtype:
                raise CorruptError(f"the part {region.text} of the tensor {name!r} is not in it")
            record = _record(f"{name}/{region.text}", name, shape, region.text, part, header.num_shards)
            if record in found:
                raise CorruptError(f"the part {region.text} of the tensor {name!r} is there twice")
            found[record] = part.shard_id
    return found, header.num_shards


def _named(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise CorruptError(f"it has a tensor of the name {key!r}") from None


def _shape(entry: BundleEntry) -> tuple[int, ...]:
    shape = entry.shape
    if shape is None or len(shape) > MOST_AXES or not all(0 <= size < 1 << 62 for size in shape):
        raise CorruptError(f"a tensor has the shape {list(shape or ())[: MOST_AXES + 1]}")
    return shape


def parts_of(entry: BundleEntry) -> list[tuple[Region, list[int]]]:
    """The parts that an entry lists, each with the numbers that stand in its key."""
    shape = _shape(entry)
    if len(entry.slices) > MOST_SLICES:
        raise CorruptError(f"a tensor is in more than {MOST_SLICES} parts")
    parts = []
    for part in entry.slices:
        if len(part) != len(shape):
            raise CorruptError(f"a part of a tensor of {len(shape)} axes has {len(part)}")
        offsets = tuple(start for start, _ in part)
        lengths = tuple(
            full - start if length is None else length
            for (start, length), full in zip(part, shape, strict=True)
        )
        if not all(
            o >= 0 and n >= 0 and o + n <= full for o, n, full in zip(offsets, lengths, shape, strict=True)
        ):
            raise CorruptError("a part of a tensor does not lie in its shape")
        said = [(start, _ALL if length is None else length) for start, length in part]
        parts.append((Region(offsets, lengths), [number for pair in said for number in pair]))
    return parts


def _record(
    key: str, name: str, shape: tuple[int, ...], text: str, entry: BundleEntry, shards: int
) -> Record:
    try:
        dtype = as_dtype(entry.dtype)
    except TypeError:
        raise CorruptError(
            f"the tensor {name!r} has the dtype {entry.dtype}, which graphflow does not have"
        ) from None
    if not 0 <= entry.shard_id < shards or entry.offset < 0 or entry.size < 0:
        raise CorruptError(f"the tensor {name!r} lies in no file of data")
    end = entry.offset + entry.size
    record = Record(key, name, dtype, shape, text, f"{entry.crc32c:08x}", entry.offset, end)
    size = record.region.size
    fits = entry.size >= size if dtype.name == "string" else entry.size == size * dtype.size
    if dtype.is_numpy_compatible and not fits:
        raise CorruptError(
            f"the tensor {name!r} has {entry.size} bytes, which do not fit its shape {list(shape)}"
        )
    return record


def read_strings(data: memoryview, count: int) -> tuple[list[bytes], str]:
    """The strings of a tensor, and the checksum that is found, or why there is none.

    The lengths come first, then a checksum of them, then the strings one behind the other.
    """
    lengths, at = [], 0
    try:
        for _ in range(count):
            length, at = read_varint(data, at)
            lengths.append(length)
    except CorruptError as error:
        return [], f"none, since {error}"
    begin = at + 4
    if begin + sum(lengths) != len(data):
        return [], "none, since the lengths of its strings do not fit its bytes"
    words = b"".join(struct.pack("<I" if n < 1 << 32 else "<Q", n) for n in lengths)
    given = bytes(data[at:begin])
    if given != struct.pack("<I", masked_checksum(words)):
        return [], "another one of the lengths of its strings"
    values, position = [], begin
    for length in lengths:
        values.append(bytes(data[position : position + length]))
        position += length
    return values, f"{masked_checksum_of([words, given, data[begin:]]):08x}"


# ---- the key of a part: numbers and texts written so that their bytes order as they do ------------------------------


def part_key(name: bytes, numbers: Sequence[int]) -> bytes:
    """The key of a part of a tensor; numbers: offset and length along each axis."""
    escaped = re.sub(rb"[\x00\xff]", lambda found: b"\x00\xff" if found[0] == b"\x00" else b"\xff\x00", name)
    axes = len(numbers) // 2
    count = bytes([1, axes]) if axes else b"\x00"
    return b"\x00" + escaped + b"\x00\x01" + count + b"".join(map(_signed, numbers))


def _signed(number: int) -> bytes:
    """A number with its length in the first bits: one for each byte, as many as there are."""
    if number == _ALL:
        return b"\x7f"
    length = number.bit_length() // 7 + 1
    marks = (1 << length) - 1
    return (number | marks << 8 * length - length).to_bytes(length, "big")


# ---- the table -------------------------------------------------------------------------------------------------------


def read_table(data: memoryview, besides: bool = False) -> Iterator[tuple[bytes, memoryview]]:
    """The keys and values of a table, in the order of the keys, which rise; `besides`: of its second block of keys."""
    if len(data) < _FOOTER or int.from_bytes(data[-8:], "little") != MAGIC:
        raise CorruptError("it does not end as an index of TensorFlow's")
    footer = data[-_FOOTER:-8]
    second, at = _handle(footer, 0)
    handle, _ = _handle(footer, at)
    last: bytes | None = None
    for inner in (second,) if besides else (_handle(value, 0)[0] for _, value in _block(data, handle)):
        for key, content in _block(data, inner):
            if last is not None and key <= last:
                raise CorruptError("the keys of its index do not rise")
            last = key
            yield key, content


def _handle(data: memoryview, at: int) -> tuple[tuple[int, int], int]:
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return (offset, size), at


def _block(data: memoryview, handle: tuple[int, int]) -> Iterator[tuple[bytes, memoryview]]:
    offset, size = handle
    end = offset + size
    if end + _TRAILER > len(data) - _FOOTER:
        raise CorruptError("a block of its index lies behind its end")
    if int.from_bytes(data[end + 1 : end + _TRAILER], "little") != masked_checksum(data[offset : end + 1]):
        raise CorruptError("the checksum of a block of its index does not hold")
    if data[end] != 0:
        raise CorruptError("its index is compressed, which graphflow does not read")
    block = data[offset:end]
    if size < 4:
        raise CorruptError("a block of its index is too short")
    rest = size - 4 - 4 * int.from_bytes(block[-4:], "little")
    if rest < 0:
        raise CorruptError("a block of its index is too short")
    at, key = 0, b""
    while at < rest:
        shared, at = read_varint(block, at)
        fresh, at = read_varint(block, at)
        length, at = read_varint(block, at)
        if shared > len(key) or at + fresh + length > rest:
            raise CorruptError("an entry of its index lies behind its end")
        key = key[:shared] + bytes(block[at : at + fresh])
        at += fresh
        yield key, block[at : at + length]
        at += length

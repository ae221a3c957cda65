"""Writes checkpoints in TensorFlow's format, for programs and tools that look for its files; see checkpoint.bundle.

The index comes last and makes the checkpoint: a process that is killed before leaves none, or the one before; see
checkpoint.bundle_names for how.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, Final

import numpy as np

from graphflow._core.checkpoint.atomic import atomic_files, freed_later, sync_folder
from graphflow._core.checkpoint.bundle import MAGIC, SEAL, part_key, read_strings
from graphflow._core.checkpoint.bundle_entries import BundleEntry, BundleHeader, extents_of, varint
from graphflow._core.checkpoint.bundle_names import (
    INDEX,
    TAIL_BYTES,
    data_path,
    former_path,
    former_paths,
    seal_of,
    tail_of,
)
from graphflow._core.checkpoint.crc32c import checksum_of, joined, masked, masked_checksum
from graphflow._core.checkpoint.layout import SUFFIX, Record
from graphflow._core.checkpoint.reader import HIDDEN, CheckpointData
from graphflow._core.checkpoint.writer import Entry, make_folder_of, plan_records, write_data
from graphflow._core.common.files import storage

_BLOCK: Final = 1 << 16
"""Bytes of entries in a block of the index, at least."""


def write_bundle(prefix: str, source: CheckpointData) -> None:
    """Writes what a checkpoint holds, without graphflow's own state, in TensorFlow's format; see write_tensors.

    Args:
        prefix: What the names of both files begin with.
        source: The checkpoint.

    Raises:
        DataLossError: A checksum of the source does not hold.
        OpError: As of atomic_files.
    """
    write_tensors(prefix, [entry for entry in entries_of(source) if not entry.name.startswith(HIDDEN)])


def entries_of(source: CheckpointData) -> list[Entry]:
    """All tensors and slices of a checkpoint, as they are written; DataLossError if a checksum does not hold."""
    records = source.records
    wanted = [(record.name, record.region if record.slice_text else None) for record in records]
    return [
        Entry(record.name, _as_array(array), record.shape if record.slice_text else None, record.slice_text)
        for record, array in zip(records, source.read(wanted), strict=True)
    ]


def _as_array(value: Any) -> Any:
    return np.asarray(value, object if isinstance(value, bytes) else None)  # A scalar is no array.


def write_tensors(prefix: str, entries: Sequence[Entry]) -> None:
    """Writes PREFIX.index and one file of data, both or none, in a folder that is made if it is not there.

    Entries whose names begin as those of graphflow's own state are there for graphflow alone.

    Args:
        prefix: What the names of both files begin with.
        entries: The tensors. They are not copied and must not change meanwhile.

    Raises:
        InvalidArgumentError: Two entries have a name, or overlap.
        OpError: As of atomic_files.
    """
    records, payloads = plan_records(entries, _encoded_strings)
    make_folder_of(prefix + INDEX)
    changing = nullcontext if storage.is_remote(prefix) else partial(_with_former, prefix)
    with atomic_files([data_path(prefix), prefix + INDEX], changing) as (data, index):
        digests = write_data(data, 0, payloads, _digest)
        checksums = [
            _checksum(record, payload, found)
            for record, payload, found in zip(records, payloads, digests, strict=True)
        ]
        seal, text = _index(records, checksums)
        end = sum(map(len, payloads))
        os.pwrite(data, tail_of(seal), end)
        with open(index, "wb", closefd=False) as file:
            file.write(text)
    with suppress(OSError), freed_later(prefix + SUFFIX):  # The checkpoint of that name until now.
        storage.remove(prefix + SUFFIX)


@contextmanager
def _with_former(prefix: str) -> Iterator[None]:
    """Keeps the data that are there so far under a name of their own, until the files have changed."""
    path = data_path(prefix)
    with suppress(FileNotFoundError):
        former = former_path(prefix, _seal_of_file(path))
        try:
            os.link(path, former, follow_symlinks=False)
        except FileExistsError:
            pass  # Of a save that was killed: the same data.
        except FileNotFoundError:
            raise
        except OSError:  # The file system has no links.
            os.rename(path, former)
        sync_folder(os.path.dirname(os.path.abspath(path)))
    yield
    for former in former_paths(prefix):
        with suppress(OSError), freed_later(former):
            os.unlink(former)


def _seal_of_file(path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        return seal_of(file.read())


# ---- what stands in the index ---------------------------------------------------------------------------------------


def _index(records: Sequence[Record], checksums: Sequence[int]) -> tuple[bytes, bytes]:
    """The seal, and the text of an index of these records."""
    import xxhash

    entries = {b"": BundleHeader(num_shards=1).encoded()}
    hidden: dict[bytes, bytes] = {}
    whole: dict[str, BundleEntry] = {}
    for record, checksum in zip(records, checksums, strict=True):
        region, dtype = record.region, record.dtype.as_datatype_enum
        entry = BundleEntry(dtype, region.lengths, 0, record.begin, record.end - record.begin, checksum)
        key = record.name.encode()
        if record.slice_text:
            extents = extents_of(region)
            whole.setdefault(record.name, BundleEntry(dtype, record.shape)).slices.append(extents)
            key = part_key(
                key, [n for pair in zip(region.offsets, region.lengths, strict=True) for n in pair]
            )
        (hidden if record.name.startswith(HIDDEN) else entries)[key] = entry.encoded()
    entries |= {name.encode(): entry.encoded() for name, entry in whole.items()}
    table, besides = sorted(entries.items()), sorted(hidden.items())
    seal = xxhash.xxh3_128_digest(table_of(table, besides))
    return seal, table_of(table, sorted([*besides, (SEAL, seal)]))


def _encoded_strings(array: Any) -> bytes:
    """Strings as they lie in the data: their lengths, a checksum of these, all of them joined."""
    strings = np.asarray(array, object).reshape(-1).tolist()
    for item in strings:
        if not isinstance(item, bytes):
            raise TypeError(f"an array of strings has {item!r}, which is not bytes")
    words = b"".join(struct.pack("<I" if len(s) < 1 << 32 else "<Q", len(s)) for s in strings)
    lengths = b"".join(varint(len(s)) for s in strings)
    return b"".join([lengths, struct.pack("<I", masked_checksum(words)), *strings])


def _digest(block: memoryview) -> tuple[int, int]:
    """What the checksum of a tensor is made of: that of a block, and its length."""
    return checksum_of([block]), len(block)


def _checksum(record: Record, payload: memoryview, found: Sequence[tuple[int, int]]) -> int:
    """The checksum of a record; that of strings is not one of their bytes alone."""
    if record.dtype.name == "string":
        return int(read_strings(payload, record.region.size)[1], 16)
    return masked(joined(found))


# ---- the table -----------------------------------------------------------------------------------------------------


def table_of(entries: Sequence[tuple[bytes, bytes]], besides: Sequence[tuple[bytes, bytes]] = ()) -> bytes:
    """The text of an index: a sorted table of keys and values, in blocks, as LevelDB writes it.

    besides: the keys and values of its second block of keys.
    """
    out = bytearray()
    index = [(last, _add_block(out, block)) for last, block in _blocks(entries)]
    second = _add_block(out, _block(besides))
    handle = _add_block(out, _block(index))
    return bytes(out) + (second + handle).ljust(40, b"\0") + MAGIC.to_bytes(8, "little")


def _blocks(entries: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """The blocks of the entries, each with its last key."""
    some: list[tuple[bytes, bytes]] = []
    size = 0
    for key, value in entries:
        some.append((key, value))
        size += len(key) + len(value)
        if size >= _BLOCK:
            yield key, _block(some)
            some, size = [], 0
    if some:
        yield some[-1][0], _block(some)


def _block(entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Entries with their whole keys; each is a place where a search may begin."""
    out = bytearray()
    places = []
    for key, value in entries:
        places.append(len(out))
        out += varint(0) + varint(len(key)) + varint(len(value)) + key + value
    places = places or [0]
    return bytes(out) + struct.pack(f"<{len(places) + 1}I", *places, len(places))


def _add_block(out: bytearray, block: bytes) -> bytes:
    """Adds a block, uncompressed, with its checksum; returns its handle: where it begins and how long it is."""
    place = len(out)
    out += block + b"\0" + struct.pack("<I", masked_checksum(block + b"\0"))
    return varint(place) + varint(len(block))

"""Writes checkpoints in TensorFlow's format, for models that TensorFlow and its servers load; see checkpoint.bundle.

The index comes last and makes the checkpoint: a process that is killed before leaves none.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

import graphflow.protos as protos
from graphflow._core.checkpoint.atomic import atomic_file, write_atomically
from graphflow._core.checkpoint.bundle import MAGIC, part_key
from graphflow._core.checkpoint.crc32c import masked_checksum, masked_checksum_of
from graphflow._core.checkpoint.layout import Record
from graphflow._core.checkpoint.reader import HIDDEN, INDEX, CheckpointData

_BLOCK: Final = 1 << 16
"""Bytes of entries in a block of the index, at least."""


def write_bundle(prefix: str, source: CheckpointData) -> None:
    """Writes what a checkpoint holds to PREFIX.index and one file of data; graphflow's own state is left out.

    Args:
        prefix: What the names of both files begin with.
        source: The checkpoint.

    Raises:
        DataLossError: A checksum of the source does not hold.
        OpError: As of atomic_file.
    """
    header = protos.tensor_bundle_pb2.BundleHeaderProto(num_shards=1)
    header.version.producer = 1
    entries = {b"": header.SerializeToString()}
    whole: dict[str, Any] = {}
    place = 0
    with (
        atomic_file(f"{prefix}.data-00000-of-00001") as descriptor,
        open(descriptor, "wb", closefd=False) as file,
    ):
        for record in source.records:
            if record.name.startswith(HIDDEN):
                continue
            (array,) = source.read([(record.name, record.region if record.slice_text else None)])
            parts, checksum = _payload(array)
            entry = _entry(record, record.region.lengths)
            entry.offset, entry.crc32c = place, checksum
            entry.size = sum(map(len, parts))
            place += entry.size
            file.writelines(parts)
            key = record.name.encode()
            if record.slice_text:
                numbers = [
                    n for pair in zip(record.region.offsets, record.region.lengths, strict=True) for n in pair
                ]
                extents = whole.setdefault(record.name, _entry(record, record.shape)).slices.add()
                for start, length in zip(numbers[::2], numbers[1::2], strict=True):
                    extents.extent.add(start=start, length=length)
                key = part_key(key, numbers)
            entries[key] = entry.SerializeToString()
    entries |= {name.encode(): entry.SerializeToString() for name, entry in whole.items()}
    write_atomically(prefix + INDEX, table_of(sorted(entries.items())))


def _entry(record: Record, shape: Sequence[int]) -> Any:
    entry = protos.tensor_bundle_pb2.BundleEntryProto(dtype=record.dtype.as_datatype_enum)
    entry.shape.SetInParent()
    for size in shape:
        entry.shape.dim.add(size=size)
    return entry


def _payload(array: Any) -> tuple[list[Any], int]:
    """The bytes of a tensor, in pieces, and their checksum."""
    array = np.asarray(array, object if isinstance(array, bytes) else None)
    if array.dtype != object:
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        return [data], masked_checksum(data)
    strings = array.reshape(-1).tolist()
    words = b"".join(struct.pack("<I" if len(s) < 1 << 32 else "<Q", len(s)) for s in strings)
    checksum = struct.pack("<I", masked_checksum(words))
    lengths = b"".join(_varint(len(s)) for s in strings)
    return [lengths, checksum, *strings], masked_checksum_of([words, checksum, *strings])


# ---- the table -----------------------------------------------------------------------------------------------------


def table_of(entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The text of an index: a sorted table of keys and values, in blocks, as LevelDB writes it."""
    out = bytearray()
    index = [(last, _add_block(out, block)) for last, block in _blocks(entries)]
    nothing = _add_block(out, _block([]))
    handle = _add_block(out, _block(index))
    return bytes(out) + (nothing + handle).ljust(40, b"\0") + MAGIC.to_bytes(8, "little")


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
        out += _varint(0) + _varint(len(key)) + _varint(len(value)) + key + value
    places = places or [0]
    return bytes(out) + struct.pack(f"<{len(places) + 1}I", *places, len(places))


def _add_block(out: bytearray, block: bytes) -> bytes:
    """Adds a block, uncompressed, with its checksum; returns its handle: where it begins and how long it is."""
    place = len(out)
    out += block + b"\0" + struct.pack("<I", masked_checksum(block + b"\0"))
    return _varint(place) + _varint(len(block))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)

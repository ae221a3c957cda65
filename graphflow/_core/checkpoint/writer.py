"""Writes checkpoint files: in large sequential pieces, each hashed while the processor has it at hand."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.atomic import atomic_file, os_error
from graphflow._core.checkpoint.layout import (
    BLOCK,
    SUFFIX,
    Record,
    blocks,
    encode_header,
    stored_shape,
    tensor_checksum,
)
from graphflow._core.checkpoint.parallel import run_all
from graphflow._core.checkpoint.regions import overlapping, parse_region
from graphflow._core.checkpoint.strings import encode_strings
from graphflow._core.common.files import storage
from graphflow._core.common.records import dataclass
from graphflow._core.graph.dtypes import DType, as_dtype

Digest = TypeVar("Digest")
_UNIT = 4 << 20
"""Bytes that are written at once."""
_MOST_PIECES = 512
"""Pieces that are written at once; the operating system allows 1024."""


@dataclass(frozen=True)
class Entry:
    """A tensor to write: its name and array, and, of a slice, the full shape and the slice's text."""

    name: str
    array: Any
    full_shape: tuple[int, ...] | None = None
    slice_text: str = ""


@dataclass(frozen=True)
class _Piece:
    """Some bytes of a record: the record's position, the block's number, and the bytes."""

    record: int
    block: int
    data: memoryview


def write_checkpoint(prefix: str, entries: Sequence[Entry]) -> None:
    """Writes PREFIX.safetensors, whole or not at all, in a folder that is made if it is not there.

    InvalidArgumentError if two entries have a name or overlap; otherwise the errors of atomic_file. The arrays must
    not change meanwhile. They are not copied.
    """
    records, payloads = plan_records(entries)
    try:
        header = encode_header(records, {})
    except ValueError as error:
        raise errors.InvalidArgumentError(None, None, f"Cannot write {prefix}{SUFFIX}: {error}.") from None
    path = prefix + SUFFIX
    make_folder_of(path)
    with atomic_file(path) as descriptor:
        os.write(descriptor, b"\0" * len(header))
        digests = write_data(descriptor, len(header), payloads, _digest)
        _write_all(descriptor, [memoryview(encode_header(_sealed(records, digests), {}))], 0)


def make_folder_of(path: str) -> None:
    """Makes the folder of a file that is to be written, if it is not there; the errors of atomic_file."""
    try:
        storage.make_folders(storage.folder_of(storage.absolute(path)))
    except OSError as error:
        raise os_error(error, path, "Cannot write") from error


def pack(entries: Sequence[Entry], extra: Mapping[str, str]) -> bytes:
    """The same bytes in memory, with further metadata."""
    records, payloads = plan_records(entries)
    digests = [[_digest(block) for block in blocks(payload)] for payload in payloads]
    return b"".join([encode_header(_sealed(records, digests), extra), *payloads])


def plan_records(
    entries: Sequence[Entry], strings: Callable[[Any], bytes] = encode_strings
) -> tuple[list[Record], list[memoryview]]:
    """The records, their checksums still missing, and the bytes of each, in the order of the file.

    Elements of many bytes come first, so that each tensor lies at a multiple of its elements' size. strings: gives the
    bytes of an array of strings; TypeError if it holds something else.
    """
    planned = []
    for entry in entries:
        array = np.asarray(entry.array)
        dtype = as_dtype(array.dtype)
        shape = array.shape if entry.full_shape is None else entry.full_shape
        payload = _payload(entry.name, array, dtype, strings)
        _, width, _ = stored_shape(dtype, shape, len(payload))
        planned.append(
            (width, Record("", entry.name, dtype, shape, entry.slice_text, "0" * 32, 0, 0), payload)
        )
    planned.sort(key=lambda item: -item[0])
    records: list[Record] = []
    position = 0
    keys = {"__metadata__"}
    for _, record, payload in planned:
        key = f"{record.name}[{record.slice_text}]" if record.slice_text else record.name
        while key in keys:
            key += "'"
        keys.add(key)
        records.append(replace(record, key=key, begin=position, end=position + len(payload)))
        position += len(payload)
    _check_names(records)
    return records, [payload for _, _, payload in planned]


def _payload(name: str, array: Any, dtype: DType, strings: Callable[[Any], bytes]) -> memoryview:
    if dtype.name == "string":
        try:
            return memoryview(strings(array))
        except TypeError as error:
            raise errors.InvalidArgumentError(None, None, f"Cannot save {name!r}: {error}.") from None
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return memoryview(array.reshape(-1).view(np.uint8))


def _check_names(records: Sequence[Record]) -> None:
    by_name: dict[str, list[Record]] = {}
    for record in records:
        by_name.setdefault(record.name, []).append(record)
    for name, parts in by_name.items():
        if len(parts) == 1:
            continue
        if not all(part.slice_text for part in parts):
            raise errors.InvalidArgumentError(None, None, f"Two tensors to save have the name {name!r}.")
        if len({(part.shape, part.dtype) for part in parts}) > 1:
            raise errors.InvalidArgumentError(
                None, None, f"The slices to save of {name!r} disagree about its full shape or dtype."
            )
        clash = overlapping([parse_region(part.slice_text, part.shape) for part in parts])
        if clash is not None:
            first, second = (parts[number].slice_text for number in clash)
            raise errors.InvalidArgumentError(
                None, None, f"The slices {first} and {second} to save of {name!r} overlap."
            )


def _sealed(records: Sequence[Record], digests: Sequence[Sequence[bytes]]) -> list[Record]:
    return [
        replace(record, checksum=tensor_checksum(parts, record.label))
        for record, parts in zip(records, digests, strict=True)
    ]


def _digest(block: memoryview) -> bytes:
    import xxhash

    return xxhash.xxh3_128_digest(block)


def write_data(
    descriptor: int, begin: int, payloads: Sequence[memoryview], digest: Callable[[memoryview], Digest]
) -> list[list[Digest]]:
    """Writes the tensors, one behind the other, and returns the digests of the blocks of each."""
    digests = [list[Any]([None]) * -(-len(payload) // BLOCK) for payload in payloads]
    one_at_a_time = threading.Lock()
    """The operating system lets one thread at a time into a file; the others need not spin for it."""

    def write(unit: tuple[int, list[_Piece]]) -> None:
        position, pieces = unit
        for piece in pieces:
            digests[piece.record][piece.block] = digest(piece.data)
        with one_at_a_time:
            _write_all(descriptor, [piece.data for piece in pieces], position)

    run_all(write, _units(begin, payloads), sum(map(len, payloads)))
    return digests


def _units(begin: int, payloads: Sequence[memoryview]) -> Iterator[tuple[int, list[_Piece]]]:
    """The units that are written at once: the position of each in the file, and its pieces."""
    position, size, pieces = begin, 0, list[_Piece]()
    for number, payload in enumerate(payloads):
        for index, block in enumerate(blocks(payload)):
            pieces.append(_Piece(number, index, block))
            size += len(block)
            if size >= _UNIT or len(pieces) >= _MOST_PIECES:
                yield position, pieces
                position, size, pieces = position + size, 0, []
    if pieces:
        yield position, pieces


def _write_all(descriptor: int, parts: list[memoryview], position: int) -> None:
    """Writes the parts one behind the other, however many calls it takes."""
    while parts:
        written = os.pwritev(descriptor, parts, position)
        position += written
        while parts and written >= len(parts[0]):
            written -= len(parts.pop(0))
        if written:
            parts[0] = parts[0][written:]

"""Reads checkpoints of TensorFlow's first version: one file of the prefix's own name, as many pretrained models are.

It is a table as the index of the second version is (see checkpoint.bundle). The empty key has a SavedTensorSlices
message that lists all tensors and the parts they are in; each part has a key of its own, and a message with its values
as a TensorProto. The blocks of the table have checksums, all of which are compared when the file is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.bundle import part_key, parts_of, read_table
from graphflow._core.checkpoint.bundle_entries import (
    BundleEntry,
    extents_in,
    fields_of,
    messages_of,
    shape_of,
)
from graphflow._core.checkpoint.layout import CorruptError, Record
from graphflow._core.checkpoint.reader import CheckpointFile, mapped
from graphflow._core.checkpoint.regions import whole
from graphflow._core.graph.dtypes import DType, as_dtype

_LITTLE: Final = {5: "<f4", 6: "<f8", 9: "<f4", 12: "<f8"}
"""Fields of a TensorProto whose values lie one behind the other; those of complex numbers are pairs."""
_VARINTS: Final = frozenset((7, 10, 11, 13, 16, 17))
"""Fields of whole numbers, and of the bits of float16."""
_STRINGS: Final = 8
_UNCHECKED: Final = ""


class FirstVersionFile(CheckpointFile):
    """A checkpoint of TensorFlow's first version, mapped into memory.

    NotFoundError if the file is missing, DataLossError if it is damaged or another kind of file.
    """

    def __init__(self, path: str) -> None:
        try:
            self._found = dict(_records(dict(read_table(mapped(path)))))
        except CorruptError as error:
            raise errors.DataLossError(
                None, None, f"{path} is not a whole checkpoint: {error}. Restore another one."
            ) from None
        self._hold(path, list(self._found), {"format": "TensorFlow, first version"})

    def bytes_of(self, record: Record) -> memoryview:
        """The message with the values of a record."""
        return self._found[record]

    def damaged(
        self,
        records: Sequence[Record],
        progress: Callable[[int], None] | None = None,
        into: Mapping[Record, memoryview] = MappingProxyType({}),
    ) -> list[tuple[Record, str]]:
        """None: what is damaged has been found when the file was opened; see CheckpointData."""
        for record in records:
            if record in into:
                into[record][:] = memoryview(self._array(record).reshape(-1).view(np.uint8))
            if progress is not None:
                progress(record.end - record.begin)
        return []

    def _array(self, record: Record) -> Any:
        try:
            return _values(self._found[record], record.dtype, record.region.size).reshape(
                record.region.lengths
            )
        except CorruptError as error:
            raise errors.DataLossError(
                None, None, f"{self.where}: the tensor {record.name!r} is damaged: {error}."
            ) from None


def _records(table: Mapping[bytes, memoryview]) -> Iterator[tuple[Record, memoryview]]:
    """All tensors, and parts of tensors, each with the message of its values."""
    if b"" not in table:
        raise CorruptError("it does not say what is in it")
    place = 0
    for meta in messages_of(table[b""], 1):
        for listed in messages_of(meta, 1):
            name, entry = _listed(listed)
            parts = parts_of(entry)
            for region, numbers in parts:
                saved = table.get(part_key(name.encode(), numbers))
                data = None if saved is None else _data(saved)
                if data is None:
                    raise CorruptError(f"the part {region.text} of the tensor {name!r} is not in it")
                shape = entry.shape or ()
                text = "" if len(parts) == 1 and region == whole(shape) else region.text
                end = place + len(data)
                yield (
                    Record(f"{name}/{text}", name, _dtype(entry, name), shape, text, _UNCHECKED, place, end),
                    data,
                )
                place = end


def _listed(message: memoryview) -> tuple[str, BundleEntry]:
    """The name of a tensor, and its dtype, shape and parts, of a SavedSliceMeta."""
    name, entry = "", BundleEntry()
    for number, value in fields_of(message):
        if number == 3 and isinstance(value, int):
            entry.dtype = value
        elif isinstance(value, int):
            continue
        elif number == 1:
            try:
                name = bytes(value).decode()
            except UnicodeDecodeError:
                raise CorruptError(f"it has a tensor of the name {bytes(value)!r}") from None
        elif number == 2:
            entry.shape = shape_of(value)
        elif number == 4:
            entry.slices.append(extents_in(value))
    return name, entry


def _dtype(entry: BundleEntry, name: str) -> DType:
    try:
        found = as_dtype(entry.dtype)
    except TypeError:
        found = None
    if found is None or not found.is_numpy_compatible:
        raise CorruptError(f"the tensor {name!r} has the dtype {entry.dtype}, which graphflow does not have")
    return found


def _data(saved: memoryview) -> memoryview | None:
    """The TensorProto in a SavedTensorSlices message."""
    for saved_slice in messages_of(saved, 2):
        for tensor in messages_of(saved_slice, 3):
            return tensor
        return memoryview(b"")  # Of no elements.
    return None


def _values(tensor: memoryview, dtype: DType, count: int) -> Any:
    """The elements of a TensorProto in a row; CorruptError unless there are so many."""
    found: list[Any] = []
    strings: list[bytes] = []
    for number, value in fields_of(tensor):
        if isinstance(value, int):
            if number in _VARINTS:
                found.append(np.array([value], np.int64))
        elif number in _LITTLE:
            if len(value) % np.dtype(_LITTLE[number]).itemsize:
                raise CorruptError("its values are cut short")
            found.append(np.frombuffer(value, _LITTLE[number]))
        elif number in _VARINTS:
            found.append(_varints(value))
        elif number == _STRINGS:
            strings.append(bytes(value))
    if dtype.name == "string":
        result = np.empty(len(strings), object)
        result[:] = strings
    else:
        result = _as(dtype, np.concatenate(found) if found else np.empty(0, np.int64))
    if result.size != count:
        raise CorruptError(f"it has {result.size} values, where its shape has {count}")
    return result


def _as(dtype: DType, values: Any) -> Any:
    kind = np.dtype(dtype.as_numpy_dtype)
    if dtype.is_complex:
        if values.size % 2 or values.dtype.kind != "f":
            raise CorruptError("its values are no pairs")
        return values.view(kind)
    if dtype.name in ("float16", "bfloat16"):
        return values.astype(np.uint16).view(kind)
    return values.astype(kind)


def _varints(data: memoryview) -> Any:
    """The numbers of a packed field, seven bits a byte."""
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    if raw.size and (not ends.size or ends[-1] != raw.size - 1):
        raise CorruptError("a number in it has no end")
    starts = np.concatenate([[0], ends[:-1] + 1]) if ends.size else ends
    lengths = ends - starts + 1
    if lengths.size and lengths.max() > 10:
        raise CorruptError("a number in it has no end")
    result = np.zeros(ends.size, np.uint64)
    for place in range(int(lengths.max()) if lengths.size else 0):
        reaches = lengths > place
        bits = (raw[starts[reaches] + place] & 0x7F).astype(np.uint64)
        result[reaches] |= bits << np.uint64(7 * place)
    return result.view(np.int64)

"""The layout of a checkpoint file: a safetensors file whose metadata make it trustworthy.

    8 bytes     the length of the header, little-endian
    header      JSON, filled up with spaces:
                {"__metadata__": {"header_checksum": "<32 hex digits>",
                                  "format": "graphflow.checkpoint", "format_version": "1",
                                  "count": "<number of tensors>", "tensors": "<JSON: a list of records>"},
                 "<key>": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
    data        the tensors one behind the other, in the order of the records

The checksum of the header comes first in it, at a fixed place, and covers everything else before the data, so it is
checked before anything is parsed. Each record holds the checksum of one tensor; see `tensor_checksum`. No number of
a file is believed: all are checked against one another and the size of the file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, Final

from graphflow._core.checkpoint.regions import MOST_AXES, Region, parse_region, whole
from graphflow._core.common.records import dataclass
from graphflow._core.graph.dtypes import BY_NAME, DType

FORMAT: Final = "graphflow.checkpoint"
VERSION: Final = "1"
SUFFIX: Final = ".safetensors"
"""The ending that a checkpoint's prefix has on disk."""
BLOCK: Final = 1 << 20
"""Bytes that are hashed at once, so that the blocks of one tensor can be hashed in any order and by any thread."""
MOST_SLICES: Final = 10_000
_MOST_HEADER: Final = 100_000_000
"""The safetensors library reads no longer header."""
_START: Final = b'{"__metadata__":{"header_checksum":"'
_DIGITS: Final = 32
_ALIGNMENT: Final = 64
_LENGTH: Final = struct.Struct("<Q")

_STORED: Final[Mapping[str, tuple[str, int, tuple[int, ...]]]] = {
    "bool": ("BOOL", 1, ()), "uint8": ("U8", 1, ()), "int8": ("I8", 1, ()), "uint16": ("U16", 2, ()),
    "int16": ("I16", 2, ()), "uint32": ("U32", 4, ()), "int32": ("I32", 4, ()), "uint64": ("U64", 8, ()),
    "int64": ("I64", 8, ()), "float16": ("F16", 2, ()), "float32": ("F32", 4, ()), "float64": ("F64", 8, ()),
    "bfloat16": ("BF16", 2, ()), "complex64": ("F32", 4, (2,)), "complex128": ("F64", 8, (2,)),
}  # fmt: skip
"""Of each dtype: safetensors' name, the bytes of one element of that, and what is added to the shape."""


_OF_OTHERS: Final = (
    "its header does not begin as that of a graphflow checkpoint; if another library has written it, take "
    "gf.train.restore_safetensors"
)


class CorruptError(Exception):
    """A file is no whole checkpoint; the text says what is wrong with it."""


@dataclass(frozen=True)
class Record:
    """One tensor of a file, or one slice of a tensor that is stored in parts.

    shape: that of the whole tensor. region: which part of it this is; all of it if `slice_text` is empty. begin and
    end: where its bytes lie, from the beginning of the data.
    """

    key: str
    name: str
    dtype: DType
    shape: tuple[int, ...]
    slice_text: str
    checksum: str
    begin: int
    end: int

    @property
    def region(self) -> Region:
        """The part of the whole tensor."""
        return parse_region(self.slice_text, self.shape) if self.slice_text else whole(self.shape)

    @property
    def label(self) -> bytes:
        """The text that its checksum covers beside its bytes: name, dtype, full shape and slice as JSON text."""
        return _json([self.name, self.dtype.name, self.shape, self.slice_text]).encode()


def tensor_checksum(digests: Iterable[bytes], described: bytes) -> str:
    """The checksum of a tensor: XXH3-128 over the XXH3-128 digest of each block of its bytes, then its label.

    The digests are in xxHash's canonical (big-endian) form, the last block may be shorter, no bytes make no block.
    """
    import xxhash

    checksum = xxhash.xxh3_128()
    checksum.update(b"".join(digests))
    checksum.update(described)
    return checksum.hexdigest()


def blocks(data: memoryview) -> Iterable[memoryview]:
    """The bytes of a tensor in pieces of BLOCK."""
    return (data[start : start + BLOCK] for start in range(0, len(data), BLOCK))


def stored_shape(dtype: DType, shape: Sequence[int], size: int) -> tuple[str, int, list[int]]:
    """(dtype, bytes of an element, shape) that a tensor has in safetensors' terms; `size` is the bytes of strings."""
    if dtype.name == "string":
        return "U8", 1, [size]
    kind, width, added = _STORED[dtype.name]
    return kind, width, [*shape, *added]


# ---- writing --------------------------------------------------------------------------------------------------------


def encode_header(records: Sequence[Record], extra: Mapping[str, str]) -> bytes:
    """The bytes before the data. Its length does not depend on what the checksums are, only on how many."""
    import xxhash

    listed = [
        {
            "key": record.key,
            "name": record.name,
            "dtype": record.dtype.name,
            "shape": record.shape,
            "slice": record.slice_text,
            "checksum": record.checksum,
        }
        for record in records
    ]
    metadata = {"header_checksum": "0" * _DIGITS, "format": FORMAT, "format_version": VERSION} | dict(extra)
    metadata |= {"count": str(len(records)), "tensors": _json(listed)}
    header: dict[str, Any] = {"__metadata__": metadata}
    for record in records:
        size = record.end - record.begin
        dtype, _, shape = stored_shape(record.dtype, record.region.lengths, size)
        header[record.key] = {"dtype": dtype, "shape": shape, "data_offsets": [record.begin, record.end]}
    text = _json(header).encode()
    text += b" " * (-(_LENGTH.size + len(text)) % _ALIGNMENT)
    if len(text) > _MOST_HEADER:
        raise ValueError(
            f"the header of {len(records)} tensors is longer than the format's {_MOST_HEADER} bytes"
        )
    length = _LENGTH.pack(len(text))
    checksum = xxhash.xxh3_128_hexdigest(length + text).encode()
    return length + _START + checksum + text[len(_START) + _DIGITS :]


def _json(value: Any) -> str:
    """JSON text in ASCII, without spaces."""
    return json.dumps(value, separators=(",", ":"))


# ---- reading --------------------------------------------------------------------------------------------------------


def _begins(data: memoryview) -> bool:
    """Whether a file begins as a checkpoint, as far as it goes."""
    begin = bytes(data[_LENGTH.size : _LENGTH.size + len(_START)])
    return _START.startswith(begin)


def decode_header(data: memoryview) -> tuple[list[Record], dict[str, str], int]:
    """The records of a file, its metadata, and where its data begin; CorruptError if anything does not fit."""
    import xxhash

    fixed = _LENGTH.size + len(_START) + _DIGITS
    if bytes(data[_LENGTH.size : _LENGTH.size + len(_START)][:2]) == b'{"' and not _begins(data):
        raise CorruptError(_OF_OTHERS)
    if len(data) < fixed:
        raise CorruptError(f"it is {len(data)} bytes long, too short for a checkpoint")
    (length,) = _LENGTH.unpack(data[: _LENGTH.size])
    if length > min(len(data) - _LENGTH.size, _MOST_HEADER) or length < fixed - _LENGTH.size:
        raise CorruptError(f"it is {len(data)} bytes long and gives the length of its header as {length}")
    text = bytes(data[_LENGTH.size : _LENGTH.size + length])
    if not text.startswith(_START):
        raise CorruptError(_OF_OTHERS)
    given = text[len(_START) : len(_START) + _DIGITS]
    zeroed = _START + b"0" * _DIGITS + text[len(_START) + _DIGITS :]
    found = xxhash.xxh3_128_hexdigest(bytes(data[: _LENGTH.size]) + zeroed).encode()
    if given != found:
        raise CorruptError(
            f"the checksum of its header is {found.decode()}, not {given.decode('ascii', 'replace')} as it says"
        )
    try:
        header = json.loads(text.decode(), object_pairs_hook=_without_repeats)
        metadata = header.pop("__metadata__")
        if metadata["format"] != FORMAT or metadata["format_version"] != VERSION:
            raise CorruptError(
                f"its format is {metadata['format']!r}, version {metadata['format_version']!r}; this graphflow reads "
                f"{FORMAT!r}, version {VERSION!r}"
            )
        listed = json.loads(metadata["tensors"], object_pairs_hook=_without_repeats)
        begin = _LENGTH.size + length
        return _records(listed, header, len(data) - begin, metadata["count"]), metadata, begin
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, MemoryError) as error:
        raise CorruptError(f"its header makes no sense: {type(error).__name__}: {str(error)[:200]}") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CorruptError("a name stands twice in its header")
    return found


def _records(listed: Any, entries: Any, size: int, count: Any) -> list[Record]:
    if not isinstance(listed, list) or count != str(len(listed)) or len(entries) != len(listed):
        raise CorruptError("the numbers of its tensors differ")
    records: list[Record] = []
    position = 0
    for item in listed:
        record = _record(item, entries[item["key"]], position)
        position = record.end
        records.append(record)
    if position != size:
        raise CorruptError(f"its tensors take {position} bytes and it has {size}")
    _check_slices(records)
    return records


def _record(item: Any, entry: Any, position: int) -> Record:
    """One record, checked against the entry of its key; its bytes must begin at `position`."""
    key, name, dtype, shape = item["key"], item["name"], BY_NAME[item["dtype"]], _sizes(item["shape"])
    text, checksum = item["slice"], item["checksum"]
    if not all(isinstance(part, str) for part in (key, name, text, checksum)) or len(checksum) != _DIGITS:
        raise CorruptError("a record of its header is not made of texts")
    (begin, end) = _sizes(entry["data_offsets"])
    lengths = parse_region(text, shape).lengths if text else shape
    kind, width, stored = stored_shape(dtype, lengths, end - begin)
    if begin != position or entry["dtype"] != kind or list(_sizes(entry["shape"])) != stored:
        raise CorruptError(f"what its header says of the tensor {name!r} differs from place to place")
    if end - begin != width * prod(stored) or (dtype.name == "string" and end - begin < 8 * prod(lengths)):
        raise CorruptError(
            f"the tensor {name!r} has {end - begin} bytes, which do not fit its shape {list(shape)}"
        )
    return Record(key, name, dtype, shape, text, checksum, begin, end)


def _sizes(value: Any) -> tuple[int, ...]:
    """A list of sizes; CorruptError for anything else."""
    if not isinstance(value, list) or len(value) > MOST_AXES + 1:
        raise CorruptError("a shape or place in its header is no list of sizes")
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in value):
        raise CorruptError("a shape or place in its header has what is no size")
    return tuple(value)


def _check_slices(records: Sequence[Record]) -> None:
    """Parts of one tensor agree about it, and a whole tensor is there once."""
    firsts: dict[str, Record] = {}
    counts: dict[str, int] = {}
    for record in records:
        first = firsts.setdefault(record.name, record)
        counts[record.name] = counts.get(record.name, 0) + 1
        if counts[record.name] > 1 and not (record.slice_text and first.slice_text):
            raise CorruptError(f"the tensor {record.name!r} is there twice")
        if (record.dtype, record.shape) != (first.dtype, first.shape):
            raise CorruptError(f"the parts of the tensor {record.name!r} disagree about its dtype or shape")
        if counts[record.name] > MOST_SLICES:
            raise CorruptError(f"the tensor {record.name!r} is in more than {MOST_SLICES} parts")

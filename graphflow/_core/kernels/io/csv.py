"""The kernel that reads lines of comma-separated values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel

_INTEGER: Final = re.compile(rb"\s*[+-]?[0-9]+\s*")
_NUMBER: Final = re.compile(
    rb"\s*[+-]?([0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|inf|nan)\s*", re.I
)


_KINDS = {"float32": "float", "float64": "double"}
"""What TensorFlow calls dtypes here."""


def _fields(record: bytes, delimiter: bytes, quotes: bool, of_file: bool) -> list[bytes]:
    """The fields of a record (RFC 4180). of_file: whether it is one of a file, which ends where a line does."""
    if not quotes or (b'"' not in record and b"\n" not in record and b"\r" not in record):
        return record.split(delimiter)
    found: list[bytes] = []
    position = 0
    while True:
        if record[position : position + 1] == b'"':
            field, position = _quoted(record, position + 1, delimiter)
        else:
            end = record.find(delimiter, position)
            end = len(record) if end < 0 else end
            field, position = record[position:end], end
            if b'"' in field or b"\n" in field or b"\r" in field:
                raise invalid(f"Unquoted fields cannot have quotes{'' if of_file else '/CRLFs'} inside")
        found.append(field)
        if position >= len(record):
            return found
        position += 1


def _quoted(record: bytes, start: int, delimiter: bytes) -> tuple[bytes, int]:
    """A field from behind its opening quote on, and the position behind its closing one."""
    position = start
    while True:
        position = record.find(b'"', position)
        if position < 0:
            raise invalid("Quoted field has to end with quote followed by delim or end")
        following = record[position + 1 : position + 2]
        if following in (b"", delimiter):
            return record[start:position].replace(b'""', b'"'), position + 1
        if following != b'"':
            raise invalid("Quote inside a string has to be escaped by another quote")
        position += 2


def _value(field: bytes, dtype: DType, number: int, record: str) -> Any:
    if dtype is dtypes.string:
        return field
    pattern = _INTEGER if dtype.is_integer else _NUMBER
    if pattern.fullmatch(field):
        if not dtype.is_integer:
            return float(field)
        value = int(field)
        if dtype.min <= value <= dtype.max:
            return value
    kind, shown = _KINDS.get(dtype.name, dtype.name), field[:60].decode(errors="replace")
    raise invalid(f"Field {number} in {record} is not a valid {kind}: {shown}")


def record_reader(
    attrs: Mapping[str, Any], types: Sequence[DType]
) -> Callable[[bytes, int | None, Sequence[Any]], list[Any]]:
    """A function (record, its number, arrays with a stand-in or none for each column) that gives a record's values.

    attrs: those of DecodeCSV. A record of a file has no number.
    """
    delimiter, missing = (
        v if isinstance(v, bytes) else str(v).encode() for v in (attrs["field_delim"], attrs["na_value"])
    )
    quotes, wanted = attrs["use_quote_delim"], list(attrs["select_cols"])
    columns = wanted or range(len(types))

    def read(record: bytes, number: int | None, stand_ins: Sequence[Any]) -> list[Any]:
        told = "record" if number is None else f"record {number}"
        fields = _fields(record, delimiter, quotes, number is None)
        there = sum(column < len(fields) for column in columns)
        if there < len(columns) or (not wanted and len(fields) > there):
            count = "more" if number is None and there == len(columns) else there if wanted else len(fields)
            raise invalid(f"Expect {len(columns)} fields but have {count} in {told}")
        found = []
        for position, column in enumerate(columns):
            field = fields[column]
            if field and field != missing:
                found.append(_value(field, types[position], column, told))
            elif len(stand_ins[position]):
                found.append(stand_ins[position][0])
            else:
                raise invalid(f"Field {column} is required but missing in {told}!")
        return found

    return read


def stand_ins_of(defaults: Sequence[Any]) -> list[Any]:
    """For each column an array with the value of an empty field, or none if there must be one."""
    return [np.asarray(d).reshape(-1)[:1] for d in defaults]


@kernel("DecodeCSV")
def _decode(node: Node) -> Kernel:
    types, read = node.dtypes, record_reader(node.attrs, node.dtypes)

    def decode(records: Any, *defaults: Any) -> Any:
        array, stand_ins = np.asarray(records, object), stand_ins_of(defaults)
        results = [np.empty(array.size, dtype.native) for dtype in types]
        for number, record in enumerate(array.reshape(-1)):
            for result, value in zip(results, read(record, number, stand_ins), strict=True):
                result[number] = value
        shaped = [r.reshape(array.shape) for r in results]
        shaped = [r if r.ndim or r.dtype == object else r[()] for r in shaped]
        return tuple(shaped) if len(shaped) > 1 else shaped[0]

    return decode

"""Kernels that make strings of SparseTensors and back. A string is TensorFlow's TensorProto of an array.

The messages are few fields of plain bytes, which are read and written here, so that nothing is needed but NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphflow._core.checkpoint.bundle_entries import varint
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel

_DTYPE, _SHAPE, _CONTENT, _STRING, _DIM, _SIZE = 1, 2, 4, 8, 2, 1
"""The numbers of the fields: of TensorProto, of TensorShapeProto, and of its Dim."""


_INT64, _STRINGS = as_dtype("int64"), as_dtype("string")


def _field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def _message(array: Any, dtype: DType) -> bytes:
    """An array as a TensorProto."""
    shape = b"".join(_field(_DIM, _field(_SIZE, size) if size else b"") for size in array.shape)
    head = _field(_DTYPE, dtype.as_datatype_enum) + _field(_SHAPE, shape)
    if array.dtype == object:
        texts = [bytes(value) for value in array.reshape(-1)]
        content = b"".join(map(varint, map(len, texts))) + b"".join(texts)
    else:
        content = np.ascontiguousarray(array).tobytes()
    return head + (_field(_CONTENT, content) if content else b"")


def _texts(content: bytes, count: int) -> list[bytes]:
    """Strings that stand in one field: their lengths, and then themselves."""
    at, lengths, found = 0, [], []
    for _ in range(count):
        length, at = _read_varint(content, at)
        lengths.append(length)
    for length in lengths:
        found.append(content[at : at + length])
        at += length
    return found if at == len(content) else []


def _unreadable(why: str) -> Exception:
    return invalid(f"Could not parse serialized proto: a serialized SparseTensor {why}")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _unreadable(f"of {len(data)} bytes ends inside a number")
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        if tag & 7 == 0:
            value, at = _read_varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, at = _read_varint(data, at)
            if at + size > len(data):
                raise _unreadable(f"of {len(data)} bytes ends inside a field of {size}")
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            raise _unreadable(f"has a field of kind {tag & 7}")


def _array(data: Any, dtype: DType, what: str, position: int = 0) -> Any:
    """The array of a TensorProto; InvalidArgumentError for another dtype or what is none."""
    shape: list[int] = []
    texts: list[bytes] = []
    found, content = 0, b""
    for number, value in _fields(data):
        if number == _DTYPE:
            found = value
        elif number == _SHAPE:
            sizes = [dict(_fields(part)).get(_SIZE, 0) for field, part in _fields(value) if field == _DIM]
            shape = [int(size) for size in sizes]
        elif number == _CONTENT:
            content = value
        elif number == _STRING:
            texts.append(value)
    if found != dtype.as_datatype_enum:
        other = as_dtype(found).name if found else "nothing"
        if what == "values":
            raise invalid(
                f"Requested SparseTensor of type {dtype.name} but SparseTensor[{position}].values.dtype() == {other}"
            )
        raise invalid(f"The {what} of a serialized SparseTensor are {other}, where {dtype.name} is asked for")
    size = int(np.prod(shape, dtype=object))
    native = np.dtype(dtype.native)
    if dtype is _STRINGS:
        texts = texts or (_texts(content, size) if content else [])
        fits, array = len(texts) == size, np.array([*texts, None], object)[:-1]
    else:
        fits = len(content) == size * native.itemsize
        array = np.frombuffer(content, native) if fits else np.zeros(0, native)
    if not fits:
        raise invalid(f"The {what} of a serialized SparseTensor are not as many as the shape {shape} says")
    return array.reshape(shape)


def _strings(parts: tuple[Any, Any, Any], dtype: DType) -> Any:
    found = np.empty(3, object)
    found[:] = [_message(parts[0], _INT64), _message(parts[1], dtype), _message(parts[2], _INT64)]
    return found


def _value_dtype(values: Any) -> DType:
    return _STRINGS if values.dtype == object else as_dtype(values.dtype)


def _check(indices: Any, values: Any, shape: Any) -> None:
    if indices.ndim != 2 or indices.shape != (len(values), len(shape)):
        raise invalid(
            f"A SparseTensor of {len(values)} values and the shape {shape.tolist()} has indices of shape "
            f"{list(indices.shape)}"
        )


@kernel("SerializeSparse")
def _serialize(node: Node) -> Kernel:
    def run(indices: Any, values: Any, shape: Any) -> Any:
        _check(indices, values, shape)
        return _strings((indices, values, shape), _value_dtype(values))

    return run


@kernel("SerializeManySparse")
def _serialize_many(node: Node) -> Kernel:
    def run(indices: Any, values: Any, shape: Any) -> Any:
        _check(indices, values, shape)
        if len(shape) < 2:
            raise invalid(
                f"A SparseTensor whose rows are serialized has a rank of at least 2, got {len(shape)}"
            )
        rows, count = indices[:, 0], int(shape[0])
        if len(rows) and (np.any(rows[1:] < rows[:-1]) or rows[0] < 0 or rows[-1] >= count):
            raise invalid(
                "The rows of a SparseTensor that is serialized must be in order and inside its shape"
            )
        ends = np.searchsorted(rows, np.arange(count + 1))
        result, dtype = np.empty((count, 3), object), _value_dtype(values)
        for row in range(count):
            part = slice(ends[row], ends[row + 1])
            result[row] = _strings((indices[part, 1:], values[part], shape[1:]), dtype)
        return result

    return run


def _read(node: Node) -> Kernel:
    dtype = node.attrs["dtype"]

    def run(serialized: Any) -> Any:
        strings = np.asarray(serialized, object)
        if not strings.ndim or strings.shape[-1] != 3:
            raise invalid(f"Serialized SparseTensors have the shape [..., 3], got {list(strings.shape)}")
        outer = strings.shape[:-1]
        parts = [
            (_array(i, _INT64, "indices"), _array(v, dtype, "values", position), _array(s, _INT64, "shape"))
            for position, (i, v, s) in enumerate(strings.reshape(-1, 3))
        ]
        for part in parts:
            _check(*part)
        if not outer:
            return parts[0]
        if not parts:
            raise invalid(
                f"No SparseTensor can be made of {list(strings.shape)} strings, whose rank nobody knows"
            )
        ranks = [len(shape) for _, _, shape in parts]
        other = next((position for position, rank in enumerate(ranks) if rank != ranks[0]), None)
        if other is not None:
            raise invalid(
                f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{other}] was: {ranks[0]} but "
                f"rank of SparseTensor[{other}] is: {ranks[other]}"
            )
        places = np.array(list(np.ndindex(*outer)), np.int64).reshape(len(parts), len(outer))
        numbered = [
            np.concatenate([np.broadcast_to(place, (len(indices), len(outer))), indices], axis=1)
            for place, (indices, _, _) in zip(places, parts, strict=True)
        ]
        longest = np.max([shape for _, _, shape in parts], axis=0)
        return (
            np.concatenate(numbered),
            np.concatenate([values for _, values, _ in parts]),
            np.concatenate([np.array(outer, np.int64), longest]),
        )

    return run


kernel("DeserializeSparse", "DeserializeManySparse")(_read)

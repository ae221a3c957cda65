"""Kernels of strings: Python's own, over arrays of bytes objects."""

from __future__ import annotations

import base64
import binascii
import codecs
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.kernels.array.array import invalid, normalized
from graphflow._core.kernels.registry import Kernel, Node, kernel


def string_array(items: Any, shape: tuple[int, ...]) -> Any:
    """An object array of bytes."""
    result = np.empty(len(items), object)
    result[:] = items
    return result.reshape(shape)


def _each(function: Callable[[Any], Any]) -> Kernel:
    """A kernel that maps each element to a string."""

    def run(x: Any) -> Any:
        array = np.asarray(x, object)
        return string_array([function(v) for v in array.reshape(-1)], array.shape)

    return run


@kernel("AsString")
def _as_string(node: Node) -> Kernel:
    attrs = node.attrs
    precision, width, fill = attrs["precision"], attrs["width"], attrs["fill"]
    if len(fill) > 1 or fill not in " +-0":
        raise invalid(f"Fill string must be one or fewer characters, of ' +-0', got {fill!r}")
    if attrs["scientific"] and attrs["shortest"]:
        raise invalid("Cannot select both scientific and shortest notation")
    letter = "e" if attrs["scientific"] else "g" if attrs["shortest"] else "f"
    size = f"{fill}{width}" if width > -1 else ""
    places = f".{precision}" if precision > -1 else ""

    def text(value: Any) -> Any:
        if isinstance(value, bool):
            return b"true" if value else b"false"
        if isinstance(value, int):
            return (f"%{size}d" % value).encode()
        if isinstance(value, complex):
            form = f"%{size}{places}{letter}"
            return f"({form},{form})".encode() % (value.real, value.imag)
        if isinstance(value, bytes):
            return value
        return (f"%{size}{places}{letter}" % value).encode()

    def run(x: Any) -> Any:
        array = np.asarray(x)
        if array.dtype.kind not in "fc" and letter != "f":
            raise invalid(f"scientific and shortest format not supported for datatype {array.dtype}")
        if array.dtype.kind not in "fc" and places:
            raise invalid(f"precision not supported for datatype {array.dtype}")
        return string_array([text(v) for v in array.reshape(-1).tolist()], array.shape)

    return run


@kernel("StringJoin")
def _string_join(node: Node) -> Kernel:
    separator = node.attrs["separator"].encode()

    def run(*inputs: Any) -> Any:
        arrays = [np.asarray(x, object) for x in inputs]
        shape = next((a.shape for a in arrays if a.ndim), ())
        bad = next((a for a in arrays if a.ndim and a.shape != shape), None)
        if bad is not None:
            raise invalid(f"Input shapes do not match: {shape} and {bad.shape}")
        rows = [np.broadcast_to(a, shape).reshape(-1) for a in arrays]
        return string_array([separator.join(parts) for parts in zip(*rows, strict=True)], shape)

    return run


def _as_sparse(rows: list[list[bytes]]) -> Any:
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    parts = [part for row in rows for part in row]
    widest = max((len(row) for row in rows), default=0)
    indices = np.array(places, np.int64).reshape(-1, 2)
    return indices, string_array(parts, (len(parts),)), np.array([len(rows), widest], np.int64)


def _separator(value: Any) -> bytes:
    array = np.asarray(value, object)
    if array.ndim:
        raise invalid(f"delimiter must be a scalar, got shape: {list(array.shape)}")
    text: bytes = array.item()
    return text


@kernel("StringSplit")
def _string_split(node: Node) -> Kernel:
    skip_empty = node.attrs["skip_empty"]

    def run(strings: Any, delimiter: Any) -> Any:
        at = _separator(delimiter)
        pattern = re.compile(b"[" + re.escape(at) + b"]") if at else None
        rows = []
        for text in strings:
            parts = pattern.split(text) if pattern else [text[i : i + 1] for i in range(len(text))]
            rows.append([p for p in parts if p] if skip_empty else parts)
        return _as_sparse(rows)

    return run


@kernel("StringSplitV2")
def _string_split_v2(node: Node) -> Kernel:
    most = node.attrs["maxsplit"]

    def run(strings: Any, separator: Any) -> Any:
        at = _separator(separator)
        return _as_sparse([text.split(at or None, most) for text in strings])

    return run


_HEXADECIMAL: Final = re.compile(rb"\s*[+-]?0x[0-9a-f]+\s*", re.IGNORECASE)


def _float(text: bytes) -> float:
    """The number that a text writes; in hexadecimal it is an integer. "infinity" is none, but "inf" is."""
    if _HEXADECIMAL.fullmatch(text):
        return float(int(text, 16))
    if b"infinity" in text.lower():
        raise ValueError
    return float(text)


@kernel("StringToNumber")
def _string_to_number(node: Node) -> Kernel:
    kind = node.attrs["out_type"].as_numpy_dtype
    parse: Any = _float if np.dtype(kind).kind == "f" else int

    def number(text: bytes) -> Any:
        try:
            value = parse(text)
            limits = None if parse is _float else np.iinfo(kind)
            if b"_" in text or (limits is not None and not limits.min <= value <= limits.max):
                raise ValueError
        except ValueError:
            raise invalid(
                f"StringToNumberOp could not correctly convert string: {text.decode(errors='replace')}"
            ) from None
        return value

    def run(x: Any) -> Any:
        array = np.asarray(x, object)
        return np.array([number(v) for v in array.reshape(-1)], kind).reshape(array.shape)

    return run


def _characters(text: bytes) -> Sequence[int]:
    """Where each character of UTF-8 begins: at every byte that does not go on with one."""
    return [place for place, byte in enumerate(text) if byte & 0xC0 != 0x80]


@kernel("Substr")
def _substr(node: Node) -> Kernel:
    in_bytes = node.attrs.get("unit", "BYTE") == "BYTE"

    def part(text: bytes, start: int, length: int) -> bytes:
        begins = range(len(text)) if in_bytes else _characters(text)
        if not -len(begins) <= start <= len(begins):
            raise invalid(f"pos {start} out of range for string {text!r}")
        first = start + len(begins) if start < 0 else start
        edges = (*begins[first : first + max(length, 0) + 1], len(text))
        return text[edges[0] : edges[min(max(length, 0), len(edges) - 1)]]

    def run(strings: Any, pos: Any, length: Any) -> Any:
        texts, starts, lengths = np.broadcast_arrays(np.asarray(strings, object), pos, length)
        flat = zip(texts.reshape(-1), starts.reshape(-1).tolist(), lengths.reshape(-1).tolist(), strict=True)
        return string_array([part(*item) for item in flat], texts.shape)

    return run


@kernel("StringStrip")
def _strip(node: Node) -> Kernel:
    return _each(lambda text: text.strip())


@kernel("StringLower")
def _lower(node: Node) -> Kernel:
    utf8 = node.attrs["encoding"] == "utf-8"
    return _each(lambda text: text.decode().lower().encode() if utf8 else text.lower())


@kernel("StringUpper")
def _upper(node: Node) -> Kernel:
    utf8 = node.attrs["encoding"] == "utf-8"
    return _each(lambda text: text.decode().upper().encode() if utf8 else text.upper())


@kernel("StringLength")
def _length(node: Node) -> Kernel:
    characters = node.attrs["unit"] == "UTF8_CHAR"

    def run(x: Any) -> Any:
        array = np.asarray(x, object)
        lengths = [len(v.decode(errors="replace")) if characters else len(v) for v in array.reshape(-1)]
        return np.array(lengths, np.int32).reshape(array.shape)

    return run


@kernel("ReduceJoin")
def _reduce_join(node: Node) -> Kernel:
    keep, separator = node.attrs["keep_dims"], node.attrs["separator"].encode()

    def run(x: Any, axes: Any) -> Any:
        array = np.asarray(x, object)
        chosen = [normalized(a, array.ndim) for a in np.atleast_1d(axes)]
        kept = [i for i in range(array.ndim) if i not in chosen]
        # The axis that is named first is joined first, so it varies fastest.
        extents = [math.prod(array.shape[i] for i in axes) for axes in (kept, chosen)]
        rows = array.transpose(kept + chosen[::-1]).reshape(extents)
        joined = [separator.join(row) for row in rows]
        shape = tuple(1 if i in chosen else d for i, d in enumerate(array.shape) if keep or i not in chosen)
        return string_array(joined, shape)

    return run


@kernel("UnsortedSegmentJoin")
def _unsorted_segment_join(node: Node) -> Kernel:
    separator = node.attrs["separator"].encode()

    def run(x: Any, ids: Any, count: Any) -> Any:
        array, segments = np.asarray(x, object), np.asarray(ids)
        if array.shape[: segments.ndim] != segments.shape:
            raise invalid(f"segment_ids of shape {segments.shape} is no prefix of the shape {array.shape}")
        outside = segments[(segments < 0) | (segments >= count)]
        if outside.size:
            raise invalid(f"segment_ids must be from 0 to {int(count) - 1}, got {outside.flat[0]}")
        inner = array.shape[segments.ndim :]
        rows = array.reshape(segments.size, math.prod(inner))
        chosen = segments.reshape(-1)
        parts = [rows[chosen == segment] for segment in range(int(count))]
        joined = [separator.join(column) for part in parts for column in part.T]
        return string_array(joined, (int(count), *inner))

    return run


_NO_TEXT: Final = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Python's codecs of strings that are no encodings of text."""


def _byte_order(encoding: str, text: bytes) -> tuple[str, bytes]:
    """The encoding that bytes are in, and they themselves: UTF-16 and UTF-32 are as the mark at the start says."""
    if encoding not in ("utf-16", "utf-32"):
        return encoding, text
    low, high = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) if encoding == "utf-16" else (
        codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE
    )  # fmt: skip
    if text.startswith(low):
        return f"{encoding}-le", text[len(low) :]
    return f"{encoding}-be", text.removeprefix(high)


def _pieces(encoding: str, text: bytes) -> Iterator[str | None]:
    """The characters of bytes; None for each run of bytes that are none."""
    name, rest = _byte_order(encoding, text)
    while rest:
        try:
            yield rest.decode(name)
        except UnicodeDecodeError as error:
            yield rest[: error.start].decode(name)
            yield None
            rest = rest[error.end :]
        else:
            return


@kernel("UnicodeTranscode")
def _transcode(node: Node) -> Kernel:
    attrs = node.attrs
    source, target, errors = attrs["input_encoding"], attrs["output_encoding"], attrs["errors"]
    try:
        encoding = codecs.lookup(source).name
        b"".decode(source)
    except LookupError:
        encoding = None
    if encoding is None or encoding in _NO_TEXT:
        raise invalid(f"Could not create converter for input encoding: {source}")
    if not 0 <= attrs["replacement_char"] <= 0x10FFFF:
        raise invalid(f"replacement_char must be a character's number, got {attrs['replacement_char']}")
    wrong = "" if errors == "ignore" else chr(attrs["replacement_char"])
    controls = dict.fromkeys(range(32), wrong) if attrs["replace_control_characters"] else {}

    def transcoded(text: bytes) -> bytes:
        found = []
        for piece in _pieces(encoding, text):
            if piece is None and errors == "strict":
                raise invalid(f"Invalid formatting on input string: {text!r} is not in {source}")
            found.append(wrong if piece is None else piece.translate(controls))
        return "".join(found).encode(target, "surrogatepass")

    return _each(transcoded)


@kernel("EncodeBase64")
def _encode(node: Node) -> Kernel:
    pad = node.attrs["pad"]
    return _each(
        lambda text: base64.urlsafe_b64encode(text) if pad else base64.urlsafe_b64encode(text).rstrip(b"=")
    )


@kernel("DecodeBase64")
def _decode(node: Node) -> Kernel:
    def decoded(text: bytes) -> bytes:
        try:
            return base64.b64decode(
                text.rstrip(b"=") + b"=" * (-len(text.rstrip(b"=")) % 4), b"-_", validate=True
            )
        except binascii.Error as error:
            raise invalid(f"Invalid base64 string {text!r}: {error}") from None

    return _each(decoded)


@kernel("DecodeRaw")
def _decode_raw(node: Node) -> Kernel:
    kind = np.dtype(node.attrs["out_type"].as_numpy_dtype)
    stored = kind.newbyteorder("<" if node.attrs["little_endian"] else ">")

    def run(x: Any) -> Any:
        array = np.asarray(x, object)
        texts = array.reshape(-1).tolist()
        lengths = {len(t) for t in texts}
        if len(lengths) > 1:
            raise invalid(f"DecodeRaw requires input strings to all be the same size, got {sorted(lengths)}")
        length = lengths.pop() if lengths else 0
        if length % kind.itemsize:
            raise invalid(
                f"Input to DecodeRaw has length {length} that is not a multiple of {kind.itemsize}, the "
                f"size of {kind}"
            )
        return (
            np.frombuffer(b"".join(texts), stored).astype(kind).reshape(*array.shape, length // kind.itemsize)
        )

    return run
